"""The examples of the documentation, installed as a package of somebody else's would be."""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tellapart import registry

DOCS = Path(__file__).parent.parent / "docs"
EXAMPLE = re.compile(r"```python\n(?P<code>[^`]*)```\n+```toml\n(?P<toml>[^`]*)```")


@dataclass(frozen=True, slots=True)
class DocumentedPlugin:
    """A file on a page, and the line that registers it."""

    group: str
    name: str
    target: str
    code: str

    @property
    def module(self) -> str:
        """The file's name without its ending."""
        return self.target.partition(":")[0].removeprefix("my_package.")


def documented_plugins(page: str) -> list[DocumentedPlugin]:
    """Every file on a page that is registered by the lines below it."""
    found = []
    for match in EXAMPLE.finditer((DOCS / page).read_text(encoding="utf-8")):
        points = tomllib.loads(match["toml"])["project"]["entry-points"]
        ((group, names),) = points.items()
        ((name, target),) = names.items()
        found.append(DocumentedPlugin(group, name, target, match["code"]))
    return found


def install_plugins(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the files of a page as an installed package, which the registries then find."""
    plugins = documented_plugins(page)
    package, installed = folder / "my_package", folder / "my_package-1.0.dist-info"
    package.mkdir(parents=True)
    installed.mkdir()
    for plugin in plugins:
        (package / f"{plugin.module}.py").write_text(plugin.code, encoding="utf-8")
    lines = [f"[{one.group}]\n{one.name} = {one.target}\n" for one in plugins]
    joined = "".join(dict.fromkeys("".join(lines).splitlines(keepends=True)))
    (installed / "entry_points.txt").write_text(joined, encoding="utf-8")
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(folder))
    registry._found.cache_clear()


def forget_plugins() -> None:
    """Leave nothing of the package to other tests."""
    registry._found.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_package"]:
        del sys.modules[name]
