"""`reference`: a caption metric as a model, with people's captions in place of the picture.

Hu et al. 2019, Binary Image Selection (BISON), section 5.1: a caption's score for an image is a
captioning score against the image's reference captions, without the caption itself, and with four
random ones if five are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import chain, islice
from pathlib import Path

import numpy as np

from tellapart import seeds
from tellapart.corpus.reader import read_corpus
from tellapart.errors import BadImage, BadInput
from tellapart.models.model import AnyFloats, ModelInfo, NamedModel, ShownItem
from tellapart.models.names import canonical
from tellapart.pictures import Picture
from tellapart.text.caption_metrics.metric import Material, Texts, metric_of
from tellapart.text.caption_metrics.references import DocumentFrequencies

Pair = tuple[str, str]
"""An image's id and a text."""


class Reference(NamedModel):
    """A caption metric against an image's other captions: reference:METRIC@CORPUS.

    It never opens a picture, so it shows how far words alone go. `keep` is the number of random
    references to use if more are left (0 for all), `elsewhere` the number for images that the
    caption does not belong to; `smoothing` is BLEU's. CIDEr's document frequencies are those of the
    corpus.
    """

    cacheable = False  # the cache identifies pictures by their bytes, which may be missing

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
        self._references = references_of(corpus)
        self._left = partial(self._references.left, draw=draw)
        options = {"keep": keep, "elsewhere": elsewhere, "smoothing": smoothing, "seed": seed}
        self.facts = ModelInfo(
            canonical("reference", options, metric_at_corpus),
            options,
            weights=self._references.fingerprint,
        )
        self._known: dict[Pair, float] = {}
        self._coming: list[Pair] = []
        self._places: dict[Pair, int] = {}

    def prepare(self, shown: Sequence[ShownItem]) -> None:
        """Record which pairs will be asked for: metrics are faster with many at a time."""
        pairs = dict.fromkeys(
            (image, text) for one in shown for image in one.images for text in one.captions
        )
        # In the engine's order: by first use of the image, then of the text.
        images = {image: k for k, image in enumerate(dict.fromkeys(image for image, _ in pairs))}
        texts = {text: k for k, text in enumerate(dict.fromkeys(text for _, text in pairs))}
        self._known = {}
        self._coming = sorted(pairs, key=lambda pair: (images[pair[0]], texts[pair[1]]))
        self._places = {pair: place for place, pair in enumerate(self._coming)}

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """One score per pair."""
        pairs = [(picture.id, text) for picture, text in zip(pictures, texts, strict=True)]
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if missing:
            wanted = {
                pair: self._left(*pair) for pair in missing
            }  # raises if one has no references
            self._score(wanted | self._ahead(missing[0]))
        return np.array([self._known[pair] for pair in pairs])

    def _ahead(self, pair: Pair) -> dict[Pair, list[str]]:
        """The pairs that will be asked for after this one, with their remaining references."""
        ahead: dict[Pair, list[str]] = {}
        begin = self._places.get(pair, len(self._coming))
        for other in self._coming[begin : begin + self.metric.at_once]:
            if other not in self._known:
                try:
                    ahead[other] = self._left(*other)
                except BadImage:
                    continue  # reported when this pair is asked for
        return ahead

    def _score(self, wanted: dict[Pair, list[str]]) -> None:
        held = self._references
        frequencies = held.frequencies if self.metric.name.startswith("CIDEr") else None
        material = Material(
            [text for _, text in wanted], list(wanted.values()), frequencies, held.texts
        )
        # Rounded so that captions with the same n-grams tie, whatever the order of summation.
        each = [float(f"{value:.12g}") for value in self.metric.marks(material).each.tolist()]
        self._known |= zip(wanted, each, strict=True)


@dataclass(frozen=True, slots=True)
class Draw:
    """The most references to use; 0 means all.

    `elsewhere` is for images that the caption does not belong to; 0 means the same as `keep`.
    """

    keep: int = 4
    elsewhere: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.keep, self.elsewhere) < 0:
            raise BadInput(
                f"{min(self.keep, self.elsewhere)} references cannot be used",
                allowed="1 or more, or 0 for all",
            )

    def some(self, rest: list[str], image: str, caption: str, *, own: bool) -> list[str]:
        """A selection of references that depends only on the seed, the image and the caption."""
        most = self.keep if own or not self.elsewhere else self.elsewhere
        if not 0 < most < len(rest):
            return rest
        rng = seeds.rng(self.seed, "reference", image, caption)
        return [rest[k] for k in sorted(rng.permutation(len(rest))[:most].tolist())]


@dataclass(frozen=True, eq=False)
class References:
    """The captions of each image of a corpus, without surrounding white space."""

    name: str
    by_image: dict[str, list[str]]
    texts: Texts = field(default_factory=Texts)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all of them."""
        return seeds.digest("references", self.by_image)

    @cached_property
    def frequencies(self) -> DocumentFrequencies:
        """The number of images whose captions have each n-gram."""
        every = iter(self.texts.tokens(list(chain.from_iterable(self.by_image.values()))))
        return DocumentFrequencies.of([list(islice(every, len(o))) for o in self.by_image.values()])

    def left(self, image: str, caption: str, draw: Draw) -> list[str]:
        """The references to use for an image: its captions without the one given, up to a limit.

        Of several equal captions only one is removed: the others were written by other people.
        """
        own = self.by_image.get(image)
        if own is None:
            raise BadImage(
                f"image {image} has no captions in {self.name}",
                todo="name a corpus with all images of the benchmark, or leave such images out "
                "with --skip-bad",
            )
        caption, rest = plain(caption), list(own)
        if caption in rest:
            rest.remove(caption)
        if not rest:
            raise BadImage(
                f"image {image} has no caption in {self.name} other than the one asked for"
            )
        return draw.some(rest, image, caption, own=len(rest) < len(own))


def plain(text: str) -> str:
    """A text with single spaces: copies of a caption often differ in white space only."""
    return " ".join(text.split())


def references_of(corpus: str) -> References:
    """The captions of the corpus at a path; read again only if the file has changed."""
    path = Path(corpus).expanduser()
    stamp = path.stat().st_mtime_ns if path.is_file() else 0
    return _read(path, stamp)


@lru_cache(maxsize=2)
def _read(path: Path, stamp: int) -> References:
    corpus = read_corpus(path)
    by_image = {k: [plain(text) for text in own] for k, own in corpus.texts_by_image.items()}
    return References(corpus.name, by_image)
