"""Figures in the docs, made again: `make figures`, or `python docs/figures.py [NAME...]`.

A page has a block between `<!-- figures: NAME -->` and `<!-- end -->`; a function here of that name
makes its text. `tests/test_figures.py` compares. What needs data from elsewhere looks for it at
`TELLAPART_REAL_DATA` and is left alone where that is not set.
"""

from __future__ import annotations

import csv
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import tellapart as ta
from tellapart.benchmark.published.catalogue import layouts
from tellapart.mine.foil.items import PAPER
from tellapart.stats.intervals import wilson

DOCS = Path(__file__).parent
BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
SCENES = 300
NAMES = {"bison": "BISON", "mcic": "MCIC", "foil": "FOIL", "bivlc": "BiVLC"}
FOIL = ("accuracy", "T1", "T1-correct", "T1-foil", "T1-AUC", "T2-nouns", "T2-content", "T3")
BIVLC = ("Group", "I2T", "T2I", "Ipos2T", "Ineg2T", "Tpos2I", "Tneg2I")
ORDER = {"bison": ("accuracy",), "mcic": ("accuracy",), "foil": FOIL, "bivlc": BIVLC}
EXPERT = {"BLEU-1": "32.3", "BLEU-4": "30.8", "ROUGE-L": "32.3", "METEOR": "41.8",
          "CIDEr-D": "43.9 (as CIDEr)"}  # fmt: skip
"""Kendall's tau-c as Hessel et al. 2021 print it (CLIPScore, table 1)."""


@cache
def storybook() -> ta.Scores:
    """The shipped model on four benchmarks of the world's test half; kept for all blocks."""
    with tempfile.TemporaryDirectory() as place:
        world = ta.world(Path(place) / "world", scenes=SCENES, part="test")
        made = [
            ta.build(
                name, world, Path(place) / name,
                ta.BuildOptions(verifier="" if name == "bivlc" else "oracle"),
            )
            for name in ORDER
        ]  # fmt: skip
        runs = ta.evaluate("storybook", made, Path(place) / "runs")
        return ta.measure(runs, ties="half", by_kind=True)


