"""SPICE (Anderson et al. 2016) through its own Java program, and `spice-py`, which needs no Java.

pycocoevalcap has the program but not the Stanford CoreNLP models that it parses with; users must
fetch these once (see `Spice.lacking`). The program gets captions as tokens, as in the COCO scripts.

`spice-py` is an F-score over scene graphs in Python, modelled on SPICE but not SPICE. As in SPICE
(section 3), a caption becomes a set of tuples, the references the union of theirs, and the score is
the F-score of the matching tuples. The parser (spaCy) and the rules (`scene_graphs.py`) differ, and
so do the numbers: never compare them with published SPICE.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import zipfile
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path

import numpy as np

from tellapart.errors import TellapartError
from tellapart.files import read_json
from tellapart.text.caption_metrics.java import java, program
from tellapart.text.caption_metrics.metric import BuiltInMetric, Marks, Material
from tellapart.text.caption_metrics.scene_graphs import SceneTuple
from tellapart.types import Floats

MODELS = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")
# From Java 16 on, the program may access Java's own classes only if they are opened.
OPENED = ("lang", "math", "net", "text", "util", "util.concurrent")
OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED),
)
SOURCE = "https://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip"
Judged = tuple[str, list[str]]
"""A caption and its references, tokenised."""
MOST_FAILURES = 40
"""How many failed runs are allowed in the search for the captions on which the program fails."""


@dataclass(frozen=True, slots=True)
class Spice(BuiltInMetric):
    """SPICE: F-scores over the tuples of scene graphs; `memory` is Java's memory limit."""

    memory: str = "4G"

    name = "SPICE"
    about = "objects, attributes and relations shared with the references (needs Java, CoreNLP)"
    cites = "Anderson et al. 2016, SPICE"
    at_once = 1_000_000

    def check(self) -> None:
        """Raise if Java, the program, or the models that it parses with are missing."""
        folder = program(self.name, "spice", "spice-1.0.jar").parent / "lib"
        java(self.name)
        missing = [model for model in MODELS if not (folder / model).is_file()]
        if missing:
            raise TellapartError(
                f"SPICE needs Stanford CoreNLP 3.6.0, and {len(missing)} of its "
                f"{len(MODELS)} files are missing: {', '.join(missing)}",
                where=str(folder),
                todo=f"copy both files from {SOURCE} (about 400 MB) into that folder; or use "
                "spice-py instead, a different score of the same kind",
            )

    def marks(self, material: Material) -> Marks:
        """The F-score of each caption; overall their mean."""
        self.check()
        problems: list[TellapartError] = []
        scores = self._scores(list(zip(*material.tokenised, strict=True)), problems)
        if problems and all(score is None for score in scores):
            raise problems[0]
        failed = tuple(k for k, score in enumerate(scores) if score is None)
        return Marks.averaged(np.array([score or 0.0 for score in scores]), failed)

    def _scores(self, rows: list[Judged], problems: list[TellapartError]) -> list[float | None]:
        """Scores; if the program fails, each half is tried, so one caption spoils no other.

        It may fail `MOST_FAILURES` times; `problems` collects the errors.
        """
        try:
            with tempfile.TemporaryDirectory(prefix="tellapart-spice-") as folder:
                return list(self._run(rows, Path(folder)))
        except TellapartError as problem:
            problems.append(problem)
            if len(problems) > MOST_FAILURES:
                raise problems[0] from None
            if len(rows) == 1:
                return [None]
            half = len(rows) // 2
            return [*self._scores(rows[:half], problems), *self._scores(rows[half:], problems)]

    def _run(self, rows: list[Judged], folder: Path) -> Floats:
        asked, answered = folder / "asked.json", folder / "answered.json"
        asked.write_text(
            json.dumps([{"image_id": k, "test": c, "refs": own} for k, (c, own) in enumerate(rows)])
        )
        jar = program(self.name, "spice", "spice-1.0.jar")
        command = [java(self.name), f"-Xmx{self.memory}", *OPTIONS, "-jar", jar.name, str(asked)]
        command += ["-cache", str(folder / "cache"), "-out", str(answered), "-subset", "-silent"]
        (folder / "cache").mkdir()
        done = subprocess.run(command, cwd=jar.parent, capture_output=True, text=True, check=False)
        if done.returncode or not answered.is_file():
            message = " ".join((done.stderr or done.stdout).split())[-400:] or "no message"
            raise TellapartError(
                f"SPICE's Java program ended with code {done.returncode}: {message}",
                todo="check that there is enough memory (SPICE?memory=8G allows more) and that "
                "both CoreNLP files are complete",
            )
        scores = {row["image_id"]: row["scores"]["All"]["f"] for row in read_json(answered)}
        return np.array([float(scores[k]) for k in range(len(rows))])


