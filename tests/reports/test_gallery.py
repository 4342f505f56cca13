"""Which items are shown, and what a card says."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.reports.gallery import chosen_items, make_gallery, spread
from tellapart.reports.results import StepCounter, measure_runs
from tellapart.types import silent


@given(st.integers(0, 500), st.lists(st.integers(0, 100), max_size=8))
def test_spread_gives_all_it_can_and_evenly(total, sizes):
    given_ = spread(total, sizes)
    assert sum(given_) == min(total, sum(sizes))
    assert all(0 <= got <= size for got, size in zip(given_, sizes, strict=True))
    full = [got for got, size in zip(given_, sizes, strict=True) if got < size]
    assert not full or max(given_) <= min(full) + 1


@pytest.fixture(scope="module")
def measured(made):
    return measure_runs(made.runs, "wrong", False, StepCounter(0, silent))


def sheets_of(measured, total):
    chosen = chosen_items(measured, total)
    return chosen, make_gallery(measured, chosen, StepCounter(0, silent))


def test_items_are_spread_over_benchmarks_and_kinds(measured):
    chosen, gallery = sheets_of(measured, 40)
    assert [len(items) for items in chosen] == [10, 10, 10, 10]
    bivlc = Counter(card.item.kind for card in gallery.cards if card.benchmark == "bivlc")
    assert len(bivlc) == 7
    assert set(bivlc.values()) <= {1, 2}


def test_cards_tell_what_is_true(measured):
    _, gallery = sheets_of(measured, 16)
    for card in gallery.cards:
        assert len(card.card.shots) == len(card.item.images)
        for i, shot in enumerate(card.card.shots):
            assert shot.thumbnail.place is not None
            for j, line in enumerate(card.card.lines):
                assert ((i, j) in card.item.true) == (line.number in shot.fits)
                assert ((i, j) in card.item.true) == (shot.letter in line.fits)
        for line, caption in zip(card.card.lines, card.item.captions, strict=True):
            assert line.before + line.foil + line.after == caption
        foils = [line.foil for line in card.card.lines if line.foil]
        assert foils == ([card.item.slot.foil] if card.item.slot else [])


def test_every_model_has_a_letter_and_text_only_the_last(measured):
    _, gallery = sheets_of(measured, 8)
    assert gallery.models == ("oracle?error=0.2", "random", "guesser")
    for card in gallery.cards:
        assert len(card.codes) == 4
        assert [row.label for row in card.card.rows][-1] == "text-only"
        assert card.codes == "".join(row.verdict for row in card.card.rows)


def test_no_gallery_has_no_cards(made, measured):
    chosen, gallery = sheets_of(measured, 0)
    assert chosen == [[], [], [], []]
    assert not gallery.cards
    assert gallery.available == made.items
