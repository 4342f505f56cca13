"""Simulated people who work through a study over its real HTTP interface.

They err, prefer the first option, take their time and quit, each by a seed of their own. What they
consider right is the truth if it is known, else what the built-in world's pictures show.
"""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import httpx
import numpy as np
from sqlalchemy import Connection, select

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.world.world import scene_of
from tellapart.errors import TellapartError
from tellapart.models.baselines import Oracle
from tellapart.study.assignment import Assignment, find_assigned
from tellapart.study.effort import Crowd
from tellapart.study.people import Invitation, invite
from tellapart.study.questions.page import shown_value
from tellapart.study.questions.question import Matter, PersonAnswer, TaskForm
from tellapart.study.store import schema as t
from tellapart.study.study import OpenStudy
from tellapart.types import Progress, silent

HEADERS = {"X-Tellapart": "1"}
LATER = (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE)
ATTEMPTS = 30
LABEL = "simulated"
SURE = 0.5


@dataclass(slots=True)
class SimulatedStudy:
    """The outcome: answers by stage, and how many people quit."""

    answers: Counter[str] = field(default_factory=Counter)
    left: int = 0

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"answers": dict(self.answers), "left": self.left}

    def __str__(self) -> str:
        stages = ", ".join(f"{stage}: {number:,}" for stage, number in self.answers.items())
        return f"{sum(self.answers.values()):,} answers ({stages}); {self.left} people quit"


