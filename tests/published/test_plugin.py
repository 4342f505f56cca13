"""The importer in the documentation, run as a plugin."""

from __future__ import annotations

import pytest

from tellapart import registry
from tellapart.verbs.benchmarks.get import get

ROWS = [
    {"id": 7, "photo": "a.png", "says": "A dog runs.", "denies": "No dog runs."},
    {"id": 8, "photo": "b.png", "says": "It rains.", "denies": "It does not rain."},
]


@pytest.fixture
def denials(plugins):
    return registry.importers.get("denials")


def test_the_importer_in_the_documentation_works(desk, denials):
    desk.picture("a.png")
    benchmark = get("denials", desk.write("denials.json", ROWS), desk.folder / "out")
    assert [item.id for item in benchmark.items] == ["denials:7", "denials:8"]
    for item, row in zip(benchmark.items, ROWS, strict=True):
        ((image, caption),) = item.true
        assert (item.images[image], item.captions[caption]) == (row["photo"], row["says"])
    assert benchmark.card.made["images"] == {"found": 1, "missing": 1}
    assert benchmark.card.licence == denials.licence


def test_the_importer_in_the_documentation_names_a_bad_row(desk, denials):
    bad = [ROWS[0], {**ROWS[1], "says": ""}]
    message = desk.error("denials", desk.write("denials.json", bad))
    assert '"says" of row 2 of denials.json is empty' in message
