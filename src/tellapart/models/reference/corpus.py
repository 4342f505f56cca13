"""Captions by people for the model `reference`: read and tokenised once for all metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, islice
from pathlib import Path

from tellapart import seeds
from tellapart.corpus.reading import read_corpus
from tellapart.errors import BadImage, BadInput
from tellapart.text.caption_metrics.texts import Texts
from tellapart.text.overlap.document_frequencies import DocumentFrequencies


@dataclass(frozen=True, slots=True)
class Draw:
    """How many references are used at most; 0 means all.

    `elsewhere` is for images that the caption is not a caption of; 0 means as many as `keep`.
    """

    keep: int = 4
    elsewhere: int = 0
    seed: int = 0

    def check(self) -> None:
        """Raise where a number makes no sense."""
        if min(self.keep, self.elsewhere) < 0:
            raise BadInput(
                f"{min(self.keep, self.elsewhere)} references cannot be used",
                allowed="1 or more, or 0 for all",
            )

    def some(self, rest: list[str], image: str, caption: str, *, own: bool) -> list[str]:
        """Some of the references; which depends on the seed, the image and the caption alone."""
        most = self.keep if own or not self.elsewhere else self.elsewhere
        if not 0 < most < len(rest):
            return rest
        rng = seeds.rng(self.seed, "reference", image, caption)
        return [rest[k] for k in sorted(rng.permutation(len(rest))[:most].tolist())]


@dataclass(frozen=True, eq=False)
class References:
    """The captions of each image of a corpus, without the white space around them."""

    name: str
    by_image: dict[str, list[str]]
    texts: Texts = field(default_factory=Texts)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all of them."""
        return seeds.digest("references", self.by_image)

    @cached_property
    def frequencies(self) -> DocumentFrequencies:
        """In how many images' captions each n-gram occurs."""
        every = iter(self.texts.tokens(list(chain.from_iterable(self.by_image.values()))))
        return DocumentFrequencies.of([list(islice(every, len(o))) for o in self.by_image.values()])

    def left(self, image: str, caption: str, draw: Draw) -> list[str]:
        """An image's captions without the one given, and of these as many as are to be used.

        Of equal captions one is taken out: the others were written by others.
        """
        own = self.by_image.get(image)
        if own is None:
            raise BadImage(
                f"image {image} has no captions in {self.name}",
                todo="name a corpus that has all images of the benchmark, or leave such images "
                "out with --skip-bad",
            )
        caption, rest = plain(caption), list(own)
        if caption in rest:
            rest.remove(caption)
        if not rest:
            raise BadImage(f"image {image} has no caption in {self.name} beside the one asked for")
        return draw.some(rest, image, caption, own=len(rest) < len(own))


def plain(text: str) -> str:
    """A text with single spaces: copies of a caption often differ in white space only."""
    return " ".join(text.split())


def references_of(corpus: str) -> References:
    """The captions of the corpus at a path; read again only where the file has changed."""
    path = Path(corpus).expanduser()
    stamp = path.stat().st_mtime_ns if path.is_file() else 0
    return _read(path, stamp)


@lru_cache(maxsize=2)
def _read(path: Path, stamp: int) -> References:
    corpus = read_corpus(path)
    by_image = {k: [plain(text) for text in own] for k, own in corpus.texts_by_image.items()}
    return References(corpus.name, by_image)