Senses = dict[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class SpicePy(BuiltInMetric):
    """F-score of objects, attributes and relations; with or without WordNet's synonyms.

    The synonyms come from METEOR's program, as in SPICE; reading them does not need Java.
    """

    synonyms: bool = True

    cites = "after Anderson et al. 2016, SPICE; not comparable with it"

    @property
    def name(self) -> str:
        """The name, which says if synonyms are left out."""
        return "spice-py" if self.synonyms else "spice-py?synonyms=false"

    @property
    def about(self) -> str:
        """One line."""
        matched = "lemmas or WordNet synonyms" if self.synonyms else "lemmas"
        return f"scene-graph F-score on spaCy parses, {matched} matched; not SPICE"

    def check(self) -> None:
        """Raise if a spaCy pipeline or the file with the synonyms is missing."""
        from tellapart.text.spacy_pipeline import find_pipeline

        find_pipeline()
        try:
            if self.synonyms:
                _synonyms_file()
        except TellapartError as error:
            error.todo += "; or leave synonyms out: spice-py?synonyms=false"
            raise

    def marks(self, material: Material) -> Marks:
        """The F-score of each caption; overall their mean."""
        self.check()
        candidates = material.texts.graphs(material.candidates)
        flat = iter(material.texts.graphs(list(chain.from_iterable(material.references))))
        senses = wordnet() if self.synonyms else {}
        each = [
            f_score(graph, frozenset().union(*islice(flat, len(own))), senses)
            for graph, own in zip(candidates, material.references, strict=True)
        ]
        return Marks.averaged(np.array(each))


def f_score(
    candidate: frozenset[SceneTuple], reference: frozenset[SceneTuple], senses: Senses
) -> float:
    """The F-score of the tuples on each side that have a match on the other.

    >>> f_score(frozenset({("dog",), ("dog", "red")}), frozenset({("dog",), ("cat",)}), {})
    0.5
    """
    if not candidate or not reference:
        return 0.0
    precision = _matched(candidate, reference, senses) / len(candidate)
    recall = _matched(reference, candidate, senses) / len(reference)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _matched(these: frozenset[SceneTuple], those: frozenset[SceneTuple], senses: Senses) -> int:
    matched, rest = len(these & those), these - those
    if not senses or not rest:
        return matched
    by_sense: dict[str, list[SceneTuple]] = defaultdict(list)
    for other in those:
        for sense in _senses(other[0], senses):
            by_sense[sense].append(other)
    for one in rest:
        near = (other for sense in _senses(one[0], senses) for other in by_sense.get(sense, ()))
        matched += any(
            len(one) == len(other)
            and all(
                a == b or not _senses(a, senses).isdisjoint(_senses(b, senses))
                for a, b in zip(one, other, strict=True)
            )
            for other in near
        )
    return matched


def _senses(word: str, senses: Senses) -> frozenset[str]:
    """A word's senses; a word that is not in WordNet has one sense of its own."""
    return senses.get(word) or frozenset((word,))


def _synonyms_file() -> Path:
    return program("WordNet, for the synonyms of spice-py,", "meteor", "meteor-1.5.jar")


@lru_cache(maxsize=1)
def wordnet() -> Senses:
    """The senses of each word in WordNet, from METEOR's file: a word, then a line of ids."""
    with zipfile.ZipFile(_synonyms_file()) as packed:
        lines = packed.read("synonym/english.synsets").decode().splitlines()
    pairs = zip(lines[::2], lines[1::2], strict=True)
    return {word: frozenset(ids.split()) for word, ids in pairs}


SPICE, SPICE_PY = Spice(), SpicePy()
