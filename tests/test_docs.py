"""The documentation keeps up with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tellapart import registry
from tellapart.verbs import VERBS

ROOT = Path(__file__).parent.parent
FILES = [ROOT / "README.md", *ROOT.glob("docs/*.md")]
PAGES = "\n".join(page.read_text(encoding="utf-8") for page in FILES)


def test_every_verb_is_in_the_documentation():
    names = list(VERBS)
    missing = [n for n in names if not re.search(rf"tellapart {n}\b|`{n}`|make {n}\b", PAGES)]
    assert len(names) >= 10 and not missing


@pytest.mark.parametrize(
    "sort", ["models", "measures", "builders", "importers", "readers", "caption_metrics"]
)
def test_every_registered_name_is_in_the_documentation(sort):
    words = {"corpus": "the toolkit's own", "flickr": "Flickr tokens", "coco": "COCO captions"}
    words |= dict.fromkeys(("BLEU-2", "BLEU-3"), "BLEU-1 to BLEU-4")
    for name in getattr(registry, sort).names():
        assert re.search(re.escape(words.get(name, name)), PAGES, re.IGNORECASE), name


def test_links_between_pages_lead_somewhere():
    for page in FILES:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page.name, target)


def test_the_model_in_the_documentation_works(tmp_path, benchmarks):
    import tellapart as ta

    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
    space: dict = {}
    exec(code, space)
    (run,) = ta.evaluate([space["Brightness"]()], on=benchmarks["bison"], out=tmp_path)
    assert not run.failures
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
