"""Cues are found where they are planted, with their exact figures, and not where they are not."""

from __future__ import annotations

import dataclasses
import json
import sys

import numpy as np
import pytest
from tests.audits.conftest import bench, choice, pairs
from tests.audits.test_image_guessers import squares
from tests.conftest import benchmark_of, grid_item
from tests.models.small import causal_folder, library

from tellapart import seeds
from tellapart.audits.guessers import (
    CENTRAL,
    NGRAMS,
    TEXT_GUESSERS,
    Guesser,
    lm_guesser,
    mean_log_frequency,
    text_guessers,
)
from tellapart.audits.guesses import NOTHING, best_cues, choose, guessable, guesses, measures_for
from tellapart.audits.options import AuditOptions
from tellapart.audits.regression import fit
from tellapart.audits.sheet import FOLDS, folds, sheet_of
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import TellapartError
from tellapart.items import Item, Origin, Slot, Word
from tellapart.measures.choice import ACCURACY
from tellapart.models.names import load
from tellapart.verbs.benchmarks.audit import audit

PLANTED = {
    "fewer characters": ("A cat", "A catfish"),
    "more characters": ("A catfish", "A cat"),
    "fewer words": ("A cat sits", "A ca t sits"),
    "without a final stop": ("A cat", "A dog."),
    "with a final stop": ("A cat.", "A dog"),
    "starts with a small letter": ("a cat", "A dog"),
    "with a capital somewhere": ("a cat in Rome", "a dog in rome"),
    "white space at its ends": ("a cat ", "a dog"),
}


@pytest.mark.parametrize("cue", PLANTED)
def test_a_planted_cue_is_found_and_its_reverse_is_0(cue, quick):
    found = audit(pairs([PLANTED[cue]] * 12), options=quick)
    guess = found.guess(cue)
    assert (guess.estimate.value, guess.wrong, guess.right) == (1.0, 1.0, 1.0)
    others = [g for g in found.guesses if g.family == guess.family and g.cue != cue]
    assert [g.estimate.value for g in others] == [0.0]
    assert found.strongest()[0].estimate.value == 1.0 > found.strongest()[0].estimate.chance


def test_captions_of_one_form_give_nothing_away(quick):
    rows = [(a, b) for a in ("A cat.", "A cow.", "A dog.", "A hen.") for b in ("A fox.", "A pig.")]
    found = audit(pairs([*rows, *((b, a) for a, b in rows)] * 3), options=quick)
    shapes = [
        g for g in found.guesses if g.family not in ("word frequency", "place of the caption")
    ]
    shapes = [g for g in shapes if not g.family.startswith("all text")]
    assert len(shapes) == 14 and {g.estimate.value for g in shapes} == {0.5}
    assert guessable(pairs([*rows, *((b, a) for a, b in rows)] * 3)).of("accuracy").cue == NOTHING


def test_pitfall_4_the_rule_stop_then_shorter_has_its_figures_by_hand(quick):
    rows = [
        ("A cat", "A cat."),  # right: no stop
        ("A long caption", "A cat."),  # right: no stop, though longer
        ("A cat.", "A catfish."),  # right: shorter
        ("A cat.", "A dog."),  # tie
        ("A catfish.", "A dog."),  # wrong
    ]
    found = audit(pairs(rows), options=quick)
    guess = found.guess("without a final stop, else fewer characters")
    assert (guess.wrong, guess.estimate.value, guess.right) == (0.6, 0.7, 0.8)
    assert guess.estimate.ties == 1 and guess.estimate.chance == 0.5


def test_pitfall_4_kinds_are_told_apart(quick):
    short = [
        choice(f"s{k}", "A cat.", "A big cat.", place=k % 2, kind="add-object") for k in range(9)
    ]
    same = [choice(f"x{k}", "A cat.", "A cow.", place=k % 2) for k in range(9)]
    found = audit(bench([*short, *same]), options=quick)
    of = {
        k: found.guess("fewer characters", kind=k).estimate.value
        for k in ("add-object", "replace-object", "micro", "macro")
    }
    assert of == {"add-object": 1.0, "replace-object": 0.5, "micro": 0.75, "macro": 0.75}


