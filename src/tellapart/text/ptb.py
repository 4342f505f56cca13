"""Tokens of captions as in the COCO scripts: the Stanford PTB tokenizer's, without punctuation.

Nearly all captions are plain words with commas and a final stop. They are recognized by what is
left without letters and spaces, and need no rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from string import ascii_letters, ascii_lowercase, ascii_uppercase

from tellapart.errors import BadInput

LETTERS = (
    r"A-Za-z\u00aa\u00ad\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u037d\u0384-\u0386"
    r"\u0388-\u0587\u058a-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7-\u05f2\u0615-\u061a"
    r"\u0620-\u0669\u066e-\u06d3\u06d5-\u06ff\u070f-\u07f5\u07fa-\u0963\u0966-\u0e3a"
    r"\u0e40-\u0e4e\u0e50-\u1fbc\u1fbe-\u1fff\u2071\u207f\u2090-\u209c\u2102\u2107"
    r"\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2139"
    r"\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2dff\u3005\u3006\u3031-\u30fa"
    r"\u30fc-\ud7ff\uf900-\ufdff\ufe70-\ufefc\uff10-\uff19\uff21-\uff3a\uff41-\uff5a"
    r"\uff66-\uffdc"
)
SYMBOLS = (
    r"!-/:-@\[-`{-~\u00a1\u00a5-\u00a9\u00ac\u00ae-\u00b4\u00b6-\u00b9\u00bf\u00d7\u00f7"
    r"\u037e\u0387\u0589\u05be\u05c0\u05c3\u05c6\u05f3\u05f4\u0600-\u060c\u0614\u061b\u061e"
    r"\u061f\u066a\u066d\u06d4\u0700-\u070d\u07f6-\u07f8\u0964\u0965\u0e3f\u0e4f\u1fbd\u2016"
    r"\u2017\u201a\u201e-\u2023\u2030-\u2038\u203b\u203e-\u2042\u2044\u2070\u2074-\u207e"
    r"\u2080-\u208e\u20a4\u2100\u2101\u2103-\u2106\u2108\u2109\u2114\u2116-\u2118"
    r"\u211e-\u2123\u2125\u2127\u2129\u212e\u213a\u213b\u2140-\u2144\u214a-\u214d\u214f"
    r"\u2155-\u215e\u2190-\u2bff\u3001\u3002\u3012\u30fb\uff01-\uff0f\uff1a-\uff20"
    r"\uff3b-\uff40\uff5b-\uff65\uffe0\uffe1\uffe5\uffe6"
)
"""Characters that are tokens by themselves. Others (such as emoji) are left out."""

TITLES = """
    adj adm adv alex assoc asst atty ave brig capt cf cie cmdr col comdr cpl dept det dr drs elec
    ens ft gen gov govs hon insp jos lieut lt maj messrs mlle mme mr mrs ms msgr mt natl pfc ph pres
    prof profs pvt rep reps rev sen sens sfc sgt spc st ste supt treas vs wm"""
LABELS = """
    al ala apr ariz assn aug bancorp bhd bldg blvd bros calif co colo conn corp cos ct dak dec
    esq est etc ext feb fla fri ga inc ind intl jan jr jul jun kan kans ky ltd mar md mich minn mo
    mon mont neb nev nov oct okla penn plc rd rt sep sept seq sq sr sys tel tenn thu thurs tue tues
    univ va vt wed wis wisc wyo"""
"""Abbreviations that often end a sentence, unlike titles."""
STATES = "ark az del ill la mass miss ore pa tex wash"
"""Abbreviations only with a capital: Miss. is a state, miss. ends a sentence."""
BEFORE_NUMBERS = "art ca fig figs no nos op pp prop"
FIRMS = "mfg mtg pptys pte ptes pty"
ABBREVIATIONS = f"{TITLES} {LABELS} {STATES} {FIRMS}"
SENTENCE_STARTS = """
    A About According Additionally After An As At But Earlier He Her Here However If In It Last Many
    More Mr\\. Ms\\. Now Once One Other Our She Since So Some Such That The Their Then There These
    They This We What When While Yet You"""
"""Words before which a letter and a stop end a sentence and are not an initial."""
EXTENSIONS = """
    bat bmp c cgi class cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov mp3 pdf php pl
    png ppt ps py sql tar txt wav x xml zip"""


def one_of(words: str) -> str:
    """A pattern for any of some words, in any case."""
    return f"(?i:{'|'.join(sorted(words.split(), key=len, reverse=True))})"


LETTER, ALNUM = f"[{LETTERS}]", f"[0-9{LETTERS}]"
BREAK = r"[ \t\n\v\f\r\x1c-\x1f\u00a0\u2000-\u200a\u2028\u2029\u3000]"
APOSTROPHE = r"(?:['\u2019\u0092]|&apos;)"
ANY_APOSTROPHE = r"(?:['\u2019\u0092`\u2018\u0091\u201b]|&apos;)"
CLITIC = rf"{APOSTROPHE}(?i:[msd]|re|ve|ll)"
NOT = rf"[nN]{ANY_APOSTROPHE}[tT]"
WORD = rf"{LETTER}{ALNUM}*(?:[.!?]{LETTER}{ALNUM}*)*"
NUMBER = r"(?:[0-9]*(?:[.:,][0-9]+)+|[0-9]+)"
STOPPED = r"[A-Za-z](?:\.[A-Za-z])+"
TITLE = rf"(?:{one_of(TITLES)}|[mM](?:fg|tg))\."
FIRM_OR_DEGREE = r"[pP](?:ptys|tes?|ty|h\.[dD])|[eE]d\.[dD]"
LABEL = rf"(?:{one_of(LABELS)}|(?=[A-Z]){one_of(STATES)}|{FIRM_OR_DEGREE})\."
STARTS = "|".join(f"{word[0]}(?i:{word[1:]})" for word in SENTENCE_STARTS.split())
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

# A rule: what its match may begin with (a letter, a digit, an apostrophe or &, another mark), its
# name, its pattern.
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
    ("a", "abbreviation before number", rf"({one_of(BEFORE_NUMBERS)}\.){BREAK}?[0-9]"),
    ("a", "initials", rf"({STOPPED}\.|[A-Za-z]\.)"),
    ("a", "end of sentence", rf"([A-Za-z])\.{BREAK}+(?:{STARTS}|{TAG}){BREAK}"),
    ("a1", "file", rf"({ALNUM}+(?:\.{ALNUM}+)*\.{one_of(EXTENSIONS)})(?:{BREAK}|[.?!,])"),
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
    ("'.", "symbol", rf"([{SYMBOLS}])"),
)  # fmt: skip


Rules = tuple[tuple[str, re.Pattern[str]], ...]
"""Names and patterns; the group of a pattern that takes part in a match is the token."""


@cache
def rules_at(character: str) -> Rules:
    """The rules that may match text beginning with this character; earlier ones win ties."""
    if character in "0123456789":
        return _beginning_with("1")
    if character in "'\u2019\u0092&":
        return _beginning_with("'")
    return _beginning_with("a" if re.match(LETTER, character) else ".")


@cache
def _beginning_with(kind: str) -> Rules:
    return tuple((name, re.compile(p)) for kinds, name, p in _RULES if kind in kinds)


DROPPED = frozenset("'' ' `` ` . ? ! , : - -- ... ;".split())
"""The COCO scripts intend to drop brackets, too, but look for -LRB- where tokens are -lrb-."""
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
    """The tokens of each caption in lower case, separated by single spaces.

    As in one call of the COCO scripts with all captions: if a caption ends with a letter and a
    stop, the first word of the next caption decides whether the stop belongs to the letter.

    >>> ptb_tokenise(["A dog's ball, on the grass.", "It isn't 5 p.m. in St. Ives!"])
    ["a dog 's ball on the grass", "it is n't 5 p.m. in st. ives"]
    """
    lines = _one_line_each(captions)
    text = "\n".join(lines)
    marks, plain = text.translate(_MARKS).split("\n"), text.translate(_WORDS).split("\n")
    tokenised, at = [], 0
    for line, mark, words in zip(lines, marks, plain, strict=False):  # no line splits into one
        tokens = words.split()
        if mark not in _PLAIN_MARKS or (mark[-1:] == "." and not _ends_plainly(line, tokens)):
            tokens = _ruled_tokens(text, at, at + len(line))
        elif not _SPLIT.isdisjoint(tokens):
            tokens = _separated(tokens)
        tokenised.append(" ".join(tokens))
        at += len(line) + 1
    return tokenised


def _one_line_each(captions: Sequence[str]) -> Sequence[str]:
    for k, caption in enumerate(captions):
        if not isinstance(caption, str):
            raise BadInput(
                f"caption {k} is not text: {caption!r:.60}", allowed="texts (also empty ones)"
            )
    return [caption.replace("\n", " ") for caption in captions]


def _ends_plainly(line: str, words: list[str]) -> bool:
    """Whether a caption's final stop ends it and is not part of its last word."""
    return line.endswith((".", ". ")) and bool(words) and words[-1] not in _KEEPS_STOP


def _separated(words: list[str]) -> list[str]:
    return [part for word in words for part in TWO_WORDS.get(word, (word,))]


def _ruled_tokens(text: str, at: int, end: int) -> list[str]:
    """The tokens from `at` to `end`; rules may look ahead beyond `end`."""
    tokens: list[str] = []
    while at < end:
        if nothing := _NO_TOKENS.match(text, at):
            at = nothing.end()
        elif run := _PLAIN_RUN.match(text, at):
            words = _separated(run.group().lower().split(" "))
            tokens += " ".join(words).replace("'s", " 's").split(" ")
            at = run.end()
        else:
            token, at = _ruled_token(text, at)
            if token and token not in DROPPED:
                tokens.append(token)
    return tokens


def _ruled_token(text: str, at: int) -> tuple[str, int]:
    """The token at a position and where it ends; empty for a character outside any token."""
    longest, best, token = at, "", None
    for name, pattern in rules_at(text[at]):
        match = pattern.match(text, at)
        if match and match.end() > longest:
            longest, best, token = match.end(), name, match
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
