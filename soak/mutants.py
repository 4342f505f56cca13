"""Would the tests notice? Small changes to the code, one at a time, each against its tests.

Cosmic Ray says where a module can be changed and how (operators, comparisons, numbers, conditions,
decorators, exceptions). For each part a seeded sample is drawn: first locations, then one of the
changes possible there, because an addition has eleven and would crowd out the others. Annotations
are left alone, since nothing executes them. A mutant faces the tests that run its line, fastest
first, until one fails; those that draw and build a whole world are left out.

A process with the libraries loaded forks for every mutant, and the child imports the changed module
instead of the file: the checkout is never touched. Results are kept in a file, so that an
interrupted campaign resumes. Prints the shares killed with Wilson's 95% interval, and every
survivor; soak/survivors.toml says why one is accepted, or that it is equivalent.

    python -P soak/mutants.py [--parts guard,ties] [--sample 200] [--seed 0] [--out mutants.jsonl]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from soak.mutation import Mutant, mutants_of
from soak.trial import Covering, covering_tests, tried

from tellapart import seeds
from tellapart.stats.intervals import wilson

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "tellapart"
WORDS = Path(__file__).with_name("survivors.toml")
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "measures": (
        ("measures/choice.py", "measures/foil.py", "measures/measure.py", "measures/scores.py",
         "measures/comparison.py", "measures/separation.py"),
        ("src/tellapart/measures", "tests/measures/test_choice.py", "tests/measures/test_foil.py",
         "tests/measures/test_comparing.py", "tests/measures/test_outcomes.py",
         "tests/measures/test_overview.py", "tests/measures/test_printed.py",
         "tests/measures/test_ties.py", "tests/measures/test_units.py",
         "tests/published/test_table.py", "tests/reports/test_score_tables.py"),
    ),
    "stats": (
        ("stats/agreement.py", "stats/differences.py", "stats/intervals.py", "stats/power.py",
         "stats/rank_correlation.py", "stats/roc.py", "stats/totals.py"),
        ("src/tellapart/stats", "tests/stats"),
    ),
    "ties": (
        ("measures/ties.py",),
        ("src/tellapart/measures/ties.py", "tests/measures/test_ties.py",
         "tests/measures/test_choice.py"),
    ),
    "questions": (
        ("questions.py", "study/questions/question.py", "study/questions/page.py",
         "study/questions/bison.py", "study/questions/bivlc.py", "study/questions/choose.py",
         "study/questions/foil.py", "study/questions/rate.py"),
        ("src/tellapart/questions.py", "tests/study/test_page.py",
         "tests/study/test_questions.py", "tests/study/test_tasks.py",
         "tests/study/test_results.py", "tests/study/test_pairs.py", "tests/study/test_captions.py",
         "tests/study/test_surveys.py", "tests/measures/test_choice.py", "tests/test_items.py"),
    ),
    "assignment": (
        ("study/assignment.py", "study/tasks.py"),
        ("src/tellapart/study/tasks.py", "tests/study/test_assignment.py",
         "tests/study/test_tasks.py", "tests/study/test_people.py", "tests/study/test_pairs.py",
         "tests/study/test_surveys.py", "tests/study/test_folder.py",
         "tests/study/test_captions.py", "tests/study/server/test_clock.py"),
    ),
    "guard": (
        ("study/server/guard.py", "web/gate.py", "study/sessions.py", "study/participants.py"),
        ("tests/study/server/test_limits.py", "tests/study/server/test_guard.py",
         "tests/study/test_sessions.py", "tests/study/test_people.py",
         "tests/study/test_prolific.py",
         "tests/study/server/test_owners.py", "tests/study/server/test_host.py",
         "tests/study/server/test_annotators.py", "tests/views/test_views.py"),
    ),
    "cache": (
        ("store/cache.py", "store/rows.py", "store/records.py", "store/arrays.py"),
        ("tests/store", "tests/score/test_cache.py"),
    ),
    "resume": (
        ("score/job.py", "score/batches.py", "score/live.py"),
        ("tests/score/test_batches.py", "tests/score/test_resume.py", "tests/score/test_engine.py",
         "tests/score/test_cache.py"),
    ),
}  # fmt: skip
"""By part: the modules that are changed, and where their tests are."""
WANTED = {"measures": 0.9, "stats": 0.9}
ENOUGH = 0.85


def sample(part: str, size: int, seed: int) -> list[Mutant]:
    """So many mutants of a part's modules: places by lot, then a change of each place."""
    found = [one for name in PARTS[part][0] for one in mutants_of(SOURCE / name)]
    places: dict[tuple[Path, int, int], list[Mutant]] = {}
    for one in found:
        places.setdefault((one.path, one.line, one.column), []).append(one)
    rng = seeds.rng(seed, "mutants", part)
    drawn: list[Mutant] = []
    every = list(places.values())
    while every and len(drawn) < size:
        for k in rng.permutation(len(every)).tolist():
            drawn.append(every[k].pop(int(rng.integers(len(every[k])))))
        every = [one for one in every if one]
    return drawn[:size]


