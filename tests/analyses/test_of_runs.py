"""Position, agreement, rankings and learning: planted truth is found, none is not claimed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from soak.analyses import ranked_runs

import tellapart as ta
from tellapart.analyses.rankings import tau_b
from tellapart.errors import BadInput
from tests.analyses.foils import answered, foil_bench, foil_item
from tests.conftest import benchmark_of


@pytest.fixture(scope="module")
def bench():
    return foil_bench(400)


def place(item):
    return len(item.captions[1][: item.slot.start].split())


def test_a_place_that_matters_is_found_and_one_that_does_not_is_not_claimed(bench):
    runs = [answered(bench, lambda item: 1.5 - 0.5 * place(item), "drawn"),
            answered(bench, lambda item: 0.4, "flat")]  # fmt: skip
    found = ta.analyse("position", runs, ta.PositionOptions(resamples=50))
    drawn, flat = found.table("correlations").iter_rows(named=True)
    assert drawn["tau_high"] < 0 and flat["tau_low"] < 0 < flat["tau_high"]
    assert "drawn: accuracy falls with foil position" in found.sentences[0]
    assert "no correlation" in found.sentences[1]
    places = found.table("places").filter(pl.col("model") == "flat")
    assert places["n"].sum() == 400 and "from" not in places.columns, "each place has its own row"


def test_ranges_of_a_number_with_many_values_say_where_they_end(bench, tmp_path):
    table = tmp_path / "own.csv"
    light = {item.id: k for k, item in enumerate(bench.items)}
    pl.DataFrame({"item": list(light), "light": list(light.values())}).write_csv(table)
    run = answered(bench, lambda item: 0.0, "m")
    options = ta.PositionOptions(fact="light", item_table=table, resamples=20)
    places = ta.analyse("position", run, options).table("places")
    assert places["from"][0] == 0 and places["to"][-1] == len(light) - 1
    assert (places["from"][1:] > places["to"][:-1]).all()


def test_a_fact_in_words_or_without_two_values_has_no_rank_correlation(bench):
    run = answered(bench, lambda item: 0.0, "m")
    with pytest.raises(BadInput, match="pair is not a number"):
        ta.analyse("position", run, ta.PositionOptions(fact="pair"))
    with pytest.raises(BadInput, match="1 values of options"):
        ta.analyse("position", run, ta.PositionOptions(fact="options"))


def test_models_that_err_alike_and_models_that_do_not(bench):
    hard = {item.id: float(np.random.default_rng(k).normal()) for k, item in enumerate(bench.items)}
    runs = [answered(bench, lambda item: 4 * hard[item.id], "a", 1),
            answered(bench, lambda item: 4 * hard[item.id], "b", 2),
            answered(bench, lambda item: 0.0, "apart", 3)]  # fmt: skip
    found = ta.analyse("agreement", runs, ta.AgreementOptions(resamples=200))
    alike, *others = found.table("pairs").iter_rows(named=True)
    assert alike["low"] > 0.3 and all(one["low"] < 0 < one["high"] for one in others)
    assert "a and b agree more than" in found.sentences[0]
    listed = found.table("items")
    assert listed["models"].max() == 0, "listed are items that all get wrong"
    true = {item.id: [item.captions[j] for _, j in item.true] for item in bench.items}
    assert all(said in true[one] for one, said in listed.select("item", "caption").iter_rows())
    short = ta.analyse("agreement", runs, ta.AgreementOptions(resamples=20, most=1))
    assert (
        short.table("items").height == 1 and short.table("items")["item"][0] in short.sentences[-1]
    )
    assert short.sentences[-1] == found.sentences[-1], "all are counted, not only those listed"


def test_every_pair_of_models_has_a_row_of_its_own_in_the_chart(bench):
    folder = "trained:a/folder/whose/name/is/long/enough/to/be/cut"
    names = [f"{folder}/{name}" for name in ("bow", "bigru", "scan")]
    runs = [answered(bench, lambda item: 0.0, name, k) for k, name in enumerate(names)]
    figure = ta.analyse("agreement", runs, ta.AgreementOptions(resamples=20)).figure
    assert figure.panels[0].labels == ["bow / bigru", "bow / scan", "bigru / scan"]


def test_items_that_people_find_hard_and_models_easy_are_listed(bench):
    strange = {item.id for item in list(bench.items)[:3]}
    people = answered(bench, lambda item: -99.0 if item.id in strange else 99.0, "people")
    model = answered(bench, lambda item: 99.0 if item.id in strange else 0.0, "model")
    items = ta.analyse("agreement", [people, model], ta.AgreementOptions(resamples=50))
    listed = items.table("items").filter(pl.col("sort") == "hard for people, easy for models")
    assert set(listed["item"]) == strange and listed["models"].min() == 1


def test_a_run_that_never_errs_correlates_with_nothing(bench):
    found = ta.analyse("position", answered(bench, lambda item: 99.0, "always"))
    assert "same for every answer (100.0%, n = " in found.sentences[0]
    assert "so no correlation with foil position can be tested" in found.sentences[0]
    (row,) = found.table("correlations").iter_rows(named=True)
    assert row["tau_low"] is None and row["spearman_high"] is None


def test_agreement_needs_two_and_says_where_nothing_can_be_said(bench):
    one = answered(bench, lambda item: 0.0, "m")
    with pytest.raises(BadInput, match="m is the only one"):
        ta.analyse("agreement", one)
    always = answered(bench, lambda item: 99.0, "always")
    found = ta.analyse("agreement", [one, always], ta.AgreementOptions(resamples=20))
    assert "kappa is undefined" in found.sentences[0] and found.figure is None


def test_orders_of_systems_that_agree_with_their_interval():
    first, second, truth = ranked_runs(0, items=200)
    found = ta.analyse("rankings", [*first, *second], ta.RankingOptions(resamples=200))
    (row,) = found.table("rankings").iter_rows(named=True)
    assert row["systems"] == 6 and row["low"] <= truth <= row["high"]


def test_published_scores_are_ranked_from_a_table(tmp_path):
    """BiVLC, Table 3: SugarCrepe does not say how systems fare on BiVLC."""
    path = tmp_path / "published.csv"
    path.write_text(
        "system,SugarCrepe,Group\nCLIP,76.56,49.06\nCOCO,84.66,60.96\nNegCLIP,85.64,58.75\n"
        "GNM,81.83,57.96\nText,93.40,57.48\nImg,89.40,69.25\n"
    )
    found = ta.analyse("rankings", (), ta.RankingOptions(scores=path))
    (row,) = found.table("rankings").iter_rows(named=True)
    assert row["tau"] == pytest.approx(1 / 3) and row["p"] == pytest.approx(338 / 720)
    assert "not shown to rank systems alike" in found.sentences[0]
    assert "bootstrap" not in " ".join(found.methods), "there are no items to resample"
    assert "69.25" in str(found), "scores are shown as they were given"
    for bad in ("NaN", "none"):
        path.write_text(f"system,one,two\nA,1,2\nB,{bad},3\nC,3,1\n")
        with pytest.raises(BadInput, match=f"one of B is not a number: {bad}"):
            ta.analyse("rankings", (), ta.RankingOptions(scores=path))
    path.write_text("system,one,two,note\nA,1,2,x\nB,,3,y\nC,3,1,z\nD,4,5,\n")
    found = ta.analyse("rankings", (), ta.RankingOptions(scores=path))
    assert found.table("rankings")["systems"].to_list() == [3], "an empty cell is no score"
    path.write_text("system,one\nA,1\nB,2\nC,3\n")
    with pytest.raises(BadInput, match="too few rankings to compare: 1"):
        ta.analyse("rankings", (), ta.RankingOptions(scores=path))
    path.write_text("system,one,two\nA,1,2\nB,2,1\n")
    with pytest.raises(BadInput, match="3 systems in common"):
        ta.analyse("rankings", (), ta.RankingOptions(scores=path))


def test_tau_is_scipys():
    from scipy.stats import kendalltau

    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = rng.integers(0, 5, size=(2, 7)).astype(float)
        if len(set(x)) > 1 and len(set(y)) > 1:
            assert float(tau_b(x, y)) == pytest.approx(kendalltau(x, y).statistic)


def curve(bench, slope):
    runs = []
    for k, size in enumerate((10, 20, 40, 80)):
        run = answered(bench, lambda item, k=k: slope * k, f"net?images={size}", k)
        runs.append(run)
    return runs


def test_more_training_that_helps_is_said_with_its_gain(bench, tmp_path):
    table = tmp_path / "more.csv"
    rows = "".join(f"net?images={n},{n / 100}\n" for n in (10, 20, 40, 80))
    table.write_text("model,CIDEr\n" + rows)
    options = ta.LearningOptions(setting="images", settings=table, resamples=200)
    found = ta.analyse("learning", curve(bench, 0.7), options)
    assert "rises between images 10 and 80" in found.sentences[0]
    assert found.table("learning")["images"].to_list() == [10, 20, 40, 80]
    assert found.table("learning")["CIDEr"].to_list() == [0.1, 0.2, 0.4, 0.8]
    assert len(found.figure.panels) == 2
    flat = ta.analyse("learning", curve(bench, 0.0), replace(options, settings=None))
    assert "is not shown to change" in flat.sentences[0]


def test_a_setting_that_runs_do_not_have_is_named(bench):
    run = answered(bench, lambda item: 0.0, "m")
    with pytest.raises(BadInput, match="no setting was named"):
        ta.analyse("learning", run)
    with pytest.raises(BadInput, match="m has no images"):
        ta.analyse("learning", run, ta.LearningOptions(setting="images"))
    words = answered(bench, lambda item: 0.0, "m?images=many")
    with pytest.raises(BadInput, match="images is not a number: 'many'"):
        ta.analyse("learning", words, ta.LearningOptions(setting="images"))
    beside = [*curve(bench, 0.7), run]
    found = ta.analyse("learning", beside, ta.LearningOptions(setting="images", resamples=20))
    assert found.table("learning").height == 4
    assert found.methods[-1] == "left out, as they have no images: m"
    alone = [answered(bench, lambda item: 0.0, f"m{k}?images=5") for k in range(2)]
    with pytest.raises(BadInput, match="all runs have the same images: 5"):
        ta.analyse("learning", alone, ta.LearningOptions(setting="images"))


def test_what_benchmarks_consist_of_and_what_was_dropped():
    before = benchmark_of([foil_item(f"{k:03}", k % 10, 6) for k in range(200)])
    kept = [item for k, item in enumerate(before.items) if item.kind != "animal" or k % 4 == 0]
    after = replace(benchmark_of(kept), card=replace(before.card, name="after"))
    found = ta.analyse("composition", before, ta.CompositionOptions(by="kind"))
    whole, *parts = found.table("composition").iter_rows(named=True)
    assert (whole["items"], whole["images"], whole["pairs"]) == (200, 200, 10)
    assert sum(one["items"] for one in parts) == 200
    counts = ta.analyse("composition", before).figure.panels[0].rows
    assert [row["label"] for row in counts] == ["items", "images", "captions"], "not a single bar"
    parts = ta.analyse("composition", [before, replace(after, card=before.card)])
    assert len(set(parts.table("composition")["benchmark"])) == 2, "parts of one name differ"
    assert len({row["series"] for row in parts.figure.panels[0].rows}) == 2
    gone = ta.analyse("dropped", [before, after])
    rows = {row["kind"]: row for row in gone.table("dropped").iter_rows(named=True)}
    assert rows["vehicle"]["dropped"] == 0 and rows["animal"]["low"] > 0.5
    assert "most of animal" in gone.sentences[0] and "groups differ" in gone.sentences[0]
    folders = [replace(one, root=Path(name), card=before.card)
               for name, one in (("first", before), ("last", after))]  # fmt: skip
    alike = ta.analyse("dropped", folders)
    assert alike.title == "Dropped between first and last, by kind", "both have one name"
    with pytest.raises(BadInput, match="more items of animal"):
        ta.analyse("dropped", [after, before])
    with pytest.raises(BadInput, match="1 benchmarks were given"):
        ta.analyse("dropped", before)
