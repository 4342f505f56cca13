"""Tokens as the COCO scripts have them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.text.coco_scripts import java_tokens, needs_java

from tellapart.errors import BadInput
from tellapart.text.ptb import ptb_tokenise

CASES = {
    "A dog's ball, on the grass.":
        "a dog 's ball on the grass",
    "It isn't; they're, we've, he'd, she'll, I'm \u2014 DON'T, cAn'T!":
        "it is n't they 're we 've he 'd she 'll i 'm do n't ca n't",
    "I cannot say what he's gonna do; lemme see, gimme that, gotta go, wanna come?":
        "i can not say what he 's gon na do lem me see gim me that got ta go wan na come",
    "The dogs' bowls, James' car and Dunkin' Donuts' cups":
        "the dogs bowls james car and dunkin' donuts cups",
    "Hors d'oeuvres at five o'clock with O'Connor at L'Oreal's":
        "hors d'oeuvres at five o'clock with o'connor at l'oreal 's",
    "'twas 'tis 'em 'til 'cause rock 'n' roll in the '90s and the 1990's":
        "'t was 't is 'em 'til 'cause rock 'n' roll in the '90s and the 1990 's",
    'A sign says \'No Parking\' and the other "Stop, please."':
        'a sign says no parking and the other stop please',
    '\u201cIt\u2019s a \u2018nice\u2019 day,\u201d she said\u2026 don\u2019t you think?':
        "it 's a nice day she said do n't you think",
    'Main St. and 5th Ave. in the U.S. at 5 p.m. on Jan. 3.':
        'main st. and 5th ave. in the u.s. at 5 p.m. on jan. 3',
    'Mr. and Mrs. Jones vs. Dr. Smith, Jr., at Acme Inc. and Co.':
        'mr. and mrs. jones vs. dr. smith jr. at acme inc. and co.',
    'No. 5 is here, no. Miss. is a state, miss. See fig. 3 and pp. 4, op. cit.':
        'no. 5 is here no miss. is a state miss see fig. 3 and pp. 4 op cit',
    'A person I. The street S. A hood':
        'a person i the street s a hood',
    't.v., T.V. and s.u.v near the D.C. metro, e.g. a bus, i.e. that one, etc.':
        't.v. t.v. and s.u.v near the d.c. metro e.g. a bus i.e. that one etc.',
    'a street.A dog stood there.Then it left ... and . . . left....':
        'a street.a dog stood there.then it left and left',
    "A well-known, t-shirt-clad 3-year-old's half-eaten 10-inch sub- sandwich -- yes - no":
        "a well-known t-shirt-clad 3-year-old 's half-eaten 10-inch sub sandwich yes no",
    "an on-the-go U.S.-based non-U.S. anti- war pro- peace jack-o'-lantern":
        'an on-the-go u.s.-based non-u.s. anti- war pro- peace jack-o lantern',
    '22 3/4 St and 1 1/2 cups, 1/2-inch, 3/4" of his/her and/or a/b/c/d w/ \xbd cup':
        '22\xa03/4 st and 1\xa01/2 cups 1/2-inch 3/4 of his/her and/or a/b/c / d w / 1/2 cup',
    'Clock at 10:14, 6:53pm; 1,000 of 2.5 and .5, -5, +9 on 10/29/2011 or 10-29-2011':
        'clock at 10:14 6:53 pm 1,000 of 2.5 and .5 -5 +9 on 10/29/2011 or 10-29-2011',
    "$5.00, US$5, 5%, #5, \xa33, 5\xa2, \u20ac7 and \xa5100 for AT&T, M&M's, m&m, B&B and Q&A":
        "$ 5.00 us$ 5 5 % # 5 # 3 5 cents $ 7 and \xa5 100 for at&t m&m 's m & m b&b and q&a",
    '(brackets) [square] {curly} <b>bold</b> a < b > c':
        '-lrb- brackets -rrb- -lsb- square -rsb- -lcb- curly -rcb- <b> bold </b> a < b > c',
    'Call 555-1234 or (555) 123-4567 or 1-800-555-1234 or 555.123.4567':
        'call 555-1234 or -lrb-555-rrb-\xa0123-4567 or 1-800-555-1234 or 555.123.4567',
    'mail foo@bar.com, see www.foo.com/bar?x=1, http://foo.org/a. and foo.com':
        'mail foo@bar.com, see www.foo.com/bar?x=1 http://foo.org/a and foo.com',
    '@user likes #tag #1 connect_anywhere file.txt image.jpg, 1a.png.':
        '@user likes #tag # 1 connect_anywhere file.txt image.jpg 1a.png',
    'What?! No!! Yes!!! Why?? ok; sure: fine':
        'what ?! no !! yes !!! why ?? ok sure fine',
    ':) :-( ;D =) ^_^ -_- <3':
        ':-rrb- :--lrb- ;d =-rrb- ^_^ -_- < 3',
    'caf\xe9 na\xefve \xdcmlaut \u65e5\u672c \u263a 20\xb0C x\xb2 \u2122 \U0001f600 soft\xadhyphen':
        'caf\xe9 na\xefve \xfcmlaut \u65e5\u672c \u263a 20 \xb0 c x \xb2 \u2122 softhyphen',
    'a  b\tc   d':
        'a b c d',
    'AT&amp;T &lt;tag&gt; &quot;x&quot; fish &amp; chips':
        'at&t < tag > x fish & chips',
    'c++ C# a+b A+B 2x4 4x4 f250 1st 2nd 3D 61a +1 555 555 5555':
        'c++ c# a + b a+b 2x4 4x4 f250 1st 2nd 3d 61a +1 555\xa0555\xa05555',
    "y'all know cap'n ma'am li'l ne'er o'er nor'easter s'mores c'mon foo'bar":
        "y' all know cap'n ma'am li'l ne'er o'er nor'easter s'mores c'mon foo bar",
    '------ --- ***** ___ ## @@ << >> ~ ^ | \\ = + * _':
        '------ ***** ___ ## @@ << >> ~ ^ | \\ = + * _',
    'S.':
        's.',
}  # fmt: skip
"""What the Stanford tokenizer 3.4.1 gives, with the scripts' marks dropped."""

