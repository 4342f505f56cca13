"""Agreement between people: what is said of it, and its chart."""

from __future__ import annotations

import json
from itertools import combinations

import pytest

import tellapart as ta
from tellapart.errors import BadInput

PEOPLE = ("p-hcbgtt2z", "p-trx6za5p", "p-wh7mu36y", "p-x7k2m9qd")


def results(path):
    """The agreement of four people, pair by pair, as study export writes it."""

    def row(measure, people, value, items):
        return {"stage": "yes-no", "about": "answer", "measure": measure, "people": people,
                "value": value, "low": value - 0.1, "high": min(value + 0.1, 1.0),
                "items": items}  # fmt: skip

    pairs = [f"{one} and {other}" for one, other in combinations(PEOPLE, 2)]
    rows = [row("raw agreement", "all", 0.9, 60)]
    rows += [row("Cohen's kappa", pair, 0.5 + 0.1 * k, 60) for k, pair in enumerate(pairs)]
    rows += [row("mean of Cohen's kappas", f"{len(pairs)} pairs", 0.75, 60 * len(pairs))]
    path.write_text(json.dumps({"study": "mine", "agreement": rows}))
    return path


def test_every_pair_of_people_has_a_row_of_its_own_in_the_chart(tmp_path):
    panel = ta.analyse("raters", results(tmp_path / "results.json")).figure.panels[0]
    assert len(panel.labels) == len(panel.rows) == 8
    assert "hcbgtt2z / trx6za5p" in panel.labels and "mean of 6 pairs" in panel.labels
    assert panel.domain == (0.0, 1.0), "no room for agreement above 1"


def test_the_mean_over_pairs_is_said_of_pairs_and_not_of_items_counted_again(tmp_path):
    found = ta.analyse("raters", results(tmp_path / "results.json"))
    assert found.sentences[-1].endswith("is 0.75 (0.65 to 0.85) over 6 pairs of people.")
    assert "over 60 items" in found.sentences[1]


def test_the_kappa_of_a_single_pair_is_said_with_its_interval(tmp_path):
    path = results(tmp_path / "results.json")
    stored = json.loads(path.read_text())
    stored["agreement"] = stored["agreement"][:2]
    path.write_text(json.dumps(stored))
    told = ta.analyse("raters", path).sentences[0]
    assert told.endswith("of the one pair of people is 0.50 (0.40 to 0.60) over 60 items.")


def test_a_folder_that_no_study_wrote_is_named_with_what_would_do(tmp_path):
    with pytest.raises(BadInput, match=r"there is no file .*results\.json") as caught:
        ta.analyse("raters", tmp_path)
    assert "study export" in caught.value.allowed
