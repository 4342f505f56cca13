"""Families: what papers group their kinds of items by when they print results."""

from __future__ import annotations

from collections.abc import Mapping

from tellapart.items import KINDS

EDITS = {kind: kind.partition("-")[0] for kind in KINDS}
"""SugarCrepe and BiVLC: replace, swap and add (Hsieh et al. 2023, table 1; Miranda et al. 2024,
table 6)."""

PIECES = {
    "existence": "existence",
    "plurals": "plurality",
    "counting": "counting",
    "relations": "spatial relations",
    "actions": "actions",
    "coreference": "coreference",
    "noun-phrases": "foil-it",
}
"""VALSE's pieces by what its files call them (Parcalabescu et al. 2022, section 3)."""

SYMMETRIC = frozenset(
    """adjusting|attached to|between|bigger than|biting|boarding|brushing|chewing|cleaning|climbing
    |close to|coming from|coming out of|contain|crossing|dragging|draped over|drinking
    |drinking from|driving|driving down|driving on|eating from|eating in|enclosing|exiting|facing
    |filled with|floating in|floating on|flying|flying above|flying in|flying over|flying through
    |full of|going down|going into|going through|grazing in|growing in|growing on|guiding
    |hanging from|hanging in|hanging off|hanging over|higher than|holding onto|hugging|in between
    |jumping off|jumping on|jumping over|kept in|larger than|leading|leaning over|leaving|licking
    |longer than|looking in|looking into|looking out|looking over|looking through|lying next to
    |lying on top of|making|mixed with|mounted on|moving|on the back of|on the edge of
    |on the front of|on the other side of|opening|painted on|parked at|parked beside|parked by
    |parked in|parked in front of|parked near|parked next to|perched on|petting|piled on|playing
    |playing in|playing on|playing with|pouring|reaching for|reading|reflected on|riding on
    |running in|running on|running through|seen through|sitting behind|sitting beside|sitting by
    |sitting in front of|sitting near|sitting next to|sitting under|skiing down|skiing on
    |sleeping in|sleeping on|smiling at|sniffing|splashing|sprinkled on|stacked on
    |standing against|standing around|standing behind|standing beside|standing in front of
    |standing near|standing next to|staring at|stuck in|surrounding|swimming in|swinging
    |talking to|topped with|touching|traveling down|traveling on|tying|typing on|underneath
    |wading in|waiting for|walking across|walking by|walking down|walking next to
    |walking through|working in|working on|worn on|wrapped around|wrapped in|by|of|near|next to
    |with|beside|on the side of|around""".replace("\n    ", "").split("|")
)
"""ARO: relations that its authors leave out of the macro accuracy that they print, as symmetric or
rare (notebook "Replicate ARO! VG-Relation, VG-Attribution")."""

APART = " (symmetric)"


def family_of(kind: str, notes: Mapping[str, str]) -> str:
    """The family of an item of a kind, by what its importer noted of it; else the kind itself.

    >>> family_of("swap-object", {}), family_of("aro-relation", {"relation_name": "near"})
    ('swap', 'near (symmetric)')
    """
    if "family" in notes:
        return notes["family"]
    if kind == "aro-relation" and "relation_name" in notes:
        relation = notes["relation_name"]
        return f"{relation}{APART}" if relation in SYMMETRIC else relation
    if kind == "aro-attribution" and "attributes" in notes:
        return str(notes["attributes"])
    return EDITS.get(kind) or PIECES.get(kind) or kind


def is_apart(family: str) -> bool:
    """Whether a family stays out of the macro average, as its authors have it.

    >>> is_apart("near (symmetric)"), is_apart("on")
    (True, False)
    """
    return family.endswith(APART)
