"""A page of a benchmark's items with their pictures: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tellapart.benchmark.benchmark import Benchmark
from tellapart.items import Item
from tellapart.reports.card import Thumbnail
from tellapart.reports.gallery import Album

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: 1rem; }
article { border: 1px solid #8886; border-radius: .6rem; padding: .8rem; }
h2 { font-size: .85rem; font-weight: 600; margin: 0 0 .5rem; overflow-wrap: anywhere; }
.pictures { display: flex; gap: .5rem; }
figure { margin: 0; flex: 1; min-width: 0; }
figure img { width: 100%; height: 11rem; object-fit: contain; background: #8882; }
figcaption { font-size: .8rem; text-align: center; }
ol { list-style: none; margin: .6rem 0 0; padding: 0; }
li { padding: .2rem .5rem; border-left: 4px solid #b54708; margin-bottom: .3rem; }
li.true { border-color: #0f766e; }
li small { display: block; opacity: .8; }
.missing { font-size: .85rem; padding: 1rem; background: #8882; border-radius: .4rem; }
"""


def item_page(benchmark: Benchmark, items: Sequence[Item]) -> str:
    """Some items of a benchmark as HTML, with small pictures embedded in the page."""
    distinct = {image for item in items for image in item.images}
    album = Album(len(items), len(distinct), 50_000)
    cards = "\n".join(_card(benchmark, item, album) for item in items)
    title = escape(benchmark.name)
    verified = escape(
        f"verified {benchmark.card.verified}" if benchmark.card.verified else "not verified"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        f"<p>{len(items):,} of {len(benchmark.items):,} items; {verified}. "
        f"{escape(benchmark.card.about)}</p>\n<main>\n{cards}\n</main></body></html>\n"
    )


def _card(benchmark: Benchmark, item: Item, album: Album) -> str:
    pictures = "".join(
        _picture(album, album.add(benchmark, image), place, len(item.images))
        for place, image in enumerate(item.images)
    )
    captions = "".join(_caption(item, place) for place in range(len(item.captions)))
    return (
        f"<article><h2>{escape(item.id)} ({escape(item.kind)})</h2>"
        f'<div class="pictures">{pictures}</div><ol>{captions}</ol></article>'
    )


def _picture(album: Album, small: Thumbnail, place: int, number: int) -> str:
    name = f"image {place}"
    label = f"<figcaption>{name}</figcaption>" if number > 1 else ""
    if small.place is None:
        return f'<figure><p class="missing">{escape(small.problem)}</p>{label}</figure>'
    return f'<figure><img src="{album.pictures[int(small.place)]}" alt="{name}">{label}</figure>'


def _caption(item: Item, place: int) -> str:
    fits = [str(i) for i in range(len(item.images)) if (i, place) in item.true]
    several = f" of image {', '.join(fits)}" if len(item.images) > 1 and fits else ""
    truth = f"true{several}" if fits else "false"
    if item.slot and item.slot.caption == place:
        truth += f": {item.slot.foil} for {item.slot.target}"
    style = ' class="true"' if fits else ""
    return f"<li{style}>{escape(item.captions[place])}<small>{escape(truth)}</small></li>"
