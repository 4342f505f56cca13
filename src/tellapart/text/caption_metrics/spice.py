"""SPICE (Anderson et al. 2016) through its own Java program, and `spice-py`, which needs no Java.

pycocoevalcap has the program but not the Stanford CoreNLP models that it parses with; those are to
be fetched once (see `Spice.lacking`). Captions go in as tokens, as the COCO scripts have it.

`spice-py` is an F-score over scene graphs in Python; after SPICE, but not SPICE. As there (section
3) a caption becomes a set of tuples, the references the union of theirs, and the score is the
F-score of the tuples that match. The parser (spaCy), the rules (`scene_graphs.py`) and so the
numbers are others: never put them beside published SPICE.
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
# From Java 16 on the program may look into Java's own classes only if that is allowed.
OPENED = ("lang", "math", "net", "text", "util", "util.concurrent")
OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED),
)
SOURCE = "https://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip"
Judged = tuple[str, list[str]]
"""A caption and its references, tokenised."""
MOST_FAILURES = 40
"""Of the program on one system's captions, in search of those over which it fails."""


@dataclass(frozen=True, slots=True)
class Spice(BuiltInMetric):
    """SPICE: F-scores over the tuples of scene graphs; `memory` is what Java may take."""

    memory: str = "4G"

    name = "SPICE"
    about = "objects, attributes and relations shared with the references (needs Java, CoreNLP)"
    cites = "Anderson et al. 2016, SPICE"
    at_once = 1_000_000

    def check(self) -> None:
        """Raise where Java, the program, or the models that it parses with are missing."""
        folder = program(self.name, "spice", "spice-1.0.jar").parent / "lib"
        java(self.name)
        missing = [model for model in MODELS if not (folder / model).is_file()]
        if missing:
            raise TellapartError(
                f"SPICE parses with Stanford CoreNLP 3.6.0, of which {len(missing)} of "
                f"{len(MODELS)} files are missing: {', '.join(missing)}",
                where=str(folder),
                todo=f"take both files out of {SOURCE} (about 400 MB) and put them into that "
                "folder; or do without, with spice-py, which is another score of the same kind",
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
        """Scores; where the program fails, of each half: so one caption spoils no other.

        It may fail `MOST_FAILURES` times; `problems` has what it said.
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
                todo="see whether the memory suffices (SPICE?memory=8G asks for more) and "
                "whether both CoreNLP files are whole",
            )
        scores = {row["image_id"]: row["scores"]["All"]["f"] for row in read_json(answered)}
        return np.array([float(scores[k]) for k in range(len(rows))])


Senses = dict[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class SpicePy(BuiltInMetric):
    """F-score of objects, attributes and relations; with or without WordNet's synonyms.

    The synonyms are those inside METEOR's program, as in SPICE; Java is not needed to read them.
    """

    synonyms: bool = True

    cites = "after Anderson et al. 2016, SPICE; not comparable with it"

    @property
    def name(self) -> str:
        """Says where synonyms were left out."""
        return "spice-py" if self.synonyms else "spice-py?synonyms=false"

    @property
    def about(self) -> str:
        """One line."""
        matched = "lemmas or WordNet synonyms" if self.synonyms else "lemmas"
        return f"scene-graph F-score on spaCy parses, {matched} matched; not SPICE"

    def check(self) -> None:
        """Raise where a spaCy pipeline or the file with the synonyms is missing."""
        from tellapart.text.spacy_pipeline import find_pipeline

        find_pipeline()
        try:
            if self.synonyms:
                _synonyms_file()
        except TellapartError as error:
            error.todo += "; or do without synonyms: spice-py?synonyms=false"
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
    """Of the tuples on either side that have a match on the other.

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
    """A word that WordNet does not know has one sense, its own."""
    return senses.get(word) or frozenset((word,))


def _synonyms_file() -> Path:
    return program("WordNet, for the synonyms of spice-py,", "meteor", "meteor-1.5.jar")


@lru_cache(maxsize=1)
def wordnet() -> Senses:
    """The senses of each word in WordNet, as METEOR's program has them: a word, a line of ids."""
    with zipfile.ZipFile(_synonyms_file()) as packed:
        lines = packed.read("synonym/english.synsets").decode().splitlines()
    pairs = zip(lines[::2], lines[1::2], strict=True)
    return {word: frozenset(ids.split()) for word, ids in pairs}


SPICE, SPICE_PY = Spice(), SpicePy()
