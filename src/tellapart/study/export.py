"""A study's results as files: judgements, figures, the human run, the verified benchmark."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from sqlalchemy import Connection, select

from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark, save_benchmark
from tellapart.errors import BadInput
from tellapart.files import (
    whole_file,
    whole_folder,
    write_json,
    write_parquet,
    write_table,
    write_text,
)
from tellapart.items import Item, Origin
from tellapart.questions import Ask, questions
from tellapart.score.engine import versions
from tellapart.score.run import Run, RunCard, answers_frame, save_run, scores_frame
from tellapart.study.judgements import measured_times
from tellapart.study.questions.question import (
    ItemMaking,
    JudgedTask,
    KeptTask,
)
from tellapart.study.ratings import rating_table
from tellapart.study.results import StudyRecord, StudyResults, read_record, results_of
from tellapart.study.store import schema as t
from tellapart.study.study import OpenStudy

JUDGEMENT_COLUMNS: dict[str, Any] = {
    "stage": pl.String, "ask": pl.String, "role": pl.String, "item": pl.String,
    "question": pl.String, "person": pl.String, "number": pl.Int32, "choice": pl.String,
    "word": pl.Int32, "right": pl.Boolean, "order": pl.List(pl.Int32), "answered_at": pl.Int64,
    "milliseconds": pl.Int64, "page_milliseconds": pl.Int64, "revisions": pl.Int32,
    "void": pl.Boolean, "task": pl.String,
}  # fmt: skip
MODELS_ASKED = frozenset({Ask.CAPTION, Ask.IMAGE, Ask.JUDGE})


def write_results(study: OpenStudy, out: Path, *, overwrite: bool = False) -> StudyResults:
    """Write a folder: judgements.parquet, results.json, benchmark/, verified/ and people/.

    Ratings are in ratings.csv; missed-by-all.html shows the items that everyone got wrong.

    `people/` is a run on `benchmark/` like any model's; `people-majority/` is written if items have
    several judgements. Parts that the study's questions do not allow are left out and listed.
    """

    def job(conn: Connection) -> tuple[pl.DataFrame, StudyRecord]:
        return judgement_table(conn, study), read_record(conn, study)

    table, record = study.database.read(job).result()
    left_out: list[str] = []
    with whole_folder(out, overwrite=overwrite) as partial:
        write_parquet(partial / "judgements.parquet", table)
        benchmark = save_benchmark(record.benchmark, partial / "benchmark")
        several = any(len(task.judgements) > 1 for task in record.tasks)
        for name, majority in (("people", False), ("people-majority", True)):
            if majority and not several:
                continue
            try:
                save_run(human_run(record, benchmark, majority=majority), partial / name)
            except BadInput as reason:
                left_out.append(f"{name}/: {reason.what}")
        try:
            save_verified(record, partial / "verified")
        except BadInput as reason:
            left_out.append(f"verified/: {reason.what}")
        results = results_of(record, tuple(left_out))
        write_json(partial / "results.json", results.to_json())
        _write_ratings(record, partial)
        _write_missed(record, results, partial)
    return results


def _write_ratings(record: StudyRecord, folder: Path) -> None:
    """Write the ratings of each caption, if answers are steps of a scale."""
    rated = [stage for stage in record.plan.stages if stage.question.ordinal]
    for stage in rated:
        name = "ratings.csv" if len(rated) == 1 else f"ratings-{stage.name}.csv"
        write_table(folder / name, rating_table(record.of_stage(stage.name)))


def _write_missed(record: StudyRecord, results: StudyResults, folder: Path) -> None:
    """Write a page of the items that everyone got wrong, with their pictures."""
    names = dict.fromkeys(task.item for task in results.missed_by_all)
    if names:
        items = [record.benchmark.by_id[name] for name in names]
        from tellapart.reports.item_page import item_page  # a server starts without reports

        write_text(folder / "missed-by-all.html", item_page(record.benchmark, items))


def judgement_table(conn: Connection, study: OpenStudy) -> pl.DataFrame:
    """All judgements in chronological order; those of excluded people are marked as void.

    `milliseconds` are measured by the server, `page_milliseconds` are reported by the page.
    """
    task, assignment, judgement, person = t.task.c, t.assignment.c, t.judgement.c, t.person.c
    rows = conn.execute(
        select(
            t.stage.c.name, t.stage.c.ask, task.role, task.matter, task.key, person.code,
            assignment.number, assignment.drawn, judgement.choice, judgement.word,
            judgement.is_right, judgement.answered_at, judgement.milliseconds,
            judgement.revisions, judgement.void, judgement.person_id, assignment.reserved_at,
        )
        .select_from(t.judgement)
        .join(t.assignment, assignment.id == judgement.assignment_id)
        .join(t.task, task.id == assignment.task_id)
        .join(t.stage, t.stage.c.id == task.stage_id)
        .join(t.person, person.id == assignment.person_id)
        .where(t.stage.c.study_id == study.plan.id)
        .order_by(judgement.answered_at, judgement.assignment_id)
    )  # fmt: skip
    values = []
    for row, took in measured_times(rows):
        matter = json.loads(row.matter)
        values.append(
            (
                row.name, row.ask, row.role, matter["item"], matter["question"], row.code,
                row.number, row.choice, row.word, row.is_right, json.loads(row.drawn),
                row.answered_at, took, row.milliseconds, row.revisions, row.void, row.key,
            )
        )  # fmt: skip
    return pl.DataFrame(values, schema=JUDGEMENT_COLUMNS, orient="row")


def flat_table(table: pl.DataFrame) -> pl.DataFrame:
    """Judgements for CSV, which has no lists: the order of options becomes one text."""
    return table.with_columns(pl.col("order").cast(pl.List(pl.String)).list.join(" "))


def write_judgements(study: OpenStudy, path: Path) -> int:
    """Write all judgements as CSV, Parquet or JSONL, by the file's ending; returns their number."""
    table = study.database.read(lambda conn: judgement_table(conn, study)).result()
    with whole_file(path) as partial:
        if path.suffix == ".csv":
            flat_table(table).write_csv(partial)
        elif path.suffix == ".jsonl":
            table.write_ndjson(partial)
        else:
            table.write_parquet(partial, compression="zstd", statistics=False)
    return table.height


