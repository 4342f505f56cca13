"""The rules by which captions are cut into Penn Treebank tokens.

At each place the rule that matches most text wins, of two the first. What a rule must see after the
token counts as matched text too but is cut anew: the token is the rule's group. So works the
Stanford tokenizer of 2014 that the COCO scripts call; what its rules are was found by asking it
about some million words and short texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from tellapart.text.ptb import words as known


def one_of(words: str) -> str:
    """A pattern for any of some words, in any case."""
    return f"(?i:{'|'.join(sorted(words.split(), key=len, reverse=True))})"


LETTER, ALNUM = f"[{known.LETTERS}]", f"[0-9{known.LETTERS}]"
BREAK = r"[ \t\n\v\f\r\x1c-\x1f\u00a0\u2000-\u200a\u2028\u2029\u3000]"
APOSTROPHE = r"(?:['\u2019\u0092]|&apos;)"
ANY_APOSTROPHE = r"(?:['\u2019\u0092`\u2018\u0091\u201b]|&apos;)"
CLITIC = rf"{APOSTROPHE}(?i:[msd]|re|ve|ll)"
NOT = rf"[nN]{ANY_APOSTROPHE}[tT]"
WORD = rf"{LETTER}{ALNUM}*(?:[.!?]{LETTER}{ALNUM}*)*"
NUMBER = r"(?:[0-9]*(?:[.:,][0-9]+)+|[0-9]+)"
STOPPED = r"[A-Za-z](?:\.[A-Za-z])+"
TITLE = rf"(?:{one_of(known.TITLES)}|[mM](?:fg|tg))\."
FIRM_OR_DEGREE = r"[pP](?:ptys|tes?|ty|h\.[dD])|[eE]d\.[dD]"
LABEL = rf"(?:{one_of(known.LABELS)}|(?=[A-Z]){one_of(known.STATES)}|{FIRM_OR_DEGREE})\."
STARTS = "|".join(f"{word[0]}(?i:{word[1:]})" for word in known.SENTENCE_STARTS.split())
HYPHENATED = (
    r"[A-Za-z0-9][A-Za-z0-9.,\u00ad]*+"
    rf"(?:[-\u2010\u2011](?:{STOPPED}\.|[A-Za-z0-9\u00ad]+))+"
)
ELIDED = rf"(?:[dDoOlL]{ANY_APOSTROPHE}{ALNUM})?{ALNUM}+"
COMPOUND = rf"{ELIDED}(?:[-_]{ELIDED})*"
FIRM = r"[A-Z]+(?:[+&][A-Z]+|&amp;[A-Z]+)+"
SLASHED = r"[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}"
WITH_APOSTROPHE = (
    rf"cap{APOSTROPHE}n|c{APOSTROPHE}(?:mon|est)|nor{APOSTROPHE}easter|li{APOSTROPHE}l"
    rf"|s{APOSTROPHE}mores|nat{APOSTROPHE}l|ev{APOSTROPHE}ry|n?e{APOSTROPHE}er|qu{APOSTROPHE}il"
    rf"|o{APOSTROPHE}er|o{ANY_APOSTROPHE}o|(?:dunkin|somethin|ol){APOSTROPHE}|{APOSTROPHE}n{APOSTROPHE}"
    rf"|{APOSTROPHE}(?:em|till?|cause|[2-9]0s)"
)
TAG_NAME = r"[A-Za-z][A-Za-z0-9_:.-]*"
TAG = rf"</?{TAG_NAME}(?:[ ]+{TAG_NAME}(?:[ ]*=[ ]*(?:\"[^\"\n]*\"|'[^'\n]*'|{TAG_NAME}))?)*[ ]*/?>"
PATH = r"(?:/[^ \t\n\f\r\"<>|(){}\u00a0]+[^ \t\n\f\r\"<>|().!?,{}\u00a0-])"
AT_SITE = r"[^ \t\n\f\r\"<>|(){}.\u00a0]+"
PHONE = (
    r"(?:\([0-9]{2,3}\)[ \u00a0]?|(?:\+\+?)?(?:[0-9]{2,4}[- \u00a0])?[0-9]{2,4}[- \u00a0])"
    r"[0-9]{3,4}[- \u00a0]?[0-9]{3,5}"
)
PHONE_WITH_STOPS = r"(?:(?:\+\+?)?[0-9]{2,4}\.)?[0-9]{2,4}\.[0-9]{3,4}\.[0-9]{3,5}"
EYES = r"[-^x=~<>']"

# What a rule may begin with (a letter, a digit, an apostrophe or &, another mark); name; pattern.
_RULES = (
    ("a", "two words", r"(?i:(can)not|([gw][oa]n)na|(got)ta|([lg][ei]m)me)"),
    (".", "tag", rf"({TAG}|<[!?][A-Za-z-][^>\n]*>)"),
    (".'", "dash", r"(-{2,4}(?!-)|&(?:MD|mdash|ndash);|[\u0096\u0097\u2013-\u2015])"),
    ("'", "entity", r"(&(?:amp|lt|gt|quot|nbsp|apos|\#[0-9]+);)"),
    ("a", "word and clitic", rf"({WORD}){CLITIC}"),
    ("a", "word and not", rf"([A-Za-z]*?[A-MO-Za-mo-z]){NOT}"),
    ("a", "word", rf"({WORD})"),
    ("a'", "known word with apostrophe", rf"((?i:{WITH_APOSTROPHE}))"),
    ("a", "apostrophe of a foreign name",
     rf"({LETTER}+[aeiouyAEIOUY]{ANY_APOSTROPHE}[aeiouA-Z]{LETTER}*"
     rf"|[A-HJ-XZn]{ANY_APOSTROPHE}{LETTER}{{2,}})"),
    ("a", "French article", rf"([dDlLjJ]{APOSTROPHE})"),
    ("'", "and", rf"({APOSTROPHE}[nN])"),
    ("'", "year", rf"({APOSTROPHE}[0-9][0-9]){BREAK}"),
    ("a'", "it is, you all", rf"('[tT])(?i:is|was)|([yY]{APOSTROPHE}){LETTER}"),
    ("a", "address", rf"((?i:https?):/{PATH})"),
    ("a", "site", rf"((?i:www)\.(?:[^ \t\n\f\r\"<>|.!?(){{}},\u00a0]+\.)+[A-Za-z]{{2,4}}{PATH}?)"),
    ("a'.", "likely site",
     rf"((?:[^ \t\n\f\r\"`'|.!(){{}},-_$\u00a0]+\.)+(?i:com|net|org|edu){PATH}?)"),
    ("a1.", "mail",
     rf"(<?[a-zA-Z0-9][^ \t\n\f\r\"<>|(){{}}\u00a0]*@(?:{AT_SITE}\.)*{AT_SITE}>?)"),
    (".", "mention", rf"(@[a-zA-Z_][a-zA-Z_0-9]*|\#{LETTER}+)"),
    ("'", "clitic", rf"({CLITIC})(?:[^A-Za-z]|$)"),
    ("a", "not", rf"({NOT})(?:[^A-Za-z]|$)"),
    ("1", "date", r"([0-9]{1,2}[-/][0-9]{1,2}[-/][0-9]{2,4})"),
    ("1.", "number", rf"([-+]?{NUMBER})"),
    ("1", "fraction", r"((?:[0-9]{1,4}[- \u00a0])?[0-9]{1,4}\\?[/\u2044][0-9]{1,4})"),
    (".", "raised or lowered", r"([\u00b2\u00b3\u00b9\u2070\u2074-\u2079]+|[\u2080-\u2089]+)"),
    (".", "fraction sign", r"([\u00bc-\u00be\u2153\u2154])"),
    ("a1", "slashed", rf"({SLASHED}(?:\\?/{SLASHED}){{1,2}})"),
    ("a.", "currency", r"([A-Z]*\$|[\u0080\u00a2-\u00a4\u20a0\u20ac])"),
    ("a", "label", rf"({LABEL})[\s\S]{{2}}"),
    ("a", "abbreviation", rf"({TITLE}|{LABEL})"),
    ("a", "abbreviation before number", rf"({one_of(known.BEFORE_NUMBERS)}\.){BREAK}?[0-9]"),
    ("a", "initials", rf"({STOPPED}\.|[A-Za-z]\.)"),
    ("a", "end of sentence", rf"([A-Za-z])\.{BREAK}+(?:{STARTS}|{TAG}){BREAK}"),
    ("a1", "file", rf"({ALNUM}+(?:\.{ALNUM}+)*\.{one_of(known.EXTENSIONS)})(?:{BREAK}|[.?!,])"),
    ("a", "prefix", r"((?i:anti|pro)-)"),
    ("a", "word and stop", rf"({WORD}\.)[,;:\u3001]"),
    ("a1", "compound and stop", rf"({COMPOUND}\.)[,;:\u3001]"),
    ("a1", "hyphenated and stop", rf"({HYPHENATED}\.)[,;:\u3001]"),
    ("1.", "phone", rf"({PHONE}|{PHONE_WITH_STOPS})"),
    (".", "face", r"([<>]?[:;=][-o*']?[()DPdpO\\{@|\[\]])(?:[^A-Za-z0-9]|$)"),
    ("a'.", "eyes", rf"({EYES}_{EYES}|\({EYES}[_.]?{EYES}\))"),
    (".", "written bracket", r"(-[lLrR][rRcCsS][bB]-)"),
    (".", "ellipsis", r"(\.{3,5}|(?:\.[ \u00a0]){2,4}\.|[\u0085\u2026])"),
    (".", "marks", r"([?!]+|_+|\*+|@{2,}|\#{2,}|-{5,}|<<|>>|\\\*)"),
    ("a1", "hyphenated", rf"({HYPHENATED})"),
    ("a1", "compound", rf"({COMPOUND})"),
    ("a", "firm and stop", rf"({FIRM}\.)[,;:\u3001]"),
    ("a", "firm", rf"({FIRM})"),
    ("a", "fund", r"([sS](?:&|&amp;)(?:[pP]-500|[lL][sS]))"),
    ("a", "language", r"([cC]\+\+|[cCfF]\#)"),
    ("'", "opening quote", r"(')[A-Za-z][^ \t\n\u00a0]"),
    ("'", "clitic before a letter", rf"({CLITIC})"),
    ("'.", "double quote", r"(''|``)"),
    ("'.", "quotes", r"([`\u2018\u2019\u201b-\u201d\u2039\u203a\u00ab\u00bb\u0091-\u0094]{1,2})"),
    ("'.", "symbol", rf"([{known.SYMBOLS}])"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` has one group that takes part in a match: the token."""

    name: str
    pattern: re.Pattern[str]


def rules_at(character: str) -> tuple[Rule, ...]:
    """The rules that may match text that begins with this character, first those that win ties."""
    if character in "0123456789":
        return _beginning_with("1")
    if character in "'\u2019\u0092&":
        return _beginning_with("'")
    return _beginning_with("a" if _is_letter(character) else ".")


@cache
def _is_letter(character: str) -> bool:
    return re.match(LETTER, character) is not None


@cache
def _beginning_with(kind: str) -> tuple[Rule, ...]:
    return tuple(Rule(name, re.compile(p)) for kinds, name, p in _RULES if kind in kinds)
