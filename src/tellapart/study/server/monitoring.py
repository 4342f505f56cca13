"""Monitoring: a health check, and metrics for Prometheus.

Metrics need a token of their own (shown by `study owner --json`), which gives access to nothing
else: `Authorization: Bearer TOKEN`, as Prometheus sends it.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator
from typing import Annotated

from fastapi import APIRouter, Header, Response
from sqlalchemy import Connection, select

from tellapart._version import __version__
from tellapart.study.progress import StudyStatus, read_status
from tellapart.study.server.calls import Here
from tellapart.study.sessions import NotAllowed

router = APIRouter(include_in_schema=False)
FORM = "text/plain; version=0.0.4; charset=utf-8"
OF_STAGES = {
    "items": "Items of the stage.",
    "closed": "Items with all their judgements.",
    "kept": "Items that people kept.",
    "wanted": "Judgements requested.",
    "given": "Valid judgements given.",
    "held": "Judgements reserved but not given yet.",
}

Sample = tuple[dict[str, str], int]
"""Labels and a value."""


@router.get("/health")
async def health(here: Here) -> dict[str, str]:
    """Whether the server and its database respond; 503 if the database does not."""

    def job(conn: Connection) -> None:
        conn.execute(select(1))

    await here.read(job)
    return {"status": "ok"}


@router.get("/metrics")
async def metrics(
    here: Here, authorization: Annotated[str, Header(max_length=200)] = ""
) -> Response:
    """The study's metrics, for Prometheus."""
    expected = f"Bearer {here.study.keys.metrics}"
    if not hmac.compare_digest(authorization.encode(), expected.encode()):
        raise NotAllowed("this needs the metrics token", todo="see: tellapart study owner --json")
    status = await here.read(lambda conn: read_status(conn, here.study))
    answers = [({"status": str(code)}, n) for code, n in sorted(here.limits.answers.items())]
    lines = [
        *_family("requests", "counter", "Requests answered by this process.", answers),
        *_of_study(status),
    ]
    return Response("\n".join(lines) + "\n", media_type=FORM)


def _of_study(status: StudyStatus) -> Iterator[str]:
    yield from _family("info", "gauge", "The program.", [({"version": __version__}, 1)])
    for name, about in OF_STAGES.items():
        samples = [({"stage": one.stage}, int(getattr(one, name))) for one in status.stages]
        yield from _family(name, "gauge", about, samples)
    people = [({"state": state}, number) for state, number in sorted(status.people.items())]
    yield from _family("people", "gauge", "People by state.", people)


def _family(name: str, kind: str, about: str, samples: Iterable[Sample]) -> Iterator[str]:
    """The lines of one metric in Prometheus's text format."""
    full = f"tellapart_study_{name}{'_total' if kind == 'counter' else ''}"
    yield f"# HELP {full} {about}"
    yield f"# TYPE {full} {kind}"
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"{full}{{{inside}}} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
