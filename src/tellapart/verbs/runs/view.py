"""The verb `view`: runs and benchmarks in a browser, on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.options import Help, Overwrite
from tellapart.types import Progress, silent
from tellapart.verbs import Verb

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.score.run import Run
    from tellapart.views.captions import CaptionSheet
    from tellapart.views.sheet import Sheet
    from tellapart.views.viewer import Viewer
    from tellapart.web.host import BackgroundServer

ASKED: dict[Any, str] = {(2, 1): "which-image", (2, 2): "choose-both-ways", 1: "choose-caption"}
"""The question of a study created from a view, by numbers of pictures and captions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """Where the view is served, what it shows first, and where files are written."""

    at: Annotated[str, Help("Open at this place: the part after the # of a view's address.")] = ""
    on: Annotated[Path | None, Help("The runs' benchmark, if it has moved.")] = None
    images: Annotated[Path | None, Help("Folder with the pictures, if they have moved.")] = None
    references: Annotated[
        Path | None, Help("For captions: reference captions of the images, any corpus.")
    ] = None
    marks: Annotated[
        Path | None, Help("File for stars and notes (default: beside the first path).")
    ] = None
    out: Annotated[Path, Help("Folder for new subsets and studies.")] = Path()
    host: Annotated[str, Help("Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Help("Port to listen on; 0 for any free port.")] = 0
    bundle: Annotated[
        Path | None, Help("Write the view as a static site to this folder instead of serving it.")
    ] = None
    overwrite: Overwrite = False
    browse: Annotated[bool, Help("Open the browser.", flag="--open")] = True
    notebook: tuple[str, ...] = ()
    """Origins whose pages may embed the view in a frame (http://localhost:8888); Python only."""


@dataclass(frozen=True, slots=True)
class ServedView:
    """A view that can be opened: its address, and what could not be read.

    `items` is the number of items in a bundle, None if the view is served.
    """

    address: str
    problems: tuple[str, ...]
    unencrypted: bool = False
    items: int | None = None
    server: BackgroundServer | None = None

    def stop(self) -> None:
        """Stop serving the view in a notebook."""
        if self.server is not None:
            self.server.stop()

    def _repr_html_(self) -> str:
        if self.server is None:
            return f"<p>{escape(str(self))}</p>"
        frame = 'width="100%" height="760" style="border: 1px solid #8886; border-radius: 8px"'
        return f'<iframe src="{escape(self.address)}" {frame}></iframe>'

    def to_json(self) -> dict[str, object]:
        """For `--json`."""
        return {"address": self.address, "problems": list(self.problems)}

    def __str__(self) -> str:
        if self.items is None:
            return f"view: {self.address}"
        return f"bundle: {self.items:,} items  ->  {self.address}"

    def notes(self) -> list[str]:
        """Warnings and hints for the user."""
        lines = [f"left out: {one}" for one in self.problems]
        if self.unencrypted:
            lines.append(
                "warning: the connection is not encrypted; others on the network can read it"
            )
        if self.items is not None:
            folder = Path(self.address).parent
            return [*lines, f"open it with: python -m http.server --directory {folder}"]
        return [*lines, "serving; stop with ctrl-c"]


def view(
    paths: Annotated[
        Sequence[Benchmark | Run | Path | str],
        Help("Runs, benchmarks, studies' exports, captioners' results, or folders of them."),
    ],
    options: ViewOptions = ViewOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
    ready: Callable[[ServedView], None] = lambda served: None,
) -> ServedView:
    """See what models got wrong: items with their pictures and answers, in the browser.

    The view is served until you stop it (ctrl-c), to this machine only.

    In Python: `ready` is called as soon as the view can be opened. In a notebook, the view is shown
    in a frame and served in the background until you call `stop()`.
    """
    from tellapart.views.app import make_app
    from tellapart.web.host import BackgroundServer, ServerAddress, listen, serve_app

    viewer = make_viewer(paths, options, progress)
    if options.bundle is not None:
        return _bundled(viewer, options, progress, ready)
    listening = listen(ServerAddress(options.host, options.port))
    where = ServerAddress(options.host, listening.getsockname()[1])
    address = address_of(where.url, viewer.key, options.at)
    problems = tuple(viewer.library.problems)
    viewer.warm()
    if in_notebook() or options.notebook:
        app = make_app(viewer, where.url, options.notebook or notebook_origins())
        return ServedView(address, problems, server=BackgroundServer(app, listening))
    served = ServedView(address, problems, where.open_to_others)

    def listens() -> None:
        ready(served)
        sys.stdout.flush()  # a program that reads the address must not wait for a full buffer
        if options.browse:
            import webbrowser

            webbrowser.open(served.address)

    serve_app(make_app(viewer, where.url), listening, listens)
    return served


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def notebook_origins() -> tuple[str, ...]:
    """The notebook servers on this machine, as reported by Jupyter; else its default port."""
    try:
        serverapp = import_module("jupyter_server.serverapp")
        ports = sorted({int(one["port"]) for one in serverapp.list_running_servers()})
    except (ImportError, OSError, KeyError, ValueError):
        ports = []
    names = ("localhost", "127.0.0.1")
    return tuple(f"http://{name}:{port}" for port in ports or [8888] for name in names)


def _bundled(
    viewer: Viewer, options: ViewOptions, progress: Progress, ready: Callable[[ServedView], None]
) -> ServedView:
    from tellapart.views.bundle import write_bundle

    out = Path(options.bundle or "")
    items = write_bundle(viewer, out, options.at, overwrite=options.overwrite, progress=progress)
    bundled = ServedView(str(out / "index.html"), tuple(viewer.library.problems), items=items)
    ready(bundled)
    return bundled


def address_of(url: str, key: str, at: str) -> str:
    """The address to open; the secret is after the #, which browsers never send to a server."""
    behind = f"&{at.lstrip('#')}" if at else ""
    return f"{url}/#key={key}{behind}"


def make_viewer(paths: Any, options: ViewOptions, progress: Progress = silent) -> Viewer:
    """Read the paths, and assemble what the page needs."""
    from tellapart.views.library import Loader
    from tellapart.views.marks import NAME, ItemMarks
    from tellapart.views.viewer import Doings, Viewer

    single = isinstance(paths, (str, Path)) or not isinstance(paths, Sequence)
    given = [paths] if single else list(paths)
    folders = [Path(one) for one in given if isinstance(one, (str, Path))]
    beside = next((one if one.is_dir() else one.parent for one in folders if one.exists()), Path())
    marks = ItemMarks.read(options.marks or beside / NAME)
    doings = Doings({"subset": make_subset, "study": make_study}, options.out)
    loader = Loader(given, options.on, options.images, progress, options.references)
    viewer = Viewer(loader, marks, doings)
    viewer.check()
    return viewer


def make_subset(sheet: Sheet, ids: frozenset[str], out: Path) -> str:
    """A benchmark of some items."""
    from tellapart.verbs.benchmarks.subset import SubsetOptions, subset

    made = subset(sheet.benchmark, out, SubsetOptions(ids=ids), name=out.name)
    return f"{made}  ->  {out}"


def make_study(sheet: Sheet, ids: frozenset[str], out: Path) -> str:
    """A study of some items, with the question that fits their grids."""
    from dataclasses import replace

    import polars as pl

    from tellapart.benchmark.benchmark import make_benchmark
    from tellapart.verbs.study.create import CreateStudyOptions, create_study
    from tellapart.views.captions import CaptionSheet

    if isinstance(sheet, CaptionSheet):
        return make_caption_study(sheet, ids, out)
    whole = sheet.benchmark
    items = whole.items.where(pl.col("id").is_in(list(ids)))
    part = make_benchmark(replace(whole.card, name=out.name), whole.root, items, whole.images)
    shape = next(iter(part.items.shapes))
    foils = part.items.frame["slot"].struct.field("caption").is_not_null().any()
    ask = (
        "foil" if foils else ASKED.get(shape, "choose-caption" if shape[0] == 1 else "choose-image")
    )
    made = create_study(part, out, CreateStudyOptions(ask=ask, name=out.name))
    return f"{made}; serve it with: tellapart study serve {out}"


def make_caption_study(sheet: CaptionSheet, ids: frozenset[str], out: Path) -> str:
    """A study in which people rate the correctness of all systems' captions."""
    from tellapart.benchmark.benchmark import Card, make_benchmark
    from tellapart.study.caption_items import caption_item
    from tellapart.verbs.study.create import CreateStudyOptions, create_study

    rows = sheet.benchmark.items.ids.is_in(list(ids)).arg_true().to_numpy()
    items = [
        caption_item(f"{one.label}/{image}", image, caption)
        for one, written in zip(sheet.contestants, sheet.written, strict=True)
        for image, caption in written[rows].select("image", "caption").iter_rows()
        if caption.strip()
    ]
    card = Card(out.name, about="captions to be rated", measures=())
    part = make_benchmark(card, sheet.benchmark.root, items, sheet.benchmark.images)
    made = create_study(part, out, CreateStudyOptions(ask="rate-correctness", name=out.name))
    return f"{made}; serve it with: tellapart study serve {out}"


VERB = Verb(view, example="tellapart view runs", notes=ServedView.notes)
