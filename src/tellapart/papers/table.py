"""A paper's table with ours beside it, joined from runs, captions and retrieval."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, stdev
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tellapart.errors import BadInput
from tellapart.files import read_json
from tellapart.measures.captions.metric_scores import CaptionScore
from tellapart.measures.contestants import is_reference
from tellapart.measures.scores import Estimate
from tellapart.models.names import ModelName
from tellapart.models.trained import CARD, TrainedCard, read_card
from tellapart.papers.figures import FigureColumn, PublishedRow, PublishedTable
from tellapart.text.table_text import aligned, escape

if TYPE_CHECKING:
    from tellapart.papers.pairs import PairsTable

PUBLISHED, OURS, ATTACKER = "published", "ours", "attacker"
GUESSER = "chance"
"""The model that guesses; its runs are answers, not the level that the row of chance shows."""


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A row of the joined table, in percent; `whose` is published, ours, people, chance, attacker.

    Our rows are means over `runs` trainings, with their standard deviation if there are several.
    Rows of systems that see no image, or the wrong one, say so: `blind`, `images shuffled`.
    """

    name: str
    whose: str
    values: tuple[float | None, ...]
    deviations: tuple[float | None, ...] = ()
    runs: int = 1


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A published table with ours beside it, and how ours differ."""

    name: str
    title: str
    heads: tuple[str, ...]
    rows: tuple[FigureRow, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)

    def _cells(self, row: FigureRow) -> list[str]:
        apart = row.deviations or (None,) * len(row.values)
        return [_cell(*pair) for pair in zip(row.values, apart, strict=True)]

    def shown(self) -> list[Sequence[str]]:
        """Column heads and cells as text; a system's name appears only in its first row."""
        table: list[Sequence[str]] = [("", "", *self.heads)]
        before = ""
        for row in self.rows:
            name = "" if row.name == before else row.name
            table.append((name, row.whose, *self._cells(row)))
            before = row.name
        return table

    def text_columns(self) -> set[int]:
        """The positions of the shown columns that hold text."""
        return {0, 1}

    def __str__(self) -> str:
        notes = [f"- {note}" for note in self.notes]
        table = aligned(_lined_up(self.shown()), self.text_columns())
        return "\n".join([f"{self.name}: {self.title}", table, *notes])

    def to_latex(self) -> str:
        """A booktabs table; the notes are comments above it."""
        lines = [r"% needs \usepackage{booktabs}", *(f"% {escape(note)}" for note in self.notes)]
        lines += [rf"\begin{{tabular}}{{ll{'r' * len(self.heads)}}}", r"\toprule"]
        lines += [" & ".join(["System", "", *map(escape, self.heads)]) + r" \\", r"\midrule"]
        for row in self.rows:
            cells = [cell.replace(" ± ", r" $\pm$ ") for cell in self._cells(row)]
            lines.append(" & ".join([escape(row.name), row.whose, *cells]) + r" \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


@dataclass(frozen=True, slots=True)
class PaperTables:
    """One table of a paper or several."""

    tables: tuple[PaperTable | PairsTable, ...]

    def to_json(self) -> list[dict[str, Any]]:
        """For `--json`."""
        return [table.to_json() for table in self.tables]

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables))

    def to_latex(self) -> str:
        """All of them as booktabs tables."""
        return "\n".join(table.to_latex() for table in self.tables)


