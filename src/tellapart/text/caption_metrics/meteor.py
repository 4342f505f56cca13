"""METEOR 1.5 (Denkowski & Lavie 2014), aligned by its own Java program.

The program matches words (exact, stem, synonym, paraphrase) and returns 23 counts for each caption
against its best reference; scores are functions of these counts, computed here with the same
results as the program's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tellapart.errors import BadInput, TellapartError
from tellapart.text.caption_metrics.java import Command, LineProgram, java, program
from tellapart.text.caption_metrics.metric import BuiltInMetric, Marks, Material
from tellapart.types import Floats

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
WEIGHTS = np.array([1.0, 0.6, 0.8, 0.6])
"""Weights of exact, stem, synonym and paraphrase matches: the program's English parameters."""
COUNTS, CHUNKS = 23, 20
"""The number of counts per caption, and the index of the count of chunks."""
# UTF-8 whatever the locale; one collector thread is faster here and needs half the memory.
JAVA_OPTIONS = ("-Xmx2G", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8")


def _command() -> Command:
    jar = program("METEOR", "meteor", "meteor-1.5.jar")
    program("METEOR", "meteor", "data", "paraphrase-en.gz")
    options = ("-", "-", "-stdio", "-l", "en", "-norm")
    return [java("METEOR"), *JAVA_OPTIONS, "-jar", jar.name, *options], jar.parent


@lru_cache(maxsize=64)
def meteor_program(number: int) -> LineProgram:
    """The first, second, ... process; it takes 5 to 10 seconds to start."""
    return LineProgram("METEOR", _command)


def question(candidate: str, references: Sequence[str]) -> str:
    """The line that asks for a caption's counts against its best reference; all tokenised."""
    parts = [" ".join(text.replace("|||", " ").split()) for text in (*references, candidate)]
    return " ||| ".join(["SCORE", *parts])


@dataclass(frozen=True, slots=True)
class Meteor(BuiltInMetric):
    """METEOR in one or more Java processes; each holds 1 GB and takes seconds to start."""

    processes: int = 1

    name = "METEOR"
    about = "words aligned exactly, by stem, synonym or paraphrase (needs Java)"
    cites = "Denkowski & Lavie 2014, Meteor Universal; version 1.5"
    at_once = 1_000

    def check(self) -> None:
        """Raise if Java or the program is missing."""
        program(self.name, "meteor", "meteor-1.5.jar")
        java(self.name)

    def marks(self, material: Material) -> Marks:
        """Scores by caption; overall from the sums of all counts, as in the program."""
        lines = [question(c, own) for c, own in zip(*material.tokenised, strict=True)]
        answers = self._answers(lines)
        counts = np.array(
            [
                _numbers(one) if one else _zero_counts(line)
                for one, line in zip(answers, lines, strict=True)
            ]
        ).reshape(-1, COUNTS)
        counts = _whole_matches_unbroken(counts)
        failed = tuple(k for k, one in enumerate(answers) if not one)
        return Marks(meteor_score(counts), counts, meteor_score, failed)

    def _answers(self, lines: list[str]) -> list[str]:
        """Each process gets every k-th line; "" for no answer, as with thousands of words."""
        n = min(self.processes, max(1, len(lines)))
        if n < 1:
            raise BadInput(f"METEOR cannot run in {n} processes", allowed="1 or more")
        answers = [""] * len(lines)

        def ask(k: int) -> None:
            answers[k::n] = meteor_program(k).answers(lines[k::n])

        with ThreadPoolExecutor(n) as pool:
            list(pool.map(ask, range(n)))
        return answers


def _zero_counts(line: str) -> list[float]:
    """The counts of a caption that matches nothing in its first reference: a score of 0."""
    _, reference, *_, candidate = line.split(" ||| ")
    return [len(candidate.split()), len(reference.split()), *[0.0] * (COUNTS - 2)]


def _numbers(answer: str) -> list[float]:
    try:
        numbers = [float(number) for number in answer.split()]
    except ValueError:
        numbers = []
    if len(numbers) != COUNTS:
        raise TellapartError(f"METEOR's program returned no counts but: {answer[:200]}")
    return numbers


def _whole_matches_unbroken(counts: Floats) -> Floats:
    """Set the chunks of a caption that matches its reference word for word from 1 to 0."""
    (length, reference_length), matches = counts[:, :2].T, counts[:, 4:CHUNKS]
    whole = (matches[:, 0::2].sum(axis=1) == length) & (
        matches[:, 1::2].sum(axis=1) == reference_length
    )
    unbroken = counts.copy()
    unbroken[whole & (counts[:, CHUNKS] == 1), CHUNKS] = 0.0
    return unbroken


def meteor_score(counts: Floats) -> Floats:
    """Scores from counts (or sums of counts) of shape (..., 23).

    The counts are: the lengths of caption and reference; their numbers of function words; for each
    of the four kinds of match, the content words matched in caption and reference and likewise the
    function words; then chunks, and the words matched in caption and reference.
    """
    lengths, functions = counts[..., 0:2], counts[..., 2:4]
    matches = counts[..., 4:CHUNKS].reshape(*counts.shape[:-1], 4, 2, 2)  # way, word class, side
    classes = np.array([DELTA, 1 - DELTA])
    weighed = np.einsum("...wcs,w,c->...s", matches, WEIGHTS, classes)
    sizes = DELTA * (lengths - functions) + (1 - DELTA) * functions
    chunks, words = counts[..., CHUNKS], counts[..., CHUNKS + 1 :].mean(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = weighed / sizes
        mean = 1 / ((1 - ALPHA) / shares[..., 0] + ALPHA / shares[..., 1])
        score = mean * (1 - GAMMA * (chunks / words) ** BETA)
    return np.where(np.isfinite(score), score, 0.0)


METEOR = Meteor()
