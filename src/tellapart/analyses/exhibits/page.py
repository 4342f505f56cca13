"""A paper's page: its tables and exhibits, published and ours, in one self-contained HTML file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from html import escape

from tellapart.analyses.analysis import Analysis, ResultTable
from tellapart.analyses.exhibits.exhibit import ShownExhibit
from tellapart.papers.pairs import PairsTable
from tellapart.papers.table import OURS, PaperTable
from tellapart.reports.drawing import page_svg
from tellapart.web import shared_text

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  background: var(--paper); color: var(--ink); }
section { border-top: 1px solid var(--line); margin-top: 2rem; }
dt { color: var(--faint); } dd { margin: 0 0 .6rem; }
table { border-collapse: collapse; font-size: .875rem; display: block; overflow-x: auto; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid var(--line); }
th, td:not(.left) { white-space: nowrap; }
th.left, td.left { text-align: left; }
td.left { min-width: 6rem; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption, .notes { font-size: .8125rem; color: var(--faint); overflow-wrap: anywhere; }
tr.ours td { background: color-mix(in srgb, var(--ink) 6%, transparent); }
@media print { body { max-width: none; font-size: 11pt; } figure, tr { break-inside: avoid; }
  table { display: table; font-size: 8pt; } th, td { padding: .1rem .3rem; }
  th { white-space: normal; } td.left { min-width: 0; }
  h2, h3 { break-after: avoid; } }
"""
MOST_ROWS = 20
TITLES = {"bison": "BISON", "foil": "FOIL", "mcic": "MCIC", "bivlc": "BiVLC"}

SMALL = (
    "Our figures come from drawings: small versions of the paper's systems, trained for minutes "
    "on the built-in world with colours as features, and a simulated person who knows the scenes. "
    "They show that every table and figure can be made; they say nothing about photographs."
)


def paper_page(
    paper: str,
    tables: Sequence[PaperTable | PairsTable],
    exhibits: Sequence[ShownExhibit],
    *,
    no_tables: str = "",
    small: bool = False,
) -> str:
    """The page as HTML; `no_tables` says why there are no tables of scores."""
    made = sum(one.found is not None for one in exhibits)
    title = escape(TITLES.get(paper, paper))
    parts = [
        f"<h1>{title}: published and ours</h1>",
        f"<p>{made} of {len(exhibits)} figures and analyses could be made from the inputs given"
        f"{'; the others say what they need' if made < len(exhibits) else ''}.</p>",
        f"<p><strong>{SMALL}</strong></p>" if small else "",
        f"<p>There are no tables of scores: {escape(no_tables)}.</p>" if no_tables else "",
        *map(_scores, tables),
        *(_section(one) for one in exhibits),
    ]
    style = shared_text("static", "palette.css") + STYLE
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f"<title>{title}: published and ours</title>"
        f"<style>{style}</style></head>\n<body><main>\n{chr(10).join(parts)}\n</main></body></html>\n"
    )


def _section(one: ShownExhibit) -> str:
    exhibit = one.exhibit
    lines = [
        f"<section><h2>{escape(exhibit.place)}: {escape(exhibit.title)}</h2><dl>",
        f"<dt>Published</dt><dd>{escape(exhibit.published)}</dd>",
    ]
    if one.found is None:
        lines.append(f"<dt>Ours</dt><dd>Not made: {escape(one.why_not)}</dd></dl></section>")
        return "".join(lines)
    sentences = "".join(f"<p>{escape(text)}</p>" for text in one.found.sentences)
    lines.append(f"<dt>Ours</dt><dd>{sentences}</dd>")
    lines.append(f"<dt>How ours differs</dt><dd>{escape(exhibit.departs)}</dd></dl>")
    return "".join([*lines, *_parts(one.found), "</section>"])


def _parts(found: Analysis) -> Iterator[str]:
    if found.figure is not None:
        words = escape(found.figure.words)
        yield f'<figure role="img" aria-label="{words}">{page_svg(found.figure.drawing)}</figure>'
    for table in found.tables:
        yield _table(table)
    yield "".join(f'<p class="notes">{escape(text)}</p>' for text in found.methods)


def _scores(table: PaperTable | PairsTable) -> str:
    """A paper's table of scores; our rows are shaded."""
    heads, *rows = table.shown()
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    return (
        f"<section><h2>{escape(_place(table.name))}: {escape(table.title)}</h2>"
        + _rows(heads, rows, table.text_columns())
        + f'<ul class="notes">{notes}</ul></section>'
    )


def _place(name: str) -> str:
    """Where a table stands in its paper; one that the paper does not print keeps its name.

    >>> _place("foil-2"), _place("bison-5.1"), _place("bivlc-3-sugarcrepe")
    ('Table 2', 'Section 5.1', 'bivlc-3-sugarcrepe')
    """
    number = name.partition("-")[2]
    if re.fullmatch(r"\d+", number):
        return f"Table {number}"
    return f"Section {number}" if re.fullmatch(r"[\d.]+", number) else name


def _table(table: ResultTable) -> str:
    heads, *rows = table.shown()
    more = len(rows) - MOST_ROWS
    note = f'<p class="notes">... and {more:,} more rows</p>' if more > 0 else ""
    body = _rows(heads, rows[:MOST_ROWS], table.text_columns())
    return f"<h3>{escape(table.title)}</h3>{body}{note}"


def _rows(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int]) -> str:
    def cells(row: Sequence[str], tag: str) -> str:
        marks = (' class="left"' if k in left else "" for k in range(len(row)))
        return "".join(f"<{tag}{m}>{escape(c)}</{tag}>" for m, c in zip(marks, row, strict=True))

    def mark(row: Sequence[str]) -> str:
        return ' class="ours"' if len(row) > 1 and row[1].startswith(OURS) else ""

    body = "".join(f"<tr{mark(row)}>{cells(row, 'td')}</tr>" for row in rows)
    return f'<table tabindex="0"><tr>{cells(heads, "th")}</tr>{body}</table>'
