"""The built-in models: what theory says of each, and the contract that all keep."""

from __future__ import annotations

import numpy as np
import pytest

import tellapart as ta
from tellapart import registry
from tellapart.errors import BadInput, UnknownName
from tellapart.models.model import ChooserReply, ModelInfo, kind_of
from tellapart.models.names import ModelName, load
from tellapart.verbs.runs.evaluate import MostlyFailed
from tellapart.verbs.runs.measure import measure

OFFLINE = ["blind", "chance", "chance-chooser", "constant", "constant-chooser", "oracle"]


@pytest.fixture(scope="module")
def runs(benchmarks, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    made = ta.evaluate(OFFLINE, list(benchmarks.values()), out)
    return {(run.model, run.benchmark.name): run for run in made}


@pytest.mark.parametrize("name", OFFLINE)
def test_every_model_keeps_the_contract(name, benchmarks, runs):
    model = load(name)
    assert kind_of(model) in ("scorer", "chooser")
    assert load(model.facts.name).facts == model.facts
    assert registry.models.describe(name)
    for benchmark in benchmarks.values():
        run = runs[name, benchmark.name]
        assert run.covered == {item.id for item in benchmark.items}
        assert not run.failures
        assert np.isfinite(run.scores["score"].to_numpy()).all()


@pytest.mark.parametrize("what", ["bison", "foil", "mcic", "bivlc"])
def test_the_oracle_is_right_on_everything(what, runs):
    for row in measure(runs["oracle", what]).rows:
        assert (row.value, row.ties) == (1.0, 0), row


@pytest.mark.parametrize("what", ["bison", "foil", "mcic", "bivlc"])
def test_a_constant_ties_on_every_item(what, runs):
    for row in measure(runs["constant", what]).rows:
        assert (row.value, row.ties) == (0.0, row.n), row
    for row in measure(runs["constant", what], ties="half").rows:
        assert row.value == pytest.approx(row.chance), row


def test_blind_ties_on_every_choice_of_images(runs):
    for what, name in (("bison", "accuracy"), ("bivlc", "T2I")):
        row = measure(runs["blind", what], measures=[name], by_kind=False).rows[0]
        assert (row.value, row.ties) == (0.0, row.n)
        row = measure(runs["blind", what], measures=[name], by_kind=False, ties="half").rows[0]
        assert row.value == pytest.approx(row.chance)


@pytest.mark.parametrize("seeds", [10, pytest.param(30, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("model", ["chance", "chance-chooser"])
def test_chance_meets_theory_over_many_seeds(model, seeds, benchmarks, tmp_path):
    """The mean over all seeds lies within three standard errors of the stated chance level."""
    names = [f"{model}?seed={seed}" for seed in range(1, seeds + 1)]
    runs = ta.evaluate(names, list(benchmarks.values()), tmp_path)
    rows = measure(runs, by_kind=False, resamples=100).rows
    for key in {(row.benchmark, row.measure) for row in rows}:
        found = [row for row in rows if (row.benchmark, row.measure) == key]
        values = [row.value for row in found]
        chance = found[0].chance
        of_units = np.sqrt(chance * (1 - chance) / found[0].n)
        error = max(np.std(values, ddof=1), of_units) / np.sqrt(len(values))
        assert abs(np.mean(values) - chance) < 3.5 * error, key


def test_an_oracle_with_errors_is_wrong_as_often_as_asked(benchmarks, tmp_path):
    runs = ta.evaluate(["oracle?error=0.25"], benchmarks["foil"], tmp_path)
    got = {row.measure: row.value for row in measure(runs, by_kind=False).rows}
    assert 0.65 < got["T1"] < 0.85


def test_an_oracle_says_so_where_a_picture_carries_no_truth(tmp_path, benchmarks):
    from PIL import Image as Pillow

    (tmp_path / "p").mkdir()
    for name in ("a", "b"):
        Pillow.new("RGB", (8, 8), "red").save(tmp_path / "p" / f"{name}.png")
        (tmp_path / "p" / f"{name}.txt").write_text(f"A red {name}-thing here.\n")
    bison = ta.build("bison", tmp_path / "p", tmp_path / "bison")
    with pytest.raises(BadInput, match="not a picture of the built-in world"):
        ta.evaluate("oracle", bison, tmp_path / "runs")
    with pytest.warns(MostlyFailed, match="more than half of the questions have no answer"):
        (run,) = ta.evaluate("oracle", bison, tmp_path / "r2", ta.EvaluateOptions(skip_bad=True))
    assert len(run.failures) == 2 * len(bison.items)
    assert measure(run).rows[0].failed == len(bison.items)


def test_pitfall_6_leaning_to_a_place_wins_nothing_and_shows(benchmarks, tmp_path):
    """Asked once in every rotation, who always takes the first option is exactly at chance."""
    options = ta.EvaluateOptions(trials=5)
    (run,) = ta.evaluate("constant-chooser", benchmarks["mcic"], tmp_path, options)
    accuracy, consistency = measure(run, measures=["accuracy", "consistency"]).rows
    assert accuracy.value == pytest.approx(0.2)
    assert (consistency.value, consistency.chance) == (0.0, pytest.approx(0.2**4))


def test_who_answers_by_content_is_consistent(benchmarks, tmp_path):
    class First:
        """Prefers the caption that comes first in the alphabet."""

        facts = ModelInfo("first")

        def choose(self, asked):
            texts = [[one.item.captions[k] for k in one.order] for one in asked]
            return [ChooserReply(shown=options.index(min(options))) for options in texts]

    options = ta.EvaluateOptions(trials=3)
    (run,) = ta.evaluate([First()], benchmarks["mcic"], tmp_path, options)
    assert measure(run, measures=["consistency"]).rows[0].value == 1.0


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("oracel", UnknownName, "there is no model called 'oracel'"),
        ("oracle?eror=0.1", UnknownName, "no option of oracle called 'eror'"),
        ("oracle?error=many", BadInput, "error=many is not a number"),
        ("oracle?error=2", BadInput, "error=2.0 is not a rate"),
        ("oracle:x", BadInput, "takes nothing after the colon"),
        ("oracle?seed=1&seed=2", BadInput, "given twice"),
    ],
)
def test_bad_model_strings_are_explained(text, error, message):
    with pytest.raises(error, match=message):
        load(text)


def test_model_strings_are_canonical():
    assert str(ModelName.parse("a:b/c?z=1&b=2")) == "a:b/c?b=2&z=1"
    assert load("oracle?seed=0&error=0.1").facts.name == "oracle?error=0.1"


@pytest.mark.parametrize("name", ["blind", "chance-chooser", "oracle?error=0.1", "storybook"])
def test_a_model_prints_as_the_name_that_builds_it(name: str) -> None:
    assert repr(load(name)).endswith(f" {name}>")
