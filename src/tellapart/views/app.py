"""A view's web application: the page, its pictures, and its JSON API."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import Field
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Scope

from tellapart.errors import BadImage, TellapartError, UnknownName
from tellapart.views import query as queries
from tellapart.views.cards import cards_of, item_rows, whole_item
from tellapart.views.figure import figure_zip
from tellapart.views.marks import LONGEST
from tellapart.views.sheet import Address, Sheet
from tellapart.views.summary import paired, summary
from tellapart.views.viewer import LARGE, LIST, Viewer, picture_name
from tellapart.web.gate import Gate, Refused
from tellapart.web.host import Body, add_shared, json_response

STATUSES = {UnknownName: 404, BadImage: 404}
PICTURES_KEPT = "private, max-age=3600"
MOST_CARDS = 200
OPEN = ("/", "/static/", "/shared/", "/api/join")
"""Paths that need no session: the page itself, which contains no data."""
router = APIRouter()


class Doorkeeper(Gate):
    """Admits only requests with the session, and only for the server's own host names."""

    def __init__(self, app: ASGIApp, viewer: Viewer, url: str, frames: Sequence[str]) -> None:
        super().__init__(app, url, frames)
        self._viewer = viewer
        port = self.origin.port
        local = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
        self._hosts = {self.origin.netloc, *(local if self.origin.scheme == "http" else ())}
        self.cookie = cookie_name(url)

    def admit(self, scope: Scope, headers: Headers) -> None:
        """Check the host name, then the session."""
        if headers.get("host", "") not in self._hosts:
            raise Refused(421, "this is not the host name of this server")
        path: str = scope["path"]
        if path == "/" or any(path.startswith(one) for one in OPEN[1:]):
            return
        given = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        if not hmac.compare_digest(given.encode(), self._viewer.session.encode()):
            raise Refused(401, "open the address printed by tellapart view")


def cookie_name(url: str) -> str:
    """The cookie's name includes the port, because browsers share cookies between ports."""
    return f"tellapart-view-{urlsplit(url).port or 0}"


def make_app(viewer: Viewer, url: str, frames: Sequence[str] = ()) -> FastAPI:
    """The application at an address; `frames` are the origins that may embed it in a frame."""
    app = FastAPI(title="tellapart.views", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.viewer, app.state.url, app.state.framed = viewer, url, bool(frames)
    app.add_exception_handler(TellapartError, _refused)
    app.include_router(router)
    add_shared(app, "tellapart.views")
    app.add_middleware(Doorkeeper, viewer=viewer, url=url, frames=frames)
    return app


async def viewer_of(request: Request) -> Viewer:
    """The viewer of a request."""
    viewer: Viewer = request.app.state.viewer
    return viewer


async def query_of(request: Request) -> queries.Query:
    """The query in the address."""
    return queries.Query.of(request.query_params.multi_items())


Here = Annotated[Viewer, Depends(viewer_of)]
Asked = Annotated[queries.Query, Depends(query_of)]


class KeyBody(Body):
    """The secret in the printed address."""

    key: str = Field(min_length=16, max_length=100)


@router.get("/", include_in_schema=False)
async def page() -> HTMLResponse:
    """The page; the secret is after the # of its address."""
    return HTMLResponse(_page())


@router.post("/api/join")
def join(request: Request, here: Here, body: KeyBody) -> Response:
    """Exchange the secret for a cookie that scripts cannot read."""
    if not hmac.compare_digest(body.key.encode(), here.key.encode()):
        raise Refused(401, "this address is no longer valid")
    response = json_response({"joined": True})
    state = request.app.state
    # In a notebook's frame, our page is a third-party site: the cookie must allow that explicitly.
    how = "Secure; SameSite=None; Partitioned" if state.framed else "SameSite=Strict"
    how += "; Secure" if state.url.startswith("https:") and not state.framed else ""
    cookie = f"{cookie_name(state.url)}={here.session}; Path=/; HttpOnly; {how}"
    response.headers.append("Set-Cookie", cookie)
    return response


@router.get("/api/view")
def view(here: Here) -> Response:
    """Benchmarks, runs, problems, and what can be created."""
    library = here.library
    return json_response(
        {
            "version": here.version,
            "sheets": [sheet.card_json() for sheet in library.sheets],
            "problems": library.problems,
            "make": list(here.doings.make),
            "out": str(here.doings.out.resolve()),
            "marks": {sheet.label: here.marks.of(sheet.benchmark.name) for sheet in library.sheets},
        }
    )


@router.get("/api/overview")
def overview(here: Here) -> Response:
    """Every run on every benchmark."""
    return json_response([here.overviews.of(sheet) for sheet in here.library.sheets])


@router.get("/api/facts")
def facts(here: Here, asked: Asked) -> Response:
    """The facts by which a benchmark's items can be filtered."""
    return json_response(here.sheet(asked.sheet).facts_json())


@router.get("/api/items")
def items(
    here: Here,
    asked: Asked,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=0, le=MOST_CARDS)] = 24,
) -> Response:
    """A page of a query's cards, and their total number."""
    sheet, rows = here.sheet(asked.sheet), here.rows(asked)
    cards = cards_of(sheet, rows[offset : offset + limit], address_of(sheet))
    return json_response({"total": len(rows), "offset": offset, "cards": cards})


