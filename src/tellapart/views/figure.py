"""A qualitative figure for a paper: items with models' choices, as PNG, PDF and LaTeX."""

from __future__ import annotations

import base64
import io
import textwrap
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape as html_escape

from tellapart.errors import BadImage, BadInput
from tellapart.items import Item
from tellapart.reports.card import STATE_NAMES, letter, lines_of
from tellapart.reports.picks import RANKS, State
from tellapart.text.table_text import escape
from tellapart.types import Ints
from tellapart.views.captions import CaptionSheet
from tellapart.views.sheet import Sheet

MOST_ITEMS = 24
SIDE, HEIGHT = 300, 130
"""Pixels of a picture's longest side in the figure's files, and of its height in the drawing."""
WIDTH, GAP, COLUMNS, LINE = 330, 22, 3, 16
LETTERS = 48
"""Characters per line of a caption in the drawing."""
GOOD, BAD, INK, FAINT = "#0f6a4b", "#a63c0b", "#20242a", "#636a72"
MARKS = {State.RIGHT: r"\checkmark", State.WRONG: r"$\times$"}


@dataclass(frozen=True, slots=True)
class FigureLine:
    """A caption in the figure; `fits` are the letters of its pictures, None if there is no truth.

    `by` is the system that wrote it.
    """

    text: str
    fits: tuple[str, ...] | None
    by: str = ""


@dataclass(frozen=True, slots=True)
class FigureItem:
    """An item of the figure: its pictures as JPEG with their sizes, its lines, the verdicts."""

    lines: tuple[FigureLine, ...]
    pictures: tuple[tuple[bytes, int, int] | None, ...]
    verdicts: tuple[tuple[str, State], ...]


def figure_zip(sheet: Sheet, rows: Ints) -> bytes:
    """A zip file: figure.png, figure.pdf, figure.tex and the pictures that the latter shows."""
    import vl_convert

    if not 0 < len(rows) <= MOST_ITEMS:
        raise BadInput(
            f"a figure of {len(rows):,} items",
            allowed=f"1 to {MOST_ITEMS} items",
            todo="star the items for the figure, and filter by stars",
        )
    items = [_item(sheet, int(row)) for row in rows]
    svg = drawing(items)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("figure.svg", svg)
        file.writestr("figure.png", vl_convert.svg_to_png(svg, scale=2))
        file.writestr("figure.pdf", vl_convert.svg_to_pdf(svg))
        file.writestr("figure.tex", latex(items, sheet.label))
        for k, one in enumerate(items):
            for i, picture in enumerate(one.pictures):
                if picture is not None:
                    file.writestr(f"figure-images/{k + 1}-{letter(i)}.jpg", picture[0])
    return packed.getvalue()


def _item(sheet: Sheet, row: int) -> FigureItem:
    item = sheet.item(row)
    pictures = tuple(_picture(sheet, image) for image in item.images)
    if isinstance(sheet, CaptionSheet):
        return FigureItem(tuple(_written(sheet, item, row)), pictures, ())
    verdicts = tuple(
        (one.label, RANKS[sheet.ranks[row, k]]) for k, one in enumerate(sheet.contestants)
    )
    lines = tuple(FigureLine(line.before + line.foil + line.after, line.fits)
                  for line in lines_of(item))  # fmt: skip
    return FigureItem(lines, pictures, verdicts)


def _written(sheet: CaptionSheet, item: Item, row: int) -> Iterator[FigureLine]:
    """Every system's caption of an image, and the first reference."""
    for one, written in zip(sheet.contestants, sheet.written, strict=True):
        yield FigureLine(written["caption"][row], None, one.label)
    yield FigureLine(item.captions[0], None, "people")


def _picture(sheet: Sheet, image: str) -> tuple[bytes, int, int] | None:
    from PIL import Image

    try:
        pixels = sheet.benchmark.picture(image).open()
    except (BadImage, KeyError):
        return None
    pixels.thumbnail((2 * SIDE, 2 * SIDE))
    bare = Image.frombytes("RGB", pixels.size, pixels.tobytes())
    written = io.BytesIO()
    bare.save(written, "JPEG", quality=88)
    return written.getvalue(), *pixels.size


# The drawing


def drawing(items: list[FigureItem]) -> str:
    """The figure as SVG, three items per row."""
    drawn = [_drawn(one) for one in items]
    columns = min(COLUMNS, len(drawn))
    y, parts = GAP, []
    for first in range(0, len(drawn), columns):
        line = drawn[first : first + columns]
        for k, (body, _) in enumerate(line):
            x = GAP + k * (WIDTH + GAP)
            parts.append(f'<g transform="translate({x},{y})">{body}</g>')
        y += max(height for _, height in line) + GAP
    width = GAP + columns * (WIDTH + GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink" width="{width}" height="{y}" '
        f'viewBox="0 0 {width} {y}" font-family="Helvetica, Arial, sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>'
    )


