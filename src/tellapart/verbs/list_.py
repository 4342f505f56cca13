"""The verb `list`: what is installed, one line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tellapart.errors import UnknownName
from tellapart.options import Help
from tellapart.verbs import Verb

BENCHMARKS = "benchmarks"


@dataclass(frozen=True, slots=True)
class Listing:
    """Names with one line about each; prints itself."""

    lines: dict[str, str]

    def to_json(self) -> dict[str, str]:
        """For `--json`."""
        return self.lines

    def __str__(self) -> str:
        if not self.lines:
            return "none yet: build one, or put benchmarks under TELLAPART_HOME"
        width = max(len(name) for name in self.lines)
        return "\n".join(f"{name.ljust(width)}  {about}" for name, about in self.lines.items())


def list_all(
    what: Annotated[
        str,
        Help(
            "models, systems, backbones, tasks, benchmarks, measures, analyses, caption-metrics, "
            "builders, importers, makers, readers or questions."
        ),
    ],
) -> Listing:
    """List what is installed, one line each."""
    from tellapart import registry

    if what == BENCHMARKS:
        return Listing(_benchmarks())
    kinds = {one.plural: one for one in registry.REGISTRIES}
    if what not in kinds:
        raise UnknownName("list", what, [*kinds, BENCHMARKS])
    return Listing({name: kinds[what].describe(name) for name in kinds[what].names()})


def _benchmarks() -> dict[str, str]:
    from tellapart.benchmark.homes import home
    from tellapart.files import read_json

    cards = {path.parent.name: read_json(path) for path in sorted(home().glob("*/benchmark.json"))}
    return {
        name: f"{card['counts']['items']:,} items, {card['about']}" for name, card in cards.items()
    }


VERB = Verb(list_all, example="tellapart list models")
