"""Verbs whose work has stages: the same bytes by workers, by shares in any order, and by one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import benchmark_of
from tests.mine.small_captions import small_corpus
from tests.work.test_shards import ROOT, files_in

import tellapart as ta
from tellapart.benchmark.benchmark import load_benchmark, write_benchmark
from tellapart.corpus.corpus import save_corpus
from tellapart.errors import BadInput, PartDone
from tellapart.items import Grid, Item, Origin

LETTERS = "python:tests.work.text_scorer:Letters"
KILLED = Path(__file__).parent / "killed_share.py"
SMALL = {
    "tellapart.text.parse.PART": 64,
    "tellapart.mine.negatives.rules.shards.IMAGES": 16,
    "tellapart.makers.candidates.BATCHES": 1,
    "tellapart.score.shards.BATCHES": 2,
    "tellapart.image_features.extract.BLOCK": 4,
    "tellapart.mine.mcic.decoys.BLOCK": 16,
    "tellapart.mine.caption_rows.SHARD": 16,
}
"""Sizes of shards in these tests."""


@dataclass(frozen=True)
class Case:
    """A command: what it writes, as a function and as words, and how many rounds shares take."""

    run: Callable[[Path, Any], Any]
    options: Any
    words: list[object]
    rounds: int = 1
    beside: dict[str, str] = field(default_factory=dict)

    def command(self, out: Path) -> list[str]:
        return [str(out if word is Path else word) for word in self.words]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with sentences that need a parser."""
    place = tmp_path_factory.mktemp("written")
    save_corpus(small_corpus(place / "source"), place / "corpus", overwrite=False)
    return place / "corpus"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world with its negatives."""
    place = tmp_path_factory.mktemp("drawn")
    corpus = ta.world(place / "world", scenes=24, seed=3)
    ta.build("bivlc", corpus, place / "bivlc")
    return place


def negatives(written: Path, drawn: Path) -> Case:
    pytest.importorskip("spacy", reason="spacy is not installed")
    options = ta.NegativesOptions(unfiltered=True, look=False)
    words = ["build", "negatives", written, Path, "--unfiltered", "--no-look"]
    return Case(lambda out, o: ta.build("negatives", written, out, o), options, words, 3)


def foil(written: Path, drawn: Path) -> Case:
    pytest.importorskip("spacy", reason="spacy is not installed")
    options = ta.FoilOptions(unfiltered=True, look=False, hardest="random", split="none")
    words = ["build", "foil", written, Path, "--unfiltered", "--no-look", "--hardest", "random",
             "--split", "none"]  # fmt: skip
    return Case(lambda out, o: ta.build("foil", written, out, o), options, words)


def pictures(written: Path, drawn: Path) -> Case:
    options = ta.BivlcOptions(maker="world:", candidates=2)
    words = ["build", "bivlc", drawn / "world", Path, "--maker", "world:", "--candidates", 2]
    return Case(lambda out, o: ta.build("bivlc", drawn / "world", out, o), options, words)


def scores(written: Path, drawn: Path) -> Case:
    source = drawn / "negatives"
    if not source.exists():
        items = [
            Item.built("n", Grid.caption_choice(item.images[0], item.captions, (0, 1)), kind="k",
                       origin=Origin("test", "", item.id, 0))
            for item in load_benchmark(drawn / "bivlc").items
        ]  # fmt: skip
        source.mkdir()
        write_benchmark(benchmark_of(items), source)
    options = ta.RefineOptions(
        plausibility=LETTERS, grammar="blind", batch_size=2, use_cache=False, folds=1, keep=1.0
    )
    words = ["refine", source, Path, "--plausibility", LETTERS, "--grammar", "blind",
             "--batch-size", 2, "--no-cache", "--folds", 1, "--keep", 1.0]  # fmt: skip
    return Case(lambda out, o: ta.refine(source, out, o), options, words)


def embeddings(written: Path, drawn: Path) -> Case:
    options = ta.RetrievalOptions(batch_size=2, use_cache=False, work=drawn / "work")

    def run(out: Path, o: Any) -> None:
        out.mkdir(exist_ok=True)
        ta.retrieve("storybook", drawn / "world", replace(o, per_query=out / "queries.csv"))

    words = ["retrieve", "storybook", "--on", drawn / "world", "--batch-size", 2, "--no-cache",
             "--work", drawn / "work"]  # fmt: skip
    return Case(run, options, words, 2)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for place, value in SMALL.items():
        monkeypatch.setattr(place, value)
    # a parser of one's own for 64 sentences: processes would spend their time on loading it
    monkeypatch.setattr("tellapart.text.parse.os.cpu_count", lambda: 1)
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def features(written: Path, drawn: Path) -> Case:
    options = ta.FeatureOptions(backbone="pixels")
    words = ["features", drawn / "world", Path, "--backbone", "pixels"]
    return Case(lambda out, o: ta.features(drawn / "world", out, o), options, words)


def decoys(written: Path, drawn: Path) -> Case:
    options = ta.McicOptions()
    words = ["build", "mcic", drawn / "world", Path]
    return Case(lambda out, o: ta.build("mcic", drawn / "world", out, o), options, words)


def neighbours(written: Path, drawn: Path) -> Case:
    options = ta.NeighbourOptions(k=3)
    words = ["neighbours", drawn / "world", Path, "--neighbours", 3]
    return Case(lambda out, o: ta.neighbours(drawn / "world", out, o), options, words, 2)


STAGED = [negatives, foil, pictures, scores, embeddings]


@pytest.fixture
def case(request, written, drawn, small, monkeypatch) -> Case:
    monkeypatch.setenv("TELLAPART_CACHE", str(written.parent / "cache"))
    found: Case = request.param(written, drawn)
    return found


@pytest.fixture
def alone(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """What one process makes; whoever works after it finds an empty cache."""
    (tmp_path / "alone").mkdir()
    case.run(tmp_path / "alone" / "out", case.options)
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))
    made = files_in(tmp_path / "alone")
    assert made
    return made


def in_shares(case: Case, out: Path) -> None:
    """All shares in each round, then put together."""
    for _ in range(case.rounds):
        for share in ("2/3", "0/3", "1/3"):
            with pytest.raises(PartDone) as part:
                case.run(out, replace(case.options, shard=share))
    assert part.value.done == part.value.total >= 3
    case.run(out, replace(case.options, gather=True))


@pytest.mark.parametrize("case", STAGED, indirect=True)
def test_shares_in_any_order_give_the_bytes_of_one_process(case, alone, tmp_path):
    (tmp_path / "shares").mkdir()
    in_shares(case, tmp_path / "shares" / "out")
    assert files_in(tmp_path / "shares") == alone, "nothing is left of the work either"


@pytest.mark.campaign
@pytest.mark.parametrize("case", STAGED, indirect=True)
def test_workers_give_the_bytes_of_one_process(case, alone, tmp_path):
    (tmp_path / "workers").mkdir()
    case.run(tmp_path / "workers" / "out", replace(case.options, workers="local:2"))
    assert files_in(tmp_path / "workers") == alone


@pytest.mark.campaign
@pytest.mark.parametrize("case", [*STAGED, features, decoys, neighbours], indirect=True)
def test_a_share_that_was_killed_and_started_again_changes_no_byte(case, alone, tmp_path):
    (tmp_path / "shares").mkdir()
    out = tmp_path / "shares" / "out"
    words = [sys.executable, KILLED, json.dumps(SMALL), *case.command(out), "--shard", "1/3"]
    killed = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    in_shares(case, out)
    assert files_in(tmp_path / "shares") == alone


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda out: ta.build("bivlc", "x", out, ta.BivlcOptions(shard="0/2")), "edited scenes"),
        (lambda out: ta.build("negatives", "x", out, ta.NegativesOptions(by="llm:x", shard="0/2")),
         "llm:x"),
        (lambda out: ta.refine("x", out, ta.RefineOptions(workers="local:2")), "to refine"),
    ],
)  # fmt: skip
def test_what_has_no_shards_says_so(run, said, tmp_path):
    with pytest.raises(BadInput, match=f"{said}.* is not cut into shards"):
        run(tmp_path / "out")