def human_run(record: StudyRecord, benchmark: Benchmark, *, majority: bool = False) -> Run:
    """People's answers as a run, to be compared with models in the same tables.

    Each judgement is a trial, or with `majority` each item has one trial, the most frequent answer.
    An answer that no model could give ("both", "neither", a draw between people) is stored without
    a choice and counts as wrong.
    """
    asked = {
        (q.item.id, q.id): q for item in benchmark.items for q in questions(item, MODELS_ASKED)
    }
    types = {stage.name: stage.question for stage in record.plan.stages}
    rows: list[tuple[Any, ...]] = []
    for task in record.tasks:
        question = asked.get((task.matter.item, task.matter.question))
        if question is None or not task.judgements:
            continue
        every = list(range(len(question.options)))
        trials = [(list(one.order) or every, one.choice) for one in task.judgements]
        if majority:
            votes = Counter(one.choice for one in task.judgements).most_common(2)
            drawn = len(votes) > 1 and votes[0][1] == votes[1][1]
            trials = [([], "draw" if drawn else votes[0][0])]
        for trial, (order, choice) in enumerate(trials):
            option = types[task.stage].model_option(choice)
            rows.append((question.item.id, question.id, trial, order, option, "answered", choice))
    if not rows:
        raise BadInput(
            "no question that models can be asked was about the items given to the study",
            allowed="choose-caption, choose-image, best-of-five, which-image or foil; items made "
            "in the study do not count",
        )
    card = RunCard(
        model="people (majority)" if majority else "people",
        kind="chooser",
        benchmark=benchmark.name,
        benchmark_sha256=benchmark.sha256,
        made_by=f"study {record.plan.name}",
        seed=record.plan.seed,
        versions=versions(),
        notes={"people": len(_people(record))},
    )
    return Run(card, benchmark, scores_frame([]), answers_frame(rows))


def save_verified(record: StudyRecord, out: Path, *, overwrite: bool = False) -> Benchmark:
    """Write the items that every stage kept, with who agreed on each.

    The first stage's question builds items from what was chosen. If it builds none, existing items
    are used unchanged, provided that people kept all of their tasks.
    """
    question = record.plan.stages[0].question
    items = list(
        _new_items(record, question)
        if isinstance(question, ItemMaking)
        else _unchanged_items(record)
    )
    if not items:
        raise BadInput(
            "no item is verified yet",
            allowed="at least one item that people kept",
            todo="check the study's progress with: tellapart study status",
        )
    before = record.benchmark
    stages = ", ".join(
        f"{stage.ask} ({stage.keep} of {stage.judgements})" for stage in record.plan.stages
    )
    card = Card(
        name=before.name,
        about=before.card.about,
        measures=before.card.measures or question.measures,
        made={
            **before.card.made,
            "verified_in": record.plan.name,
            "verified_from": before.sha256,
            "verified_seed": record.plan.seed,
        },
        licence=before.card.licence,
        citation=before.card.citation,
        verified=f"by {len(_people(record))} people: {stages}",
    )
    verified = make_benchmark(card, before.root, items, before.images)
    return save_benchmark(verified, out, overwrite=overwrite)


def _people(record: StudyRecord) -> set[str]:
    return {one.person for task in record.tasks for one in task.judgements}


def _unchanged_items(record: StudyRecord) -> Iterator[Item]:
    """Existing items whose tasks were all kept."""
    by_item: dict[str, list[JudgedTask]] = defaultdict(list)
    for task in record.tasks:
        by_item[task.matter.item].append(task)
    for name, tasks in by_item.items():
        if all(task.state == "closed" and task.kept for task in tasks):
            yield _with_notes(record.benchmark.by_id[name], tasks)


def _new_items(record: StudyRecord, question: ItemMaking) -> Iterator[Item]:
    """Items that the question builds from the tasks that every stage kept."""
    plan = record.plan
    for chain in _chains(record):
        matter, chosen = chain[0].matter, chain[0].chosen or "0"
        source = record.benchmark.by_id[matter.item]
        origin = Origin("tellapart study export", plan.name, matter.item, plan.seed)
        item = question.make_item(KeptTask(matter, chosen, source, origin, plan.seed))
        if item is not None:
            yield _with_notes(item, chain)


def _chains(record: StudyRecord) -> Iterator[list[JudgedTask]]:
    """For each task that the last stage kept, the chain of tasks that led to it."""
    for task in record.of_stage(record.plan.stages[-1].name):
        if task.state == "closed" and task.kept:
            chain = [task]
            while chain[0].parent is not None:
                chain.insert(0, record.by_id[chain[0].parent])
            yield chain


def _with_notes(item: Item, tasks: list[JudgedTask]) -> Item:
    """The item with notes on who agreed, by people's codes, stage by stage."""
    notes = dict(item.origin.notes)
    for task in tasks:
        agreed = [
            one.person for one in task.judgements if one.choice == task.chosen or task.right(one)
        ]
        name = f"{task.stage} {task.matter.question}"
        notes[name] = f"{len(agreed)} of {len(task.judgements)}: {' '.join(agreed)}"
    return replace(item, origin=replace(item.origin, notes=notes))
