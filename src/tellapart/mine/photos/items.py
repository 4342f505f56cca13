"""Items of photographs: pairs of pictures that a maker edits, as grids with their true cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tellapart import seeds
from tellapart.corpus.corpus import Corpus
from tellapart.items import Cell, Grid, Item, Origin
from tellapart.makers.maker import ImageRequest, PhotoEdit
from tellapart.mine.photos.pairs import PhotoPair
from tellapart.mine.shares import equal_shares

BY = "tellapart build bivlc"


def sample_pairs(pairs: Sequence[PhotoPair], items: int | None, seed: int) -> list[PhotoPair]:
    """At most `items` pairs, with equal shares of each kind as far as possible."""
    lots = [seeds.unit(seed, "photo", p.kind, p.image, list(p.about)) for p in pairs]
    return [pairs[place] for place in equal_shares([p.kind for p in pairs], lots, items)]


def edit_key(image: str, edit: PhotoEdit) -> str:
    """The name of an edited picture; pairs that need the same picture share it."""
    what = "mirrored" if edit.mirror else "erased" if edit.erase else "whole"
    safe = "".join(letter if letter.isalnum() else "-" for letter in image)
    return f"{safe}-{what}-{seeds.digest(image, edit.facts())[:8]}"


def photo_requests(pairs: Sequence[PhotoPair], corpus: Corpus, seed: int) -> list[ImageRequest]:
    """Every distinct picture that the pairs need, in order."""
    wanted: dict[str, ImageRequest] = {}
    for pair in pairs:
        for edit, caption in zip(pair.edits, pair.captions, strict=True):
            key = edit_key(pair.image, edit)
            picture = corpus.picture(pair.image)
            wanted.setdefault(key, ImageRequest(key, caption, seed, picture, edit))
    return list(wanted.values())


def photo_items(
    pairs: Sequence[PhotoPair], corpus: Corpus, no_derivatives: frozenset[str], seed: int
) -> Iterator[Item]:
    """The grids of pairs, with images and captions in random order."""
    for pair in pairs:
        coins = seeds.rng(seed, "photo", "order", pair.kind, pair.image, list(pair.about))
        images, captions = ((int(k), 1 - int(k)) for k in coins.integers(2, size=2))
        grid = _grid(pair, images, captions)
        notes = {"about": ", ".join(pair.about)}
        if pair.image in no_derivatives:
            notes["licence"] = "no derivatives"
        origin = Origin(BY, corpus.name, pair.image, seed, notes)
        yield Item.built("bivlc", grid, kind=pair.kind, origin=origin)


def _grid(pair: PhotoPair, images: tuple[int, int], captions: tuple[int, int]) -> Grid:
    names = [edit_key(pair.image, edit) for edit in pair.edits]
    true: frozenset[Cell] = frozenset((images.index(i), captions.index(j)) for i, j in pair.true)
    original = pair.original and (
        images.index(pair.original[0]),
        captions.index(pair.original[1]),
    )
    return Grid(
        tuple(names[k] for k in images),
        tuple(pair.captions[k] for k in captions),
        true,
        original,
    )


def refusal_counts(refused: Mapping[str, Counter[str]]) -> dict[str, dict[str, int]]:
    """For the card: why photographs gave no pair, most frequent reasons first."""
    return {kind: dict(counts.most_common(8)) for kind, counts in refused.items()}


def without_derivatives(file: Path) -> frozenset[str]:
    """The images of a COCO file whose licence forbids derivative works (NoDerivs).

    Corpora in other formats have no licences.
    """
    from tellapart.files import read_json, suffix

    if suffix(file) != "json":
        return frozenset()
    data = read_json(file)
    if not isinstance(data, dict) or not isinstance(data.get("licenses"), list):
        return frozenset()
    forbidding = {
        one.get("id")
        for one in data["licenses"]
        if isinstance(one, dict) and "noderiv" in str(one.get("name", "")).lower().replace(" ", "")
    }
    rows = [one for one in data.get("images", ()) if isinstance(one, dict)]
    return frozenset(str(one.get("id")) for one in rows if one.get("license") in forbidding)
