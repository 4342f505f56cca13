"""The campaign of FOIL's systems: what it would run, and that no test is trained on."""

from __future__ import annotations

from pathlib import Path

from soak.foil_systems import BUILDS, CLASSIFIERS, Places, commands

AT = Places(Path("data"), Path("bison"), Path("out"))


def test_every_system_is_trained_before_it_is_tested_and_never_on_its_test():
    made: set[str] = set()
    trained = {}
    for command in commands(AT, BUILDS, seeds=1):
        words = command.words
        for word in words[1:]:
            if word.startswith("trained:"):
                assert word.removeprefix("trained:") in made, f"{word} is used before it is there"
        if words[0] == "train":
            never = [words[k + 1] for k, word in enumerate(words) if word == "--never"]
            trained[command.makes.name] = never
            assert set(never) <= made
        made.add(str(command.makes))
    for name in CLASSIFIERS:
        for way in ("paper", "fair"):
            assert trained[f"{way}-{name}-0"] == [f"out/{way}-test"]
    assert trained["ic-wang-0"] == [f"out/{way}-test" for way in BUILDS]
    assert command.words[:2] == ("table", "foil") and command.printed
