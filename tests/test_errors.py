"""Errors can be shown and written, whatever they quote."""

from __future__ import annotations

import pytest

from tellapart.errors import LONGEST, MANY, BadInput, Problems, TellapartError, need


def test_half_a_surrogate_pair_is_spelled_out_so_that_the_error_can_be_written():
    error = BadInput("caption \ud800", where="a.json, key \udc00", allowed="\ud800", todo="\ud800")
    str(error).encode()
    assert error.what == "caption \\ud800"
    assert error.parts()["where"] == "a.json, key \\udc00"


def test_a_value_of_a_hundred_thousand_characters_is_not_shown_in_full():
    error = BadInput(f"caption {'x' * 100_000}", where="y" * 100_000)
    assert len(error.what) == LONGEST and error.what.endswith(" ...")
    assert len(str(error)) < 3 * LONGEST


def test_an_input_with_nothing_but_bad_rows_is_given_up():
    problems = Problems()
    with pytest.raises(BadInput, match=rf"row 0 \(and at least {MANY} more: row 1; row 2; row 3"):
        for number in range(2 * MANY):
            problems.add(BadInput(f"row {number}"))
    skipped = Problems(skip=True)
    for number in range(MANY + 5):
        skipped.add(BadInput(f"row {number}"))
    skipped.settle()
    assert len(skipped) == MANY + 5
    assert [problem.what for problem in skipped][MANY:] == [f"row {MANY}", "... and 4 more"]


def test_a_missing_package_says_which_extra_brings_it():
    with pytest.raises(TellapartError, match="needs the package 'no_such_package'") as caught:
        need("no_such_package", "chat")
    assert caught.value.todo == "pip install 'tellapart[chat]'"