def campaign(part: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every mutant of a part with what became of it; those in the file are not tried again."""
    known = {row["mutant"]: row for row in stored(options.out) if row["part"] == part}
    covering: Covering | None = None
    for mutant in sample(part, options.sample, options.seed):
        row = known.get(mutant.name)
        if row is None:
            covering = covering or covering_of(part, options.out)
            row = {"part": part, "mutant": mutant.name, "became": tried(mutant, covering, ROOT)}
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        yield row


def covering_of(part: str, out: Path) -> Covering:
    """Which tests run which line of a part; kept beside the results as long as neither changes."""
    modules, tests = [SOURCE / name for name in PARTS[part][0]], PARTS[part][1]
    places = [*modules, *(ROOT / name for name in tests)]
    files = [
        one for place in places for one in ([place] if place.is_file() else place.rglob("*.py"))
    ]
    state = seeds.digest(*(path.read_text(encoding="utf-8") for path in sorted(files)))
    kept = out.with_name(f"{out.stem}-covering-{part}-{state[:16]}.json")
    if not kept.exists():
        found = covering_tests(ROOT, modules, tests)
        kept.write_text(json.dumps(asdict(found)), encoding="utf-8")
    return Covering(**json.loads(kept.read_text(encoding="utf-8")))


def stored(path: Path) -> list[dict[str, Any]]:
    """What was found before."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def told(part: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A part's figures."""
    killed = sum(row["became"] not in ("survived", "not covered") for row in rows)
    low, high = wilson(killed / len(rows), len(rows)) if rows else (0.0, 1.0)
    words = tomllib.loads(WORDS.read_text(encoding="utf-8")) if WORDS.exists() else {}
    left = [row for row in rows if row["became"] in ("survived", "not covered")]
    return {
        "mutants": len(rows),
        "killed": killed,
        "share": round(killed / len(rows), 3) if rows else None,
        "interval": [round(low, 3), round(high, 3)],
        "wanted": WANTED.get(part, ENOUGH),
        "survivors": {row["mutant"]: words.get(row["mutant"], row["became"]) for row in left},
    }


def main() -> None:
    """All parts; it fails where too few mutants were killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="then stop")
    options = parser.parse_args()
    end, results = time.monotonic() + 60 * options.minutes, {}
    for part in options.parts.split(","):
        rows = []
        for row in campaign(part, options):
            rows.append(row)
            if time.monotonic() > end:
                break
        results[part] = found = told(part, rows)
        print(f"{part}: {json.dumps(found, indent=2)}", flush=True)
    print(json.dumps({part: one["share"] for part, one in results.items()}))
    short = [p for p, one in results.items() if one["mutants"] and one["share"] < one["wanted"]]
    sys.exit(bool(short))


if __name__ == "__main__":
    main()
