"""Mutations of text in lines with cells: CSV, TSV, token files, key=value lines."""

from __future__ import annotations

from soak.mutating import LONG, Rng, mutate_bytes, pick

CELLS = (
    b"", b" ", b"a", b"0", b"-1", b"1.5", b"1e400", b"nan", b"inf", b"true", b"9" * 20, b"9" * 5000,
    b'"', b'"a', b'a"b', b'""', b'"a\nb"', b"\x00", b"\xff", b"\xed\xa0\x80", b"../a.jpg", b"/",
    b"#0", b"#1\t#1", b"answer_0=a", b"reference=7", b"=", b"a=", b"item", b"image", b"caption",
    b"\xd9\xa3", b"\xc2\xa0", b"\xe2\x80\xa8", b"0,0", b"s_0_1", b"caption@0", b"[]", b"a;b;;",
)  # fmt: skip
LONG_CELLS = (b"x" * LONG, b"7" * LONG, b"x/" * (LONG // 2), b"#1" * (LONG // 2))
SEPARATORS = (b",", b"\t", b";", b"|", b" ", b"=")


def mutate_lines(data: bytes, rng: Rng) -> bytes:
    """One or two changes to cells or lines."""
    for _ in range(int(rng.integers(1, 3))):
        data = _changed(data, rng)
    return data


def _changed(data: bytes, rng: Rng) -> bytes:
    separator = b"\t" if b"\t" in data else b","
    lines = data.split(b"\n")
    at = 0 if rng.random() < 0.2 else int(rng.integers(len(lines)))
    roll = rng.random()
    if roll < 0.6:
        lines[at] = separator.join(_ragged(lines[at].split(separator), rng))
    elif roll < 0.68:
        lines.insert(at, pick(rng, lines))
    elif roll < 0.74:
        del lines[at]
    elif roll < 0.78:
        lines[at] = lines[at].replace(separator, pick(rng, SEPARATORS))
    elif roll < 0.8:
        return data.replace(separator, pick(rng, SEPARATORS))
    elif roll < 0.82:
        lines = [lines[0], *(line for line in lines[1:] for _ in range(20))]
    else:
        return mutate_bytes(data, rng)
    return b"\n".join(lines)


def _ragged(cells: list[bytes], rng: Rng) -> list[bytes]:
    """A line's cells, one of them replaced, left out, doubled or exchanged with another."""
    at, roll = int(rng.integers(len(cells))), rng.random()
    if roll < 0.6:
        cells[at] = pick(rng, LONG_CELLS if rng.random() < 0.02 else CELLS)
    elif roll < 0.7:
        del cells[at]
    elif roll < 0.8:
        cells.insert(at, cells[at])
    elif roll < 0.9:
        cells[at] += pick(rng, CELLS)
    else:
        other = int(rng.integers(len(cells)))
        cells[at], cells[other] = cells[other], cells[at]
    return cells
