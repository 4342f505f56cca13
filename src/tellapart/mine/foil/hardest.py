"""The hardest foil of each caption (Shekhar et al. 2017, section 3, step 4).

The hardest is the one that a model finds most probable: a captioner that sees the picture, as in
the paper, or if there is none, a language model of the corpus's own captions. A word unknown to a
captioner never makes a foil the hardest: the paper's code skips such words, which makes the caption
look likelier than any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.benchmark.homes import home
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.mine.foil import LANGUAGE, RANDOM
from tellapart.mine.foil.foils import FoilCaption, Foils
from tellapart.mine.foil.mentions import WORD
from tellapart.models.model import PairScorer
from tellapart.models.names import load
from tellapart.score.encoder import open_encoder
from tellapart.store.cache import default_folder
from tellapart.text.english import article
from tellapart.text.ngram_model import END, START, UNKNOWN, Trigrams
from tellapart.types import AnyInts, Floats

Hardness = Callable[[AnyInts], Floats]
"""Scores some foils of one image: higher for harder ones."""
NAME = "trigram model of the corpus's captions (Witten-Bell)"
LEFT, RIGHT = 3, 2
"""How many words around a mention can change in probability, or affect one that does."""
NOTHING = -1
BLOCK = 1 << 17
DIGITS = 9
"""Scores are rounded, so that equal ones tie whatever the order of summation."""
BEHIND = 1e6
"""The penalty for each of a foil's words that the model does not know."""
MINER = "neuraltalk"
"""The folder, under the user's own, of the captioner that picks the hardest by default."""


def seeing_captioner(corpus: Corpus) -> str | None:
    """The installed captioner for picking foils, if it can see the corpus's pictures.

    FOIL's is NeuralTalk; it is searched for under TELLAPART_HOME.
    """
    folder = home() / MINER
    if not (folder / "system.json").is_file() or not next(iter(corpus)).is_there():
        return None
    return f"trained:{folder}"


@contextmanager
def hardness(foils: Foils, hardest: str) -> Iterator[tuple[Hardness, str]]:
    """The function that scores the hardness of foils, and its name for the card."""
    if hardest == RANDOM:
        yield lambda rows: np.zeros(len(rows)), "chosen at random"
    elif hardest == LANGUAGE:
        yield language_scores(foils).__getitem__, f"chosen by a {NAME}"
    else:
        model = load(hardest)
        with by_model(foils, model) as scores:
            yield scores, f"chosen by {model.facts.name}"


def by_hardness(foils: Foils, score: Hardness, per: str, seed: int) -> Iterator[AnyInts]:
    """For each caption (or image) with foils, its foils from the hardest on; ties at random.

    Images come in order; scores are computed on demand.
    """
    image = foils.image_of[foils.caption]
    chance = seeds.rng(seed, "foil", "ties").random(len(foils))
    order = np.argsort(image, kind="stable")
    for mine in _runs(order, image[order]):
        group = foils.caption[mine] if per == "caption" else image[mine]
        inside = np.lexsort((chance[mine], -score(mine).round(DIGITS), group))
        yield from _runs(mine[inside], group[inside])


def _runs(rows: AnyInts, group: AnyInts) -> list[AnyInts]:
    """Rows cut wherever their group changes."""
    return np.split(rows, np.flatnonzero(np.diff(group)) + 1) if len(rows) else []


@contextmanager
def by_model(foils: Foils, model: Any) -> Iterator[Hardness]:
    """The scores of a model that says how probable a caption is for an image.

    They are cached like all scores.
    """
    if not isinstance(model, PairScorer) or hasattr(model, "prepare"):
        raise BadInput(
            f"{model.facts.name} does not score how probable a caption is for an image",
            allowed="a model that scores pairs of picture and text by itself, such as a captioner",
            todo="see: tellapart list models",
        )
    with open_encoder(model, cache=default_folder()) as encoder:

        def scores(rows: AnyInts) -> Floats:
            picture = foils.corpus.picture(foils.source(int(rows[0]))[0])
            written = [foils.written(row) for row in rows.tolist()]
            found = encoder.score_pairs([picture] * len(written), [one.text for one in written])
            return found - BEHIND * _unknown(model, written)

        yield scores


def _unknown(model: Any, written: list[FoilCaption]) -> Floats:
    """How many words of each foil the model does not know, if it says so."""
    if not hasattr(model, "unknown_words"):
        return np.zeros(len(written))
    words = [one.text[one.start : one.end] for one in written]
    return np.array([len(unknown) for unknown in model.unknown_words(words)], np.float64)


def language_scores(foils: Foils) -> Floats:
    """For each foil, its log-probability minus that of the original.

    Foils differ from their original in a few words, so only the windows around these are scored:
    the gain over the original ranks the foils of a caption like their whole probability.
    """
    mentions, words = foils.mentions, foils.words
    model = Trigrams(words.word, words.starts)
    left = np.stack([_words_at(foils, mentions.first - k) for k in range(LEFT, 0, -1)], axis=1)
    right = np.stack([_words_at(foils, mentions.last + k) for k in range(1, RIGHT + 1)], axis=1)
    original = np.zeros(len(mentions))
    width = mentions.last - mentions.first + 1
    for wide in np.unique(width).tolist():
        rows = np.flatnonzero(width == wide)
        middle = words.word[mentions.first[rows, None] + np.arange(wide)]
        original[rows] = _scored(model, left[rows], middle, right[rows])
    scores = np.empty(len(foils))
    articles = {one: words.vocabulary.get(one, UNKNOWN) for one in ("a", "an")}
    kinds = foils.foil * 2 + mentions.plural[foils.mention]
    for kind in np.unique(kinds).tolist():
        form = foils.forms[kind // 2][kind % 2]
        ids = [words.vocabulary.get(m.group().lower(), UNKNOWN) for m in WORD.finditer(form)]
        of_kind = np.flatnonzero(kinds == kind)
        for begin in range(0, len(of_kind), BLOCK):
            rows = of_kind[begin : begin + BLOCK]
            mention = foils.mention[rows]
            before = left[mention]
            if not foils.plain:
                before[np.isin(before[:, -1], list(articles.values())), -1] = articles[
                    article(form)
                ]
            middle = np.tile(np.array(ids, np.int64), (len(rows), 1))
            scores[rows] = _scored(model, before, middle, right[mention]) - original[mention]
    return scores


def _words_at(foils: Foils, rows: AnyInts) -> AnyInts:
    """For each mention, the word at a row; START before its caption, END after it, then nothing."""
    words, caption = foils.words, foils.mentions.caption
    starts, ends = words.starts[caption], words.starts[caption + 1]
    word = words.word[np.clip(rows, 0, max(0, len(words.word) - 1))]
    word = np.where(rows < starts, START, word)
    return np.where(rows > ends, NOTHING, np.where(rows == ends, END, word)).astype(np.int64)


def _scored(model: Trigrams, left: AnyInts, middle: AnyInts, right: AnyInts) -> Floats:
    """The sum of logarithms over all windows that end at the last word of `left` or later."""
    line = np.concatenate([left, middle.astype(np.int64), right], axis=1)
    windows = np.stack([line[:, k : k + 3] for k in range(line.shape[1] - 2)], axis=1)
    asked = windows[:, :, 2]
    counts = (asked != NOTHING) & (asked != START)
    scores = np.zeros(counts.shape)
    scores[counts] = model.log_probabilities(windows[counts])
    total: Floats = scores.sum(axis=1)
    return total
