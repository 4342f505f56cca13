"""The regression of right answers: planted effects are found, others are not claimed."""

from __future__ import annotations

import polars as pl
import pytest

import tellapart as ta
from tellapart.analyses.word_facts import word_frequencies
from tellapart.errors import BadInput, UnknownName
from tests.analyses.foils import answered, foil_bench, foil_item
from tests.conftest import benchmark_of


@pytest.fixture(scope="module")
def bench():
    return foil_bench(900)


def length(item):
    return len(item.captions[0].split())


def effects(found):
    return {row["fact"]: row for row in found.table("effects").iter_rows(named=True)}


def test_a_planted_effect_is_found_and_another_is_not_claimed(bench):
    run = answered(bench, lambda item: 2.5 - 0.25 * length(item), "m")
    options = ta.RegressionOptions(facts=("caption_length", "foil_position"), random=("pair",))
    found = ta.analyse("regression", run, options)
    row = effects(found)["caption_length"]
    per_word = row["odds_ratio"] ** (1 / row["per"])
    assert per_word == pytest.approx(2.718281828**-0.25, abs=0.05)
    assert row["high"] < 1 and "the higher the caption length, the harder" in found.sentences[0]
    other = effects(found)["foil_position"]
    assert (
        other["low"] < 1 < other["high"]
        and "no effect is shown of foil position (odds" in found.sentences[1]
    )
    assert "are not shown to differ" in found.sentences[2]
    assert all(one.startswith("m (n = 900): ") for one in found.sentences)


def test_a_run_that_is_always_right_does_not_silence_the_others(bench):
    few = benchmark_of(list(bench.items)[:200])
    runs = [answered(few, lambda item: 99.0, "sure"), answered(few, lambda item: 0.0, "unsure")]
    options = ta.RegressionOptions(facts=("caption_length",), random=())
    found = ta.analyse("regression", runs, options)
    assert found.table("effects")["model"].to_list() == ["unsure"]
    assert found.sentences[-1].startswith(
        "sure: every answer is right, so there is nothing to explain"
    )
    with pytest.raises(BadInput, match="every answer is right"):
        ta.analyse("regression", runs[:1], options)


def test_pairs_that_differ_are_a_random_effect_with_an_interval(bench):
    hard = {"dog": 2.0, "cow": -2.0, "cup": 1.5, "fork": -1.5}
    run = answered(bench, lambda item: hard.get(item.slot.target, 0.0), "m")
    options = ta.RegressionOptions(facts=("caption_length",), random=("pair",))
    found = ta.analyse("regression", run, options)
    (row,) = found.table("random-effects").iter_rows(named=True)
    assert row["levels"] == 10 and row["low"] > 0.4 and row["low"] < 1.3 < row["high"]
    assert "the 10 levels of pair differ" in found.sentences[-1]


def test_the_defaults_of_foils_are_those_of_the_paper(bench, tmp_path):
    vectors = tmp_path / "words.vec"
    words = sorted({word for item in bench.items for word in (item.slot.target, item.slot.foil)})
    lines = [f"{word} {k % 7} {k % 3} 1" for k, word in enumerate(words)]
    vectors.write_text("\n".join(lines) + "\n")
    corpus = tmp_path / "captions.csv"
    rows = [f"{k}.jpg,a {word}" for k, word in enumerate(words) for _ in range(1 + k * k % 7)]
    corpus.write_text("image,caption\n" + "\n".join(rows) + "\n")
    few = benchmark_of(list(bench.items)[:400])
    run = answered(few, lambda item: 0.3, "m")
    options = ta.RegressionOptions(vectors=vectors, frequencies_from=corpus)
    found = ta.analyse("regression", run, options)
    assert list(effects(found)) == [
        "similarity", "target_frequency", "foil_frequency", "caption_length",
    ]  # fmt: skip
    assert found.table("random-effects")["effect"].to_list() == ["supercategory", "pair"]


def test_a_fact_in_words_is_held_against_the_commonest(bench):
    run = answered(bench, lambda item: 1.5 if item.kind == "kitchen" else 0.0, "m")
    options = ta.RegressionOptions(facts=("kind",), random=("pair",))
    whole = ta.analyse("regression", run, options)
    found = effects(whole)
    assert "kind: kitchen is easier than animal; the odds" in whole.sentences[0]
    (name,) = (one for one in found if "kitchen" in one)
    assert name == "kind: kitchen (against animal)" and found[name]["low"] > 1


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (("options",), "options is the same for all items"),
        (("colour",), "colour"),
        (("similarity",), "similarity needs word vectors"),
        (("item",), "categorical with (1,000|900) values"),
    ],
)
def test_facts_that_explain_nothing_are_named(bench, facts, told):
    run = answered(bench, lambda item: 0.0, "m")
    with pytest.raises((BadInput, UnknownName), match=told):
        ta.analyse("regression", run, ta.RegressionOptions(facts=facts, random=("pair",)))


def test_too_few_answers_are_an_error():
    few = benchmark_of([foil_item(f"{k}", k % 3, 5 + k % 4) for k in range(12)])
    with pytest.raises(BadInput, match="too few answers"):
        ta.analyse("regression", answered(few, lambda item: 0.0, "m"))


def test_words_and_phrases_are_counted_as_such():
    captions = ["A hot dog and a dog.", "Dogs, hotdog"]
    assert word_frequencies(["dog", "hot dog", "cat"], captions) == {
        "dog": 2, "hot dog": 1, "cat": 0,
    }  # fmt: skip


def test_a_table_of_ones_own_brings_facts(bench, tmp_path):
    table = tmp_path / "own.csv"
    light = {item.id: len(item.id) + k % 5 for k, item in enumerate(bench.items)}
    pl.DataFrame({"item": list(light), "light": list(light.values())}).write_csv(table)
    run = answered(bench, lambda item: light[item.id] - light["test:00000"] - 2.0, "m")
    options = ta.RegressionOptions(facts=("light",), random=("pair",), item_table=table)
    assert effects(ta.analyse("regression", run, options))["light"]["low"] > 2