def test_the_direction_is_chosen_on_other_images(quick):
    """One fold prefers short captions, the others long ones: it is counted with their choice."""
    names = [str(k) for k in range(60)]
    fold = folds([f"image-{n}" for n in sorted(names)])
    of = dict(zip(sorted(names), fold, strict=True))
    items = []
    for n in names:  # captions of their own: items with the same ones would be one group
        short, long = f"A cat {int(n):02}.", f"A catfish {int(n):02}."
        texts = (short, long) if of[n] == 0 else (long, short)
        items.append(choice(n, *texts, place=int(n) % 2))
    found = audit(bench(items), options=quick)
    in_sample = found.guess("more characters").estimate.value
    (fair,) = [b for family, _, b in found.fair if family == "characters"]
    assert in_sample == np.mean(fold != 0) == fair.estimate.value
    assert fair.fair and fair.cue == "more characters"
    together = found.guess("all text cues together (logistic regression)").estimate.value
    assert together == in_sample, "weights fitted on the odd fold itself would get it right"


@pytest.mark.parametrize(("share", "taken"), [(0.58, False), (0.75, True)])
def test_a_cue_must_lead_chance_by_three_standard_errors(share, taken):
    """Of 200 items 58% is two standard errors above one half: one of many cues always is."""
    rng = np.random.default_rng(2)
    short_is_right = rng.permutation(200) < 200 * share
    items = [
        choice(str(k), *(("A cat.", "A catfish.") if short else ("A catfish.", "A cat.")),
               place=k % 2)
        for k, short in enumerate(short_is_right)
    ]  # fmt: skip
    best = best_cues(sheet_of(bench(items)), [ACCURACY], 50)[0]
    assert (best.cue != NOTHING) == taken
    assert (best.told == "no cue above chance") != taken
    assert best.estimate.value == (share if taken else 0.5)


def test_a_choice_made_on_the_same_items_is_said_to_be(quick):
    items = [choice(str(k), "A cat.", "A catfish.", place=k % 2, images=("one",)) for k in range(6)]
    best = guessable(bench(items)).of("accuracy")
    assert best.estimate.value == 1.0 and not best.fair
    assert "chosen on these items" in str(guessable(bench(items)))


def test_word_frequency_counts_neither_the_caption_nor_its_group():
    items = [choice(str(k), f"zebra{k}x", f"wombat{k}y", place=0) for k in range(10)]
    sheet = sheet_of(bench(items))
    assert len(np.unique(mean_log_frequency(sheet)[sheet.fold == 0])) == 1


def test_word_frequency_finds_rare_words(quick):
    rows = [(f"{k} cats on a mat", f"{k} cats on a {chr(97 + k)}qx") for k in range(20)]
    assert audit(pairs(rows), options=quick).guess("more frequent words").estimate.value == 1.0


def test_word_frequency_equals_the_slow_way():
    rng = seeds.rng(0, "test")
    words = list("abcdefgh")
    texts = [" ".join(rng.choice(words, 4)) for _ in range(60)]
    sheet = sheet_of(pairs(list(zip(texts[::2], texts[1::2], strict=True))))
    got = mean_log_frequency(sheet)
    for k in range(len(got)):
        own = {sheet.texts[t] for t in sheet.text[sheet.fold == sheet.fold[k]]}
        counted = [w for text in sheet.texts if text not in own for w in text.split()]
        every = {w for text in sheet.texts for w in text.split()}
        mine = sheet.texts[sheet.text[k]].split()
        total = len(counted) + len(every) + 1
        want = np.mean([np.log((counted.count(w) + 1) / total) for w in mine])
        assert got[k] == pytest.approx(want)


def test_n_grams_find_broken_sentences():
    rows = [
        (f"a {a} sits on a {b}", f"{a} a on sits {b} a")
        for a in ("cat", "dog", "cow", "hen")
        for b in ("mat", "bed", "box", "cup", "log")
    ]
    found = audit(pairs(rows), options=AuditOptions(look=False, resamples=50))
    assert found.guess("likelier words (n-grams)").estimate.value == 1.0
    assert found.guess("fewer characters").estimate.value == 0.5


def test_cues_together_are_stronger_than_each_alone(quick):
    """A stop decides one half, a capital the other: only both together decide everything."""
    rows = [("a cat", "a dog."), ("a cat", "A dog")] * 20
    found = audit(pairs(rows), options=quick)
    assert found.guess("without a final stop").estimate.value == 0.75
    assert found.guess("starts with a small letter").estimate.value == 0.75
    assert found.guess("all text cues together (logistic regression)").estimate.value == 1.0


def test_logistic_regression_finds_known_weights():
    rng = seeds.rng(0, "weights")
    x = rng.normal(size=(20_000, 2))
    taken = rng.random(20_000) < 1 / (1 + np.exp(-(x @ [1.0, -0.5])))
    assert fit(np.where(taken[:, None], x, -x)) == pytest.approx([1.0, -0.5], abs=0.05)


