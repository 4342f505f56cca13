"""A sheet of captions: images with each system's caption, people's captions, and scores.

Its items are images; nothing is right or wrong here. The caption's score by the main metric takes
the role of the margin, so that sorting, charts and comparisons read the same columns.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark
from tellapart.benchmark.image_files import pictures_in
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import file_head, read_corpus
from tellapart.errors import BadInput, TellapartError
from tellapart.files import suffix
from tellapart.items import Item, Origin
from tellapart.measures.captions.judge import judge_captions
from tellapart.measures.captions.metric_scores import CaptionScore, CaptionScores
from tellapart.measures.options import CaptionOptions
from tellapart.reports.card import CardAnswer, ItemCard, ModelRow
from tellapart.score.run import Run, RunCard, answers_frame, scores_frame
from tellapart.types import Bools, Floats, Ints, Progress, silent
from tellapart.views.sheet import Address, Contestant, Margins, Sheet

MAIN = "CIDEr-D"
METRICS = (MAIN, "BLEU-4", "ROUGE-L")
HIGHEST = 10.0
"""The CIDEr-D score of a caption that equals all references."""
RESAMPLES = 500
KIND = "caption"
SORTS = {
    "order": "as in the corpus",
    "margin": f"{MAIN} of A, lowest first",
    "margin-high": f"{MAIN} of A, highest first",
    "gap": "A below B first",
    "spread": "systems furthest apart first",
}
PLACES = {"captions": "all captions and ids", "written": "systems' captions"}


def holds_captions(path: Path) -> bool:
    """Whether a file looks like a captioner's results, judging by its name and first characters."""
    if suffix(path) != "json" or not path.is_file():
        return False
    try:
        head = file_head(path).lstrip()
    except TellapartError:
        return False  # it is unreadable
    first = head[: head.find("}") + 1] if "}" in head else head
    return head.startswith("[") and '"image_id"' in first and '"caption"' in first


