"""Training through its verb: what comes out, what is refused, and what is said of bad input."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

from tests.models.small import one_thread  # noqa: E402
from tests.models.small_systems import captioned, features  # noqa: E402

from tellapart import TellapartError  # noqa: E402
from tellapart.errors import BadInput, DiskFull, UnknownName  # noqa: E402
from tellapart.models.names import load  # noqa: E402
from tellapart.models.trained import read_card  # noqa: E402
from tellapart.training import checkpoint  # noqa: E402
from tellapart.training.data import BatchPlan, TrainingSet, gather  # noqa: E402
from tellapart.training.loop import NotANumber  # noqa: E402
from tellapart.training.settings import TrainingSettings, make_optimiser, recipe_of  # noqa: E402
from tellapart.training.splits import hold_out  # noqa: E402
from tellapart.verbs.build import BuildOptions, build  # noqa: E402
from tellapart.verbs.runs.evaluate import EvaluateOptions, evaluate  # noqa: E402
from tellapart.verbs.runs.measure import measure  # noqa: E402
from tellapart.verbs.systems.features import FeatureOptions  # noqa: E402
from tellapart.verbs.systems.features import features as compute  # noqa: E402
from tellapart.verbs.systems.retrieve import retrieve  # noqa: E402
from tellapart.verbs.systems.train import TrainOptions, train  # noqa: E402
from tellapart.verbs.world import world  # noqa: E402

QUICK = ("epochs=1", "batch=12", "joint=8", "hidden=8", "words=8", "least=1")


@pytest.fixture(autouse=True)
def quick():
    with one_thread():
        yield


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    root = tmp_path_factory.mktemp("small")
    corpus = captioned(root)
    return SimpleNamespace(corpus=corpus, store=features(corpus, root / "features"))


def options(small, *changes, **more):
    return TrainOptions(
        recipe="default", changes=(*QUICK, *changes), features=(small.store.folder,), **more
    )


def fitted(small, out, *changes, **more):
    return train("convnet-bow", small.corpus, out, options=options(small, *changes, **more))


def test_a_trained_system_is_a_model_for_evaluate_and_retrieve(tmp_path, monkeypatch):
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))
    drawn = world(tmp_path / "world", scenes=40, seed=1, part="train")
    held = world(tmp_path / "held", scenes=12, seed=2, part="test")
    pixels = TrainOptions(
        recipe="small", backbone="pixels", changes=("epochs=2", "batch=32", "least=1")
    )
    bench = build("bison", held, tmp_path / "bison", BuildOptions(verifier="oracle"))
    made = {}
    for system in ("convnet-bow", "scan-t2i"):
        out = tmp_path / system
        made[system] = train(system, drawn, out, never=[bench], options=pixels)
        rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        assert {row["epoch"] for row in rows} == {1, 2}
        assert any("rsum" in row for row in rows) and any("loss" in row for row in rows)
    assert (tmp_path / "cache" / "features").is_dir()  # computed once, for both
    stores = list((tmp_path / "cache" / "features").iterdir())
    assert len(stores) == 1 and "best after epoch" in str(made["convnet-bow"])
    # Pictures that no store has are looked at by the backbone.
    names = [f"trained:{tmp_path / system}" for system in made]
    runs = evaluate(names, bench, tmp_path / "runs", EvaluateOptions())
    assert "trained:" in str(measure(runs))
    for name in names:
        assert retrieve(name, held).rows[0].images == 12


def test_images_of_a_test_set_are_refused_by_content_and_by_id(tmp_path):
    drawn = world(tmp_path / "world", scenes=12, seed=1)
    compute(drawn, tmp_path / "features", FeatureOptions(backbone="pixels"))
    bench = build("bison", drawn, tmp_path / "bison", BuildOptions(verifier="oracle"))
    given = TrainOptions(features=(tmp_path / "features",), changes=QUICK, recipe="default")
    with pytest.raises(BadInput, match=r"training images are also in bison"):
        train("convnet-bow", drawn, tmp_path / "out", never=[bench], options=given)
    # Another picture under the same id is no reason to refuse, one under another id is.
    other = world(tmp_path / "other", scenes=12, seed=2)
    renamed = other.images.with_columns(id="x" + other.images["id"])
    texts = other.captions.with_columns(image="x" + other.captions["image"])
    copy = replace(drawn, images=renamed, captions=texts, root=drawn.root)
    compute(other, tmp_path / "others", FeatureOptions(backbone="pixels"))
    compute(copy, tmp_path / "copies", FeatureOptions(backbone="pixels"))
    fine = replace(given, features=(tmp_path / "others",))
    done = train("convnet-bow", other, tmp_path / "fine", never=[bench], options=fine)
    assert done.card.trained["images"] == 11
    hidden = replace(given, features=(tmp_path / "copies",))
    copied = replace(copy, images=renamed.with_columns(sha256=drawn.images["sha256"]))
    with pytest.raises(BadInput, match="also in bison, such as x0"):
        train("convnet-bow", copied, tmp_path / "out", never=[bench], options=hidden)


def test_the_vocabulary_is_of_training_captions_alone(small, tmp_path):
    whole = gather([small.corpus], [small.store])
    kept, apart = hold_out(whole, 0.2, 0)
    assert len(apart) == 5 and not set(kept.tolist()) & set(apart.tolist())
    told = train(
        "convnet-bow",
        small.corpus,
        tmp_path / "out",
        options=replace(options(small), held_out=0.2),
    )
    words = json.loads((tmp_path / "out" / "vocabulary.json").read_text())["words"]
    said = {word for text in whole.part(kept).texts for word in text.lower().strip(".").split()}
    assert set(words) == said and told.card.trained["images"] == 19


def test_features_of_another_corpus_are_refused(small, tmp_path):
    other = captioned(tmp_path, 24, "other")
    with pytest.raises(BadInput, match="no features for 24 of its 24 images, such as other-0"):
        train("convnet-bow", other, tmp_path / "out", options=options(small))
    hashed = small.corpus.images.with_columns(sha256=small.corpus.images["id"])
    with pytest.raises(BadInput, match="features of other pictures for 24"):
        gather([replace(small.corpus, images=hashed)], [small.store])
    with pytest.raises(BadInput, match="1 corpora and 2 stores"):
        gather([small.corpus], [small.store, small.store])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ("batch=1000", BadInput, "a batch of 1,000 captions is larger"),
        ("rate=zero", BadInput, "rate=zero is not a number"),
        ("rates=1", UnknownName, "no setting called 'rates'"),
        ("optimiser=ada", UnknownName, "no optimiser called 'ada'"),
        ("schedule=up", UnknownName, "no schedule called 'up'"),
        ("loss=worst", UnknownName, "no loss called 'worst'"),
        ("epochs=0", BadInput, "epochs=0 is too small"),
        ("together=5", BadInput, "cannot hold 5 of each image"),
        ("least=1000", BadInput, "no word occurs 1000 times"),
        ("rate", BadInput, "has no value"),
    ],
)
def test_bad_settings_are_said_and_nothing_is_written(small, tmp_path, change, kind, said):
    with pytest.raises(kind, match=said):
        fitted(small, tmp_path / "out", change)
    assert not (tmp_path / "out").exists()


def test_a_loss_that_is_no_number_ends_the_training(small, tmp_path):
    with pytest.raises(NotANumber, match="the loss became nan in epoch 1"):
        fitted(small, tmp_path / "out", "rate=1e30", "clip_norm=0", "epochs=9", "log_steps=1")
    assert not (tmp_path / "out").exists()


def test_weights_that_the_last_update_made_infinite_are_not_kept(small, tmp_path):
    with pytest.raises(NotANumber, match="a weight became infinite or not a number in epoch 1"):
        fitted(small, tmp_path / "out", "rate=1e39", "batch=66")  # one update, after a sound loss
    assert not (tmp_path / "out").exists()


def test_what_is_there_is_not_overwritten_unless_asked(small, tmp_path):
    first = fitted(small, tmp_path / "out")
    with pytest.raises(BadInput, match="already exists"):
        fitted(small, tmp_path / "out")
    again = fitted(small, tmp_path / "out", overwrite=True)
    assert again.card.weights == first.card.weights
    other = fitted(small, tmp_path / "out", overwrite=True, seed=1)
    assert other.card.weights != first.card.weights


def test_a_full_disk_is_said_and_the_training_goes_on_later(small, tmp_path, monkeypatch):
    real, calls = checkpoint.save_tensors, []

    def full(path, tensors):
        calls.append(path)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, tensors)

    monkeypatch.setattr(checkpoint, "save_tensors", full)
    with pytest.raises(DiskFull):
        fitted(small, tmp_path / "out", "epochs=3")
    monkeypatch.undo()
    assert not (tmp_path / "out").exists()
    done = fitted(small, tmp_path / "out", "epochs=3")
    assert done.card.trained["epochs"] == 3
    assert done.card.weights == fitted(small, tmp_path / "whole", "epochs=3").card.weights


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system takes root")
def test_a_disk_that_is_really_full_keeps_what_was_there(small, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        first = fitted(small, disk / "out")
        with pytest.raises(OSError, match="No space left"):
            (disk / "filler").write_bytes(bytes(1 << 20))
        with pytest.raises(DiskFull, match="the disk is full"):
            fitted(small, disk / "out", overwrite=True, seed=1)
        assert load(f"trained:{disk / 'out'}").facts.weights == first.card.weights
        (disk / "filler").unlink()
        second = fitted(small, disk / "out", overwrite=True, seed=1)
        assert second.card.weights == fitted(small, tmp_path / "out", seed=1).card.weights
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_training_that_fails_leaves_what_was_there(small, tmp_path):
    first = fitted(small, tmp_path / "out")
    with pytest.raises(NotANumber):
        fitted(small, tmp_path / "out", "rate=1e39", "batch=66", overwrite=True)
    other = captioned(tmp_path, 24, "other")
    with pytest.raises(BadInput, match="the features do not belong to the corpus other"):
        train("convnet-bow", other, tmp_path / "out", options=options(small, overwrite=True))
    assert load(f"trained:{tmp_path / 'out'}").facts.weights == first.card.weights


def stopped(small, out):
    """An unfinished training, whose folder is returned."""

    def stop(phase, done, total):
        if phase == "training" and done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("convnet-bow", small.corpus, out, options=options(small, "epochs=2"), progress=stop)
    return next(out.parent.glob(f".{out.name}.*.unfinished"))


def test_a_corrupt_checkpoint_is_said(small, tmp_path):
    folder = stopped(small, tmp_path / "out")
    weights = next(folder.glob("*-weights.safetensors"))
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match="not a complete file of weights"):
        fitted(small, tmp_path / "out", "epochs=2")
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps({**state, "surplus": 1}))
    weights.write_bytes(whole)
    with pytest.raises(BadInput, match="the checkpoint does not match"):
        fitted(small, tmp_path / "out", "epochs=2")
    (folder / "state.json").write_text("{")
    with pytest.raises(BadInput, match="not JSON"):
        fitted(small, tmp_path / "out", "epochs=2")
    assert weights.read_bytes() == whole and not (tmp_path / "out").exists()


def test_a_trained_folder_whose_files_do_not_fit_is_said(small, tmp_path):
    out = fitted(small, tmp_path / "out").folder
    words = (out / "vocabulary.json").read_text()
    (out / "vocabulary.json").write_text(words.replace('"dog"', '"hound"'))
    with pytest.raises(BadInput, match="does not match the weights"):
        retrieve(f"trained:{out}", small.corpus)
    with pytest.raises(BadInput, match="does not match the weights"):
        fitted(small, tmp_path / "second", start=out)
    assert not (tmp_path / "second").exists()
    (out / "vocabulary.json").write_text(words)
    weights = (out / "weights.safetensors").read_bytes()
    (out / "weights.safetensors").write_bytes(weights[:-4] + b"\0\0\0\1")
    with pytest.raises(BadInput, match="not the weights that were trained"):
        load(f"trained:{out}")
    (out / "weights.safetensors").write_bytes(weights[:-9])
    with pytest.raises(BadInput, match="not a complete file of weights"):
        load(f"trained:{out}")
    (out / "weights.safetensors").write_bytes(weights)
    card = json.loads((out / "system.json").read_text())
    for wrong, said in (({"joint": None}, "joint is None"), ({"joint": 2**40}, "joint is 109"),
                        ({"dropout": float("nan")}, "dropout is nan"),
                        ({"joints": 8}, "no setting of the system called 'joints'")):  # fmt: skip
        told = card | {"settings": card["settings"] | wrong}
        (out / "system.json").write_text(json.dumps(told))
        with pytest.raises(TellapartError, match=said):
            load(f"trained:{out}")
    for told in ({}, [], card | {"system": None}, card | {"settings": []}, card | {"space": 3}):
        (out / "system.json").write_text(json.dumps(told))
        with pytest.raises(BadInput, match="not the card of a trained system"):
            load(f"trained:{out}")
    (out / "system.json").write_text(json.dumps(card))
    for told in ({"words": 3}, {"words": ["\ud800"]}):
        (out / "vocabulary.json").write_text(json.dumps(told))
        with pytest.raises(BadInput, match="not a vocabulary"):
            load(f"trained:{out}")
    (out / "system.json").unlink()
    with pytest.raises(BadInput, match=r"it has no system\.json"):
        load(f"trained:{out}")


def test_training_goes_on_from_another_training(small, tmp_path):
    first = fitted(small, tmp_path / "first")
    again = fitted(small, tmp_path / "second", "rate=1e-9", start=first.folder)
    before, after = (load(f"trained:{one.folder}").system.state_dict() for one in (first, again))
    for name, weights in before.items():
        torch.testing.assert_close(weights, after[name], atol=1e-6, rtol=0)
    worse = fitted(small, tmp_path / "worse", "rate=0.5", start=first.folder)
    kept = load(f"trained:{worse.folder}").system.state_dict()
    assert all(torch.equal(weights, kept[name]) for name, weights in before.items())
    assert "epochs was better than the start" in str(worse)
    with pytest.raises(BadInput, match="cannot be the start"):
        fitted(small, tmp_path / "third", "joint=16", start=first.folder)
    with pytest.raises(TellapartError, match="no task called 'retrieve'"):
        fitted(small, tmp_path / "third", task="retrieve")


def test_patience_ends_a_training_that_gets_no_better(small, tmp_path):
    done = fitted(small, tmp_path / "out", "epochs=40", "patience=2", "rate=0")
    assert done.card.trained["epochs"] == 3 and done.card.trained["best_epoch"] == 1


def test_accumulated_batches_take_as_many_steps(small, tmp_path):
    fitted(small, tmp_path / "out", "batch=6", "accumulate=3", "epochs=2", "log_steps=1")
    rows = [json.loads(line) for line in (tmp_path / "out/metrics.jsonl").read_text().splitlines()]
    steps = [row["step"] for row in rows if "loss" in row]
    assert steps == [*range(1, 10), *range(1, 10)]  # ten batches, of which nine fill three updates


@pytest.mark.parametrize("name", ["adam", "adamw", "adagrad", "rmsprop", "sgd"])
def test_every_optimiser_moves_weights_and_is_put_back(name, tmp_path):
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2)
    settings = TrainingSettings(optimiser=name, momentum=0.5)
    before = layer.weight.detach().clone()
    optimiser = make_optimiser(settings, layer)

    def step(module, by):
        module(torch.ones(1, 3)).sum().backward()
        by.step()
        by.zero_grad()

    step(layer, optimiser)
    assert not torch.equal(before, layer.weight)
    checkpoint.save_checkpoint(tmp_path, checkpoint.TrainingState(epoch=1), layer, optimiser)
    other = torch.nn.Linear(3, 2)
    restored = make_optimiser(settings, other)
    assert checkpoint.load_checkpoint(tmp_path, other, restored).epoch == 1
    step(layer, optimiser)
    step(other, restored)
    assert torch.equal(layer.weight, other.weight)


def test_schedules_rise_and_fall_as_they_say():
    def rates(**settings):
        made = TrainingSettings(rate=1.0, epochs=4, **settings)
        return [round(made.rate_at(step, 5), 4) for step in range(20)]

    assert rates(schedule="constant") == [1.0] * 20
    assert rates(schedule="step", decay=0.5, every=2) == [1.0] * 10 + [0.5] * 10
    assert rates(schedule="exponential", decay=0.5)[::5] == [1.0, 0.5, 0.25, 0.125]
    falling = rates(schedule="cosine", warmup=4)
    assert falling[:4] == [0.25, 0.5, 0.75, 1.0] and falling[4] == 1.0
    assert falling[4:] == sorted(falling[4:], reverse=True) and falling[-1] < 0.02


def test_batches_hold_captions_together_and_differ_by_epoch(small):
    data = TrainingSet.encoded(gather([small.corpus], [small.store]), load_words(small), None)
    plan = BatchPlan(12, 3, 0)
    first, again, second = (plan.epoch(data, number) for number in (0, 0, 1))
    owner = data.images.owner
    for batch in first:
        assert len(batch) == 12 and len(np.unique(owner[batch])) == 4
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert any((a != b).any() for a, b in zip(first, second, strict=True))
    assert sorted(np.concatenate(BatchPlan(12, 1, 0).epoch(data, 0))) == list(range(72))


def load_words(small):
    from tellapart.text.vocabulary import Vocabulary

    return Vocabulary.counted(text for text in small.corpus.captions["text"])


def test_every_recipe_in_the_package_can_be_read():
    from tellapart import registry
    from tellapart.models.zoo.system import system_class
    from tellapart.training.settings import Recipe

    for name in registry.systems.names():
        kind = system_class(name)
        task = registry.tasks.get(kind.task)
        defaults = Recipe(kind.Config(), task.Settings(), TrainingSettings())
        for chosen in ("paper", "small"):
            assert recipe_of(name, chosen, defaults).training.epochs > 0
        with pytest.raises(UnknownName, match="no recipe of"):
            recipe_of(name, "large", defaults)


def test_the_card_says_how_it_was_trained(small, tmp_path):
    done = fitted(small, tmp_path / "out")
    card = read_card(done.folder)
    assert card.trained["captions"] == 66 and card.trained["training"]["epochs"] == 1
    assert set(card.trained["validation"]) >= {"rsum", "i2t_r1", "t2i_r10"}
    assert json.loads((done.folder / "timings.json").read_text())["model"] > 0


@pytest.mark.campaign
def test_two_processes_share_the_batches_and_one_writes(tmp_path):
    drawn = world(tmp_path / "world", scenes=12, seed=1)
    compute(drawn, tmp_path / "features", FeatureOptions(backbone="pixels"))
    words = ["train", "convnet-bow", "--on", "world", "--features", "features", "--out", "out"]
    words += [word for change in (*QUICK, "batch=8", "log_steps=1") for word in ("--set", change)]
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--standalone",
    ]
    done = subprocess.run(
        [*launch, "-m", "tellapart", *words, "--recipe", "default"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1", "TELLAPART_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in (tmp_path / "out/metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "loss" in row] == [1, 2, 3]  # six batches, two at a time
    assert load(f"trained:{tmp_path / 'out'}").facts.weights
    assert not list(tmp_path.glob(".*"))
