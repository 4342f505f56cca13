"""The engine: each content once, batches, failures, precision, memory."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from tests.score.engine_models import Dual, Pairs, Picks, seen, vector

import tellapart as ta
from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark
from tellapart.benchmark.table import ItemTable
from tellapart.errors import BadImage
from tellapart.items import Image, Item, Origin
from tellapart.measures.scores import asks_of
from tellapart.models.model import ChooserReply, ModelInfo
from tellapart.pictures import Picture
from tellapart.score.batches import ModelFailed
from tellapart.score.cells import CellTable
from tellapart.score.precision import Imprecise
from tellapart.verbs.runs.evaluate import MostlyFailed, _warn


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))


def renamed(benchmark: Benchmark, prefix: str) -> Benchmark:
    """The same pictures and items under other ids."""
    images = {f"{prefix}{k}": replace(i, id=f"{prefix}{k}") for k, i in benchmark.images.items()}
    items = tuple(
        replace(i, id=f"{prefix}{i.id}", images=tuple(prefix + k for k in i.images))
        for i in benchmark.items
    )
    return Benchmark(replace(benchmark.card, name=f"{prefix}b"), benchmark.root, items, images)


def expected(model, benchmark, items):
    """The obvious slow version: every cell on its own."""
    rows = {}
    for item in map(benchmark.by_id.get, sorted(items)):
        cells = CellTable.of(ItemTable.of([item]), asks_of(benchmark.card.measures))
        columns = cells.image, cells.caption, cells.edit, cells.texts(np.arange(len(cells)))
        for image, caption, edit, text in zip(*columns, strict=True):
            picture = benchmark.picture(item.images[image])
            if isinstance(model, Dual):
                left = np.float32(vector(seen(picture)))
                score = float(np.einsum("d,d", left, np.float32(vector(text.encode()))))
            else:
                score = float(vector(seen(picture) + text.encode(), 1)[0])
            rows[item.id, image, caption, edit] = score
    return rows


def got(run):
    columns = run.scores.iter_rows()
    return {(item, i, j, edit): score for item, i, j, edit, score in columns}


@pytest.mark.parametrize("what", ["bison", "foil", "mcic", "bivlc"])
@pytest.mark.parametrize("make", [Dual, Pairs])
def test_scores_equal_those_of_one_cell_at_a_time(make, what, benchmarks, tmp_path):
    options = ta.EvaluateOptions(limit=12, batch_size=7)
    (run,) = ta.evaluate([make()], benchmarks[what], tmp_path / "runs", options)
    slow = expected(make(), benchmarks[what], run.covered)
    found = got(run)
    assert len(run.covered) == 12 and not run.failures
    assert found == pytest.approx(slow, rel=1e-5)


def test_pitfall_24_an_image_of_two_benchmarks_is_opened_and_encoded_once(
    benchmarks, tmp_path, monkeypatch
):
    opened = []
    real = Picture.open
    monkeypatch.setattr(Picture, "open", lambda self: (opened.append(self.id), real(self))[1])
    model = Dual()
    both = [benchmarks["bivlc"], renamed(benchmarks["bivlc"], "x-"), benchmarks["bison"]]
    runs = ta.evaluate([model], both, tmp_path / "runs")
    distinct = {p.stored_sha256() for b in both for p in map(b.picture, b.images)}
    assert len(opened) == len(model.images) == len(distinct)
    assert len(model.texts) == len(set(model.texts))
    assert list(got(runs[0]).values()) == list(got(runs[1]).values())


def test_pitfall_24_a_model_is_loaded_once_for_all_benchmarks(benchmarks, tmp_path, monkeypatch):
    from tellapart.models import names

    loaded = []
    real = names.load
    monkeypatch.setattr(names, "load", lambda name: (loaded.append(name), real(name))[1])
    ta.evaluate(["chance", "constant"], list(benchmarks.values()), tmp_path / "runs")
    assert loaded == ["chance", "constant"]


def test_every_pair_is_scored_once_and_images_stand_together(benchmarks, tmp_path):
    model = Pairs(weights="w")
    ta.evaluate([model], [benchmarks["foil"], benchmarks["bivlc"]], tmp_path / "runs")
    assert len(model.asked) == len(set(model.asked))
    images = [image for image, _ in model.asked]
    changes = sum(a != b for a, b in pairwise(images))
    assert changes == len(set(images)) - 1


def test_one_id_for_two_pictures_in_two_benchmarks_is_no_mix_up(world, tmp_path):
    ids = world.images["id"].to_list()[:2]
    made = []
    for k, image in enumerate(ids):
        item = Item.imported("t", "0", images=("same",), captions=("a dog", "a cat"),
                             true=frozenset({(0, 0)}), kind="k", origin=Origin("t"))  # fmt: skip
        picture = Image("same", world.image(image).uri)
        made.append(make_benchmark(Card(f"b{k}"), world.root, [item], [picture]))
    together = ta.evaluate([Pairs(weights="w")], made, tmp_path / "one")
    (alone,) = ta.evaluate(
        [Pairs(weights="w")], made[1], tmp_path / "two", ta.EvaluateOptions(use_cache=False)
    )
    assert got(together[1]) == got(alone) != got(together[0])


def test_batches_are_of_inputs_and_texts_of_like_length_go_together(benchmarks, tmp_path):
    class Lengths(Dual):
        spans: ClassVar[list[int]] = []

        def embed_texts(self, texts):
            self.spans.append(max(map(len, texts)) - min(map(len, texts)))
            return super().embed_texts(texts)

    model = Lengths()
    ta.evaluate([model], benchmarks["mcic"], tmp_path / "runs", ta.EvaluateOptions(batch_size=10))
    assert max(model.batches) == 10 and model.batches.count(10) >= len(model.batches) - 2
    every = max(map(len, model.texts)) - min(map(len, model.texts))
    assert np.median(model.spans) < every / 4


# Failures


class Broken(Dual):
    def __init__(self, how):
        super().__init__("broken")
        self.how = how

    def embed_texts(self, texts):
        if self.how == "raises":
            raise ValueError("no such token")
        if self.how == "list":
            return [["a"]] * len(texts)
        rows = super().embed_texts(texts)
        return {"few": rows[:-1], "flat": rows.sum(axis=1), "narrow": rows[:, :3]}[self.how]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raises", "broken failed on batch 1 of the texts: ValueError: no such token"),
        ("list", "did not return numbers"),
        ("few", r"failed on batch 1 of the texts: it returned an array of shape \(\d+, 8\)"),
        ("flat", r"shape \(\d+,\)"),
        ("narrow", "embeds images in 8 dimensions and texts in 3"),
    ],
)
def test_a_model_that_goes_wrong_is_named_with_its_batch(how, message, benchmarks, tmp_path):
    with pytest.raises(ModelFailed, match=message):
        ta.evaluate([Broken(how)], benchmarks["mcic"], tmp_path / "runs")
    assert not list((tmp_path / "runs").glob("*/*/run.json"))


def test_scores_that_are_no_numbers_fail_alone_and_are_not_kept(benchmarks, tmp_path):
    class Sick(Dual):
        def embed_texts(self, texts):
            rows = super().embed_texts(texts)
            rows[[t == self.bad for t in texts]] = np.inf
            return rows

    bench = benchmarks["mcic"]
    bad = bench.items[3].captions[0]
    for _ in range(2):
        model = Sick("sick", weights="w")
        model.bad = bad
        options = ta.EvaluateOptions(overwrite=True)
        (run,) = ta.evaluate([model], bench, tmp_path / "runs", options)
        failed = {(f.item, f.part) for f in run.failures}
        assert failed == {
            (i.id, f"0,{j}") for i in bench.items for j, c in enumerate(i.captions) if c == bad
        }
    assert model.texts == [bad]  # the second time the others came from the cache


class Small(Dual):
    """Has memory for 10 inputs; `error` is what it raises beyond."""

    error: type[Exception] = MemoryError

    def embed_texts(self, texts):
        if len(texts) > 10:
            raise self.error("out of memory")
        return super().embed_texts(texts)


@pytest.mark.parametrize("error", [MemoryError, type("OutOfMemoryError", (RuntimeError,), {})])
def test_batches_are_halved_where_memory_is_short_and_the_run_says_so(error, benchmarks, tmp_path):
    model = Small()
    model.error = error
    (run,) = ta.evaluate([model], benchmarks["mcic"], tmp_path / "a")
    (whole,) = ta.evaluate([Dual()], benchmarks["mcic"], tmp_path / "b")
    assert got(run) == got(whole)
    size = len({text for item in benchmarks["mcic"].items for text in item.captions})
    while size > 10:  # what the model bears
        size //= 2
    assert ta.load_run(run.folder).card.notes["smaller_batches"] == {"texts": size}
    assert "smaller_batches" not in whole.card.notes


@pytest.mark.parametrize("make", [Dual, Pairs])
@pytest.mark.parametrize("harm", ["missing", "truncated"])
def test_a_bad_picture_in_the_middle(harm, make, world, tmp_path):
    import shutil

    shutil.copytree(world.root, tmp_path / "world")
    bench = ta.build("mcic", tmp_path / "world", tmp_path / "mcic")
    bad = bench.items[7].images[0]
    path = bench.picture(bad).path
    path.unlink() if harm == "missing" else path.write_bytes(path.read_bytes()[:700])
    model = make(weights="w")
    with pytest.raises(BadImage, match=bad):
        ta.evaluate([model], bench, tmp_path / "runs")
    options = ta.EvaluateOptions(skip_bad=True)
    (run,) = ta.evaluate([model], bench, tmp_path / "runs", options)
    assert {f.item for f in run.failures} == {i.id for i in bench.items if bad in i.images}
    assert run.covered == {i.id for i in bench.items}


def test_a_chooser_whose_server_goes_away_is_asked_again_only_what_failed(benchmarks, tmp_path):
    class Server(Picks):
        left = 30

        def choose(self, asked):
            self.left -= len(asked)
            if self.left < 0:
                raise ConnectionRefusedError("nobody there")
            return super().choose(asked)

    bench, options = benchmarks["bison"], ta.EvaluateOptions(batch_size=10)
    first = Server()
    with pytest.warns(MostlyFailed, match="56 of 86 questions failed: ConnectionRefusedError"):
        (run,) = ta.evaluate([first], bench, tmp_path / "runs", options)
    failed = run.answers.filter(run.answers["status"] == "failed")
    assert len(first.asked) == 30 and failed.height == len(bench.items) - 30
    assert "nobody there" in failed["reply"][0]
    again = Picks()
    (run,) = ta.evaluate([again], bench, tmp_path / "runs", replace(options, retry_failed=True))
    assert len(again.asked) == failed.height
    assert (run.answers["status"] == "answered").all()
    (whole,) = ta.evaluate([Picks()], bench, tmp_path / "whole", options)
    assert run.answers.equals(whole.answers)
    none = Picks()
    ta.evaluate([none], bench, tmp_path / "runs", replace(options, retry_failed=True))
    assert not none.asked


def test_a_chooser_that_goes_wrong_is_named(benchmarks, tmp_path):
    class Odd:
        facts = ModelInfo("odd")

        def choose(self, asked):
            return [ChooserReply(shown=99) for _ in asked]

    with pytest.raises(ModelFailed, match=r"odd failed on the batch of image@0 of item .*99 of 2"):
        ta.evaluate([Odd()], benchmarks["bison"], tmp_path / "runs")


# Precision


def test_pitfall_3_margins_below_a_step_of_half_precision_are_counted(benchmarks, tmp_path):
    class Near(Dual):
        """Both captions of an item differ by less than float16 can tell for every third image."""

        def embed_images(self, pictures):
            return np.ones((len(pictures), 1))

        def embed_texts(self, texts):
            self.texts += texts
            return np.array([[0.3 + 1e-4 * (len(t) % 3)] for t in texts])

    bench = benchmarks["mcic"]
    close = 0
    for item in bench.items:
        scores = [0.3 + 1e-4 * (len(c) % 3) for c in item.captions]
        right = {j for _, j in item.true}
        best = max(scores[j] for j in right)
        other = max(s for j, s in enumerate(scores) if j not in right)
        close += abs(best - other) < 2**-10 * max(best, other)
    with pytest.warns(Imprecise, match=f"{close} answers are decided by less than a step"):
        (run,) = ta.evaluate([Near("near", dtype="float16")], bench, tmp_path / "half")
    assert run.card.notes["below_precision"] == close > 0
    (run,) = ta.evaluate([Near("near", dtype="float32")], bench, tmp_path / "single")
    assert "below_precision" not in run.card.notes


@pytest.mark.parametrize(
    ("dtype", "advised"), [("float16", True), ("bfloat16", True), ("float32", False)]
)
def test_float32_is_advised_only_to_what_is_coarser(dtype, advised, benchmarks, tmp_path):
    (run,) = ta.evaluate([Dual()], benchmarks["bison"], tmp_path)
    card = replace(run.card, dtype=dtype, notes={"below_precision": 3})
    with pytest.warns(Imprecise, match=f"3 answers .* a step of {dtype}") as caught:
        _warn(replace(run, card=card))
    assert ("compute in float32" in str(caught[0].message)) == advised


def test_pitfall_3_similarities_of_half_precision_rows_are_taken_in_float32(benchmarks, tmp_path):
    class Half(Dual):
        def embed_images(self, pictures):
            return super().embed_images(pictures).astype(np.float16)

        def embed_texts(self, texts):
            return super().embed_texts(texts).astype(np.float16)

    (run,) = ta.evaluate([Half("h")], benchmarks["mcic"], tmp_path / "runs")
    bench, (item, i, j, _, score) = benchmarks["mcic"], next(run.scores.iter_rows())
    found = bench.by_id[item]
    left = vector(seen(bench.picture(found.images[i]))).astype(np.float16).astype(np.float32)
    right = vector(found.captions[j].encode()).astype(np.float16).astype(np.float32)
    assert score == float(np.einsum("d,d", left, right))


# Progress and memory


def test_progress_comes_by_phase_and_ends_full(benchmarks, tmp_path):
    told: dict[str, list[tuple[int, int]]] = {}

    def progress(label, done, total):
        told.setdefault(label, []).append((done, total))

    ta.evaluate([Dual()], benchmarks["foil"], tmp_path / "runs", progress=progress)
    assert list(told) == [f"dual: {phase}" for phase in ("reading", "images", "texts", "scores")]
    for steps in told.values():
        assert steps == sorted(steps) and steps[-1][0] == steps[-1][1]


BOUND = """
import sys
from pathlib import Path
import numpy as np
from tellapart.benchmark.benchmark import Benchmark, Card
from tellapart.items import Image, Item, Origin, Slot
from tellapart.models.model import ModelInfo
from tellapart.questions import Ask
from tellapart.score.engine import Settings, run_model

