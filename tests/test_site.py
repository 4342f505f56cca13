"""The documentation's site: every page has its place, and the reference names everything."""

from __future__ import annotations

import html
import importlib.util
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tellapart as ta
from tellapart import registry
from tellapart.cli.commands import OPTIONS, parameters
from tests.test_docs import commands

PATH = Path(__file__).parent.parent / "docs" / "site.py"
spec = importlib.util.spec_from_file_location("docs_site", PATH)
site = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = site
spec.loader.exec_module(site)


def test_every_page_is_in_one_part_of_the_site():
    placed = [page for pages in site.PARTS.values() for page in pages]
    assert sorted(placed) == sorted(
        page.relative_to(PATH.parent).with_suffix("").as_posix()
        for page in PATH.parent.rglob("*.md")
    )


def test_the_page_of_verbs_has_every_command_with_every_flag():
    page = site.verbs_page()
    sections = dict(re.findall(r"^## tellapart (.+)\n((?:(?!^## ).*\n)*)", page, re.MULTILINE))
    assert set(sections) == {" ".join(words) for words in commands()}
    for words, verb in site.verbs():
        for one in parameters(verb):
            name = one.name.upper() if one.argument else one.flag
            assert f"| `{name}" in sections[words], (words, name)
    assert "PairColumns(" not in page and "`image=image,caption=caption," in page
    assert re.search(r"`--no-cache` \| .* \|  \|", page), "off is not its default"


def test_the_page_of_names_has_all_that_is_installed():
    page = site.names_page()
    sections = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", page, re.MULTILINE))
    kinds = {kind.plural.replace("-", " ").capitalize(): kind for kind in registry.REGISTRIES}
    assert {"Models", "Measures", "Questions", "Importers", "Readers"} <= set(kinds)
    for title, kind in kinds.items():
        rows = re.findall(r"^\| `(.+)` \| (.+) \|$", sections[title], re.MULTILINE)
        assert [name for name, _ in rows] == list(kind.names()), title
        assert [name for name, about in rows if len(about) < 10] == [], title


def test_every_versioned_format_is_on_the_page_of_files():
    source = Path(ta.__file__).parent
    schema = re.compile(r'"(tellapart-[a-z]+-\d+)"')
    texts = (path.read_text(encoding="utf-8") for path in source.rglob("*.py"))
    known = {name for text in texts for name in schema.findall(text)}
    page = (PATH.parent / "formats.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `(tellapart-[a-z]+-\d+)` \|", page, re.MULTILINE))
    assert len(known) >= 10 and rows == known


def test_the_front_page_counts_the_published_benchmarks_that_there_are():
    own = {"pairs", "table"}  # anyone's files
    published = len(set(registry.importers.names()) - own)
    text = (PATH.parent.parent / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"(\d+) published", text)) == {str(published)}


def test_a_link_to_a_page_or_a_place_that_is_not_there_is_found(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="top">A</h1><a href="sub/two.html#here">1</a><a href="sub/two.html#gone">2</a>'
        '<a href="#top">3</a><a href="#bottom">4</a><img src="none.webp"><a href="sub">5</a>'
        '<a href="https://example.org/never-asked">6</a>'
    )
    (tmp_path / "sub" / "two.html").write_text('<a id="here" href="../index.html#top">back</a>')
    assert site.broken_links(tmp_path) == [
        "index.html: sub/two.html#gone",
        "index.html: #bottom",
        "index.html: none.webp",
        "index.html: sub",
    ]


@pytest.mark.campaign
@pytest.mark.skipif(not find_spec("zensical"), reason="needs the extra docs")
def test_the_site_is_built_without_a_warning_and_has_the_signature_of_every_public_name(tmp_path):
    built = site.build(tmp_path / "docs")
    page = (built / "reference" / "python.html").read_text(encoding="utf-8")
    headings = set(re.findall(r'id="tellapart[\w.]*\.(\w+)"', page))
    public = {name for name in ta.__all__ if not name.startswith("_")}
    assert public - headings == set()
    text = " ".join(html.unescape(re.sub("<[^>]+>", "", page)).split())
    assert "Annotated[" not in text and "BuildOptions( *, name: str" in text
    every = (one for _, verb in site.verbs() for one in parameters(verb))
    helps = {one.help.text for one in every if one.goes_to == OPTIONS}
    assert {one for one in helps if " ".join(one.replace("`", "").split()) not in text} == set()
    assert site.broken_links(built) == []
    outside = re.compile(r'(?:src|href)="https?://[^"]+\.(?:js|css|woff2?)"|unpkg|fonts\.g')
    assert not [page for page in built.rglob("*.html") if outside.search(page.read_text("utf-8"))]
