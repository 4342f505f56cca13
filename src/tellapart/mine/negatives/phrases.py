"""Reading a parsed caption: its noun phrases, the relations between them, and kinds of nouns.

It is simple on purpose: captions are short, and a corpus has hundreds of thousands.
"""

from __future__ import annotations

from typing import NamedTuple

from tellapart.text.parses import Parse, Token

MALE = frozenset(
    """man boy guy gentleman male father dad husband son brother groom king businessman fireman
    policeman cowboy grandfather he his him himself""".split()
)
FEMALE = frozenset(
    """woman girl lady female mother mom wife daughter sister bride queen businesswoman waitress
    grandmother gal she her hers herself""".split()
)
OTHER_PEOPLE = frozenset(
    """person child kid baby toddler adult player skier snowboarder surfer skateboarder batter
    pitcher catcher umpire rider biker cyclist driver chef cook worker officer passenger pedestrian
    student tourist athlete boarder skater boater fan spectator soldier waiter vendor farmer artist
    customer guest friend individual youth teenager teen infant human someone performer musician
    motorcyclist bicyclist jockey hiker runner swimmer fisherman doctor teacher customer
    competitor opponent teammate model figure crew staff audience""".split()
)
GROUPS = frozenset(
    """people group couple crowd family team pair bunch folk crew audience herd flock men women
    boys girls children kids friend class line row lot number""".split()
)
PRONOUNS = {
    ("his", "PRP$"): "her", ("her", "PRP$"): "his", ("he", "PRP"): "she", ("she", "PRP"): "he",
    ("him", "PRP"): "her", ("her", "PRP"): "him",
    ("himself", "PRP"): "herself", ("herself", "PRP"): "himself",
}  # fmt: skip
"""Pronouns, with their tags, that change along with a person's gender."""
PEOPLE = MALE | FEMALE | OTHER_PEOPLE
BIRDS = frozenset("bird duck goose pigeon seagull parrot owl swan chicken rooster".split())
ANIMALS = (
    frozenset(
        """cat dog horse cow sheep elephant giraffe zebra bear kitten puppy goat lamb pony bull calf
        monkey lion tiger deer rabbit animal cattle""".split()
    )
    | BIRDS
    | {"polar bear"}
)

WORN = frozenset(
    """shirt hat cap jacket coat dress suit tie pants jeans shorts short pant shoe boot helmet
    glove sock scarf skirt sweater uniform vest glass sunglass goggle hoodie wetsuit blouse top
    outfit gown clothing clothes hair beard bag backpack purse bow necktie apron costume""".split()
)
"""Things that each person in an image may have."""

NO_THINGS = frozenset(
    """view photo picture image photograph scene close closeup shot background foreground front back
    top side middle end edge corner center part piece bunch group lot number row line pair variety
    type kind way day night time afternoon morning evening air area place space room distance
    direction game match trick jump pose style color number color one other thing item object stuff
    set display position attention fun ride walk break turn use work look smile trip flight shadow
    reflection shade light sunlight daylight standing sitting riding flying walking playing holding
    laying looking body head face hand arm leg foot mouth eye ear nose neck tail nose hair finger
    couple crowd herd flock team family people class assortment collection pile stack bit half slice
    weather winter summer birthday event party show sport fashion tennis soccer baseball skiing
    surfing skateboarding fire stop fly graffiti message word letter sign name logo wii nintendo
    business public wood metal plastic brick stone concrete left right inside outside city town
    ground floor wall surface land sky sun rain cloud crust cut mote motion swing pitch
    preparation progress action service traffic case level story state world order form left over
    topping sauce sauces food meal dinner lunch breakfast dessert drink vegetable veggie fruit
    meat snack produce animal vehicle furniture appliance equipment clothing clothes device
    decoration toy material ingredient utensil electronic""".split()
)
"""Nouns that do not name a visible thing, or name too many kinds of things."""
ING_NOUNS = frozenset(
    """building painting ceiling railing ring wing string king icing earring awning sling drawing
    frosting dressing""".split()
)
"""Nouns in -ing that name things; others are verbs misread as nouns."""

SCENES = frozenset(
    """street road sidewalk beach field court track runway ground floor grass hill slope water snow
    ocean river sea lake park lot city town air sky wall forest wood room kitchen bathroom bedroom
    yard pasture enclosure zoo path trail area sand mountain range day night photo picture
    background shade sun rain dirt tarmac wave harbor dock intersection station landscape stage
    store shop restaurant office home house building garden desert jungle pen front land side middle
    top end edge corner motion display line row group bunch circle pile stack uniform suit shirt
    dress outfit hat clothes gear hand arm mouth head face leg body lap back foot neck ear nose
    teeth tooth curb crosswalk game wii airport platform rail freeway highway roadway
    overpass bridge strip airstrip ramp""".split()
) | {"train track", "train station", "parking lot", "living room", "dining room", "hotel room",
     "bus stop", "skate park", "home plate", "bath room", "parking garage"}  # fmt: skip
