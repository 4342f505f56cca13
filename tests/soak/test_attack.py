"""The attacks on a served study, without those that take long: they are in soak/attack.py."""

from __future__ import annotations

import argparse
from pathlib import Path

from soak.attack import scene_of
from soak.attacks import ATTACKS, Attack, attempts, crowd, half_a_request, sessions_that_ended

SMALL = argparse.Namespace(guesses=60, slow=0, people=2)
LONG = (crowd, half_a_request, sessions_that_ended)
ROOT = Path(__file__).parent.parent.parent


def mishap(scene):
    raise AssertionError("the server said 500")


def test_nothing_comes_of_attacking_a_served_study():
    tried = [attack for attack in ATTACKS if attack.attempt not in LONG]
    with scene_of(ROOT, "sqlite", SMALL) as scene:
        found = [(attack.what, what) for attack, what in attempts(scene, tried) if what]
        (told,) = attempts(scene, [Attack("stranger", "anything", mishap)])
    assert found == [] and len(tried) == len(ATTACKS) - len(LONG)
    assert told[1] == "it could not be tried: AssertionError the server said 500"