def test_pitfall_7_a_place_is_audited(quick):
    items = [choice(str(k), f"b{k}", f"a{k}", f"c{k}", place=2 if k < 9 else 0) for k in range(12)]
    found = audit(bench(items), options=quick)
    values = [found.guess(f"the caption at place {k}").estimate.value for k in range(3)]
    assert values == [0.25, 0.0, 0.75]
    assert [found.finding(f"caption place {k}").count for k in (0, 2)] == [3, 9]


def test_a_balanced_grid_cannot_be_guessed_from_captions(quick):
    """2 x 2: what helps with the original image hurts with the edited one."""
    items = [grid(k) for k in range(12)]
    found = audit(bench(items, measures=("Group", "I2T", "Ipos2T", "Ineg2T")), options=quick)
    assert found.guess("fewer characters", "Ipos2T").estimate.value == 1.0
    assert found.guess("fewer characters", "Ineg2T").estimate.value == 0.0
    assert found.guess("fewer characters", "I2T").estimate.value == 0.0
    best = guessable(bench(items, measures=("Group", "I2T", "Ipos2T")))
    assert (best.of("I2T").cue, best.of("I2T").estimate.value) == (NOTHING, 0.25)
    assert best.of("Group").estimate.value == pytest.approx(1 / 6)
    assert best.of("Ipos2T").estimate.value == 1.0


def grid(k: int) -> Item:
    a, b = (0, 1) if k % 2 else (1, 0)
    captions = ("A cat.", "A catfish.") if a == 0 else ("A catfish.", "A cat.")
    return Item.imported(
        "test", f"g{k}", images=(f"{k}-0", f"{k}-1"), captions=captions,
        true=frozenset({(0, a), (1, b)}), kind="swap-object", origin=Origin("test"),
        original=(0, a),
    )  # fmt: skip


def foil(k: int) -> Item:
    slot = Slot(
        1,
        2,
        9,
        "cat",
        "giraffe",
        words=(Word(2, 9, True), Word(10, 14, False)),
        candidates=("cat", "dog", "fox"),
    )
    return Item.imported(
        "test", f"f{k}", images=(f"{k}",), captions=("A cat runs", "A giraffe runs"),
        true=frozenset({(0, 0)}), kind="replace-object", origin=Origin("test"), original=(0, 0),
        slot=slot,
    )  # fmt: skip


def test_foils_are_guessed_by_their_looks(quick):
    measures = ("T1", "T1-correct", "T1-AUC", "T2-content", "T3")
    items = [foil(k) for k in range(10)]
    found = audit(bench(items, measures=measures), options=quick)
    assert found.guess("fewer characters", "T1").estimate.value == 1.0
    assert found.guess("fewer characters", "T1-AUC").estimate.value == 1.0
    assert found.guess("fewer characters", "T2-content").estimate.value == 1.0
    assert found.guess("fewer characters", "T3").estimate.value == pytest.approx(1 / 3)
    best = guessable(bench(items, measures=measures))
    assert [row.estimate.measure for row in best.rows] == list(measures)
    assert best.of("T1-correct").cue == NOTHING, "always saying yes would make it perfect"


def test_results_can_be_written_as_json_and_printed(quick):
    found = audit(pairs([("A cat", "A dog.")] * 12), options=quick)
    read = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert read["guesses"] and read["structure"] and read["best"][0]["value"] == 1.0
    lines = str(found).splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("cue ")) + 1
    assert "100.0" in lines[first] and "give nothing away" in str(found)


def test_the_same_audit_comes_out_twice(quick):
    made = [
        audit(pairs([("A cat", "A dog."), ("A bird", "A bee")] * 9), options=quick)
        for _ in range(2)
    ]
    assert made[0] == made[1]


def test_folds_keep_groups_whole():
    names = [f"g{k // 3}" for k in range(60)]
    found = folds(names)
    assert set(found) == set(range(FOLDS))
    assert all(len({f for n, f in zip(names, found, strict=True) if n == g}) == 1 for g in names)


def test_without_transformers_the_error_says_what_to_do(monkeypatch, quick):
    library("transformers")
    monkeypatch.setitem(sys.modules, "transformers", None)
    options = dataclasses.replace(quick, lm="some/model")
    with pytest.raises(TellapartError, match="transformers") as caught:
        audit(pairs([("A cat", "A dog")] * 4), options=options)
    assert "--lm" in str(caught.value)


def test_a_language_model_guesses_by_its_own_scores_of_the_captions(tmp_path):
    transformers = library("transformers")
    folder = causal_folder(transformers, tmp_path / "lm")
    sheet = sheet_of(pairs([("A cat on the mat", "the left cat is on a dog")]))
    got = lm_guesser(str(folder)).scores(sheet)
    expected = load(f"hf:{folder}?head=lm").score_texts([sheet.texts[k] for k in sheet.text])
    assert got == pytest.approx(expected, rel=1e-5) and len(set(got)) == 2