"""Surroundings that hold much else, or that are not distinct places."""


COMPOUND_PREPOSITIONS = {
    ("on", "top", "of"), ("on", "the", "top", "of"), ("in", "front", "of"), ("next", "to"),
    ("close", "to"), ("far", "from"), ("out", "of"), ("inside", "of"), ("outside", "of"),
    ("in", "the", "middle", "of"), ("on", "the", "side", "of"), ("at", "the", "side", "of"),
    ("on", "the", "edge", "of"), ("in", "between"), ("in", "back", "of"), ("off", "of"),
    ("away", "from"), ("up", "to"), ("across", "from"), ("along", "side"),
    ("on", "each", "side", "of"), ("in", "the", "back", "of"), ("in", "the", "background", "of"),
    ("at", "the", "top", "of"), ("at", "the", "bottom", "of"), ("near", "to"),
}  # fmt: skip
PLACE_NOUNS = frozenset("top front back side middle edge background bottom".split())
"""Nouns that are part of a relation: on top of, in front of, at the side of."""
_STARTS = {words[0] for words in COMPOUND_PREPOSITIONS}
_LENGTHS = sorted({len(words) for words in COMPOUND_PREPOSITIONS}, reverse=True)
FIXED = frozenset({
    ("living", "room"), ("hot", "dog"), ("polar", "bear"), ("remote", "control"),
    ("french", "fry"), ("stuffed", "animal"), ("stuffed", "bear"), ("stuffed", "toy"),
    ("double", "decker"), ("potted", "plant"), ("mashed", "potato"), ("teddy", "bear"),
    ("surf", "board"), ("skate", "board"), ("snow", "board"), ("cutting", "board"),
    ("home", "plate"), ("ice", "cream"), ("fire", "place"), ("bath", "room"), ("lap", "top"),
    ("cell", "phone"), ("parking", "lot"), ("parking", "meter"), ("parking", "garage"),
    ("train", "track"), ("train", "station"), ("bus", "stop"), ("wine", "glass"),
    ("paper", "towel"), ("toilet", "paper"), ("toy", "car"), ("toy", "train"), ("train", "car"),
    ("computer", "mouse"), ("wii", "remote"), ("dining", "room"), ("hotel", "room"),
})  # fmt: skip
"""Two words that name a thing that the second word alone does not."""
_NOT_BEFORE_NOUN = frozenset({"prep", "punct", "cc", "nsubj", "dobj", "pobj", "appos", "dep"})


class Phrase(NamedTuple):
    """A noun phrase without modifiers that follow the noun: tokens [start, head].

    `noun` is singular with its compounds (`tennis racket`), `kernel` without (`racket`); `core` is
    the noun's first token. `attributes` are tokens: adjectives, numerals, participles before the
    noun.
    """

    noun: str
    kernel: str
    plural: bool
    start: int
    core: int
    head: int
    determiner: str
    attributes: tuple[int, ...]


class Relation(NamedTuple):
    """How two phrases are joined: by a verb, a preposition or both; -1 if there is none.

    `name` is the preposition (`in front of`), or the verb's base form without one; `verb` is a
    token, [first, last) are the tokens of the preposition, empty without one.
    """

    subject: int
    verb: int
    name: str
    first: int
    last: int
    object: int


class Reading(NamedTuple):
    """A caption's phrases in order, its relations, and pairs of phrases joined by `and`.

    `predicates` are attributes after the noun (`the bus is red`): a phrase and a token.
    """

    phrases: tuple[Phrase, ...]
    relations: tuple[Relation, ...]
    joined: tuple[tuple[int, int], ...]
    predicates: tuple[tuple[int, int], ...]


def read(parse: Parse) -> Reading:
    """The phrases and relations of a caption."""
    tokens = parse.tokens
    phrases = [_phrase(tokens, t) for t in tokens if _is_head(tokens, t)]
    by_head = {phrase.head: k for k, phrase in enumerate(phrases)}
    by_start = {phrase.start: k for k, phrase in enumerate(phrases)}
    relations = [
        *_prepositions(tokens, by_head, by_start),
        *_direct_objects(tokens, phrases, by_head),
    ]
    joined = tuple(
        (by_head[tokens[p.head].head], k)
        for k, p in enumerate(phrases)
        if tokens[p.head].dep == "conj" and tokens[p.head].head in by_head
    )
    predicates = tuple(
        (subject, token.place)
        for token in tokens
        if token.dep == "acomp"
        for subject in [_subject(tokens, tokens[token.head], by_head)]
        if subject >= 0
    )
    return Reading(tuple(phrases), tuple(relations), joined, predicates)


def _is_head(tokens: tuple[Token, ...], token: Token) -> bool:
    """Whether a noun names a thing: it is not before another noun, nor inside `on top of`."""
    if token.pos not in ("NOUN", "PROPN"):
        return False
    if token.dep in ("compound", "amod", "nmod", "npadvmod", "nummod", "poss"):
        return False
    behind = tokens[token.place + 1].text.lower() if token.place + 1 < len(tokens) else ""
    return not (behind == "of" and token.lemma in PLACE_NOUNS)


