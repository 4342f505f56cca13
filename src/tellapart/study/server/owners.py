"""The API of the owner's page: progress, people, items, export."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Cookie, Depends, Path, Query, Response
from pydantic import Field
from sqlalchemy import Connection

from tellapart.study import people, sessions
from tellapart.study.agreement import COHEN
from tellapart.study.export import flat_table, judgement_table
from tellapart.study.progress import crew, look_at_items, picture_of, read_status, reopen_item
from tellapart.study.results import agreements, read_record
from tellapart.study.server.calls import Here, Nothing, Server, TokenBody
from tellapart.study.server.guard import OWNER_COOKIE, OWNER_PATH
from tellapart.study.store.database import Job
from tellapart.study.study import OpenStudy
from tellapart.web.host import Body, json_response

T = TypeVar("T")
router = APIRouter(prefix=OWNER_PATH, tags=["owner"])
PICTURE_CACHE = "private, max-age=86400"
Session = Annotated[str, Cookie(alias=OWNER_COOKIE, max_length=100)]
Code = Annotated[str, Path(pattern=r"^p-[a-z0-9]{8}$")]
OwnerJob = Callable[[Connection, OpenStudy], T]
CHANGES = {"exclude": people.exclude, "restore": people.restore, "revoke": people.revoke}


@dataclass(frozen=True, slots=True)
class OwnerCalls:
    """Jobs for the owner's page; each checks the session in its own transaction."""

    server: Server
    session: str

    def _checked(self, job: OwnerJob[T]) -> Job[T]:
        def checked(conn: Connection) -> T:
            sessions.check_owner(conn, self.server.study, self.session)
            return job(conn, self.server.study)

        return checked

    async def run(self, job: OwnerJob[T]) -> T:
        """Run a job that may write."""
        return await self.server.run(self._checked(job))

    async def read(self, job: OwnerJob[T]) -> T:
        """Run a job that only reads."""
        return await self.server.read(self._checked(job))


async def owner_calls(here: Here, session: Session = "") -> OwnerCalls:
    """The calls of the owner with this session."""
    return OwnerCalls(here, session)


Owner = Annotated[OwnerCalls, Depends(owner_calls)]


class Guests(Body):
    """How many links to create, with a note about the people."""

    people: int = Field(ge=1, le=1000)
    label: str = Field("", max_length=200)


@router.post("/join")
async def join(here: Here, body: TokenBody) -> Response:
    """Start a session with the owner's token."""
    return await here.begin(
        lambda conn: sessions.join_as_owner(conn, here.study, body.token), OWNER_COOKIE, OWNER_PATH
    )


@router.post("/leave")
async def leave(here: Here, _body: Nothing, session: Session = "") -> Response:
    """End the owner's session on this browser."""
    return await here.leave(session, OWNER_COOKIE, OWNER_PATH)


@router.get("/status")
async def progress(owner: Owner) -> Response:
    """The study's progress."""
    return json_response((await owner.read(read_status)).to_json())


@router.get("/agreement")
async def agreement(owner: Owner) -> Response:
    """Agreement over all people; pairs of people are in the export."""
    record = await owner.read(read_record)
    rows = await asyncio.to_thread(agreements, record, record.plan.seed)
    return json_response([asdict(row) for row in rows if row.measure != COHEN])


@router.get("/people")
async def everyone(owner: Owner) -> Response:
    """The people, and how much, how fast and how well they judge."""
    return json_response(await owner.read(crew))


@router.post("/people/{code}/delete")
async def forget(owner: Owner, code: Code, _body: Nothing) -> Response:
    """Delete a person and all data about them."""
    await owner.run(lambda conn, study: people.forget(conn, study, code))
    return json_response({"deleted": True})


@router.post("/people/{code}/{change}")
async def change_person(
    owner: Owner, code: Code, change: Literal["exclude", "restore", "revoke"], _body: Nothing
) -> Response:
    """Exclude or restore a person, or revoke their link."""

    def job(conn: Connection, study: OpenStudy) -> dict[str, Any]:
        CHANGES[change](conn, study, code)
        return crew(conn, study, code)[0]

    return json_response(await owner.run(job))


@router.post("/invite")
async def invite(owner: Owner, body: Guests) -> Response:
    """Create personal links; each is shown once."""
    invited = await owner.run(
        lambda conn, study: people.invite(conn, study, body.people, body.label)
    )
    url = owner.server.url
    return json_response([{"person": p.code, "link": f"{url}/#{p.token}"} for p in invited])


@router.get("/items")
async def items(
    owner: Owner,
    stage: Annotated[str, Query(max_length=60)] = "",
    state: Annotated[str, Query(max_length=10)] = "",
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    truth: bool = False,
) -> Response:
    """A page of items with their outcomes; with `truth`, also the right answers."""

    def look(conn: Connection, study: OpenStudy) -> dict[str, Any]:
        return look_at_items(conn, study, stage, state, after, truth=truth)

    return json_response(await owner.read(look))


@router.get("/pictures/{task}-{place}")
async def picture(
    owner: Owner,
    task: Annotated[int, Path(ge=1, le=2**53)],
    place: Annotated[int, Path(ge=0, le=100)],
) -> Response:
    """A picture of an item, as people see it."""
    image = await owner.read(lambda conn, study: picture_of(conn, study, task, place))
    data = await asyncio.to_thread(owner.server.pictures.read, "item", image)
    return Response(data, media_type="image/webp", headers={"Cache-Control": PICTURE_CACHE})


@router.post("/items/{task}/reopen")
async def reopen(
    owner: Owner, task: Annotated[int, Path(ge=1, le=2**53)], _body: Nothing
) -> Response:
    """Ask for one more judgement of an item."""
    return json_response(await owner.run(lambda conn, study: reopen_item(conn, study, task)))


@router.get("/judgements.csv")
async def as_csv(owner: Owner) -> Response:
    """Every judgement as CSV."""
    table = flat_table(await owner.read(judgement_table))
    return _file(table.write_csv().encode(), "text/csv", "csv")


@router.get("/judgements.parquet")
async def as_parquet(owner: Owner) -> Response:
    """Every judgement as Parquet."""
    written = io.BytesIO()
    (await owner.read(judgement_table)).write_parquet(written)
    return _file(written.getvalue(), "application/vnd.apache.parquet", "parquet")


@router.get("/judgements.json")
async def as_json(owner: Owner) -> Response:
    """Every judgement as JSON."""
    return json_response((await owner.read(judgement_table)).to_dicts())


def _file(data: bytes, kind: str, ending: str) -> Response:
    name = f'attachment; filename="judgements.{ending}"'
    return Response(data, media_type=kind, headers={"Content-Disposition": name})
