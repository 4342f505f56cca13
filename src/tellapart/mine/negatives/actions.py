"""Verbs of postures and deeds: their forms, and which of them exclude each other."""

from __future__ import annotations

_FORMS = {
    "sit": "sit sits sitting sat seated seat", "stand": "stand stands standing stood",
    "lie": "lie lies lying lay lays laying laid resting rests rest sleeping asleep",
    "walk": "walk walks walking walked", "run": "run runs running ran",
    "sleep": "sleep sleeps sleeping slept asleep",
    "jump": "jump jumps jumping jumped leaping leaps leap", "fly": "fly flies flying flew",
    "swim": "swim swims swimming swam", "climb": "climb climbs climbing climbed",
    "kneel": "kneel kneels kneeling knelt", "eat": "eat eats eating ate grazing graze grazes",
    "ride": "ride rides riding rode", "push": "push pushes pushing pushed",
    "pull": "pull pulls pulling pulled", "carry": "carry carries carrying carried",
    "wash": "wash washes washing washed", "lead": "lead leads leading led",
    "feed": "feed feeds feeding fed", "pet": "pet pets petting petted",
    "fix": "fix fixes fixing fixed", "hold": "hold holds holding held",
    "wear": "wear wears wearing wore", "drive": "drive drives driving drove",
    "kick": "kick kicks kicking kicked", "throw": "throw throws throwing threw",
    "hit": "hit hits hitting hit", "catch": "catch catches catching caught",
    "cut": "cut cuts cutting cut", "make": "make makes making made", "use": "use uses using used",
}  # fmt: skip
_SHAPES = ("base", "s", "ing")
"""The positions of the forms that rules insert: sit, sits, sitting."""
FORMS = {base: frozenset(forms.split()) for base, forms in _FORMS.items()}
"""All forms of a verb, and near synonyms."""
_SPELT = {base: dict(zip(_SHAPES, forms.split(), strict=False)) for base, forms in _FORMS.items()}
_BASE = {form: (base, shape) for base, forms in _SPELT.items() for shape, form in forms.items()}
_BASE |= {"laying": ("lie", "ing"), "lays": ("lie", "s"), "seated": ("sit", "ing")}
POSTURES = {
    "sit": "stand run walk jump", "stand": "sit lie kneel jump", "lie": "stand walk run jump",
    "walk": "sit lie", "run": "sit lie stand", "sleep": "stand walk run jump eat",
    "jump": "sit lie sleep", "fly": "sit walk swim", "swim": "fly walk stand",
    "climb": "sit sleep lie", "kneel": "stand run walk",
}  # fmt: skip
"""The actions that each posture excludes."""
DEEDS = {
    "ride": "push carry wash lead feed pet fix pull", "wear": "hold carry",
    "drive": "push wash fix", "hold": "wear ride kick", "carry": "ride wear throw",
    "push": "pull ride carry", "pull": "push ride carry", "eat": "make throw",
    "throw": "kick hit", "hit": "kick catch", "kick": "throw hit catch", "catch": "kick",
    "feed": "ride wash pet", "pet": "ride wash feed", "lead": "ride feed wash",
    "wash": "ride drive carry", "fix": "ride drive", "use": "carry fix wash",
}  # fmt: skip
"""The actions on a thing that each action on it excludes."""


def base_of(form: str) -> str:
    """The base form of a verb in the tables, else an empty string.

    >>> base_of("sitting"), base_of("thinks")
    ('sit', '')
    """
    return _BASE.get(form, ("", ""))[0]


def form_of_verb(base: str, like: str) -> str:
    """A verb in the form of another, or an empty string if that form is not known.

    >>> form_of_verb("stand", "sitting"), form_of_verb("stand", "sat")
    ('standing', '')
    """
    shape = _BASE.get(like, ("", ""))[1]
    return _SPELT[base].get(shape, "")