def _lined_up(table: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Cells without a deviation get its room, so that figures stand below each other."""
    head, *rows = table
    columns = []
    for cells in zip(*rows, strict=True):
        tails = [len("".join(cell.partition(" ± ")[1:])) for cell in cells]
        pairs = zip(cells, tails, strict=True)
        columns.append([cell + " " * (max(tails) - tail) for cell, tail in pairs])
    return [head, *zip(*columns, strict=True)]


def _cell(value: float | None, deviation: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if deviation is None else f"{value:.2f} ± {deviation:.2f}"


@dataclass(frozen=True, slots=True)
class OwnFigure:
    """One of our figures in percent; `size` is the number of items or images behind it."""

    source: str
    column: FigureColumn
    value: float
    size: int
    margin: float | None = None
    """Half the width of the 95% interval, if there is one."""
    benchmark: str = ""
    way: str = ""
    """The procedure that decided the answers, if there are several."""


@dataclass(frozen=True, slots=True)
class BenchmarkFacts:
    """Facts about a benchmark that need no system: chance and the text-alone score.

    `chance` is in percent by measure, `text_alone` in percent by kind (empty: all kinds).
    """

    name: str
    about: str
    chance: Mapping[str, float]
    text_alone: Mapping[str, float]

    def chance_row(self, table: PublishedTable, *, several: bool) -> FigureRow:
        """The row of chance levels."""
        values = tuple(self.chance.get(column.measure) for column in table.columns)
        return FigureRow("chance", f"{OURS}, {self.name}" if several else OURS, values)

    def text_row(self, table: PublishedTable, *, several: bool) -> FigureRow:
        """The row of an attacker that reads both captions and never looks.

        A guess of which of two captions is true is right on both or on neither, so T1 and both of
        its sides have the same figure.
        """
        values = tuple(
            self.text_alone.get(column.kind) if column.measure in PAIRED else None
            for column in table.columns
        )
        return FigureRow("text alone", f"{OURS}, {self.name}" if several else OURS, values)


PAIRED = ("T1", "T1-correct", "T1-foil")
"""Measures that a guess between two captions decides."""


def run_figures(
    table: PublishedTable, estimates: Iterable[Estimate], built: str = ""
) -> list[OwnFigure]:
    """Figures for a table's columns from runs on benchmarks that were built a certain way."""
    every = [row for row in estimates if row.n]
    return [
        OwnFigure(
            row.model, column, 100 * row.value, row.n, 50 * (row.high - row.low), row.benchmark,
            row.decided_by,
        )
        for column in table.columns
        for row in every
        if column.measure == row.measure
        and column.built == built
        and row.kind == (column.kind or "micro")
    ]  # fmt: skip


def caption_figures(table: PublishedTable, scores: Iterable[CaptionScore]) -> list[OwnFigure]:
    """Figures for a table's columns from judged captions."""
    every = list(scores)
    return [
        OwnFigure(row.system, column, row.scale * row.value, row.images)
        for column in table.columns
        for row in every
        if column.metric == row.metric
    ]


def retrieval_figures(table: PublishedTable, files: Iterable[Path]) -> list[OwnFigure]:
    """Figures from files of `retrieve --json`, on the largest collection of each."""
    found = []
    for file in files:
        stored = read_json(file)
        try:
            most = max(row["images"] for row in stored["rows"])
            rows = {row["direction"]: row for row in stored["rows"] if row["images"] == most}
            for column in table.columns:
                if column.recall in rows:
                    value = 100 * rows[column.recall]["recall"][str(column.at)]
                    found.append(OwnFigure(stored["model"], column, value, most))
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(
                f"{file.name} is not the output of retrieve --json: {error}",
                where=str(file),
                todo="tellapart retrieve MODEL --on CORPUS --json > FILE",
            ) from None
    return found


def join_table(
    table: PublishedTable,
    figures: Sequence[OwnFigure],
    elsewhere: Collection[str] = (),
    beside: Sequence[BenchmarkFacts] = (),
    alone: Mapping[FigureColumn, float] = MappingProxyType({}),
) -> PaperTable:
    """The published rows, each followed by ours for the same system, then our other systems.

    Systems in `elsewhere` have their row in another table. If ours come from several benchmarks,
    each has its own row; `beside` has the facts about these benchmarks. `alone` is the text-alone
    score in percent, by column.

    The card in a trained system's folder says which system a figure belongs to; for captions, the
    file is named after that folder or the system.
    """
    cards = _cards(figures)
    named = {Path(folder).name: card for folder, card in cards.items()}
    several = len(beside) > 1
    of: dict[tuple[str, str], list[OwnFigure]] = {}
    for figure in figures:
        system, name, whose = _place(table, figure, cards, named)
        whose += f", {figure.benchmark}" if several and figure.benchmark else ""
        if name in {row.name for row in table.rows} or system not in elsewhere:
            of.setdefault((name, whose), []).append(figure)
    figures = [figure for own in of.values() for figure in own]
    cards = _cards(figures)
    rows: list[FigureRow] = []
    for row in table.rows:
        whose = PUBLISHED if row.who == "system" else row.who
        rows.append(FigureRow(row.name, whose, row.values))
        for key in sorted((key for key in of if key[0] == row.name), key=_by_numbers):
            rows.append(_ours(key, table, of.pop(key)))
        if row.who == "chance":
            guesses = [one.chance_row(table, several=several) for one in beside]
            rows += [row for row in guesses if any(value is not None for value in row.values)]
    rows += [_ours(key, table, own) for key, own in of.items()]
    told = [one.text_row(table, several=several) for one in beside if one.text_alone]
    rows += [row for row in told if any(value is not None for value in row.values)]
    if alone:
        values = tuple(alone.get(column) for column in table.columns)
        rows.append(FigureRow("text alone", ATTACKER, values))
    notes = (
        *_sources(table),
        *_trainings(rows),
        *_departures(table, figures, cards),
        *_ways(figures, {one.source: _place(table, one, cards, named)[1] for one in figures}),
        *_never_look(figures),
        *(f"{one.name}: {one.about}" for one in beside),
    )
    return PaperTable(table.name, table.title, _heads(table), tuple(rows), notes)


def _heads(table: PublishedTable) -> tuple[str, ...]:
    return tuple(column.head for column in table.columns)


def _cards(figures: Iterable[OwnFigure]) -> dict[str, TrainedCard]:
    """The cards of trained systems among models, by their folders."""
    found: dict[str, TrainedCard] = {}
    for figure in figures:
        name = ModelName.parse(figure.source)
        if name.scheme == "trained" and (Path(name.rest).expanduser() / CARD).is_file():
            found[name.rest] = read_card(Path(name.rest).expanduser())
    return found


def system_of(model: str) -> str:
    """The system that a trained model belongs to; empty if it has none or its folder is gone."""
    name = ModelName.parse(model)
    folder = Path(name.rest).expanduser()
    trained = name.scheme == "trained" and (folder / CARD).is_file()
    return _system(read_card(folder)) if trained else ""


def _system(card: TrainedCard) -> str:
    """The system and its training: `updown`, or `updown-scst` after the second stage."""
    return f"{card.system}-scst" if "samples" in card.trained.get("task", {}) else card.system


def _place(
    table: PublishedTable,
    figure: OwnFigure,
    cards: Mapping[str, TrainedCard],
    named: Mapping[str, TrainedCard],
) -> tuple[str, str, str]:
    """The system of a figure, the name of its row, and whose it is."""
    name = ModelName.parse(figure.source)
    card = cards.get(name.rest) or named.get(figure.source)
    system = _system(card) if card else figure.source
    if name.scheme == "reference":  # reference:METRIC@CORPUS, wherever the corpus is
        system = f"reference:{name.rest.partition('@')[0]}"
    fitting = [row for row in table.rows if row.system == system and _fits(row, card)]
    row = max(fitting, key=lambda one: len(one.settings), default=None)
    whose = f"{OURS}, a run" if system == GUESSER else _row_label(table, dict(name.options), card)
    return system, row.name if row else system, whose


def _settings(card: TrainedCard | None) -> Mapping[str, Any]:
    return {**card.settings, **card.trained.get("task", {})} if card else {}


def _fits(row: PublishedRow, card: TrainedCard | None) -> bool:
    own = _settings(card)
    return all(own.get(key) == value for key, value in row.settings.items())


def _row_label(table: PublishedTable, options: Mapping[str, str], card: TrainedCard | None) -> str:
    """The label "ours", with the setting that has separate rows, and how it saw images."""
    own = _settings(card)
    parts = [OURS]
    if table.apart in own:
        parts.append(f"{table.apart} {own[table.apart]}")
    parts += ["blind"] if own.get("blind") else []
    parts += [f"images {options['images']}"] if "images" in options else []
    return ", ".join(parts)


def _by_numbers(key: tuple[str, str]) -> list[tuple[int, str]]:
    """Sorts a system's rows by the numbers in their labels: width 64 before width 256."""
    return [(int(one) if one.isdecimal() else 0, one) for one in key[1].replace(",", "").split()]


def _ours(key: tuple[str, str], table: PublishedTable, own: Sequence[OwnFigure]) -> FigureRow:
    values: list[float | None] = []
    deviations: list[float | None] = []
    runs = 1
    for column in table.columns:
        found = [figure.value for figure in own if figure.column == column]
        values.append(mean(found) if found else None)
        deviations.append(stdev(found) if len(found) > 1 else None)
        runs = max(runs, len(found))
    return FigureRow(*key, tuple(values), tuple(deviations), runs)


def _ways(figures: Sequence[OwnFigure], names: Mapping[str, str]) -> list[str]:
    """The procedures behind our figures; the systems' rows are named if they differ."""
    measures: dict[str, list[str]] = {}
    for measure in dict.fromkeys(one.column.measure for one in figures if one.way):
        ways: dict[str, dict[str, None]] = {}
        for one in figures:
            if one.column.measure == measure and one.way:
                ways.setdefault(one.way, {})[names[one.source]] = None
        apart = "; ".join(f"{way} ({', '.join(who)})" for way, who in ways.items())
        measures.setdefault(apart if len(ways) > 1 else next(iter(ways)), []).append(measure)
    return [f"ours: {', '.join(names)} by {ways}" for ways, names in measures.items()]


def _never_look(figures: Sequence[OwnFigure]) -> list[str]:
    """Which of our rows are of models that never look."""
    names = dict.fromkeys(one.source for one in figures if is_reference(one.source))
    return [f"never look, ties halved: {', '.join(names)}"] if names else []


def _sources(table: PublishedTable) -> list[str]:
    lines = [f"published: {table.cites}"]
    return lines + [f"{row.name}: {row.note}" for row in table.rows if row.note]


def _trainings(rows: Sequence[FigureRow]) -> list[str]:
    """How many trainings our rows average, if some average several."""
    counts: dict[int, list[str]] = {}
    for row in rows:
        whose, _, which = row.whose.partition(", ")
        if whose == OURS and any(one is not None for one in row.values):
            counts.setdefault(row.runs, []).append(f"{row.name} ({which})" if which else row.name)
    most = max(counts, default=1)
    if most == 1:
        return []
    rest = [f"but {count} of {', '.join(names)}" for count, names in counts.items() if count < most]
    told = ", ".join([f"{most} of each", *rest])
    return [f"ours: means over trainings, ± their standard deviation: {told}"]


def _departures(
    table: PublishedTable, figures: Sequence[OwnFigure], cards: Mapping[str, TrainedCard]
) -> list[str]:
    """How our figures differ from the published ones in data and features."""
    facts, lines = table.facts, []
    for images, captions in sorted(
        {(c.trained["images"], c.trained["captions"]) for c in cards.values()}
    ):
        told = facts.get("training_images")
        share = f"; published: {told:,} images, {told / images:.1f} times as many" if told else ""
        lines.append(f"ours: trained on {images:,} images with {captions:,} captions{share}")
    for backbone, layout in sorted({(c.space.backbone, c.space.layout) for c in cards.values()}):
        told = facts.get("features")
        lines.append(
            f"ours: features of {backbone}, {layout}" + (f"; published: {told}" if told else "")
        )
    margin = max((f.margin or 0 for f in figures), default=0)
    if margin:
        lines.append(f"the error of one of our runs (95%) is up to ±{margin:.1f} points")
    for head, counts, told, noun in _sizes(table, figures):
        known = f"; published: {told:,}" if told else ""
        ends = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
        lines.append(f"ours: {head} on {ends} {noun}{known}")
    given = [figure.column for figure in figures]
    lacking = [column.head for column in table.columns if figures and column not in given]
    if lacking:
        lines.append(f"ours: no {', '.join(lacking)}: not given, or cannot be computed here")
    return lines


def _sizes(
    table: PublishedTable, figures: Sequence[OwnFigure]
) -> Iterable[tuple[str, list[int], int | None, str]]:
    """The data behind each kind of our figures and of the published ones."""
    sorts = (
        ("measure", "answers", table.facts.get("items"), "items"),
        ("metric", "captions", None, "images"),
        ("recall", "recall", table.facts.get("recall_images"), "images"),
    )
    for field, head, told, noun in sorts:
        counts = sorted({f.size for f in figures if getattr(f.column, field)})
        if counts:
            yield head, counts, told, noun
