"""A small corpus of captions from a few patterns: enough for the rules to learn word lists from."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from tellapart.corpus.corpus import Corpus, make_corpus
from tellapart.text.english import plural

OPPOSITE = {"red": "blue", "blue": "red", "green": "white", "white": "green"}
Row = tuple[list[str], list[str]]
"""The objects of an image, and its captions."""


def small_corpus(root: Path, *more: Row) -> Corpus:
    """Animals on seats, vehicles on roads, people with things, vessels on tables, then `more`."""
    rows = [*animals(), *vehicles(), *people(), *vessels(), *more]
    return make_corpus(
        "small",
        root,
        [{"id": f"i{k}", "uri": f"i{k}.jpg", "objects": row[0]} for k, row in enumerate(rows)],
        [
            {"id": f"i{k}-{n}", "image": f"i{k}", "text": text, "where": ""}
            for k, row in enumerate(rows)
            for n, text in enumerate(row[1])
        ],
    )


def animals() -> list[Row]:
    """Thirty-two images."""
    rows = []
    seats = ("chair", "bench", "bed", "desk")
    kinds = product(("cat", "dog", "horse", "cow"), seats, ("red", "blue"))
    for k, (animal, seat, colour) in enumerate(kinds):
        coat = ("black", "white", "brown")[k % 3]
        texts = [
            f"A {coat} {animal} sitting on a {colour} {seat}.",
            f"A {animal} is on a {colour} {seat} next to a wall.",
            f"the {coat} {animal} sits on the {seat}",
            f"A {animal} standing on a {seat}." if k % 2 else f"A {animal} under a {seat}.",
            f"A {coat} {animal} looking up.",
        ]
        rows.append(([animal, seat], texts))
    return rows


def vehicles() -> list[Row]:
    """Thirty-six images."""
    rows = []
    names = ("bus", "car", "truck")
    for one, other, colour in product(names, names, OPPOSITE):
        texts = [
            f"A {colour} {one} parked in front of a {OPPOSITE[colour]} {other}.",
            f"A {colour} {one} and a {OPPOSITE[colour]} {other} on a road.",
            f"A {one} parked next to a {other}.",
        ]
        if one == other:
            texts = [
                f"A {colour} {one} parked on a road.",
                f"A {colour} {one} parked next to a tree.",
                f"Two {plural(one)} are parked under a tree.",
                f"Two {plural(one)} on a road.",
            ]
        rows.append((sorted({one, other}), texts))
    return rows


def people() -> list[Row]:
    """Twenty-four images."""
    rows = []
    worn, things = ("hat", "shirt"), ("bat", "racket", "kite")
    for person, other, garment, thing in (
        (*pair, g, t) for pair, g, t in product((("man", "woman"), ("woman", "man")), worn, things)
    ):
        alone = [
            f"A {person} in a red {garment} holding a {thing}.",
            f"A young {person} holding a {thing} on a field.",
            f"A {person} stands next to a bench with a {thing}.",
        ]
        both = [
            f"A {person} with a {thing} standing next to a {other} in a blue {garment}.",
            f"A {person} holds a {thing} while a {other} sits on a bench.",
        ]
        rows += [(["person", thing], alone), (["person", thing], both)]
    return rows


def vessels() -> list[Row]:
    """Twenty-seven images."""
    rows = []
    names = ("cup", "bowl", "bottle")
    for one, other, look in product(names, names, ("white", "wooden", "red")):
        texts = [
            f"A {look} {one} and a {other} on a table.",
            f"A table with a {look} {one} and a {other}.",
            f"Two {one}s next to a {other}.",
        ]
        if one == other:
            texts = [f"A {look} {one} on a table.", f"A {look} {one} is under a table."]
        rows.append((sorted({one, other, "dining table"}), texts))
    return rows
