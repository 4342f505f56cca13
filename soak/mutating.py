"""Mutations of bytes, whatever they mean, and of what is packed.

A mutation takes bytes and a generator and gives other bytes; the same generator gives the same.
Those that know a form are in `mutating_json.py`, `mutating_lines.py` and `mutating_parquet.py`.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

Rng = np.random.Generator
Mutation = Callable[[bytes, Rng], bytes]
Thing = TypeVar("Thing")

LONG = 100_000
"""Characters of a text that is far too long."""

ODD_BYTES = (
    b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\n", b"\t",
    b'"', b"\\", b"{", b"[", b"]", b",", b";", b"#", b"=", b"-1", b"1e400", b"9" * 30, b"9" * 5000,
    b"NaN", b"null", b"\\ud800", b"\\u0000", b"\xe2\x80\xa8", b"\xf0\x9f\x98\x80", b"../",
)  # fmt: skip
LARGEST = 1 << 18
"""Bytes of the largest file that is changed inside; a bomb unpacks to more."""

BOMB = 8 << 20
"""How often a bomb, a packed file of some kilobytes, says the same thing."""


def pick(rng: Rng, things: Sequence[Thing]) -> Thing:
    """One of some things."""
    return things[int(rng.integers(len(things)))]


def place(rng: Rng, data: bytes) -> int:
    """A place in or at the end of bytes."""
    return int(rng.integers(len(data) + 1))


def flip(data: bytes, rng: Rng) -> bytes:
    """A few bits turned over."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9)) if data else 0):
        changed[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def overwrite(data: bytes, rng: Rng) -> bytes:
    """A few bytes put over others."""
    at = place(rng, data)
    new = pick(rng, ODD_BYTES)
    return data[:at] + new + data[at + len(new) :]


def insert(data: bytes, rng: Rng) -> bytes:
    """A few bytes put between others."""
    at = place(rng, data)
    return data[:at] + pick(rng, ODD_BYTES) + data[at:]


def cut(data: bytes, rng: Rng) -> bytes:
    """The end taken away."""
    return data[: place(rng, data)]


def take_out(data: bytes, rng: Rng) -> bytes:
    """A part taken away."""
    begin = place(rng, data)
    return data[:begin] + data[begin + int(rng.integers(1, 65)) :]


def repeat(data: bytes, rng: Rng) -> bytes:
    """A part said again, once or many times."""
    begin = place(rng, data)
    end = begin + int(rng.integers(1, 129))
    return data[:end] + data[begin:end] * pick(rng, (1, 2, 50)) + data[end:]


def nest(data: bytes, rng: Rng) -> bytes:
    """Brackets opened far more often than any file has them."""
    at = place(rng, data)
    return data[:at] + pick(rng, (b"[", b'{"a":', b"(", b'"')) * pick(rng, (900, 3_000)) + data[at:]


def recode(data: bytes, rng: Rng) -> bytes:
    """The text in another encoding or with other line ends."""
    text = data.decode("utf-8", errors="replace")
    return pick(
        rng,
        (
            lambda: text.encode("utf-16"),
            lambda: text.encode("utf-16-le"),
            lambda: text.encode("latin-1", errors="replace").replace(b"a", b"\xe9"),
            lambda: b"\xef\xbb\xbf" + data,
            lambda: data.replace(b"\n", b"\r\n"),
            lambda: data.replace(b"\n", b"\r"),
        ),
    )()


def nothing(data: bytes, rng: Rng) -> bytes:
    """Hardly anything left."""
    return pick(rng, (b"", b"\n", b" ", b"\x00", b"{}", b"[]", b"null", b"\xef\xbb\xbf"))


BYTES: tuple[Mutation, ...] = (
    flip, flip, overwrite, overwrite, insert, insert, cut, take_out, repeat, nest, recode,
)  # fmt: skip


def mutate_bytes(data: bytes, rng: Rng) -> bytes:
    """One of the mutations above."""
    return nothing(data, rng) if rng.random() < 0.005 else pick(rng, BYTES)(data, rng)


def splice(data: bytes, other: bytes, rng: Rng) -> bytes:
    """The beginning of one file and the end of another."""
    return data[: place(rng, data)] + other[place(rng, other) :]


def mutate_packed(data: bytes, inner: Mutation, rng: Rng) -> bytes:
    """Packed bytes: what is inside mutated, or the packing itself, or a bomb."""
    roll = rng.random()
    if roll < 0.001:
        return _packed(pick(rng, (b" ", b"\n", b"[", b"a,b\n")) * BOMB)
    if roll < 0.15:
        return mutate_bytes(data, rng)
    try:
        plain = zlib.decompressobj(wbits=31).decompress(data, LARGEST + 1)
    except zlib.error:
        return mutate_bytes(data, rng)
    if len(plain) > LARGEST:  # a bomb stays one
        return mutate_bytes(data, rng)
    if roll < 0.2:
        return plain  # not packed, whatever its name says
    return _packed(inner(plain, rng))


def _packed(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=1, mtime=0)