class CaptionSheet(Sheet):
    """Systems' captions of the images that all of them captioned."""

    form: ClassVar[str] = "captions"
    top: ClassVar[float] = HIGHEST
    sorts: ClassVar[Mapping[str, str]] = SORTS
    places: ClassVar[Mapping[str, str]] = PLACES
    makes: ClassVar[tuple[str, ...]] = ("study",)

    def __init__(self, benchmark: Benchmark, systems: Sequence[str], judged: CaptionScores) -> None:
        runs = [_run(system, benchmark) for system in systems]
        contestants = [Contestant(run.model, run) for run in runs]
        super().__init__(benchmark.name, benchmark, contestants)
        self.judged = judged
        there = [benchmark.picture(image).is_there() for image in benchmark.images.ids]
        if not all(there):
            known = dict(zip(benchmark.images.ids, there, strict=True))
            images = benchmark.items.frame["images"].list.first()
            here = ["there" if known[image] else "missing" for image in images]
            self.more_facts = {"picture": pl.Series(here)}
        order = pl.DataFrame({"image": benchmark.items.frame["images"].list.first()})
        self.written: list[pl.DataFrame] = [
            order.join(
                judged.per_image.filter(pl.col("system") == system),
                on="image", how="left", maintain_order="left",
            )
            for system in systems
        ]  # fmt: skip

    def scores(self, metric: str) -> Floats:
        """The score of every caption, shape (items, systems)."""
        return np.column_stack([one[metric].to_numpy() for one in self.written]).astype(float)

    @cached_property
    def margins(self) -> Margins:
        """The captions' scores by the main metric."""
        return self.scores(MAIN).astype(np.float32)

    @cached_property
    def worth(self) -> tuple[Floats, Floats]:
        """The same scores, with each caption as a unit."""
        return self.scores(MAIN), np.ones((len(self), len(self.contestants)))

    @cached_property
    def asked(self) -> Bools:
        """Every system captioned every image here."""
        return np.ones((len(self), len(self.contestants)), bool)

    @cached_property
    def said(self) -> pl.Series:
        """The systems' captions of each image in lower case, one per line."""
        columns = [one["caption"] for one in self.written]
        joined = pl.select(pl.concat_str(columns, separator="\n").str.to_lowercase())
        return joined.to_series()

    @cached_property
    def text(self) -> pl.Series:
        """References, the id, and the systems' captions."""
        whole = [super().text, self.said]
        return pl.select(pl.concat_str(whole, separator="\n")).to_series()

    def searched(self, place: str) -> pl.Series:
        """The column to search."""
        return self.said if place == "written" else self.text

    def run_json(self, one: Contestant) -> dict[str, Any]:
        """What the page needs to know about a system."""
        return {"label": one.label, "kind": "captioner", "items": len(self), "live": False,
                "scores": True, "failed": 0, "folder": ""}  # fmt: skip

    def card_json(self) -> dict[str, Any]:
        """The sheet's card, with the metric that replaces right and wrong."""
        shapes = [(1, most) for _, most in self.benchmark.items.shapes][-1:]
        return {**super().card_json(), "measure": MAIN, "shapes": shapes}

    def overview_json(self) -> dict[str, Any]:
        """Every system's main metric with its interval, and the other metrics."""
        rows = [
            {
                "label": one.label, "reference": False, "live": False,
                **_shown(self._score(one.label, MAIN)),
                "more": [[name, self._score(one.label, name).value] for name in METRICS[1:]],
            }
            for one in self.contestants
        ]  # fmt: skip
        highest = max(float(row["high"] or row["value"]) for row in rows)
        return {
            "sheet": self.label, "measure": MAIN, "pending": False, "rows": rows, "lines": [],
            "top": max(1.0, 1.1 * highest),
        }  # fmt: skip

    def _score(self, system: str, metric: str) -> CaptionScore:
        found = (one for one in self.judged.scores if (one.system, one.metric) == (system, metric))
        return next(found)

    def cards(self, rows: Ints, address: Address) -> list[dict[str, Any]]:
        """The cards of some images: references as lines, systems' captions as answers."""
        columns = (
            ("caption", "the system's caption"),
            *((name, f"times 100: {name}") for name in METRICS),
        )
        cards = []
        for row in rows.tolist():
            item = self.item(row)
            models = tuple(
                ModelRow(one.label, None, tuple(self._answers(k, row)))
                for k, one in enumerate(self.contestants)
            )
            drawn = ItemCard.of(item, self.label, self.thumbnails(address), [], models).to_json()
            for part in (*drawn["shots"], *drawn["lines"]):
                part["fits"] = None  # references are not questions: they have no truth to show
            cards.append({"place": row, **drawn, "columns": columns})
        return cards

    def _answers(self, system: int, row: int) -> list[CardAnswer]:
        written = self.written[system]
        text = written["caption"][row] or "(empty)"
        scores = (f"{100 * written[name][row]:.1f}" for name in METRICS)
        return [CardAnswer(text, None), *(CardAnswer(score, None) for score in scores)]

    def details(self, place: int) -> dict[str, Any]:
        """Details of an image that are not on its card."""
        item = self.item(place)
        uri = self.benchmark.images[item.images[0]].uri
        known = {"image": item.images[0], "file": uri, "references": str(len(item.captions))}
        return {"true": [], "grids": [], "origin": known, "neighbours": [], "replies": []}

    def table(self, rows: Ints) -> pl.DataFrame:
        """Some images as a table: references, and every system's caption with its scores."""
        frame = self.benchmark.items.frame[rows]
        systems = {}
        for one, written in zip(self.contestants, self.written, strict=True):
            systems[one.label] = written["caption"][rows]
            systems |= {f"{one.label} {name}": written[name][rows] for name in METRICS}
        return pl.DataFrame(
            {
                "image": frame["images"].list.first(),
                "references": frame["captions"].list.join(" | "),
                **systems,
            }
        )


def _shown(score: CaptionScore) -> dict[str, Any]:
    return {"value": score.value, "low": score.low, "high": score.high, "n": score.images}


def _run(system: str, benchmark: Benchmark) -> Run:
    card = RunCard(system, "scorer", benchmark.name, benchmark.sha256, made_by="caption")
    return Run(card, benchmark, scores_frame([]), answers_frame([]))


def caption_sheet(
    results: Sequence[Path], references: Corpus | Path, images: Path | None = None,
    progress: Progress = silent,
) -> CaptionSheet:  # fmt: skip
    """The sheet of some results files; its card says what was left out."""
    corpus = references if isinstance(references, Corpus) else read_corpus(references)
    options = CaptionOptions(
        metrics=METRICS, resamples=RESAMPLES, permutations=1, skip_bad=True, cache=None
    )
    judged = judge_captions(list(results), corpus, options, progress)
    systems = list(dict.fromkeys(judged.per_image["system"]))
    names = judged.per_image.filter(pl.col("system") == systems[0])["image"].to_list()
    texts = corpus.texts_by_image
    items = [_item(name, texts[name]) for name in names]
    about = "; ".join(["systems' captions of images", *judged.remarks])
    card = Card(f"captions of {corpus.name}", about=about, measures=())
    benchmark = make_benchmark(card, corpus.root, items, [corpus.image(name) for name in names])
    with contextlib.suppress(BadInput):  # the folder may have other pictures
        benchmark = pictures_in(benchmark, images)
    return CaptionSheet(benchmark, systems, judged)


def _item(image: str, references: Sequence[str]) -> Item:
    return Item.imported(
        KIND, image, images=(image,), captions=tuple(references),
        true=frozenset((0, j) for j in range(len(references))), kind=KIND,
        origin=Origin("tellapart view", source_id=image),
    )  # fmt: skip
