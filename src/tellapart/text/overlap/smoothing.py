"""What BLEU does with precisions that are zero: the smoothings, by name."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.errors import UnknownName

PLAIN, COCO, FLOOR, ADD, EXP = range(5)


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How matches of n-grams become precisions; `kind` is one of the numbers above.

    PLAIN: a precision of zero makes the score zero (Papineni et al. 2002).
    COCO: (matches + 1e-15) / (n-grams + 1e-9), lengths likewise, as the COCO scripts have it.
    FLOOR: `value` matches where there are none (Chen & Cherry 2014, smoothing 1).
    ADD: `value` more matches and n-grams for n > 1 (Lin & Och 2004; Chen & Cherry, smoothing 2).
    EXP: 1/2, 1/4, ... matches for the first, second, ... n without any (smoothing 3, mteval-v13a).

    But for COCO a candidate without a single matching word always gets zero.
    """

    name: str
    kind: int
    value: float = 0.0


SMOOTHINGS = {
    smoothing.name: smoothing
    for smoothing in (
        Smoothing("none", PLAIN),
        Smoothing("coco", COCO),
        Smoothing("epsilon", FLOOR, 1e-9),
        Smoothing("floor", FLOOR, 0.1),
        Smoothing("add-one", ADD, 1.0),
        Smoothing("exp", EXP),
    )
}


def smoothing_of(given: str | Smoothing) -> Smoothing:
    """The smoothing of a name; one of your own passes through."""
    if isinstance(given, Smoothing):
        return given
    if given not in SMOOTHINGS:
        raise UnknownName("smoothing", given, SMOOTHINGS)
    return SMOOTHINGS[given]