def table(heads: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def shown(row: ta.Estimate) -> str:
    """A score with its interval."""
    return f"{100 * row.value:.1f} ({100 * row.low:.1f} - {100 * row.high:.1f})"


def storybook_scores() -> str:
    """All benchmarks and measures."""

    def rows() -> Iterator[Sequence[str]]:
        for name, measures in ORDER.items():
            for measure in measures:
                (row,) = storybook().only(benchmark=name, measure=measure, kind="micro").rows
                chance = f"{100 * row.chance:.1f}"
                yield NAMES[name], row.shown, shown(row), chance, f"{row.n:,}"

    return table(("benchmark", "measure", "score (95% interval)", "chance", "n"), rows())


def by_kind(name: str, measures: Sequence[str], counted: str) -> str:
    """A row for each kind, a column for each measure."""
    scores = storybook()
    kinds = [row.kind for row in scores.only(benchmark=name, measure=counted).rows]

    def rows() -> Iterator[Sequence[str]]:
        for kind in (kind for kind in kinds if kind not in ("micro", "macro")):
            found = {row.measure: row for row in scores.only(benchmark=name, kind=kind).rows}
            yield kind, f"{found[counted].n:,}", *(shown(found[m]) for m in measures)

    return table((f"{NAMES[name]}, kind", "n", *measures), rows())


def storybook_bivlc_kinds() -> str:
    """BiVLC by kind of near miss."""
    return by_kind("bivlc", ("Group", "I2T", "T2I"), "Group")


def storybook_foil_kinds() -> str:
    """FOIL by supercategory."""
    return by_kind("foil", ("accuracy", "T1", "T2-content", "T3"), "accuracy")


def flickr8k_expert() -> str:
    """Caption metrics against experts."""
    folder = real_data() / "flickr8k-judgements"
    options = ta.CaptionOptions(judgements=folder / "ExpertAnnotations.txt", metrics=tuple(EXPERT))
    found = ta.captions((), folder / "captions.token.txt", options)

    def rows() -> Iterator[Sequence[str]]:
        for row in found.judgements:
            b, c, rho = (f"{100 * x.value:.2f}" for x in (row.tau_b, row.tau_c, row.spearman))
            interval = f"{100 * (row.tau_c.low or 0):.1f} - {100 * (row.tau_c.high or 0):.1f}"
            yield row.metric, b, c, interval, EXPERT[row.metric], rho

    heads = ("metric", "tau-b", "tau-c", "95% interval", "published tau-c", "Spearman")
    return table(heads, rows())


SAMPLES = {
    "negatives-verdicts": ("2", "1", {"fluent": "not fluent", "false": "not surely false",
                                      "kept_to_kind": "of another kind"}),
    "details-verdicts": ("3", "", {"fluent": "not fluent", "true": "not surely true",
                                   "false": "not surely false",
                                   "kept_to_kind": "of another kind"}),
}  # fmt: skip
"""For each file of verdicts the sample that is told, an earlier one, what a verdict is about."""


def verdicts(name: str) -> str:
    """How many negatives passed a reader, by kind, from the file of single verdicts."""
    sample, earlier, questions = SAMPLES[name]
    with (DOCS / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))

    def passed(some: Sequence[dict[str, str]]) -> int:
        return sum(all(row[one] == "yes" for one in questions) for row in some)

    def cells(kind: str) -> Iterator[str]:
        own = [row for row in rows if row["kind"] == kind or kind == "all"]
        read = [row for row in own if row["sample"] == sample]
        good, n = passed(read), len(read)
        low, high = wilson(good / n, n)
        share = f" of {n}: {100 * good / n:.1f}%" if kind == "all" else ""
        yield from (kind, f"{good}{share}", f"{100 * low:.1f} - {100 * high:.1f}%")
        yield from (str(sum(row[one] != "yes" for row in read)) for one in questions)
        if earlier:
            yield str(passed([row for row in own if row["sample"] == earlier]))

    heads = ["kind", "pass of 50", "95% interval (Wilson)", *questions.values()]
    kinds = [*dict.fromkeys(row["kind"] for row in rows), *(["all"] if earlier else [])]
    return table(heads + ["first sample"] * bool(earlier), (list(cells(kind)) for kind in kinds))


