"""The documentation's site: every page has its place, and the reference names everything."""

from __future__ import annotations

import importlib.util
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tellapart as ta
from tellapart import registry
from tellapart.cli.commands import parameters

PATH = Path(__file__).parent.parent / "docs" / "site.py"
spec = importlib.util.spec_from_file_location("docs_site", PATH)
site = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = site
spec.loader.exec_module(site)


def test_every_page_is_in_one_part_of_the_site():
    placed = [page for pages in site.PARTS.values() for page in pages]
    assert sorted(placed) == sorted(page.stem for page in PATH.parent.glob("*.md"))


def test_the_page_of_verbs_has_every_command_with_every_flag():
    page = site.verbs_page()
    sections = dict(re.findall(r"^## tellapart (.+)\n((?:(?!^## ).*\n)*)", page, re.MULTILINE))
    for words, verb in site.verbs():
        for one in parameters(verb):
            name = one.name.upper() if one.argument else one.flag
            assert f"| `{name}" in sections[words], (words, name)


def test_the_page_of_names_has_all_that_is_installed():
    page = site.names_page()
    missing = [name for kind in registry.REGISTRIES for name in kind.names() if name not in page]
    assert not missing


@pytest.mark.campaign
@pytest.mark.skipif(not find_spec("zensical"), reason="needs the extra docs")
def test_the_site_is_built_without_a_warning_and_has_the_signature_of_every_public_name(tmp_path):
    built = site.build(tmp_path / "docs")
    page = (built / "reference" / "python.html").read_text(encoding="utf-8")
    headings = set(re.findall(r'id="tellapart[\w.]*\.(\w+)"', page))
    public = {name for name in ta.__all__ if not name.startswith("_")}
    assert public - headings == set()
    outside = re.compile(r'(?:src|href)="https?://[^"]+\.(?:js|css|woff2?)"|unpkg|fonts\.g')
    assert not [page for page in built.rglob("*.html") if outside.search(page.read_text("utf-8"))]
