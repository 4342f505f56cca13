"""Does any request, valid or not by the description of a study's server, end in a 5xx?

schemathesis reads the OpenAPI description of the running server and generates requests from it:
valid ones, ones that break each rule in turn, and random ones, by a participant, by the owner and
by a stranger. A participant who leaves or deletes themselves is replaced by another. The last line
is JSON: requests by status; any 5xx is printed in full.

    python -P soak/schema.py [--examples 100] [--database sqlite|postgresql]
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Err
from tests.study.conftest import pairs_of
from tests.study.postgres import running_postgres
from tests.study.server.conftest import HEADERS, Running, serving

from tellapart.study.folder import StudySetup, write_study
from tellapart.study.plan import Stage
from tellapart.study.study import opened_study

WHO = ("person", "owner", "stranger")


@dataclass
class Visitors:
    """Cookies of people who take part, of the owner, and of nobody."""

    here: Running
    who: str
    cookies: dict[str, str] = field(default_factory=dict)

    def call(self, case: Case[Any]) -> Any:
        """Send a request; a session that has ended is followed by a new one."""
        response = case.call(base_url=self.here.url, headers=HEADERS, cookies=self.cookies)
        if response.status_code == 401 and self.who != "stranger":
            client = self.here.person() if self.who == "person" else self.here.owner()
            self.cookies = {cookie.name: cookie.value for cookie in client.cookies.jar}
            client.close()
        return response


def requests(here: Running, examples: int) -> Iterator[tuple[str, str, Any]]:
    """(operation, who, response) of everything that is asked: all ask the same."""
    schema = schemathesis.openapi.from_url(f"{here.url}/api/openapi.json")
    every = [Visitors(here, who) for who in WHO]
    for found in schema.get_all_operations():
        if isinstance(found, Err):
            raise found.err()
        operation = found.ok()
        for mode in GenerationMode:
            made = cases(operation.as_strategy(generation_mode=mode), examples)
            for visitors in every:
                for case in made:
                    yield operation.label, visitors.who, visitors.call(case)


def cases(strategy: SearchStrategy[Case[Any]], examples: int) -> list[Case[Any]]:
    """So many requests, the same each time."""
    made: list[Case[Any]] = []

    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=True,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=strategy)
    def keep(case: Case[Any]) -> None:
        made.append(case)

    keep()
    return made


def attacked(here: Running, examples: int) -> dict[str, Any]:
    """Counts by status, and what ended in a 5xx."""
    here.limits.now = itertools.count(step=100).__next__  # nobody has to wait
    statuses: Counter[str] = Counter()
    failures: list[str] = []
    for label, who, response in requests(here, examples):
        statuses[str(response.status_code)] += 1
        if response.status_code >= 500:
            sent = response.request
            failures.append(f"{label} by a {who}: {sent.url} {sent.body!r}: {response.text}")
    return {
        "requests": statuses.total(),
        "statuses": dict(sorted(statuses.items())),
        "failures": failures,
    }


def main() -> None:
    """Ask everything of a study of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--database", default="sqlite", choices=["sqlite", "postgresql"])
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "study"
        on_postgres = options.database == "postgresql"
        url = stack.enter_context(running_postgres()).database() if on_postgres else ""
        stage = Stage("ask", "which-image", judgements=3, checks=0.1)
        write_study(pairs_of(200), folder, StudySetup((stage,), prolific="study123", places=9))
        study = stack.enter_context(opened_study(folder, url))
        here = stack.enter_context(serving(study))
        found = attacked(here, options.examples)
    for failure in found["failures"]:
        print(failure)
    print(json.dumps({**found, "failures": len(found["failures"])}))
    sys.exit(bool(found["failures"]))


if __name__ == "__main__":
    main()
