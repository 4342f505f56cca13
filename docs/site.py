"""The documentation as a site: `make docs`, or `python docs/site.py OUT`.

The pages of this folder, the README as the front page, and a reference that is made from what the
program itself knows: every verb with its options, everything that `tellapart list` lists, every
public name of the package. Zensical builds the site; nothing comes from another server.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import tellapart as ta
from tellapart import registry
from tellapart.cli.commands import REQUIRED, Parameter, default_text, parameters
from tellapart.verbs import ANALYSES, BUILDERS, STUDY, VERBS, WORK, Verb, module_of

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PARTS = {
    "Tutorials": (
        "tutorials/first-minute", "tutorials/your-own-photographs",
        "tutorials/compare-two-models", "tutorials/let-people-verify", "train-on-hard-negatives",
        "train-a-retrieval-system", "tutorials/paper-in-a-day",
    ),
    "How to": (
        "how-to", "corpora", "benchmarks", "building", "foils", "studies", "adapters", "captions",
        "captioners", "systems", "foil-systems", "mcic-systems", "hard-images", "view", "report",
        "comparing", "analyses", "scale", "extending",
    ),
    "Explanation": (
        "grid", "numbers", "fairness", "audit", "pitfalls", "engine", "storybook", "reliability",
        "trust", "design",
    ),
    "Reference": ("formats", "measures", "models"),
    "Gallery": ("gallery", "results"),
}  # fmt: skip
"""Which part of the site a page belongs to; a test finds pages that are in none."""
REFERENCE = {"verbs": "Verbs", "names": "What is installed", "python": "Python"}
CONFIG = """\
[project]
site_name = "tellapart"
site_description = "Near-miss tests for vision-language models."
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
extra_css = ["site.css"]
nav = {nav}

[project.theme]
font = false
features = ["navigation.tabs", "navigation.top", "content.code.copy", "search.highlight"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"

[project.plugins.mkdocstrings.handlers.python]
paths = ["{source}"]

[project.plugins.mkdocstrings.handlers.python.options]
show_root_heading = true
show_root_full_path = false
show_source = false
separate_signature = true
show_signature_annotations = true
docstring_style = "google"
docstring_section_style = "list"
merge_init_into_class = true
extensions = ["{texts}"]
heading_level = 3

[project.markdown_extensions.admonition]
[project.markdown_extensions.attr_list]
[project.markdown_extensions.tables]
[project.markdown_extensions.toc]
permalink = true
[project.markdown_extensions.pymdownx.highlight]
[project.markdown_extensions.pymdownx.superfences]
[project.markdown_extensions.pymdownx.inlinehilite]
"""


STYLE = """\
/* flags stay in one piece; a column of commands is wide enough to read them */
.md-typeset td:first-child code { white-space: nowrap; }
.md-typeset td:nth-child(2):has(> code:only-child) { min-width: 15rem; }
.md-typeset td:nth-child(3):has(> code:only-child) { min-width: 13rem; }
/* a command or flag within a sentence is not broken at its hyphens */
.md-typeset p > code, .md-typeset li > code { display: inline-block; max-width: 100%; }
"""


def verbs() -> Iterator[tuple[str, Verb]]:
    """Every command with its words, in the order of a project."""
    from tellapart.verbs.build import find_builder
    from tellapart.verbs.runs.analyse import analysis_verb

    for name in VERBS:
        if name == "build":
            yield from ((f"build {one}", find_builder(one)) for one in BUILDERS)
        elif name == "analyse":
            yield from ((f"analyse {one}", analysis_verb(one)) for one in ANALYSES)
        elif name in ("study", "work"):
            for one in STUDY if name == "study" else WORK:
                yield f"{name} {one}", import_module(f"tellapart.verbs.{name}.{one}").VERB
        else:
            yield name, import_module(module_of(name)).VERB


def verbs_page() -> str:
    """A section for each command: what it does, an example, its arguments and flags."""
    lines = [
        "# Verbs",
        "",
        "Every command also takes `--json`, `--help` and `--debug`; `...` stands for several.",
    ]
    for words, verb in verbs():
        lines += ["", f"## tellapart {words}", "", verb.about, "", f"    {verb.example}", ""]
        lines += ["| argument or flag | what it is | default |", "|---|---|---|"]
        lines += [f"| {' | '.join(cells(one))} |" for one in parameters(verb)]
    return "\n".join(lines) + "\n"


def cells(one: Parameter) -> Sequence[str]:
    """A row of a command's table."""
    name = one.name.upper() if one.argument else one.flag
    more = " ..." if one.many or one.spreads else ""
    return f"`{name}{more}`", one.about.replace("|", r"\|"), default_of(one)


def default_of(one: Parameter) -> str:
    """A default as it would be given; nothing where that is nothing."""
    value = one.default
    if value is REQUIRED:
        return "required"
    if value is None or value is False or one.turns_off or value in ("", ()):
        return ""
    if is_dataclass(value):  # such as the names of columns, of which each may be given
        value = tuple(f"{field.name}={getattr(value, field.name)}" for field in fields(value))
    if value is True:
        return "on"
    return f"`{default_text(value) if isinstance(value, tuple | list) else value}`"


def names_page() -> str:
    """Everything that `tellapart list` lists, with the line that each says of itself."""
    lines = ["# What is installed", "", "As `tellapart list` prints it; plugins add to it."]
    for kind in registry.REGISTRIES:
        title = kind.plural.replace("-", " ")
        lines += ["", f"## {title[0].upper()}{title[1:]}", "", "| name | what it is |", "|---|---|"]
        lines += [f"| `{name}` | {kind.describe(name)} |" for name in kind.names()]
    return "\n".join(lines) + "\n"


def python_page() -> str:
    """Every public name of the package, with its signature: functions, results, then options."""
    parts: dict[str, list[str]] = {"Functions": [], "Objects": [], "Options": []}
    for name in ta.__all__:
        if name.startswith("_"):
            continue
        found = getattr(ta, name)
        part = "Objects" if isinstance(found, type) else "Functions"
        parts["Options" if name.endswith("Options") else part].append(
            f"::: {found.__module__}.{found.__qualname__}"
        )
    lines = ["# Python", "", "    import tellapart as ta", ""]
    for title, names in parts.items():
        lines += [f"## {title}", "", *(line for name in names for line in (name, ""))]
    return "\n".join(lines)


TOP = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "SECURITY.md": "SECURITY.md"}
"""Pages that stand at the top of the project, and where they stand on the site."""


