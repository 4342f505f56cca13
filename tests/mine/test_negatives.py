"""Negatives: the strict check, what may be true after all, and the benchmark that is built."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mine.small_captions import small_corpus

from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.cli.commands import parameters
from tellapart.corpus.corpus import Corpus, save_corpus
from tellapart.errors import BadInput, UnknownName
from tellapart.items import KINDS
from tellapart.mine.negatives.checks import REASONS, difference, is_one_swap, problem_of
from tellapart.mine.negatives.claims import Has, Shows, Stands, doubt_of, facts_of_parses
from tellapart.mine.negatives.negative import Change, changed
from tellapart.text.english import alike
from tellapart.text.parse import parse
from tellapart.verbs.build.negatives import VERB, NegativesOptions, negatives

pytest.importorskip("spacy", reason="spacy is not installed")

CAT = "A black cat sits on a red chair."
WORDS = st.lists(st.sampled_from("cat dog red blue on under a the".split()), min_size=1, max_size=9)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    again = (["cat", "bed"], ["A red cat on a bed.", "a red cat on a bed", "A cat on a bed"])
    return small_corpus(tmp_path_factory.mktemp("small"), again)


def made(corpus: Corpus, out: Path, **more) -> Benchmark:
    options = NegativesOptions(
        unfiltered=True, cache=corpus.root / "cache", **more.pop("own", {}), **more
    )
    return negatives(corpus, out, options)


@pytest.fixture(scope="module")
def built(corpus, tmp_path_factory) -> Benchmark:
    return made(corpus, tmp_path_factory.mktemp("built") / "negatives", seed=1)


# --- the check -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "negative", "reason"),
    [
        ("replace-object", "A black dog sits on a red chair.", None),
        ("replace-attribute", "A white cat sits on a red chair.", None),
        ("replace-relation", "A black cat sits under a red chair.", None),
        ("replace-relation", "A black cat sleeps on a red chair.", None),
        ("swap-object", "A red chair sits on a black cat.", None),
        ("swap-attribute", "A red cat sits on a black chair.", None),
        ("add-object", "A black cat sits on a red chair and a table.", None),
        ("add-attribute", "A small black cat sits on a red chair.", None),
        ("replace-object", " ", "empty"),
        ("replace-object", "Is it a black dog on a red chair?", "question"),
        ("replace-object", "A black dog sits on a red chair", "no final mark"),
        ("replace-object", "A dog sits. It is on a chair.", "several sentences"),
        ("replace-object", "A Black cat sits on a red chair!", "no edit"),
        ("replace-object", "A black dog sits on a red sofa.", "several edits"),
        ("replace-object", "A black dog of an old and odd breed sits on a red chair.", "long edit"),
        ("replace-object", "On a red chair a black cat sits.", "paraphrase"),
        ("replace-object", "A white cat sits on a red chair.", "other kind"),
        ("replace-attribute", "A black dog sits on a red chair.", "other kind"),
        ("replace-relation", "A black dog sits on a red chair.", "other kind"),
        ("swap-object", "A red cat sits on a black chair.", "other kind"),
        ("swap-attribute", "A red chair sits on a black cat.", "other kind"),
        ("swap-attribute", "A black chair sits on a red cat.", "other kind"),
        ("add-object", "A small black cat sits on a red chair.", "other kind"),
        ("add-attribute", "A black cat with a hat sits on a red chair.", "other kind"),
        ("add-attribute", "A white cat sits on a red chair.", "other kind"),
    ],
)  # fmt: skip
def test_only_one_edit_of_the_kind_asked_for_passes(kind, negative, reason):
    assert problem_of(parse([CAT])[0], negative, kind) == reason
    assert reason is None or reason in REASONS


def test_words_that_the_corpus_knows_are_held_against_the_kind():
    parts = {"red": frozenset({"ADJ"}), "dog": frozenset({"NOUN"})}
    original = parse(["A cat sits on a chair."])[0]

    def problem(negative, kind):
        return problem_of(original, negative, kind, lambda word: parts.get(word, frozenset()))

    assert problem("A red sits on a chair.", "replace-object") == "other kind"
    assert problem("A dog sits on a chair.", "replace-object") is None
    assert problem("A cat sits dog a chair.", "replace-relation") == "other kind"


@given(WORDS, WORDS)
def test_outside_the_difference_captions_agree_and_it_is_the_shortest(old, new):
    found = difference(old, new)
    if found is None:
        assert old == new
        return
    behind = len(old) - found.end
    assert old[: found.start] == new[: found.start]
    assert old[found.end :] == new[len(new) - behind :]
    was, now = old[found.start : found.end], new[found.start : len(new) - behind]
    assert (found.was, found.now) == (tuple(was), tuple(now))
    if was and now:
        assert was[0] != now[0] and was[-1] != now[-1]


@given(*[st.lists(st.sampled_from("abcde"), min_size=n, max_size=3) for n in (0, 1, 0, 1, 0)])
def test_a_swap_of_two_runs_is_found_and_undone(head, one, middle, two, tail):
    old, new = head + one + middle + two + tail, head + two + middle + one + tail
    found = difference(old, new)
    if found is None:
        return
    runs = is_one_swap(found)
    assert runs is not None
    (a, b), (c, d) = runs
    assert old[:a] + old[c:d] + old[b:c] + old[a:b] + old[d:] == new


def test_two_swaps_are_not_one():
    assert is_one_swap(difference(list("abxcd"), list("baxdc"))) is None


# --- the edit ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("A dog on an old bed.", [Change(2, 5, "owl")], "An owl on an old bed."),
        ("An owl sits.", [Change(3, 6, "unicorn")], "A unicorn sits."),
        ("Dogs run.", [Change(0, 4, "cats")], "Cats run."),
        (" a dog", [Change(3, 6, "emu")], " an emu"),
        ("A dog sits.", [Change(5, 5, " and an owl")], "A dog and an owl sits."),
    ],
)
def test_articles_and_capitals_follow_an_edit(text, changes, expected):
    assert changed(text, changes) == expected


# --- what may be true ----------------------------------------------------------------------------


def test_a_claim_that_a_caption_or_an_object_supports_is_doubted():
    captions = ["A black cat sits on a red chair.", "Two kittens near a sofa; the wall is white."]
    facts = facts_of_parses(parse(captions), frozenset({"cat", "couch"}))
    assert facts.doubt(Shows("sofa")) == "mentioned" and facts.doubt(Shows("kitten")) == "mentioned"
    assert facts.doubt(Shows("couch")) == "shown" and facts.doubt(Shows("dog")) is None
    assert facts.doubt(Has("chair", "red")) == "said elsewhere"
    assert facts.doubt(Has("wall", "white")) == "said elsewhere"
    assert facts.doubt(Has("chair", "black")) is None
    assert facts.doubt(Stands("near", "sofa")) == "said elsewhere"
    assert facts.doubt(Stands("under", "sofa")) is None
    assert "kitten" in facts.several and "cat" not in facts.several and facts.alone


@pytest.mark.parametrize(
    ("kind", "negative", "doubt"),
    [
        ("replace-object", "A dog next to a chair.", None),
        ("replace-object", "A kitten next to a chair.", "mentioned"),
        ("replace-object", "A couch next to a chair.", "shown"),
        ("swap-object", "A chair next to a cat.", "symmetrical"),
        ("add-attribute", "A cat next to a red chair.", "said elsewhere"),
        ("add-attribute", "A cat next to a blue chair.", None),
        ("replace-relation", "A cat on a chair.", "said elsewhere"),
        ("replace-relation", "A cat under a chair.", None),
    ],
)
def test_a_negative_that_may_be_true_is_refused(kind, negative, doubt):
    captions = ["A cat next to a chair.", "kittens on a red chair"]
    facts = facts_of_parses(parse(captions), frozenset({"cat", "couch"}))
    assert doubt_of(parse(captions)[0], negative, kind, facts) == doubt


# --- the benchmark -------------------------------------------------------------------------------


def test_an_item_is_an_image_with_a_caption_of_its_own_and_one_that_is_false(corpus, built):
    kinds = Counter(item.kind for item in built.items)
    assert set(kinds) == set(KINDS)
    for item in built.items:
        ((image, place),) = item.true
        assert (image, len(item.captions)) == (0, 2) and item.original == (0, place)
        own = {alike(text) for text in corpus.texts_by_image[item.images[0]]}
        written = item.origin.notes.get("caption", item.captions[place])
        assert alike(written) in own and item.captions[1 - place] not in own
        assert item.origin.source_id.startswith(item.images[0])


def test_of_the_add_kinds_both_captions_have_a_detail_and_people_wrote_neither(
    corpus, built, tmp_path
):
    assert "people wrote neither" in built.card.made["details"]
    added = [item for item in built.items if item.kind.startswith("add")]
    for item in added:
        true, false = (item.captions[place] for place in (item.original[1], 1 - item.original[1]))
        assert len(true.split()) == len(false.split()) and item.origin.notes["was"] in true
        assert item.origin.notes["detail"] == "true against false"
    kinds = ("add-object", "add-attribute")
    papers = made(corpus, tmp_path / "added", own={"kinds": kinds, "details": "added"})
    assert "the longer caption" in papers.card.made["details"]
    for item in papers.items:
        place = item.original[1]
        assert len(item.captions[place]) < len(item.captions[1 - place])
    other = made(corpus, tmp_path / "other", own={"kinds": ("replace-object",)})
    assert "details" not in other.card.made


def test_pitfall_5_both_captions_have_one_form(built, corpus, tmp_path):
    for item in built.items:
        for caption in item.captions:
            assert caption == alike(caption)
    written = made(corpus, tmp_path / "b", own={"as_written": True, "kinds": ("replace-object",)})
    lower = [item for item in written.items if item.captions[item.original[1]][0].islower()]
    assert lower
    for item in written.items:
        first, second = item.captions
        assert first[0].isupper() == second[0].isupper()
        assert first.endswith(".") == second.endswith(".")


def test_pitfall_7_the_true_caption_is_at_no_fixed_place(built):
    places = Counter(item.original[1] for item in built.items)
    assert max(places.values()) < 0.6 * sum(places.values())


def test_pitfall_9_two_who_wrote_the_same_do_not_make_two_items(corpus, built):
    twice = [item for item in built.items if item.images[0] == corpus.images["id"][-1]]
    pairs = Counter((item.kind, frozenset(item.captions)) for item in twice)
    assert twice and set(pairs.values()) == {1}
    refused = built.card.made["refused"]
    assert any("made already" in reasons for reasons in refused.values())


def test_pitfall_19_the_card_says_how_they_were_made_and_that_nobody_looked(built):
    assert built.card.verified == ""
    told = built.card.made
    assert told["negatives_by"] == "rules" and "not checked by people" in told["false_of_the_image"]
    assert told["word_lists_from"].startswith("small: ")
    assert set(told["refused"]) <= set(KINDS)


def test_the_same_seed_gives_the_same_items_and_another_gives_others(corpus, built, tmp_path):
    again = made(corpus, tmp_path / "again", seed=1)
    other = made(corpus, tmp_path / "other", seed=2)
    assert again.sha256 == built.sha256 == load_benchmark(tmp_path / "again").sha256
    assert other.sha256 != built.sha256


def test_items_are_spread_over_the_kinds(corpus, tmp_path):
    few = made(corpus, tmp_path / "few", items=21)
    assert Counter(item.kind for item in few.items) == dict.fromkeys(KINDS, 3)


def test_more_than_one_negative_a_caption_and_only_the_kinds_asked_for(corpus, tmp_path):
    own = {"kinds": ("replace-object",), "per_caption": 2}
    several = made(corpus, tmp_path / "several", own=own)
    sources = Counter(item.origin.source_id for item in several.items)
    assert max(sources.values()) == 2
    assert {item.kind for item in several.items} == {"replace-object"}


def test_word_lists_can_come_from_another_corpus(corpus, tmp_path):
    save_corpus(corpus, tmp_path / "large")
    of_first = corpus.captions.filter(corpus.captions["image"] == "i0")
    tiny = Corpus("tiny", corpus.root, corpus.images.head(1), of_first)
    with pytest.raises(BadInput, match="negatives has no items"):
        made(tiny, tmp_path / "none")
    found = made(tiny, tmp_path / "some", own={"lists_from": tmp_path / "large"})
    assert found.card.made["word_lists_from"].startswith("small")
    assert {item.images[0] for item in found.items} == {"i0"}


def test_options_that_make_no_sense_are_named():
    with pytest.raises(UnknownName, match="no kind of near miss called 'swap-objects'"):
        NegativesOptions(kinds=("swap-objects",))
    with pytest.raises(BadInput, match="negatives cannot be made by 'magic'"):
        NegativesOptions(by="magic")
    with pytest.raises(BadInput, match="details: 'none'"):
        NegativesOptions(details="none")
    with pytest.raises(BadInput, match="per_caption: 0"):
        NegativesOptions(per_caption=0)


def test_the_command_tells_what_was_made_and_what_was_refused(built):
    told = VERB.text(built)
    kinds = Counter(item.kind for item in built.items)
    lines = {line.split()[0]: line for line in told.splitlines() if line}
    for kind in KINDS:
        assert f"{kinds[kind]:,}" in lines[kind]
        for reason, number in built.card.made["refused"][kind].items():
            assert f"{reason} {number:,}" in lines[kind]
    assert f"negatives: {len(built.items):,} items" in told


def test_the_command_takes_kinds_with_commas_and_all_seven_by_default():
    (kinds,) = (one for one in parameters(VERB) if one.name == "kinds")
    assert kinds.value("add-object, swap-object") == ("add-object", "swap-object")
    assert NegativesOptions(kinds=kinds.value("")) == NegativesOptions()