def test_a_language_model_stands_in_the_audit(tmp_path, quick):
    folder = causal_folder(library("transformers"), tmp_path / "lm")
    options = dataclasses.replace(quick, lm=str(folder))
    found = audit(pairs([("A cat on the mat", "the left cat is on a dog")] * 4), options=options)
    assert [g.sees for g in found.guesses if g.family.startswith("language model")] == [
        "caption",
        "caption",
    ]


def options_of(captions_by_item: list[tuple[str, ...]]) -> Benchmark:
    """Items whose first option is true."""
    items = [
        Item.imported(
            "test", str(k), images=(str(k),), captions=captions, true=frozenset({(0, 0)}),
            kind="mcic", origin=Origin("test"),
        )
        for k, captions in enumerate(captions_by_item)
    ]  # fmt: skip
    return bench(items)


def test_pitfall_4_a_caption_that_all_decoys_were_chosen_for_is_found():
    near = ("a red dog runs", "a red cat runs", "a blue dog runs", "a red dog sits")
    sheet = sheet_of(options_of([near]))
    scores = CENTRAL.scores(sheet)
    assert np.argmax(scores) == 0
    run = sheet.run("middle", scores)
    assert ACCURACY.outcomes(run, "half").value.tolist() == [1.0]


def test_two_options_are_equally_near_and_each_item_is_for_itself():
    sheet = sheet_of(options_of([("a dog", "a red dog"), ("two cats", "a dog and two cats")]))
    first, second, third, fourth = CENTRAL.scores(sheet)
    assert first == second and third == fourth and first != third


def test_pitfall_4_the_middle_of_several_options_is_audited(quick):
    """Each decoy changes one word of the right caption; no word is in two items."""
    ends = [f"{one}{two}" for one in "abcdef" for two in "ghijk"]
    words = [
        [f"{word}{end}" for word in ("dog", "cat", "owl", "fox", "hen", "pig")] for end in ends
    ]
    near = [(f"{a} {b} {c}", f"{x} {b} {c}", f"{a} {y} {c}", f"{a} {b} {z}")
            for a, b, c, x, y, z in words]  # fmt: skip
    found = audit(options_of(near), options=quick)
    middle = found.guess("nearest to the other options").estimate
    assert (middle.value, middle.chance) == (1.0, 0.25)
    assert guessable(options_of(near)).of("accuracy").cue == "nearest to the other options"


def test_every_guesser_stands_in_the_audit(tmp_path):
    modules = (module for name, module in sys.modules.items() if ".audits." in name)
    defined = [g for m in modules for g in vars(m).values() if isinstance(g, Guesser)]
    assert {g.family for g in defined} <= {g.family for g in (*TEXT_GUESSERS, NGRAMS)}
    several = [choice(f"o{k}", f"a {k}", f"b {k}", f"c {k}", place=k % 3) for k in range(9)]
    items = [*several, *squares(tmp_path, told=True, number=10)]
    options = AuditOptions(resamples=50)
    families = {g.family for g in audit(bench(items, tmp_path), options=options).guesses}
    assert {g.family for g in (*TEXT_GUESSERS, NGRAMS)} <= families
    assert families >= {
        "place of the caption", "place of the image", "file size", "size", "brightness",
        "image statistics", "detectors",
    }  # fmt: skip
    assert text_guessers(sheet_of(bench(several))) == list(TEXT_GUESSERS)


def test_who_matches_pictures_and_captions_blindly_is_at_chance():
    """A product of two scores gets a whole grid right or wrong, so half of the grids come free."""
    items = [grid_item(f"n{k}", 2, 2, {(0, 0), (1, 1)}) for k in range(400)]
    sheet = sheet_of(benchmark_of(items))
    draw = seeds.rng(0, "matching")
    signs = draw.choice([-1.0, 1.0], size=(2, len(items)))

    def scores(given):
        cells = given.cells
        own = [np.where(side == 0, 1.0, -1.0) for side in (cells.image, cells.caption)]
        return own[0] * signs[0][cells.item] * own[1] * signs[1][cells.item]

    blind = Guesser("attackers", "by lot", "", "both", scores)
    measures = measures_for(sheet.benchmark, "both")
    for guess, outcomes in guesses(blind, sheet, measures, resamples=200):
        own = guess.estimate
        assert own.chance == 0.5 and own.low <= 0.5 <= own.high
        assert choose(sheet.benchmark, {"by lot": outcomes})[1] == NOTHING
