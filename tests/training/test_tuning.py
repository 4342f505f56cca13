"""Fine-tuning of dual encoders through its verb: what comes out, what is kept, what is refused."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

from tests.models.small import one_thread  # noqa: E402
from tests.training.small_pairs import hf_folder, near_misses, open_clip_folder  # noqa: E402

from tellapart.errors import BadInput, DiskFull, UnknownName  # noqa: E402
from tellapart.models.names import load  # noqa: E402
from tellapart.models.zoo.pixel_encoder import start_encoder  # noqa: E402
from tellapart.training import checkpoint  # noqa: E402
from tellapart.training.loop import NotANumber  # noqa: E402
from tellapart.training.settings import TrainingSettings, make_optimiser  # noqa: E402
from tellapart.training.tuning.contrast import ContrastSettings, ContrastTask  # noqa: E402
from tellapart.training.tuning.pair_batches import PairSet  # noqa: E402
from tellapart.training.tuning.pairs import open_pairs, split_pairs  # noqa: E402
from tellapart.training.tuning.tuner import TuningOrder, tuning_recipe  # noqa: E402
from tellapart.verbs.benchmarks.export import export  # noqa: E402
from tellapart.verbs.systems.train import TrainOptions, train  # noqa: E402

ROOT = Path(__file__).parents[2]
QUICK = ("epochs=1", "batch=5", "warmup=1", "rate=1e-3")


@pytest.fixture(autouse=True)
def quick():
    with one_thread():
        yield


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    root = tmp_path_factory.mktemp("tuning")
    bench = near_misses(root)
    start = train("clip", bench, root / "start", options=given("towers", "scratch"))
    return SimpleNamespace(bench=bench, root=root, start=f"trained:{start.folder}")


def given(start, recipe, *changes, **more):
    return TrainOptions(begin=start, recipe=recipe, changes=(*QUICK, *changes), **more)


def tuned(small, out, recipe="trohn-img", *changes, **more):
    return train("clip", small.bench, out, options=given(small.start, recipe, *changes), **more)


def test_recipes_are_the_papers_to_the_letter():
    wanted = {"coco": (400, "none", 10), "trohn-text": (200, "texts", 10),
              "trohn-img": (200, "images", 10), "negclip": (256, "texts", 5)}  # fmt: skip
    for name, (batch, negatives, epochs) in wanted.items():
        recipe = tuning_recipe(TuningOrder("towers", name))
        own = recipe.training
        assert (own.batch, recipe.task.negatives, own.epochs) == (batch, negatives, epochs)
        assert (own.optimiser, own.rate, own.weight_decay) == ("adamw", 1e-6, 0.1)
        assert (own.beta1, own.beta2, own.epsilon) == (0.9, 0.98, 1e-6)
        assert (own.schedule, own.warmup, own.clip_norm, own.clip_value) == ("cosine", 50, 0, 0)
        assert own.precision == "no" and not own.decay_all and recipe.task.loss == "info-nce"


def test_a_tuned_open_clip_keeps_its_activation_and_is_read_by_its_own_library(small, tmp_path):
    folder = open_clip_folder(tmp_path / "model")
    done = train(
        "clip", small.bench, tmp_path / "out",
        options=given(f"open_clip:{folder}", "trohn-text", "chunk=2"),
    )  # fmt: skip
    config = json.loads((done.folder / "open_clip_config.json").read_text())
    assert config["model_cfg"]["quick_gelu"] is True
    pictures = [small.bench.picture(one) for one in list(small.bench.images)[:3]]
    before, own, after = (
        load(f"{name}:{place}").embed_images(pictures)
        for name, place in (
            ("open_clip", folder), ("open_clip", done.folder), ("trained", done.folder)
        )
    )  # fmt: skip
    np.testing.assert_allclose(own, after, atol=1e-6)
    assert np.abs(after - before).max() > 1e-4


def test_a_tuned_model_of_transformers_is_read_by_its_own_library(small, tmp_path):
    folder = hf_folder(tmp_path / "model")
    done = train(
        "clip", small.bench, tmp_path / "out", options=given(f"hf:{folder}", "coco", "freeze=text")
    )
    texts = [small.bench.items[k].captions[0] for k in range(3)]
    pictures = [small.bench.picture(one) for one in list(small.bench.images)[:3]]
    before, own, after = (
        load(f"hf:{folder}"),
        load(f"hf:{done.folder}"),
        load(f"trained:{done.folder}"),
    )
    np.testing.assert_allclose(own.embed_texts(texts), after.embed_texts(texts), atol=1e-6)
    np.testing.assert_allclose(before.embed_texts(texts), after.embed_texts(texts), atol=1e-6)
    assert np.abs(after.embed_images(pictures) - before.embed_images(pictures)).max() > 1e-5


def test_lora_trains_its_additions_alone_and_merges_them(small, tmp_path):
    pytest.importorskip("peft", reason="peft is not installed")
    folder = open_clip_folder(tmp_path / "model")
    done = train(
        "clip", small.bench, tmp_path / "out",
        options=given(f"open_clip:{folder}", "lora", "lora_rank=2", "rate=0.01"),
    )  # fmt: skip
    from safetensors.torch import load_file

    before, after = (
        load_file(one / "open_clip_model.safetensors") for one in (folder, done.folder)
    )
    assert set(before) == set(after)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed and all(".attn." in name or ".mlp." in name for name in changed)
    assert load(f"trained:{done.folder}").facts.weights == done.card.weights


def gradients(small, start, negatives, chunk):
    """The gradients of one batch, the encoder's weights being what they were."""
    encoder = start_encoder(start, [])
    data = PairSet(open_pairs(small.bench), encoder, negatives)
    task = ContrastTask(encoder, ContrastSettings(negatives=negatives, chunk=chunk), data, batch=6)
    task.train()
    task(data.minibatch(np.arange(6)), 0).backward()
    return {name: one.grad.clone() for name, one in encoder.named_parameters()}


