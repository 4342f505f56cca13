"""The verb `view`: runs and benchmarks in a browser, on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.options import Help
from tellapart.types import Progress, silent
from tellapart.verbs import Verb

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.score.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """Where the view is to be found, and what it begins with."""

    at: Annotated[str, Help("Begin with this: what stands behind the # of a view's address.")] = ""
    on: Annotated[Path | None, Help("The runs' benchmark, if it has moved.")] = None
    images: Annotated[Path | None, Help("Folder that holds the pictures, if they have moved.")] = (
        None
    )
    host: Annotated[str, Help("Address to listen at.")] = "127.0.0.1"
    port: Annotated[int, Help("Port to listen at; 0 for any that is free.")] = 0
    browse: Annotated[bool, Help("Open the browser.", flag="--open")] = True


@dataclass(frozen=True, slots=True)
class ServedView:
    """A view that can be looked at: the address to open, and what could not be read."""

    url: str
    address: str
    problems: tuple[str, ...]
    unencrypted: bool = False

    def to_json(self) -> dict[str, object]:
        """For `--json`."""
        return {"address": self.address, "problems": list(self.problems)}

    def __str__(self) -> str:
        return f"view: {self.address}"

    def notes(self) -> list[str]:
        """What the one who looks should know."""
        lines = [f"left out: {one}" for one in self.problems]
        if self.unencrypted:
            lines.append("warning: others on the network can read along; this is not encrypted")
        return [*lines, "serving; stop with ctrl-c"]


def view(
    paths: Annotated[
        Sequence[Benchmark | Run | Path | str],
        Help("Runs, benchmarks, studies' exports, or folders of them."),
    ],
    options: ViewOptions = ViewOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
    ready: Callable[[ServedView], None] = lambda served: None,
) -> ServedView:
    """See what models got wrong: items with their pictures and answers, in the browser.

    The view is served until you stop it (ctrl-c), to this machine alone.

    In Python: `ready` is called as soon as the view can be opened.
    """
    from tellapart.views.app import make_app
    from tellapart.views.library import Loader
    from tellapart.views.viewer import Viewer
    from tellapart.web.host import ServerAddress, listen, serve_app

    given = [paths] if isinstance(paths, (str, Path)) or not isinstance(paths, Sequence) else paths
    viewer = Viewer(Loader(list(given), options.on, options.images, progress))
    viewer.warm()
    listening = listen(ServerAddress(options.host, options.port))
    where = ServerAddress(options.host, listening.getsockname()[1])
    behind = f"&{options.at.lstrip('#')}" if options.at else ""
    served = ServedView(
        where.url, f"{where.url}/#key={viewer.key}{behind}", tuple(viewer.library.problems),
        where.open_to_others,
    )  # fmt: skip

    def listens() -> None:
        ready(served)
        sys.stdout.flush()
        if options.browse:
            import webbrowser

            webbrowser.open(served.address)

    serve_app(make_app(viewer, where.url), listening, listens)
    return served


VERB = Verb(view, example="tellapart view runs", notes=ServedView.notes)
