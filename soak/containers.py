"""Mutations of YAML, of addresses, and of what holds arrays: safetensors, NumPy's files, zip."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from typing import Any

import yaml
from soak.mutations import Mutation, Rng, mutate_bytes, mutate_json, mutate_lines, pick

HEAD = 8
"""Bytes of the number that safetensors begin with: the length of their header."""
MAGIC = b"\x93NUMPY\x01\x00"
SHAPES = ("()", "(0,)", "(1,)", "(0, 4)", "(2, 0)", "(1, 1, 1)", "(999999999999,)", "(-1, 2)")
KINDS = ("<f4", "<f8", "<i8", "|b1", "|O", "<U4", "<c8", ">f2")


NO_ARCHIVE = (
    zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, RuntimeError,
)  # fmt: skip
"""What is raised where an archive is broken already."""


def mutate_yaml(data: bytes, rng: Rng) -> bytes:
    """The structure changed as that of JSON, which YAML contains, or the lines as such."""
    if rng.random() < 0.6:
        try:
            plain = json.dumps(yaml.safe_load(data.decode()))
            return mutate_json(plain.encode(), rng)
        except (ValueError, TypeError, RecursionError, yaml.YAMLError):
            pass
    return mutate_lines(data, rng)


def mutate_safetensors(data: bytes, rng: Rng) -> bytes:
    """The header changed as JSON, its length made to fit mostly, or the bytes as such."""
    if rng.random() < 0.4 or len(data) < HEAD:
        return mutate_bytes(data, rng)
    (length,) = struct.unpack("<Q", data[:HEAD])
    header = mutate_json(data[HEAD : HEAD + length], rng)
    said = len(header) if rng.random() < 0.9 else int(rng.integers(1 << 62))
    return struct.pack("<Q", said) + header + data[HEAD + length :]


def mutate_array(data: bytes, rng: Rng) -> bytes:
    """Another header in place of a NumPy file's own, or the bytes changed as such."""
    if rng.random() < 0.5 or not data.startswith(MAGIC):
        return mutate_bytes(data, rng)
    said: dict[str, Any] = {"descr": pick(rng, KINDS), "fortran_order": bool(rng.integers(2))}
    words = ", ".join(f"{name!r}: {value!r}" for name, value in said.items())
    header = f"{{{words}, 'shape': {pick(rng, SHAPES)}}}\n".encode()
    body = data[len(MAGIC) + 2 + int.from_bytes(data[8:10], "little") :]
    return MAGIC + len(header).to_bytes(2, "little") + header + body


def mutate_zip(data: bytes, rng: Rng) -> bytes:
    """A member of an archive changed, renamed or left out, or the archive's bytes."""
    if rng.random() < 0.3:
        return mutate_bytes(data, rng)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {one: archive.read(one) for one in archive.namelist()}
        name = pick(rng, list(members))
    except NO_ARCHIVE:
        return mutate_bytes(data, rng)
    roll, inside = rng.random(), members.pop(name)
    if roll < 0.8:
        members[name] = mutate_array(inside, rng)
    elif roll < 0.9:
        members[pick(rng, ("features.npy", "norm_bbox.npy", "a", "../x.npy"))] = inside
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for one, content in members.items():
            archive.writestr(zipfile.ZipInfo(one), content)
    return made.getvalue()


def mutate_address(data: bytes, rng: Rng) -> bytes:
    """One of an address's parameters changed, or its bytes."""
    head, mark, rest = data.partition(b"?")
    if rng.random() < 0.3 or not mark:
        return mutate_bytes(data, rng)
    given = rest.split(b"&")
    at = int(rng.integers(len(given)))
    name, _, value = given[at].partition(b"=")
    given[at] = pick(rng, NAMES if rng.random() < 0.3 else (name,)) + b"=" + pick(rng, VALUES)
    return head + mark + b"&".join(given if rng.random() < 0.8 else [*given, b"q=" + value])


NAMES = (b"a", b"b", b"ao", b"bo", b"q", b"in", b"sort", b"sheet", b"fact.", b"fact.kind", b"")
VALUES = (b"", b"r", b"rwtx", b"one", b"two", b"margin", b"gap", b"changed", b"%00", b"%ff%22",
          b"1", b"x" * 501, b"%F0%9F%98%80", b"\xff", b"%22", b"..%2F")  # fmt: skip
CONTAINERS: dict[str, Mutation] = {
    "yaml": mutate_yaml, "safetensors": mutate_safetensors, "npy": mutate_array, "npz": mutate_zip,
    "f16": mutate_bytes, "h5": mutate_bytes, "tar": mutate_bytes,
    "address": mutate_address,
}  # fmt: skip
"""The mutations of a file by its ending."""