@router.get("/api/item/{place}")
def item(here: Here, asked: Asked, place: Annotated[int, Path(ge=0, le=10**9)]) -> Response:
    """One item in full."""
    sheet = here.sheet(asked.sheet)
    if place >= len(sheet):
        raise UnknownName("item", str(place), [])
    return json_response(whole_item(sheet, place, address_of(sheet)))


@router.get("/api/summary")
def summarised(
    here: Here, asked: Asked, by: Annotated[str, Query(max_length=200)] = "kind"
) -> Response:
    """Statistics of the items of a query."""
    return json_response(summary(here.sheet(asked.sheet), here.rows(asked), by))


@router.get("/api/compare")
def compared(here: Here, asked: Asked) -> Response:
    """Runs A and B on the items of a query, ignoring its filters by outcome."""
    sheet = here.sheet(asked.sheet)
    either = replace(asked, a_states="", b_states="", sort="order")
    pair = [queries.column(sheet, label) for label in (asked.a, asked.b)]
    return json_response(paired(sheet, here.rows(either), *pair))


@router.get("/api/items.csv")
def as_csv(here: Here, asked: Asked) -> Response:
    """The items of a query as a table, with every run's outcome."""
    table = item_rows(here.sheet(asked.sheet), here.rows(asked))
    return _file(table.write_csv().encode(), "text/csv", "items.csv")


@router.get("/api/figure.zip")
def as_figure(here: Here, asked: Asked) -> Response:
    """The items of a query as a figure: PNG, PDF and LaTeX."""
    packed = figure_zip(here.sheet(asked.sheet), here.rows(asked))
    return _file(packed, "application/zip", "figure.zip")


class MarkBody(Body):
    """A star and a note for an item."""

    sheet: str = Field(max_length=500)
    place: int = Field(ge=0)
    star: bool
    note: str = Field("", max_length=LONGEST)


@router.post("/api/marks")
def mark(here: Here, body: MarkBody) -> Response:
    """Mark an item."""
    sheet = here.sheet(body.sheet)
    if body.place >= len(sheet):
        raise UnknownName("item", str(body.place), [])
    item_id = sheet.benchmark.items.ids[body.place]
    return json_response(here.marks.set(sheet.benchmark.name, item_id, body.star, body.note))


class MakeBody(Body):
    """The name of the new folder."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,80}$")


@router.post("/api/make/{what}")
def make(
    here: Here, asked: Asked, what: Annotated[str, Path(max_length=20)], body: MakeBody
) -> Response:
    """Create a subset or a study from the items of a query."""
    return json_response({"said": here.make(what, asked, body.name)})


@router.get("/api/live")
def live(here: Here) -> Response:
    """The library's version, and running jobs."""
    version = here.look()
    return json_response({"version": version, "jobs": here.loader.jobs_json()})


@router.get("/pictures/{short}-{place}-{side}.webp")
def picture(
    here: Here,
    short: Annotated[str, Path(pattern=r"^[0-9a-f]{12}$")],
    place: Annotated[int, Path(ge=0, le=10**9)],
    side: Annotated[int, Path(ge=LIST, le=LARGE)],
) -> Response:
    """A picture of a loaded benchmark, small or large."""
    data = here.picture(short, place, side)
    return Response(data, media_type="image/webp", headers={"Cache-Control": PICTURES_KEPT})


def address_of(sheet: Sheet) -> Address:
    """The addresses of a sheet's pictures."""
    return lambda place: f"pictures/{picture_name(sheet, place, LIST)}"


def _file(data: bytes, kind: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=kind, headers=headers)


@cache
def _page() -> str:
    return (files("tellapart.views") / "static" / "view.html").read_text(encoding="utf-8")


async def _refused(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TellapartError)
    status = next((code for sort, code in STATUSES.items() if isinstance(error, sort)), 422)
    parts: dict[str, Any] = dict(error.parts())
    return JSONResponse({"error": parts}, status)