def _drawn(one: FigureItem) -> tuple[str, int]:
    """An item as SVG, and its height."""
    parts = []
    room = (WIDTH - 8 * (len(one.pictures) - 1)) / max(1, len(one.pictures))
    for i, picture in enumerate(one.pictures):
        x = i * (room + 8)
        parts.append(_drawn_picture(picture, x, room))
        if len(one.pictures) > 1:
            parts.append(_text(x, HEIGHT + 14, letter(i), INK, bold=True))
    y = HEIGHT + (32 if len(one.pictures) > 1 else 20)
    for one_line in one.lines:
        if one_line.by:
            parts.append(_text(0, y, one_line.by[:LETTERS], FAINT))
            y += LINE
        left = 0 if one_line.fits is None else 30
        for k, line in enumerate(textwrap.wrap(one_line.text, LETTERS) or [""]):
            if k == 0 and one_line.fits is not None:
                parts.append(_text(0, y, _mark(one, one_line.fits),
                                   GOOD if one_line.fits else BAD, bold=True))  # fmt: skip
            parts.append(_text(left, y, line, INK))
            y += LINE
        y += 3
    for label, state in one.verdicts:
        colour = GOOD if state is State.RIGHT else BAD if state is State.WRONG else FAINT
        parts.append(_text(30, y, STATE_NAMES[state][0], colour, bold=True))
        parts.append(_text(46, y, label[:LETTERS], FAINT))
        y += LINE
    return "".join(parts), y


def _mark(one: FigureItem, fits: tuple[str, ...]) -> str:
    if not fits:
        return "✗"
    return f"✓ {' '.join(fits)}" if len(one.pictures) > 1 else "✓"


def _drawn_picture(picture: tuple[bytes, int, int] | None, x: float, room: float) -> str:
    if picture is None:
        frame = f'<rect x="{x}" width="{room:.0f}" height="{HEIGHT}" fill="#f2f0e9"/>'
        return frame + _text(x + 8, HEIGHT / 2, "no picture", FAINT)
    data, width, height = picture
    scale = min(room / width, HEIGHT / height)
    encoded = base64.b64encode(data).decode("ascii")
    return (
        f'<image x="{x:.1f}" y="0" width="{width * scale:.1f}" height="{height * scale:.1f}" '
        f'xlink:href="data:image/jpeg;base64,{encoded}"/>'
    )


def _text(x: float, y: float, text: str, colour: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}"{weight}>{html_escape(text)}</text>'


# LaTeX


def latex(items: list[FigureItem], benchmark: str) -> str:
    """A figure environment; it needs the packages graphicx and amssymb."""
    cells = [_cell(k, one) for k, one in enumerate(items)]
    lines = [
        r"% \usepackage{graphicx,amssymb}",
        r"\begin{figure*}",
        r"  \centering\small",
        *("\n".join(cell) for cell in cells),
        rf"  \caption{{{_caption(items, benchmark)}}}",
        r"\end{figure*}",
        "",
    ]
    return "\n".join(lines)


def _caption(items: list[FigureItem], benchmark: str) -> str:
    if all(line.fits is None for one in items for line in one.lines):
        return rf"{escape(benchmark)}: captions by systems and people."
    return rf"Items of {escape(benchmark)}: \checkmark{{}} marks what is true and who is right."


def _cell(number: int, one: FigureItem) -> Iterator[str]:
    yield r"  \begin{minipage}[t]{0.32\linewidth}"
    width = f"{0.96 / max(1, len(one.pictures)):.2f}"
    for i, picture in enumerate(one.pictures):
        if picture is not None:
            name = f"figure-images/{number + 1}-{letter(i)}.jpg"
            yield rf"    \includegraphics[width={width}\linewidth]{{{name}}}"
    yield r"    \par"
    for line in one.lines:
        mark = MARKS[State.RIGHT if line.fits else State.WRONG] + " "
        before = rf"\emph{{{escape(line.by)}:}} " if line.fits is None else mark
        yield rf"    {before}{escape(line.text)}\\"
    said = ", ".join(
        f"{escape(label)} {MARKS.get(state, STATE_NAMES[state][1])}"
        for label, state in one.verdicts
    )
    if said:
        yield rf"    \emph{{{said}}}"
    yield r"  \end{minipage}\hfill"