WORDS = st.sampled_from(
    """a dog The man Mr. St. U.S. S. I 's n't it's isn't o'clock t.v. p.m. no. co. jr 90 '90s A
    gonna cannot 5 10:30 1/2 $ & #1 ... ! ? ; : / -- , . - ' " ( ) [ @ % é café ’s “ ” … d' y'all
    e.g. etc. Ph.D. well-known and/or 1,000 .5 -5 www.foo.com foo.jpg a@b.c AT&T <b> _
    * +""".split()
)
GLUE = st.sampled_from(["", " ", " ", " ", " "])
CAPTIONS = st.lists(st.tuples(WORDS, GLUE), max_size=12).map(
    lambda parts: "".join(word + glue for word, glue in parts)
)


@pytest.mark.parametrize("caption", CASES)
def test_tokens_of_one_caption(caption):
    assert ptb_tokenise([caption]) == [CASES[caption]]


@needs_java
def test_java_still_gives_what_the_cases_say():
    assert java_tokens(list(CASES)) == list(CASES.values())


@needs_java
@settings(
    max_examples=3, deadline=None, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example,
                           HealthCheck.data_too_large],
)  # fmt: skip
@given(st.lists(CAPTIONS, min_size=100, max_size=300))
def test_made_up_captions_are_cut_as_java_cuts_them(captions):
    expected = java_tokens(captions)
    for caption, right, found in zip(captions, expected, ptb_tokenise(captions), strict=True):
        assert found == right, caption


def test_a_last_letter_with_a_stop_depends_on_the_next_caption():
    captions = ["on Ave S.", "A dog", "on Ave S.", "Dogs", "on Ave S."]
    assert ptb_tokenise(captions) == ["on ave s", "a dog", "on ave s.", "dogs", "on ave s."]


def test_plain_captions_give_the_same_with_and_without_rules():
    plain = ["A dog, a cat  and a bird sit.", "Dogs run . ", "I cannot, he said", " ,, ", "Miss."]
    with_rules = [caption + " ;" for caption in plain[:-1]]
    assert ptb_tokenise(plain)[:-1] == ptb_tokenise(with_rules)
    assert ptb_tokenise(plain)[-1] == "miss."


def test_empty_captions_keep_their_place():
    assert ptb_tokenise(["", "a dog", " ", ".", "\n"]) == ["", "a dog", "", "", ""]
    assert ptb_tokenise([]) == []


def test_line_breaks_of_every_sort_are_spaces():
    assert ptb_tokenise(["a\ndog\r\nruns\u2028fast\x0bhome"]) == ["a dog runs fast home"]


@pytest.mark.parametrize("bad", [None, 3, float("nan"), b"a dog", ["a dog"]])
def test_what_is_no_text_is_named(bad):
    with pytest.raises(BadInput, match="caption 1 is not text"):
        ptb_tokenise(["a dog", bad])


@given(st.lists(st.text(max_size=40), max_size=6))
def test_any_text_gives_tokens_without_double_spaces(captions):
    found = ptb_tokenise(captions)
    assert len(found) == len(captions)
    assert all(" ".join(tokens.split(" ")).strip(" ") == tokens for tokens in found)
    assert not any("  " in tokens or "\n" in tokens for tokens in found)
