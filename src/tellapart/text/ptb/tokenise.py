"""Tokens of captions as the COCO scripts have them: the Stanford PTB tokenizer's, marks dropped.

Nearly all captions are plain words with commas and a final stop. Those are told from the others by
what is left of a caption without letters and spaces, and need no rules; `ptb_rules` has the rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_letters, ascii_lowercase, ascii_uppercase

from tellapart.errors import BadInput
from tellapart.text.ptb.rules import BREAK, rules_at
from tellapart.text.ptb.words import ABBREVIATIONS, BEFORE_NUMBERS

DROPPED = frozenset("'' ' `` ` . ? ! , : - -- ... ;".split())
"""The COCO scripts mean to drop brackets too, but look for -LRB- where the tokens say -lrb-."""
TWO_WORDS = {
    "cannot": ("can", "not"), "gonna": ("gon", "na"), "gotta": ("got", "ta"),
    "wanna": ("wan", "na"), "gimme": ("gim", "me"), "lemme": ("lem", "me"),
}  # fmt: skip
SPELLED = {
    "(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-", '"': "''",
    "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": "''", "&apos;": "'", "&nbsp;": "",
    "\u00bc": "1/4", "\u00bd": "1/2", "\u00be": "3/4", "\u2153": "1/3", "\u2154": "2/3",
    "\u0080": "$", "\u00a2": "cents", "\u00a3": "#", "\u00a4": "$", "\u20a0": "$", "\u20ac": "$",
}  # fmt: skip
QUOTES = str.maketrans({
    "\u2018": "`", "\u2019": "'", "\u201b": "`", "\u201c": "``", "\u201d": "''", "\u2039": "`",
    "\u203a": "'", "\u00ab": "``", "\u00bb": "''", "\u0091": "`", "\u0092": "'", "\u0093": "``",
    "\u0094": "''",
})  # fmt: skip
BRACKETS = str.maketrans({"(": "-lrb-", ")": "-rrb-", " ": "\u00a0"})

_MARKS = str.maketrans("", "", ascii_letters + " ")
_WORDS = str.maketrans(ascii_uppercase + ",.", ascii_lowercase + "  ")
_PLAIN_MARKS = frozenset("," * commas + stop for commas in range(10) for stop in ("", "."))
_KEEPS_STOP = {*ABBREVIATIONS.split(), *BEFORE_NUMBERS.split(), *ascii_lowercase}
_SPLIT = frozenset(TWO_WORDS)
_NO_TOKENS = re.compile(rf"(?:{BREAK}|,(?= )|\.(?=\n))+")
_PLAIN_RUN = re.compile(
    "[A-Za-z]+(?:-[A-Za-z]+)*(?:'s)?(?: [A-Za-z]+(?:-[A-Za-z]+)*(?:'s)?)*(?=,?[ \n])"
)


def ptb_tokenise(captions: Sequence[str]) -> list[str]:
    """The tokens of each caption in lower case with single spaces between.

    As in one call of the COCO scripts with all the captions: where a caption ends with a letter and
    a stop, the first word of the next one decides whether the stop belongs to the letter.

    >>> ptb_tokenise(["A dog's ball, on the grass.", "It isn't 5 p.m. in St. Ives!"])
    ["a dog 's ball on the grass", "it is n't 5 p.m. in st. ives"]
    """
    lines = _one_line_each(captions)
    text = "\n".join(lines)
    marks, plain = text.translate(_MARKS).split("\n"), text.translate(_WORDS).split("\n")
    found, at = [], 0
    for line, mark, words in zip(lines, marks, plain, strict=False):  # no line splits into one
        tokens = words.split()
        if mark not in _PLAIN_MARKS or (mark[-1:] == "." and not _ends_plainly(line, tokens)):
            tokens = _ruled_tokens(text, at, at + len(line))
        elif not _SPLIT.isdisjoint(tokens):
            tokens = _separated(tokens)
        found.append(" ".join(tokens))
        at += len(line) + 1
    return found


def _one_line_each(captions: Sequence[str]) -> Sequence[str]:
    for k, caption in enumerate(captions):
        if not isinstance(caption, str):
            raise BadInput(
                f"caption {k} is no text: {caption!r:.60}", allowed="texts, empty ones among them"
            )
    return [caption.replace("\n", " ") for caption in captions]


def _ends_plainly(line: str, words: list[str]) -> bool:
    """Whether the stop of a caption is its end and no part of its last word."""
    return line.endswith((".", ". ")) and bool(words) and words[-1] not in _KEEPS_STOP


def _separated(words: list[str]) -> list[str]:
    return [part for word in words for part in TWO_WORDS.get(word, (word,))]


def _ruled_tokens(text: str, at: int, end: int) -> list[str]:
    """The tokens from `at` to `end`; rules may look at what comes after."""
    found: list[str] = []
    while at < end:
        if nothing := _NO_TOKENS.match(text, at):
            at = nothing.end()
        elif run := _PLAIN_RUN.match(text, at):
            words = _separated(run.group().lower().split(" "))
            found += " ".join(words).replace("'s", " 's").split(" ")
            at = run.end()
        else:
            token, at = _ruled_token(text, at)
            if token and token not in DROPPED:
                found.append(token)
    return found


def _ruled_token(text: str, at: int) -> tuple[str, int]:
    """The token at a place and where it ends; empty for a character that is no part of any."""
    longest, best, token = at, "", None
    for rule in rules_at(text[at]):
        match = rule.pattern.match(text, at)
        if match and match.end() > longest:
            longest, best, token = match.end(), rule.name, match
    if token is None or token.lastindex is None:
        return "", at + 1
    return _spelled(best, token[token.lastindex]), token.end(token.lastindex)


def _spelled(rule: str, token: str) -> str:
    """How the tokenizer writes a token."""
    if rule == "dash":
        return "--"
    if rule == "ellipsis":
        return "..."
    if rule == "tag":
        return token.replace(" ", "\u00a0").lower()
    if rule in ("fraction", "phone", "face", "eyes"):
        return token.translate(BRACKETS).lower()
    if rule == "quotes":
        return token.translate(QUOTES)
    if rule in ("firm", "firm and stop", "fund"):
        token = token.replace("&amp;", "&")
    if rule in ("clitic", "clitic before a letter", "not"):
        token = token.replace("&apos;", "'").translate(QUOTES)
    return SPELLED.get(token, token).replace("\u00ad", "").lower()