@pytest.mark.parametrize("negatives", ["none", "texts", "images"])
def test_gradient_caching_gives_the_gradients_of_the_whole_batch(small, negatives):
    plain, cached = (gradients(small, small.start, negatives, chunk) for chunk in (0, 4))
    assert max(float(one.abs().max()) for one in plain.values()) > 1e-3
    for name, one in plain.items():
        torch.testing.assert_close(one, cached[name], atol=1e-5, rtol=0)


SHARED = """
import sys
from tests.training.test_tuning import shared_gradients
shared_gradients(1, *sys.argv[1:])
"""


def shared_gradients(rank: int, meeting: str, start: str, bench: str) -> dict[str, torch.Tensor]:
    """The gradients of a batch that two processes share, as one of them has them."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=2
    )
    try:
        encoder = start_encoder(start, [])
        data = PairSet(open_pairs(bench), encoder, "texts", share=(rank, 2))
        task = ContrastTask(encoder, ContrastSettings(negatives="texts", chunk=2), data, batch=7)
        task.train()
        model = torch.nn.parallel.DistributedDataParallel(task)
        model(data.minibatch(np.arange(7)), 0).backward()
        return {name: one.grad.clone() for name, one in encoder.named_parameters()}
    finally:
        torch.distributed.destroy_process_group()


def test_two_processes_give_the_gradients_of_one(small, tmp_path):
    words = [str(tmp_path / "meeting"), small.start, str(small.bench.root)]
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", SHARED, *words], env=env,
                          stderr=subprocess.PIPE, text=True) as other:  # fmt: skip
        shared = shared_gradients(0, *words)
        told = other.communicate(timeout=500)[1]
    assert other.returncode == 0, told
    encoder = start_encoder(small.start, [])
    data = PairSet(open_pairs(small.bench), encoder, "texts")
    task = ContrastTask(encoder, ContrastSettings(negatives="texts"), data, batch=7)
    task.train()
    task(data.minibatch(np.arange(7)), 0).backward()
    for name, one in encoder.named_parameters():
        torch.testing.assert_close(shared[name], one.grad, atol=1e-5, rtol=0)


@pytest.mark.campaign
def test_the_verb_under_torchrun_gives_the_weights_of_one_process(small, tmp_path):
    words = ["train", "clip", "--from", small.start, "--on", str(small.bench.root), "--recipe",
             "trohn-text", "--set", "batch=6", "--set", "epochs=1"]  # fmt: skip
    env = os.environ | {"OMP_NUM_THREADS": "1", "TELLAPART_CACHE": str(tmp_path / "cache")}
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    for count in "12":
        command = [*run, count, "-m", "tellapart", *words, "--out", str(tmp_path / count)]
        subprocess.run(command, env=env, check=True, timeout=500)
    rows = [load(f"trained:{tmp_path / count}").tuned.state_dict() for count in "12"]
    for name, one in rows[0].items():
        torch.testing.assert_close(one, rows[1][name], atol=1e-5, rtol=0)


def test_a_training_that_was_stopped_ends_in_the_same_bytes(small, tmp_path):
    changes = ("epochs=2", "checkpoint_steps=1", "validate_steps=2", "log_steps=1")
    watch = [near_misses(tmp_path, 12, 2, "test")]
    whole = tuned(small, tmp_path / "whole", "trohn-img", *changes, watch=watch)

    def stop(phase, done, total):
        if phase == "training" and done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tuned(small, tmp_path / "out", "trohn-img", *changes, watch=watch, progress=stop)
    assert not (tmp_path / "out").exists()
    again = tuned(small, tmp_path / "out", "trohn-img", *changes, watch=watch)
    names = ("metrics.jsonl", "weights.safetensors", "system.json")
    for name in names:
        assert (again.folder / name).read_bytes() == (whole.folder / name).read_bytes()
    rows = [json.loads(line) for line in (whole.folder / "metrics.jsonl").read_text().splitlines()]
    measured = [(row["epoch"], row["step"]) for row in rows if "bivlc:Group" in row]
    assert measured == [(1, 2), (1, 3), (2, 2), (2, 3)]
    # Before and after stand side by side, of what was watched.
    told = json.loads((whole.folder / "cost.json").read_text())
    assert {"Group", "Tneg2I"} <= {row["measure"] for row in told["rows"]}
    assert "near-miss" in str(whole) and "cue" in str(whole)


def test_the_best_weights_are_those_of_the_measure_that_was_chosen(small, tmp_path):
    watch = [near_misses(tmp_path, 8, 2, "test")]
    changes = ("epochs=3", "best_by=bivlc:Tpos2I")
    done = tuned(small, tmp_path / "out", "coco", *changes, watch=watch)
    rows = [json.loads(line) for line in (done.folder / "metrics.jsonl").read_text().splitlines()]
    figures = {row["epoch"]: row["bivlc:Tpos2I"] for row in rows if "accuracy" in row}
    best = max(figures.values())
    assert done.card.trained["best_epoch"] == min(e for e, v in figures.items() if v == best)


def test_images_of_a_test_are_refused(small, tmp_path):
    with pytest.raises(BadInput, match="training images are also in bivlc"):
        tuned(small, tmp_path / "out", never=[small.bench])
    with pytest.raises(BadInput, match="also in bivlc"):
        tuned(small, tmp_path / "out", watch=[small.bench])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        (("batch=500",), BadInput, "a batch of 500 captions is larger than the training set"),
        (("rate=1e30", "warmup=0"), NotANumber, "the loss became nan"),
        (("rate=nan",), BadInput, "rate=nan is not a rate"),
        (("negatives=pictures",), UnknownName, "sort of negatives"),
        (("loss=triplet",), UnknownName, "loss"),
        (("chunk=2", "statistics=true"), BadInput, "cannot learn its statistics"),
        (("freeze=both",), UnknownName, "tower to freeze"),
    ],
)
def test_what_cannot_be_trained_is_said_and_nothing_is_written(
    small, tmp_path, changes, kind, said
):
    with pytest.raises(kind, match=said):
        tuned(small, tmp_path / "out", "trohn-text", "epochs=2", *changes)
    assert not (tmp_path / "out").exists()


def test_images_of_what_the_cost_is_measured_on_are_refused(small, tmp_path):
    """A gain in retrieval or zero-shot on training images would be no gain."""
    classes = tmp_path / "classes"
    for name, image in zip(("cat", "dog"), small.bench.images, strict=False):
        (classes / name).mkdir(parents=True)
        (classes / name / "0.png").write_bytes(small.bench.picture(image).read())
    for source, name in ((small.root / "world-1", "world"), (classes, "classes")):
        with pytest.raises(BadInput, match=f"training images are also in {name}"):
            tuned(small, tmp_path / "out", cost=[source])
    assert [one.name for one in tmp_path.iterdir()] == ["classes"]


def test_what_would_fail_after_training_fails_before(small, tmp_path):
    watch = [near_misses(tmp_path / "world", 8, 2, "test")]
    place = tmp_path / "runs"
    place.mkdir()
    with pytest.raises(BadInput, match="there is no file or folder nosuch"):
        tuned(small, place / "out", cost=[tmp_path / "nosuch"])
    with pytest.raises(UnknownName, match="figure to choose by") as caught:
        tuned(small, place / "out", "coco", "best_by=bivlc:Tpos2T", watch=watch)
    assert "bivlc:Tpos2I" in caught.value.allowed
    with pytest.raises(BadInput, match="towers start without training"):
        train("clip", small.bench, place / "out", cost=watch, options=given("towers", "scratch"))
    assert not list(place.iterdir())


def test_options_of_the_other_kind_of_training_are_refused(small, tmp_path):
    with pytest.raises(BadInput, match="--features, --start cannot be used to train clip"):
        told = TrainOptions(begin=small.start, features=("store",), start=tmp_path)
        train("clip", small.bench, tmp_path / "out", options=told)
    with pytest.raises(BadInput, match="--from, --watch cannot be used to train convnet-bow"):
        train("convnet-bow", small.root / "world-1", tmp_path / "out", watch=[small.bench],
              options=TrainOptions(begin=small.start))  # fmt: skip


def test_a_start_or_negatives_that_are_missing_are_said(small, tmp_path):
    with pytest.raises(BadInput, match="nosuch is not the folder of a trained system"):
        train("clip", small.bench, tmp_path / "out", options=given("trained:nosuch", "coco"))
    with pytest.raises(BadInput, match=r"there is no file nosuch-\*.tar"):
        train("clip", tmp_path / "nosuch-*.tar", tmp_path / "out", options=given("towers", "coco"))
    world = small.root / "world-1"
    with pytest.raises(BadInput, match="has no false captions, which this recipe needs"):
        train("clip", world, tmp_path / "out", options=given(small.start, "trohn-text"))
    with pytest.raises(BadInput, match="clip needs a model to fine-tune"):
        train("clip", world, tmp_path / "out", options=given("", "coco"))
    with pytest.raises(BadInput, match="storybook is not a dual encoder that can be trained"):
        train("clip", world, tmp_path / "out", options=given("storybook", "coco"))


def test_a_full_disk_is_said_and_the_fine_tune_goes_on_later(small, tmp_path, monkeypatch):
    real, calls = checkpoint.save_tensors, []

    def full(path, tensors):
        calls.append(path)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, tensors)

    monkeypatch.setattr(checkpoint, "save_tensors", full)
    with pytest.raises(DiskFull):
        tuned(small, tmp_path / "out", "trohn-text", "epochs=2")
    monkeypatch.undo()
    assert not (tmp_path / "out").exists()
    assert tuned(small, tmp_path / "out", "trohn-text", "epochs=2").card.trained["epochs"] == 2


def test_shards_and_parquet_are_trained_on_alike(small, tmp_path):
    pairs = export(small.bench, tmp_path / "pairs", purpose="training",
                   form=("webdataset", "huggingface"))  # fmt: skip
    weights = []
    for name, form in (("a", "shards/{}-000000.tar"), ("b", "data/{}-00000-of-00001.parquet")):
        on, validation = (pairs / form.format(part) for part in ("train", "validation"))
        told = given(small.start, "trohn-img")
        done = train("clip", on, tmp_path / name, validation=[validation], options=told)
        weights.append(done.card.weights)
    assert weights[0] == weights[1]


def test_rows_that_share_pictures_are_never_on_both_sides(small):
    pairs = open_pairs(small.bench)
    train_on, held = split_pairs(pairs, 0.3, 0)
    assert len(train_on) + len(held) == len(pairs) and not set(train_on.images) & set(held.images)
    assert len(held) == 6


def test_weights_that_are_no_matrices_can_keep_clear_of_decay():
    module = torch.nn.Linear(3, 2)
    groups = make_optimiser(
        TrainingSettings(weight_decay=0.1, decay_all=False), module
    ).param_groups
    assert [(g["weight_decay"], g["params"][0].ndim) for g in groups] == [(0.1, 2), (0.0, 1)]
