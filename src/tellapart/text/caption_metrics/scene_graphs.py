"""Scene graphs of captions: objects, attributes and relations, read off a dependency parse.

The rules are simpler than those of Schuster et al. 2015, section 4. A tuple of one is an object, of
two an object with an attribute, of three a relation; all words are lemmas.
"""

from __future__ import annotations

from tellapart.text.parses import Parse, Token

SceneTuple = tuple[str, ...]

NOUNS = frozenset({"NOUN", "PROPN"})
LIGHT = frozenset(
    """group couple bunch lot pair number set row line pile stack variety kind type sort piece slice
    collection assortment picture photo photograph image view shot""".split()
)
"""Nouns that stand for the noun after "of": a group of people is people."""
PLACES = frozenset("top front back side middle center centre edge end corner".split())
"""Nouns that are part of a preposition: on top of, in front of."""
NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve".split(), 1
    )
}
SUBJECTS, OBJECTS = frozenset({"nsubj"}), frozenset({"dobj", "dative", "oprd"})
CLAUSES = frozenset({"acl", "relcl"})


def scene_tuples(parse: Parse) -> frozenset[SceneTuple]:
    """The objects, attributes and relations in a caption."""
    return frozenset(_Graph(parse).tuples())


class _Graph:
    """A caption's parse, read as a scene graph."""

    def __init__(self, parse: Parse) -> None:
        self.tokens = parse.tokens
        self.children: list[list[Token]] = [[] for _ in self.tokens]
        for token in self.tokens:
            if token.head != token.place:
                self.children[token.head].append(token)

    def tuples(self) -> list[SceneTuple]:
        tuples: list[SceneTuple] = []
        for token in self.tokens:
            if token.pos in ("VERB", "AUX"):
                tuples += self.deeds(token)
            elif token.pos in NOUNS and token.dep != "compound" and token.lemma not in PLACES:
                tuples += self.thing(token)
        return tuples

    def thing(self, noun: Token) -> list[SceneTuple]:
        """A noun's object, attributes, possessors and relations."""
        tuples: list[SceneTuple] = []
        if self.meant(noun) is noun:
            tuples += [(noun.lemma,), *((noun.lemma, word) for word in self.qualities(noun))]
        owners = [owner.lemma for owner in self.below(noun, "poss") if owner.pos in NOUNS]
        tuples += [(owner, "have", noun.lemma) for owner in owners]
        return tuples + self.links(noun, [self.meant(noun).lemma])

    def below(self, token: Token, *deps: str) -> list[Token]:
        """The children of a token with one of some dependencies."""
        return [child for child in self.children[token.place] if child.dep in deps]

    def meant(self, noun: Token) -> Token:
        """The noun that a light noun stands for, or the noun itself."""
        if noun.lemma in LIGHT:
            for preposition in self.below(noun, "prep"):
                for inner in self.below(preposition, "pobj") if preposition.lemma == "of" else []:
                    return self.meant(inner) if inner.pos in NOUNS else noun
        return noun

    def together(self, noun: Token) -> list[Token]:
        """A noun and the nouns coordinated with it, each resolved by `meant`."""
        rest = [one for joined in self.below(noun, "conj") for one in self.together(joined)]
        return [self.meant(noun), *rest] if noun.pos in NOUNS else rest

    def qualities(self, noun: Token) -> list[str]:
        """Adjectives, numbers and the nouns before a noun."""
        qualities = []
        for child in self.below(noun, "amod", "nummod", "compound"):
            words = [child, *(c for c in self.below(child, "conj") if c.pos == "ADJ")]
            qualities += [NUMBERS.get(word.lemma, word.lemma) for word in words]
        return qualities

    def deeds(self, verb: Token) -> list[SceneTuple]:
        """A verb's subjects with their actions, states and objects."""
        done_by, done_to = self.partners(verb)
        tuples: list[SceneTuple] = []
        for subject in done_by:
            adjectives = [a for a in self.below(verb, "acomp") if not self.below(a, "prep")]
            adjectives += [c for a in adjectives for c in self.below(a, "conj") if c.pos == "ADJ"]
            tuples += [(subject, adjective.lemma) for adjective in adjectives]
            if verb.lemma != "be":
                tuples += [(subject, verb.lemma, other) for other in done_to]
                tuples += [] if done_to else [(subject, verb.lemma)]
        tuples += [] if done_by else [(other, verb.lemma) for other in done_to]
        return tuples + self.links(verb, done_by or done_to)

    def partners(self, verb: Token) -> tuple[list[str], list[str]]:
        """The subjects and the objects of a verb."""
        done_by = self._names(self.below(verb, *SUBJECTS))
        done_to = self._names(self.below(verb, *OBJECTS))
        done_to += self._names(self.below(verb, "nsubjpass"))
        done_by += self._names(
            [noun for agent in self.below(verb, "agent") for noun in self.below(agent, "pobj")]
        )
        head = self.tokens[verb.head]
        if verb.dep in CLAUSES and head.pos in NOUNS:
            passive = verb.tag == "VBN" or self.below(verb, "nsubjpass", "auxpass")
            (done_to if passive else done_by).extend(self._names([head]))
        elif verb.dep in ("conj", "advcl", "xcomp") and head.pos == "VERB" and not done_by:
            done_by = self.partners(head)[0]
        return done_by, done_to

    def links(self, token: Token, subjects: list[str]) -> list[SceneTuple]:
        """Relations from the prepositions attached to a noun or verb."""
        places = []
        for preposition in self.below(token, "prep"):
            if token.lemma not in LIGHT or preposition.lemma != "of":
                places.append(self.place(preposition))
        for near in self.below(token, "advmod", "acomp"):  # next to, close to, full of
            for preposition in self.below(near, "prep"):
                word, nouns = self.place(preposition)
                places.append((f"{near.lemma} {word}", nouns))
        return [(s, word, noun) for word, nouns in places for s in subjects for noun in nouns]

    def place(self, preposition: Token) -> tuple[str, list[str]]:
        """A preposition and its nouns; "on top of" and the like are one."""
        word, nouns = preposition.lemma, self.below(preposition, "pobj")
        for inner in self.below(preposition, "prep"):  # out of
            word, nouns = f"{word} {inner.lemma}", nouns + self.below(inner, "pobj")
        if len(nouns) == 1 and nouns[0].lemma in PLACES:
            for inner in self.below(nouns[0], "prep"):
                if inner.lemma == "of":
                    return f"{word} {nouns[0].lemma} of", self._names(self.below(inner, "pobj"))
        return word, self._names(nouns)

    def _names(self, nouns: list[Token]) -> list[str]:
        return [one.lemma for noun in nouns for one in self.together(noun)]