words = tuple(f"thing{k}" for k in range(73))
picture = Path(sys.argv[1])
images = {f"i{k}": Image(f"i{k}", picture.name) for k in range(50)}
items = tuple(
    Item(f"t:{k}", (f"i{k % 50}",), (f"A thing0 of number {k}.",), frozenset(), "k", Origin("t"),
         slot=Slot(0, 2, 8, "thing1", "thing0", candidates=words), content=str(k))
    for k in range(4000)
)

class Wide:
    facts = ModelInfo("wide", dtype="float32")
    seen = 0
    def embed_images(self, pictures):
        return np.ones((len(pictures), 768), np.float32)
    def embed_texts(self, texts):
        self.seen += len(texts)
        return np.full((len(texts), 768), 0.5, np.float32)

def peak():  # ru_maxrss would count what the process that started this one had in memory
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(x for x in lines if x.startswith("VmHWM")).split()[1])

model = Wide()
before = peak()
run = run_model(model, Benchmark(Card("big"), picture.parent, items, images),
                Settings(frozenset({Ask.MEND}), batch_size=512))
print(run.scores.height, model.seen, (peak() - before) // 1024)
"""


def test_memory_is_bounded_though_the_embeddings_of_all_texts_would_not_fit(world, tmp_path):
    """292,000 texts of T3 with 768 numbers each would be 0.9 GB."""
    path = world.picture(world.images["id"][0]).path
    done = subprocess.run(
        [sys.executable, "-c", BOUND, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    cells_made, texts, megabytes = map(int, done.stdout.split())
    assert cells_made == texts == 292_000
    assert megabytes < 450


def test_nothing_is_left_beside_the_runs(benchmarks, tmp_path):
    ta.evaluate([Dual(), Picks()], benchmarks["bison"], tmp_path / "runs")
    assert [p.name for p in (tmp_path / "runs").iterdir()] == ["bison"]
    assert sorted(p.name for p in Path(tmp_path / "runs" / "bison").iterdir()) == ["dual", "picks"]
