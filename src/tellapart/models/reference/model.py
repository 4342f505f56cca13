"""`reference`: a caption metric as a model, with people's captions in place of the picture.

Hu et al. 2019, Binary Image Selection (BISON), section 5.1: a caption's score for an image is a
captioning score against the image's reference captions, the caption itself left out of them, and
four random ones where five are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tellapart.errors import BadImage, BadInput
from tellapart.models.model import Facts, Floats, Shown
from tellapart.models.names import canonical
from tellapart.models.reference.corpus import Draw, references_of
from tellapart.pictures import Picture
from tellapart.text.caption_metrics.metric import Material, metric_of

Pair = tuple[str, str]
"""An image's id and a text."""


class Reference:
    """A caption metric against an image's other captions: reference:METRIC@CORPUS.

    Never opens a picture: it tells how far words alone go. `keep` is how many random references
    are used where more are left (0 for all), `elsewhere` how many of an image that the caption is
    not a caption of; `smoothing` is BLEU's. CIDEr's document frequencies are those of the corpus.
    """

    cacheable = False  # else pictures would be told apart by their bytes, and had to be there

    def __init__(
        self,
        metric_at_corpus: str,
        keep: int = 4,
        elsewhere: int = 0,
        smoothing: str = "",
        seed: int = 0,
    ) -> None:
        name, _, corpus = metric_at_corpus.partition("@")
        if not name or not corpus:
            raise BadInput(
                f"reference:{metric_at_corpus} does not name a metric and a corpus",
                allowed="reference:METRIC@CORPUS, such as reference:CIDEr-D@captions_val2014.json",
            )
        self.metric = metric_of(f"{name}?smoothing={smoothing}" if smoothing else name)
        problem = self.metric.lacking()
        if problem is not None:
            raise problem
        draw = Draw(keep, elsewhere, seed)
        draw.check()
        self._references = references_of(corpus)
        self._left = partial(self._references.left, draw=draw)
        options = {"keep": keep, "elsewhere": elsewhere, "smoothing": smoothing, "seed": seed}
        self.facts = Facts(
            canonical("reference", options, metric_at_corpus),
            options,
            weights=self._references.fingerprint,
        )
        self._known: dict[Pair, float] = {}
        self._coming: list[Pair] = []
        self._places: dict[Pair, int] = {}

    def prepare(self, shown: Sequence[Shown]) -> None:
        """Note which pairs will be asked for: many are scored at once, as metrics like it."""
        images, texts = _Numbers(), _Numbers()
        pairs = {
            (images[image], texts[text]): (image, text)
            for one in shown
            for image in one.images
            for text in one.captions
        }
        self._known = {}
        self._coming = [pairs[numbers] for numbers in sorted(pairs)]
        self._places = {pair: place for place, pair in enumerate(self._coming)}

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """One score a pair."""
        pairs = [(picture.id, text) for picture, text in zip(pictures, texts, strict=True)]
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if missing:
            wanted = {pair: self._left(*pair) for pair in missing}  # says what has no references
            self._score(wanted | self._ahead(missing[0]))
        return np.array([self._known[pair] for pair in pairs])

    def _ahead(self, pair: Pair) -> dict[Pair, list[str]]:
        """The pairs that will be asked for after one, with what is left of their references."""
        found: dict[Pair, list[str]] = {}
        begin = self._places.get(pair, len(self._coming))
        for other in self._coming[begin : begin + self.metric.at_once]:
            if other not in self._known:
                try:
                    found[other] = self._left(*other)
                except BadImage:
                    continue  # said when it is asked for
        return found

    def _score(self, wanted: dict[Pair, list[str]]) -> None:
        held = self._references
        frequencies = held.frequencies if self.metric.name.startswith("CIDEr") else None
        material = Material(
            [text for _, text in wanted], list(wanted.values()), frequencies, held.texts
        )
        # Rounded: captions of the same n-grams tie, whatever the order of summation.
        each = [float(f"{value:.12g}") for value in self.metric.marks(material).each.tolist()]
        self._known |= zip(wanted, each, strict=True)


class _Numbers(dict[str, int]):
    """Names by the order of their first use, as the engine numbers them."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self)
        return self[name]
