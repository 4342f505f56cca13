"""What a caption says, as statements that another picture's captions may make, too.

`A dog sits on a red bench` states that something sits, that it sits on a bench (so it is on one),
and that the bench is red; `SLOT` stands for what is exchanged, here the dog. A caption with `cat`
in the slot is true of a picture whose captions make all of these statements about a cat, together.
Who is a man is a person, and what is on top of a bench is on it (`follows`), but not the reverse.
Articles, tense and the choice between `sits`, `is sitting` and `sitting` make no difference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from tellapart.text.parses import Parse, Token

SLOT = "_"
Statement = tuple[str, ...]
"""What is said (`on`, `does`, `is`), of what, and, for relations, with respect to what."""
ARTICLES = frozenset("a an the his her their its some this that these those".split())
"""Determiners that make no difference; `no`, `every` or `another` do."""
SILENT = frozenset(("punct", "case", "predet", "cc", "expl"))
MODIFIERS = frozenset(("amod", "advmod", "nummod", "compound", "poss", "nmod", "prt"))
PLACE_NOUNS = frozenset("front top middle side back edge".split())
"""Nouns inside prepositions such as `in front of`."""
PRESENT = frozenset(("VBG", "VBZ", "VBP", "VB"))

_PEOPLE = """man woman boy girl lady guy child kid player skier surfer snowboarder skateboarder
    rider batter toddler baby male female gentleman"""
WIDER: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_PEOPLE.split(), ("person",)),
    **dict.fromkeys(("boy", "girl", "toddler"), ("person", "child", "kid")),
    **dict.fromkeys(("men", "women", "boys", "girls", "children", "kids", "persons"), ("people",)),
    **dict.fromkeys(("herd", "flock", "pack", "bunch"), ("group",)),
    "man": ("person", "guy"), "guy": ("person", "man"), "gentleman": ("person", "man", "guy"),
    "male": ("person", "man", "guy"), "woman": ("person", "lady"), "lady": ("person", "woman"),
    "child": ("person", "kid"), "kid": ("person", "child"),
    "road": ("street",), "street": ("road",), "lay+": ("lie+",), "lie+": ("lay+",),
    "grey": ("gray",), "gray": ("grey",), "pasture": ("field",), "meadow": ("field",),
    "lawn": ("grass",), "ocean": ("sea",), "sea": ("ocean",), "hillside": ("hill",),
    "laptop": ("computer",), "bike": ("bicycle",), "bicycle": ("bike",), "sofa": ("couch",),
    "couch": ("sofa",), "carry+": ("hold+",), "sleep+": ("lie+", "lay+"), "graze+": ("eat+",),
    "munch+": ("eat+",), "chew+": ("eat+",), "gallop+": ("run+",), "jog+": ("run+",),
    "trot+": ("walk+",), "stroll+": ("walk+",), "stare+": ("look+",), "gaze+": ("look+",),
    "perch+": ("sit+",),
}  # fmt: skip
"""Words that may stand for another one without making a caption false."""
DENIED = frozenset(("neg", "without", "except"))
"""Of what there is not, the wider word says more."""
NEAR = ("near", "by", "beside")
LOOSER: dict[str, tuple[str, ...]] = {
    "on top of": ("on", "atop"), "atop": ("on", "on top of"), "upon": ("on",), "across": ("on",),
    "along": ("on",), "down": ("on",), "inside": ("in",), "inside of": ("in",), "through": ("in",),
    "in middle of": ("in",), "next to": NEAR, "beside": ("next to", "near", "by"), "by": ("near",),
    "in front of": ("near",), "behind": ("near",), "under": ("near",), "beneath": ("under",),
    "underneath": ("under",),
}  # fmt: skip
"""Relations that hold wherever another one does."""


class Said(NamedTuple):
    """A statement and the tokens that make it; without all of these it is not made.

    What only follows (`a dog sits on a bench`: a dog is on a bench) is made by no token.
    """

    statement: Statement
    places: tuple[int, ...]


def statements(parse: Parse, slot: Collection[int]) -> list[Said]:
    """The statements of a caption, with `SLOT` for the tokens of the slot."""
    return list(_Sentence(parse.tokens, slot).read())


def follows(statement: Statement) -> Iterator[Statement]:
    """A statement, and those that are true wherever it is."""
    kind, *words = statement
    if kind in DENIED:
        yield statement
        return
    looser = [(kind, *LOOSER.get(kind, ()))] if len(words) > 1 else [(kind,)]
    yield from product(*looser, *((word, *WIDER.get(word, ())) for word in words))


def heard(said: Iterable[Said]) -> set[Statement]:
    """All that is true if something was said."""
    return {one for own in said for one in follows(own.statement)}


class _Sentence:
    """One caption's statements; `slot` are the tokens that are exchanged."""

    def __init__(self, tokens: Sequence[Token], slot: Collection[int]) -> None:
        self.tokens, self.slot = tokens, slot

    def read(self) -> Iterator[Said]:
        for token in self.tokens:
            if token.pos in ("SPACE", "PUNCT") or token.dep in SILENT or token.head == token.place:
                continue
            inside = token.place in self.slot and token.head in self.slot
            if (
                not inside
                and not self._leads_on(token)
                and token.tag != "PRP$"
                and not _is_be(token)
            ):
                yield from self._of(token)

    def _leads_on(self, token: Token) -> bool:
        """Whether a word is part of a preposition: `next` to, on `top` of."""
        if token.dep not in ("pobj", "advmod") or token.place in self.slot:
            return False
        place_noun = token.dep == "advmod" or token.lemma in PLACE_NOUNS
        return place_noun and any(
            below.head == token.place and below.dep == "prep" for below in self.tokens
        )

    def _of(self, token: Token) -> Iterator[Said]:
        """What a token says together with its head."""
        head = self.tokens[token.head]
        if token.dep == "det":
            if token.text.lower() not in ARTICLES:
                yield self._said("is", head, token)
        elif token.dep in ("pobj", "pcomp"):
            yield from self._relation(token)
        elif token.dep in ("nsubj", "nsubjpass"):
            if not _is_be(head):
                yield Said(("does", self._word(head), self._word(token)), (token.place, head.place))
        elif token.dep in ("acl", "relcl") and token.pos == "VERB":
            yield Said(("does", self._word(token), self._word(head)), (token.place, head.place))
        elif token.dep == "acomp" and _is_be(head):
            for subject in self._subjects(head):
                yield self._said("is", subject, token)
        elif token.dep == "conj":
            words = sorted((self._word(head), self._word(token)))
            yield Said(("and", *words), (token.place, head.place))
        elif token.dep == "prt" or token.dep in (
            "amod",
            "advmod",
            "nummod",
            "compound",
            "poss",
            "nmod",
        ):
            yield self._said("is", head, token)
        elif token.dep != "prep":  # a preposition speaks with its object
            yield self._said(token.dep, head, token)

    def _relation(self, thing: Token) -> Iterator[Said]:
        """The relation of what a preposition, or a chain of them, leads to."""
        chain: list[str] = []
        places = [thing.place]
        at = self.tokens[thing.head]
        while at.dep in ("prep", "advmod", "pcomp", "agent", "pobj") and at.head != at.place:
            chain.append(self._word(at))
            places.append(at.place)
            at = self.tokens[at.head]
            if at.pos in ("VERB", "AUX") or (at.pos == "NOUN" and at.lemma not in PLACE_NOUNS):
                break
        name, own = " ".join(reversed(chain)), self._word(thing)
        above = next(iter(self._subjects(at)), at) if _is_be(at) else at
        yield Said((name, self._word(above), own), (*places, above.place))
        if at.pos == "VERB":
            doers = self._subjects(at)
            if at.dep in ("acl", "relcl"):
                doers.append(self.tokens[at.head])
            for doer in doers:
                yield Said((name, self._word(doer), own), ())

    def _subjects(self, verb: Token) -> list[Token]:
        """The subjects of a verb; what there is, in `there is a dog`."""
        own = [token for token in self.tokens if token.head == verb.place != token.place]
        return [token for token in own if token.dep in ("nsubj", "attr") and token.pos != "PRON"]

    def _said(self, kind: str, head: Token, token: Token) -> Said:
        return Said((kind, self._word(head), self._word(token)), (token.place, head.place))

    def _word(self, token: Token) -> str:
        if token.place in self.slot:
            return SLOT
        if token.pos == "VERB" and token.tag in PRESENT:
            return token.lemma.lower() + "+"
        return token.text.lower()


def _is_be(token: Token) -> bool:
    return token.pos == "AUX" and token.lemma.lower() == "be"
