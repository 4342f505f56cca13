"""Mutations of JSON: values of other types, keys dropped, doubled and renamed, ids repeated."""

from __future__ import annotations

import json
from typing import Any

from soak.mutating import LONG, Rng, mutate_bytes, pick

VALUES = (
    "null", "true", "false", "0", "-1", "1.5", "1e400", "-1e400", "NaN", "Infinity", str(2**31),
    str(2**63), str(2**70), "1" * 400, "1" * 5000, '""', '" "', '"a"', '"7"', '"\\ud800"',
    '"\\u0000"', '"\\u2028"', '"../a.jpg"', '"/"', '"."', '"a/b"', '"\\u0663"', "[]", "{}", "[[]]",
    '[null, 1, "a"]', '{"a": {"b": []}}', '[{"bytes": 1}]', "[" * 500 + "]" * 500,
)  # fmt: skip
"""What a value is replaced by, as it stands in the file."""

LONG_VALUES = (f'"{"x" * LONG}"', f'"{"7" * LONG}"', f'"{"x/" * (LONG // 2)}a.jpg"')

Place = tuple[Any, Any]
"""A container and the key or index of a value in it."""


def mutate_json(data: bytes, rng: Rng) -> bytes:
    """One or two changes to the structure; what is not JSON is mutated as bytes."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return mutate_bytes(data, rng)
    raw: list[str] = []
    holder = [value]
    for _ in range(int(rng.integers(1, 3))):
        _change(holder, raw, rng)
    try:
        text = json.dumps(holder[0], ensure_ascii=bool(rng.integers(2)))
        return _filled(text, raw).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return mutate_bytes(data, rng)


def mutate_jsonl(data: bytes, rng: Rng) -> bytes:
    """The structure of one line changed, or the lines as such."""
    lines = data.split(b"\n")
    at = int(rng.integers(len(lines)))
    roll = rng.random()
    if roll < 0.7:
        lines[at] = mutate_json(lines[at], rng)
    elif roll < 0.8:
        lines.insert(at, pick(rng, lines))
    elif roll < 0.9:
        del lines[at]
    else:
        return mutate_bytes(data, rng)
    return b"\n".join(lines)


def _change(holder: list[Any], raw: list[str], rng: Rng) -> None:
    places = _places(holder)
    container, key = pick(rng, places)
    roll = rng.random()
    if roll < 0.5:
        container[key] = _mark(pick(rng, LONG_VALUES if rng.random() < 0.02 else VALUES), raw)
    elif roll < 0.65 and container is not holder:
        del container[key]
    elif roll < 0.8:
        container[key] = pick(rng, [inside[at] for inside, at in places[1:]] or [[]])
    elif isinstance(container, dict):
        name = pick(rng, ("id", "image", "caption", "", "a" * 300, f"{key} ", str(key).upper()))
        container[name] = container.pop(key) if roll < 0.9 else container[key]
    elif container is not holder:
        container.insert(key, container[key])


def _places(value: Any, limit: int = 400) -> list[Place]:
    """Where the values inside a value stand, the outermost first, up to so many."""
    found: list[Place] = [(value, 0)]
    waiting = [value[0]]
    while waiting and len(found) < limit:
        one = waiting.pop(0)
        keys: Any = range(len(one)) if isinstance(one, list) else one
        if isinstance(one, dict | list):
            found += [(one, key) for key in keys]
            waiting += [one[key] for key in keys]
    return found


def _mark(text: str, raw: list[str]) -> str:
    """A name for a piece of JSON that Python would not write."""
    raw.append(text)
    return f"@raw {len(raw) - 1}@"


def _filled(text: str, raw: list[str]) -> str:
    for number, piece in enumerate(raw):
        text = text.replace(f'"@raw {number}@"', piece)
    return text
