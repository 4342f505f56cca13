"""Words of texts in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.text.tokens import spans, tokens


@given(st.text(max_size=60))
def test_spans_point_at_their_words(text):
    for start, end, word in spans(text):
        assert text[start:end].lower() == word
    assert [word for *_, word in spans(text)] == tokens(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [("一只猫。", ["一", "只", "猫"]), ("テーブルの上", ["テーブル", "の", "上"]),
     ("قِطّة على الطاولة", ["قِطّة", "على", "الطاولة"]), ("मेज पर", ["मेज", "पर"]), ("นั่ง", ["นั่", "ง"]),
     ("고양이가 책상 위에", ["고양이가", "책상", "위에"]),
     ("Café-Straße", ["café-straße"]), ("٣ قطط", ["٣", "قطط"])],
)  # fmt: skip
def test_no_script_loses_letters(text, words):
    assert tokens(text) == words