def simulate(
    study: OpenStudy,
    url: str,
    crowd: Crowd = Crowd(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> SimulatedStudy:
    """Have people work until there are no tasks left for them.

    People who wait try again as long as others make progress. `study` is the one served at `url`;
    they look up there what is right.
    """
    knowledge = Knowledge(study.content.items)
    every = SimulatedStudy()
    invited = study.database.submit(lambda conn: invite(conn, study, crowd.people, LABEL)).result()
    waiting = [
        _Person(study, url, one, knowledge, replace(crowd, seed=seeds.number(crowd.seed, place)))
        for place, one in enumerate(invited)
    ]
    with ThreadPoolExecutor(crowd.at_once) as pool:
        while waiting:
            before = sum(every.answers.values())
            jobs = [pool.submit(one.work) for one in waiting]
            later = []
            for one, job in zip(waiting, jobs, strict=True):
                answers, state = job.result()
                every.answers += answers
                every.left += state == "left"
                if state == "wait":
                    later.append(one)
                progress("answers", sum(every.answers.values()), 0)
            # people who waited try again as long as others make progress
            waiting = later if sum(every.answers.values()) > before else []
    return every


class _Person:
    """One person in front of the page."""

    def __init__(
        self, study: OpenStudy, url: str, invited: Invitation, knowledge: Knowledge, crowd: Crowd
    ) -> None:
        self._study, self._knowledge, self._crowd = study, knowledge, crowd
        self._invited, self._url = invited, url

    def work(self) -> tuple[Counter[str], str]:
        """Answer all available tasks; returns the answers by stage, and the final state."""
        answers: Counter[str] = Counter()
        with httpx.Client(base_url=self._url, headers=HEADERS, timeout=60) as client:
            _post(client, "/api/join", {"token": self._invited.token})
            state = _post(client, "/api/next", {})
            if state["state"] == "consent":
                state = _post(client, "/api/consent", {"agree": True})
            while state["state"] == "work":
                task = state["task"]
                rng = seeds.rng(self._crowd.seed, "person", task["number"])
                if rng.random() < self._crowd.leaving:
                    return answers, "left"
                answer = self._answer(self._assignment(task["number"]), task, rng)
                took = int(1000 * rng.gamma(4.0, self._crowd.seconds / 4.0))
                sent = {"number": task["number"], **answer, "milliseconds": took}
                state = _post(client, "/api/answers", sent)
                if not task["training"]:
                    answers[task["stage"]] += 1
        return answers, str(state["state"])

    def _answer(
        self, assignment: Assignment, task: dict[str, Any], rng: np.random.Generator
    ) -> dict[str, Any]:
        values = [option["value"] for option in task["options"]]
        form = assignment.form()
        assumed = assignment.role == "item" and assignment.stage.place > 0
        right = self._knowledge.right(assignment.matter, form, assumed)
        if rng.random() < self._crowd.bias:
            return self._chosen(values[0], None, task, rng)
        if right is not None:
            value = shown_value(form, assignment.order, right.choice)
            if rng.random() >= self._crowd.error or len(values) == 1:
                return self._chosen(value, right, task, rng)
            values = [one for one in values if one != value]
        return self._chosen(values[int(rng.integers(len(values)))], None, task, rng)

    def _chosen(
        self, value: str, right: PersonAnswer | None, task: dict[str, Any], rng: np.random.Generator
    ) -> dict[str, Any]:
        """An answer, with a word if one is asked for: the right one, or by error another."""
        asked = task["word"]
        if asked is None or asked["when"] != value:
            return {"value": value, "word": None}
        words = [piece["word"] for piece in asked["pieces"] if piece["word"] is not None]
        known = right.word if right is not None else None
        if known is None or rng.random() < self._crowd.error:
            words = [word for word in words if word != known] or words
            return {"value": value, "word": words[int(rng.integers(len(words)))]}
        return {"value": value, "word": known}

    def _assignment(self, number: int) -> Assignment:
        study, code = self._study, self._invited.code

        def job(conn: Connection) -> Assignment | None:
            mine = t.person.c.study_id == study.plan.id, t.person.c.code == code
            person = conn.execute(select(t.person.c.id).where(*mine)).scalar_one()
            return find_assigned(conn, study, person, number)

        assignment = study.database.read(job).result()
        if assignment is None:
            raise TellapartError(f"{code} has no task {number}")
        return assignment


def _post(client: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send a request as the page does, and retry later if the server says so."""
    for _ in range(ATTEMPTS):
        response = client.post(path, json=body)
        if response.status_code not in LATER:
            break
        time.sleep(float(response.headers.get("Retry-After", 1)))
    if response.status_code != httpx.codes.OK:
        error = response.json().get("error", {}) if response.content else {}
        raise TellapartError(
            f"the study's server answered {response.status_code}: {error.get('what', '')}",
            where=str(response.request.url),
        )
    answer: dict[str, Any] = response.json()
    return answer


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Knows what a careful person would answer; None if that is impossible to tell."""

    benchmark: Benchmark

    def right(self, matter: Matter, form: TaskForm, assumed: bool) -> PersonAnswer | None:
        """The right answer to a task.

        `assumed` means that its truth was assumed by an earlier stage and may be wrong.
        """
        if matter.check:
            return PersonAnswer(matter.check)
        if assumed and self._is_world:
            return self._described(matter, form)
        if matter.truth is not None:
            choice = min(matter.truth.choices)
            asked = form.word is not None and form.word.when == choice
            return PersonAnswer(choice, min(matter.truth.words, default=0) if asked else None)
        return self._picked(matter, form) if self._is_world else None

    def _described(self, matter: Matter, form: TaskForm) -> PersonAnswer | None:
        """The picture that the caption describes, or both or neither."""
        caption = matter.captions[0]
        keys = [option.key for option in form.options]
        fitting = [key for key in keys if self._fits(matter.images[int(key)], caption)]
        if len(fitting) == 1:
            return PersonAnswer(fitting[0])
        wanted = "both" if fitting else "neither"
        return PersonAnswer(wanted) if wanted in {o.key for o in form.fixed} else None

    def _picked(self, matter: Matter, form: TaskForm) -> PersonAnswer | None:
        """The first caption that is true of the target only, or the first picture that fits."""
        if not form.options:
            return None
        for option in form.options:
            place = int(option.key)
            if option.image is None:
                caption = matter.captions[place]
                target, decoy = matter.images[:2]
                fits = self._fits(target, caption) and not self._fits(decoy, caption)
            else:
                fits = self._fits(matter.images[place], matter.captions[0])
            if fits:
                return PersonAnswer(option.key)
        return PersonAnswer(form.fixed[0].key) if form.fixed else None

    def _fits(self, image: str, caption: str) -> bool:
        picture = self.benchmark.picture(image)
        return bool(self._oracle.score_pairs([picture], [caption])[0] > SURE)

    @cached_property
    def _oracle(self) -> Oracle:
        return Oracle()

    @cached_property
    def _is_world(self) -> bool:
        first = next(iter(self.benchmark.images))
        return scene_of(self.benchmark.picture(first)) is not None