def photo_verdicts() -> str:
    """How many pairs of photographs passed who looked, by kind, and how many but for defects."""
    with (DOCS / "photos-verdicts.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    questions = {"clean": "not clean", "false": "not surely false", "kept_to_kind": "other kind"}

    def cells(kind: str) -> Iterator[str]:
        own = [row for row in rows if row["kind"] == kind]
        yield kind
        for asked in (["false", "kept_to_kind"], questions):
            good = sum(all(row[one] == "yes" for one in asked) for row in own)
            low, high = wilson(good / len(own), len(own))
            yield from (f"{good} of {len(own)}", f"{100 * low:.1f} - {100 * high:.1f}%")
        yield from (str(sum(row[one] != "yes" for row in own)) for one in questions)

    heads = ["kind", "pass", "95% interval (Wilson)", "and are clean", "95% interval"]
    kinds = dict.fromkeys(row["kind"] for row in rows)
    return table([*heads, *questions.values()], (list(cells(kind)) for kind in kinds))


def foils_coco() -> str:
    """What `build foil` makes of val2014, by supercategory, beside the paper's shares."""
    coco = real_data() / "coco"
    how = {"objects": coco / "objects_val2014.json.gz", "look": False, "unfiltered": True}
    with tempfile.TemporaryDirectory() as place:
        made = [
            ta.build(
                "foil",
                coco / "captions_val2014.json.gz",
                Path(place) / str(plain),
                ta.FoilOptions(plain=plain, **how),
            ).card.made["by_supercategory"]
            for plain in (False, True)
        ]
    ours, plain = ({sort: row["kept"] for sort, row in one.items()} for one in made)
    candidates = {sort: row["candidates"] for sort, row in made[0].items()}

    def share(counted: dict[str, int], sort: str) -> str:
        return f"{100 * counted[sort] / sum(counted.values()):.1f}%"

    def rows() -> Iterator[Sequence[str]]:
        for sort in PAPER:
            yield (sort, f"{candidates[sort]:,}", f"{ours[sort]:,}", share(ours, sort),
                   f"{plain[sort]:,}", share(plain, sort), share(PAPER, sort))  # fmt: skip
        sums = [f"{sum(one.values()):,}" for one in (candidates, ours, plain, PAPER)]
        yield "all", sums[0], sums[1], "", sums[2], "", f"{sums[3]} pairs"

    heads = ("supercategory", "candidates", "kept", "share", "kept, plain", "share")
    return table((*heads, "paper's share"), rows())


def fairness_verdicts() -> str:
    """How many items passed a reader who did not know which were kept by the filter, by kind."""
    with (DOCS / "fairness-verdicts.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["reading"] == "1"]
    asked = ("original_true", "fluent", "false", "kept_to_kind")

    def cell(kind: str, source: str) -> str:
        own = [row for row in rows if row["source"] == source and kind in (row["kind"], "all")]
        if not own:
            return "none read"
        good = sum(all(row[one] == "yes" for one in asked) for row in own)
        low, high = wilson(good / len(own), len(own))
        told = f"{good} of {len(own)}, {100 * good / len(own):.0f}%"
        return f"{told} ({100 * low:.0f} - {100 * high:.0f})"

    kinds = [*dict.fromkeys(row["kind"] for row in rows), "all"]
    sources = ("kept", "unfiltered")
    heads = ("pass, with Wilson's interval", *sources)
    return table(heads, ((kind, *(cell(kind, one) for one in sources)) for kind in kinds))


def catalogue_sources() -> str:
    """Where each layout of the catalogue is documented."""
    return table(
        ("name", "source of the layout"),
        ((f"`{name}`", layout.source) for name, layout in layouts().items()),
    )


class NoData(Exception):
    """Data from elsewhere are not here."""


def real_data() -> Path:
    """The folder of data from elsewhere."""
    named = os.environ.get("TELLAPART_REAL_DATA", "")
    if not named:
        raise NoData("TELLAPART_REAL_DATA is not set")
    return Path(named)


FIGURES: dict[str, Callable[[], str]] = {
    "storybook-scores": storybook_scores,
    "storybook-bivlc-kinds": storybook_bivlc_kinds,
    "storybook-foil-kinds": storybook_foil_kinds,
    "flickr8k-expert": flickr8k_expert,
    "negatives-verdicts": lambda: verdicts("negatives-verdicts"),
    "details-verdicts": lambda: verdicts("details-verdicts"),
    "fairness-verdicts": fairness_verdicts,
    "photos-verdicts": photo_verdicts,
    "catalogue-sources": catalogue_sources,
    "foils-coco": foils_coco,
}


def blocks() -> Iterator[tuple[Path, str, str]]:
    """Every block of the docs: its page, its name, what stands in it."""
    for page in sorted(DOCS.glob("*.md")):
        for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
            yield page, match[2], match[3]


def main(wanted: Sequence[str]) -> None:
    """Write the blocks anew."""
    for page, name, before in blocks():
        if wanted and name not in wanted:
            continue
        try:
            after = FIGURES[name]()
        except NoData as reason:
            print(f"{page.name}, {name}: left alone ({reason})")
            continue
        print(f"{page.name}, {name}: {'as it was' if after == before else 'written anew'}")
        text = page.read_text(encoding="utf-8")
        anew = BLOCK.sub(lambda m: m[1] + (after if m[2] == name else m[3]) + m[4], text)  # noqa: B023
        page.write_text(anew, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