def from_top(name: str) -> str:
    """A page of the project's top folder, with links that lead within the site."""
    return re.sub(r"\]\(docs/", "](", (ROOT / name).read_text(encoding="utf-8"))


def write_pages(folder: Path) -> None:
    """All pages and pictures, as Zensical reads them."""
    (folder / "reference").mkdir(parents=True)
    (folder / "site.css").write_text(STYLE, encoding="utf-8")
    for name, place in TOP.items():
        (folder / place).write_text(from_top(name), encoding="utf-8")
    for page in sorted(DOCS.rglob("*.md")):
        place = folder / page.relative_to(DOCS)
        place.parent.mkdir(exist_ok=True)
        shutil.copy(page, place)
    for extra in (
        *DOCS.glob("*.csv"),
        DOCS / "images",
        DOCS / "papers",
        DOCS / "notebooks",
        ROOT / "CITATION.cff",
    ):
        (shutil.copytree if extra.is_dir() else shutil.copy)(extra, folder / extra.name)
    for name, make in (("verbs", verbs_page), ("names", names_page), ("python", python_page)):
        (folder / "reference" / f"{name}.md").write_text(make(), encoding="utf-8")


def title_of(page: str) -> str:
    """A page's own title."""
    first = (DOCS / f"{page}.md").read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# ").partition(":")[0]


def navigation() -> str:
    """The pages by part, as TOML."""

    def entry(title: str, path: str) -> str:
        return f'{{"{title}" = "{path}"}}'

    parts = [entry("tellapart", "index.md")]
    for part, pages in PARTS.items():
        inside = [entry(title_of(page), f"{page}.md") for page in pages]
        if part == "Reference":
            inside = [entry(t, f"reference/{n}.md") for n, t in REFERENCE.items()] + inside
        parts.append(f'{{"{part}" = [{", ".join(inside)}]}}')
    return f"[{', '.join(parts)}]"


def build(out: Path) -> Path:
    """Write the sources below a folder and let Zensical build them; the folder of the site."""
    shutil.rmtree(out, ignore_errors=True)
    write_pages(out / "pages")
    texts = (DOCS / "option_texts.py").as_posix()
    config = CONFIG.format(nav=navigation(), source=(ROOT / "src").as_posix(), texts=texts)
    (out / "zensical.toml").write_text(config, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
        check=True,
        cwd=out,
    )
    return out / "site"


class Links(HTMLParser):
    """What a page links to, and the places on it that others may link to."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = {""}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep addresses and ids."""
        for name, value in attrs:
            if name in ("href", "src") and value is not None:
                self.targets.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.places.add(value or "")


def broken_links(site: Path) -> list[str]:
    """Links between pages of a site that lead nowhere, as `page: link`.

    Files and the places within them are looked for on the disk; other servers are not asked.
    """
    found: dict[Path, Links] = {}
    for page in sorted(site.rglob("*.html")):
        found[page.resolve()] = links = Links()
        links.feed(page.read_text(encoding="utf-8"))
    broken = []
    for page, links in found.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            path = unquote(parts.path)
            start = site.resolve() if path.startswith("/") else page.parent
            there = (start / path.lstrip("/")).resolve() if path else page
            there = there / "index.html" if there.is_dir() else there
            known = found[there].places if there in found else {unquote(parts.fragment)}
            if not there.is_file() or unquote(parts.fragment) not in known:
                broken.append(f"{page.relative_to(site.resolve())}: {target}")
    return broken


def main() -> None:
    """Build the site, follow its links, and say where it is."""
    parser = argparse.ArgumentParser(description="Build the documentation.")
    parser.add_argument("out", type=Path, nargs="?", default=ROOT / "build" / "docs")
    built = build(parser.parse_args().out)
    if broken := broken_links(built):
        sys.exit("links that lead nowhere:\n" + "\n".join(broken))
    print(f"open {built / 'index.html'}")


if __name__ == "__main__":
    main()
