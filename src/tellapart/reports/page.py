"""The page: all parts in one HTML file, with its style, script and pictures."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from tellapart.measures.overview import Overview
from tellapart.reports.card import STATE_NAMES
from tellapart.reports.charts import Chart, svg_for_page
from tellapart.reports.curves import TrainingCurves
from tellapart.reports.gallery import Gallery
from tellapart.reports.provenance import Provenance
from tellapart.reports.results import BenchmarkResults
from tellapart.reports.score_tables import ScoreTable
from tellapart.reports.summary import NAME_BEGINS, NAME_ENDS, BenchmarkSummary, Summary
from tellapart.web import shared_text

_JSON_ESCAPES = {
    "<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029",
}  # fmt: skip
SHARED = {"palette.css": "static", "card.css": "static", "cards.html": "templates"}
"""Files shared with other pages, and their folders."""
STYLES = ("palette.css", "style.css", "card.css")


@dataclass(frozen=True, slots=True)
class Section:
    """The page's part about one benchmark."""

    summary: BenchmarkSummary
    results: BenchmarkResults
    table: ScoreTable
    by_kind: tuple[ScoreTable, ...]
    chart: Chart | None
    kinds_chart: Chart | None
    kinds_note: str


@dataclass(frozen=True, slots=True)
class Page:
    """The data of the template."""

    title: str
    summary: Summary
    overview: Overview
    chart: Chart | None
    sections: tuple[Section, ...]
    gallery: Gallery
    judged_by: tuple[tuple[str, str], ...]
    ties: str
    provenance: Provenance
    curves: tuple[TrainingCurves, ...] = ()


def safe_json(value: Any) -> str:
    r"""JSON that is safe inside a script element: nothing in it can end the element.

    >>> print(safe_json("</script>&"))
    "\u003c/script\u003e\u0026"
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "".join(_JSON_ESCAPES.get(character, character) for character in text)


def render(page: Page) -> str:
    """The page as HTML; the same page gives the same text."""
    script = _read("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    html = _environment().get_template("page.html").render(
        page=page,
        style=Markup("\n".join(map(_read, STYLES))),
        script=Markup(script),
        script_hash=f"sha256-{digest}",  # no other script in the page may run
        album=Markup(safe_json(list(page.gallery.pictures))),
        states=STATE_NAMES,
    )  # fmt: skip
    return html + "\n"


def card_html(card: Mapping[str, Any]) -> str:
    """A card as HTML, as in reports, from the output of `ItemCard.to_json`."""
    states = {str(state): names for state, names in STATE_NAMES.items()}
    macros = _environment().get_template("cards.html").make_module({"states": states})
    return str(macros.inside(card))  # type: ignore[attr-defined]


def _names(sentence: str) -> Markup:
    """A sentence with the names of models marked up."""
    escaped = str(escape(sentence))
    return Markup(  # escaped above
        escaped.replace(NAME_BEGINS, '<b class="model">').replace(NAME_ENDS, "</b>")
    )


@cache
def _read(name: str) -> str:
    if name in SHARED:
        return shared_text(SHARED[name], name)
    return files("tellapart.reports").joinpath("templates", name).read_text("utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["curves"] = lambda one: Markup(one.svg())
    environment.filters["svg"] = lambda chart: Markup(svg_for_page(chart))
    environment.filters["names"] = _names
    return environment
