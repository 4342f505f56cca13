"""The documentation keeps up with the code."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from typer.main import get_command

import tellapart as ta
from tellapart import registry
from tellapart.cli.main import app
from tellapart.verbs import VERBS

ROOT = Path(__file__).parent.parent
FILES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = "\n".join(page.read_text(encoding="utf-8") for page in FILES)


def test_every_verb_is_in_the_documentation():
    names = list(VERBS)
    missing = [n for n in names if not re.search(rf"tellapart {n}\b|`{n}`|make {n}\b", PAGES)]
    assert len(names) >= 10 and not missing


@pytest.mark.parametrize(
    "sort",
    [
        "models",
        "measures",
        "builders",
        "importers",
        "readers",
        "caption_metrics",
        "questions",
        "analyses",
        "makers",
    ],
)
def test_every_registered_name_is_in_the_documentation(sort):
    words = {"corpus": "the toolkit's own", "flickr": "Flickr tokens", "coco": "COCO captions"}
    words |= dict.fromkeys(("BLEU-2", "BLEU-3"), "BLEU-1 to BLEU-4")
    for name in getattr(registry, sort).names():
        assert re.search(re.escape(words.get(name, name)), PAGES, re.IGNORECASE), name


def test_every_cue_of_the_audit_is_in_its_page():
    from tellapart.audits.guessers import NGRAMS, TEXT_GUESSERS

    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    families = [one.family for one in (*TEXT_GUESSERS, NGRAMS)]
    assert [name for name in families if name not in page] == []


def test_links_between_pages_lead_somewhere():
    for page in FILES:
        for target in re.findall(r"\]\((?!http)([^)]+)", page.read_text(encoding="utf-8")):
            name, _, anchor = target.partition("#")
            leads_to = page.parent / name if name else page
            assert leads_to.exists(), (page.name, target)
            if leads_to.suffix != ".md":
                continue
            titles = re.findall(r"^#+ (.*)", leads_to.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in titles}
            assert not anchor or anchor in anchors, (page.name, target)


@cache
def flags(words: tuple[str, ...]) -> frozenset[str]:
    """The flags of a command, hidden ones left out."""
    command = get_command(app)
    for word in words:
        command = command.get_command(None, word)
    shown = (one for one in command.params if not getattr(one, "hidden", False))
    return frozenset(
        {"--help", *(name for one in shown for name in (*one.opts, *one.secondary_opts))}
    )


@cache
def commands() -> tuple[tuple[str, ...], ...]:
    """The words of every command, those of groups too."""
    program = get_command(app)
    every = {name: program.get_command(None, name) for name in program.list_commands(None)}
    groups = {name for name, command in every.items() if hasattr(command, "list_commands")}
    inner = [(name, one) for name in groups for one in every[name].list_commands(None)]
    return (*((name,) for name in every if name not in groups), *inner)


def words_of(line: Sequence[str]) -> tuple[str, ...]:
    """Of the words of a line those that name the command."""
    return tuple(line[: 2 if tuple(line[:2]) in commands() else 1])


def code_of(page: Path) -> list[str]:
    """The lines of code on a page, those that go on in the next line put together."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    fenced = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    indented = re.findall(
        r"^ {4}(.*)", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE
    )
    return [line.strip() for block in fenced for line in block.splitlines()] + indented


@pytest.mark.parametrize("page", FILES, ids=lambda page: page.stem)
def test_commands_on_a_page_have_the_flags_that_it_gives_them(page):
    text = page.read_text(encoding="utf-8")
    lines = [line for line in code_of(page) if line.startswith("tellapart ")]
    lines += re.findall(r"`(tellapart [^`]*)`", text)
    for line in lines:
        words = shlex.split(line.replace("...", ""), comments=True)[1:]
        names = words_of(words)
        if names not in commands():
            assert names[0] in ("--help", "VERB") or names[-1] in ("WHAT", "easy") or not names[1:]
            continue
        given = {word.split("=")[0] for word in words if word.startswith("--")}
        assert given <= flags(names), (page.name, line)


def advice(path: Path) -> list[str]:
    """What a module tells people to do: the `todo` and `allowed` of its errors."""
    found: list[ast.AST] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg in ("todo", "allowed"):
            found.append(node.value)
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(one, ast.Attribute) and one.attr == "todo" for one in targets):
                found.append(node.value)
    inside = (part for node in found for part in ast.walk(node))
    return [p.value for p in inside if isinstance(p, ast.Constant) and isinstance(p.value, str)]