def _phrase(tokens: tuple[Token, ...], head: Token) -> Phrase:
    """Extend a noun to the left over the words that belong to it."""
    start = core = head.place
    determiner = ""
    attributes: list[int] = []
    for k in range(head.place - 1, -1, -1):
        token = tokens[k]
        if token.head < k:  # the second of `red and blue`, or the `and`
            if token.dep == "case":
                determiner = "'s"
            above = tokens[token.head]
            listed = above.head == head.place and above.dep in ("amod", "nummod", "compound")
            if token.dep not in ("conj", "cc", "punct") or not listed:
                break
            if token.dep == "conj":
                attributes.append(k)
            continue
        if token.head > head.place or token.dep in _NOT_BEFORE_NOUN:
            break
        if token.pos in ("VERB", "ADP", "AUX", "SPACE") and token.dep != "amod":
            break
        start = k
        # Part of the name of a thing: `tennis` racket, `polar` bear.
        fixed = (token.text.lower(), tokens[core].lemma.lower()) in FIXED
        if core == k + 1 and (token.dep == "compound" or fixed):
            core = k
        elif token.dep in ("det", "poss", "predet"):
            determiner = token.text.lower()
        elif token.dep in ("amod", "nummod", "compound"):
            attributes.append(k)
    noun = " ".join([*(t.text.lower() for t in tokens[core : head.place]), head.lemma.lower()])
    plural = head.tag in ("NNS", "NNPS")
    return Phrase(
        noun, kernel_of(noun), plural, start, core, head.place, determiner, tuple(attributes[::-1])
    )


def kernel_of(noun: str) -> str:
    """The smallest part of a noun that still names the kind of thing.

    >>> kernel_of("tennis racket"), kernel_of("chili hot dog")
    ('racket', 'hot dog')
    """
    words = noun.split(" ")
    return " ".join(words[-2:]) if tuple(words[-2:]) in FIXED else words[-1]


def _prepositions(
    tokens: tuple[Token, ...], by_head: dict[int, int], by_start: dict[int, int]
) -> list[Relation]:
    relations: list[Relation] = []
    k = 0
    while k < len(tokens):
        token = tokens[k]
        last = _preposition_end(tokens, k)
        if last > k + 1 or (token.pos == "ADP" and token.dep in ("prep", "prt", "advmod")):
            if last in by_start:
                name = " ".join(t.text.lower() for t in tokens[k:last])
                subject, verb = _governor(tokens, token, by_head)
                relations.append(Relation(subject, verb, name, k, last, by_start[last]))
            k = last
        else:
            k += 1
    return relations


def _preposition_end(tokens: tuple[Token, ...], k: int) -> int:
    """Where the preposition that begins at a token ends; multi-word ones come first."""
    if tokens[k].text.lower() in _STARTS:
        for length in _LENGTHS:
            words = tuple(t.text.lower() for t in tokens[k : k + length])
            if words in COMPOUND_PREPOSITIONS:
                return k + length
    return k + 1


def _governor(tokens: tuple[Token, ...], token: Token, by_head: dict[int, int]) -> tuple[int, int]:
    """The phrase that a preposition modifies, directly or through a verb, and that verb."""
    above = tokens[token.head]
    if above.place == token.place:
        return -1, -1
    if above.pos in ("ADV", "ADP") and above.head != above.place:
        above = tokens[above.head]
    if above.place in by_head:
        return by_head[above.place], -1
    if above.pos in ("VERB", "AUX"):
        verb = above.place if above.pos == "VERB" else -1
        return _subject(tokens, above, by_head), verb
    return -1, -1


def _subject(
    tokens: tuple[Token, ...], verb: Token, by_head: dict[int, int], steps: int = 3
) -> int:
    """The phrase that is the subject of a verb, or -1."""
    for token in tokens[: verb.place]:
        if token.head == verb.place and token.dep in ("nsubj", "nsubjpass"):
            return by_head.get(token.place, -1)
    if verb.head == verb.place or not steps:
        return -1
    above = tokens[verb.head]
    if verb.dep in ("acl", "relcl") and above.place in by_head:
        return by_head[above.place]
    if verb.dep in ("advcl", "conj", "xcomp", "ccomp", "acl") and above.pos in ("VERB", "AUX"):
        return _subject(tokens, above, by_head, steps - 1)
    return -1


def _direct_objects(
    tokens: tuple[Token, ...], phrases: list[Phrase], by_head: dict[int, int]
) -> list[Relation]:
    relations: list[Relation] = []
    for k, phrase in enumerate(phrases):
        head = tokens[phrase.head]
        if head.dep == "dobj" and tokens[head.head].pos == "VERB":
            verb = tokens[head.head]
            subject = _subject(tokens, verb, by_head)
            here = verb.place + 1
            relations.append(Relation(subject, verb.place, verb.lemma.lower(), here, here, k))
    return relations