def test_every_flag_that_an_error_advises_exists():
    known = frozenset().union(*map(flags, commands())) | {"--version", "--debug"}
    unknown = {
        (flag, path.name)
        for path in (ROOT / "src").rglob("*.py")
        for text in advice(path)
        for flag in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text)
        if flag not in known
    }
    assert unknown <= {("--force-reinstall", "java.py")}  # pip's


def test_every_command_that_an_error_advises_has_its_flags():
    """`tellapart refine BENCH --lists-from` would be of another verb, though the flag exists."""
    wrong, seen = [], 0
    for path in (ROOT / "src").rglob("*.py"):
        for text in advice(path):
            for advised in re.findall(r"tellapart ([a-z][^;`]*)", text):
                line = advised.partition(", or ")[0]
                words = line.split()
                names = words_of(words)
                if names not in commands():
                    continue
                given = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", line))
                seen += 1
                wrong += [(path.name, line)] if not given <= flags(names) else []
    assert seen > 20 and wrong == []


def test_every_flag_that_is_named_exists():
    known = frozenset().union(*map(flags, commands())) | {"--version", "--debug"}
    named = set(re.findall(r"`(--[a-z][\w-]*)", PAGES))
    others = {"--against", "--bison", "--decoys"}  # of scripts in benchmarks/, and of an example
    assert len(named) > 60 and named - known <= others


def test_nothing_on_a_page_waits_to_be_filled_in():
    assert re.findall(r"\b(?:TODO|FIXME|TBD|XXX|[A-Z]{3,}TABLE)\b", PAGES) == []


def test_sections_of_the_foil_paper_are_sections_that_it_has():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    named = [
        match[1]
        for text in [PAGES, *texts]
        for match in re.finditer(r"Shekhar et al\.[^()\n;]*?section (\d(?:\.\d)?)", text)
    ]
    assert len(named) > 2 and set(named) <= {"1", "2", "3", "4", "4.1", "4.2", "5", "6"}


@pytest.mark.parametrize(
    ("page", "words", "never"),
    [
        ("README.md", "less to guess by", "nothing to guess by"),
        ("docs/models.md", "not a number is always a recorded failure", "NaN"),
    ],
)
def test_pages_say_what_the_program_does(page, words, never):
    """A fair part is guessed less, not never; a score that is no number never counts."""
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert words in text and never not in text


def test_names_of_the_python_api_exist():
    named = set(re.findall(r"\bta\.(\w+)", PAGES))
    assert len(named) > 10 and named <= set(ta.__all__)
    for dotted in set(re.findall(r"\btellapart((?:\.[a-z_]\w*)+)(?![\w/])", PAGES)):
        parts = dotted[1:].split(".")
        if parts[0] in ta.__all__ or f"tellapart.{parts[0]}" in {
            r.group for r in registry.REGISTRIES
        }:
            continue
        try:
            import_module(f"tellapart{dotted}")
        except ModuleNotFoundError:
            module = import_module(".".join(["tellapart", *parts[:-1]]))
            assert hasattr(module, parts[-1]), dotted


def test_paths_on_the_pages_exist():
    roots = [ROOT, ROOT / "src", ROOT / "src" / "tellapart", ROOT / "tests/study/server"]
    for page in FILES:
        text = page.read_text(encoding="utf-8")
        for path in re.findall(
            r"`([\w/]+\.py)\b[^`]*`|`((?:tests|soak|benchmarks|mine)/[\w/]*)`", text
        ):
            name = path[0] or path[1]
            assert any((root / name).exists() for root in roots), (page.name, name)


@pytest.mark.parametrize("page", FILES, ids=lambda page: page.stem)
def test_python_on_a_page_imports_what_exists(page):
    for code in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tellapart"):
                module = import_module(node.module)
                for name in node.names:
                    assert hasattr(module, name.name) or import_module(f"{node.module}.{name.name}")


def test_the_model_in_the_documentation_works(tmp_path, benchmarks):
    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
    space: dict = {}
    exec(code, space)
    (run,) = ta.evaluate([space["Brightness"]()], on=benchmarks["bison"], out=tmp_path)
    assert not run.failures
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
