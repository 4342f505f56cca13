"""`study.toml`: the plan of a study as a file that a person can read and edit."""

from __future__ import annotations

import json
import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from tellapart.annotate.plan import Plan, Stage, check_plan
from tellapart.errors import BadInput, UnknownName
from tellapart.tables import read_text, write_text

NAME = "study.toml"
T = TypeVar("T", Plan, Stage)
HEAD = """\
# Made by `tellapart study create`. Texts (consent, instructions, thanks, contact), at_most,
# minutes, checks, gold and what concerns Prolific may be edited at any time, and training.json;
# the server reads them when it starts. The rest is fixed once the study has begun.
"""


def write_plan(plan: Plan, path: Path) -> None:
    """Write a plan as TOML."""
    parts = [HEAD, *_lines(plan, skip="stages")]
    for stage in plan.stages:
        parts += ["\n[[stage]]\n", *_lines(stage)]
    write_text(path, "".join(parts))


def read_plan(path: Path) -> Plan:
    """Read and check a plan; every mistake is named with what is allowed."""
    try:
        data = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path.name} is not TOML: {error}", where=str(path)) from None
    stages = data.pop("stage", [])
    if not isinstance(stages, list) or not all(isinstance(one, dict) for one in stages):
        raise BadInput("the stages are not tables", where=str(path), allowed="[[stage]]")
    made = tuple(_made(Stage, one, f"{path}, stage {n}") for n, one in enumerate(stages, 1))
    plan = _made(Plan, {**data, "stages": made}, str(path))
    check_plan(plan, str(path))
    return plan


def _lines(value: Plan | Stage, skip: str = "") -> list[str]:
    named = {field.name: getattr(value, field.name) for field in fields(value)}
    return [f"{name} = {_literal(one)}\n" for name, one in named.items() if name != skip]


def _literal(value: Any) -> str:
    """A value in TOML: JSON's spelling is TOML's, but for texts of several lines."""
    if isinstance(value, str) and "\n" in value:
        return '"""\n' + "\n".join(_literal(line)[1:-1] for line in value.split("\n")) + '"""'
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _made(sort: type[T], given: dict[str, Any], where: str) -> T:
    known = {field.name: field for field in fields(sort)}
    for name, value in given.items():
        if name not in known:
            error = UnknownName("setting", name, known)
            error.where = where
            raise error
        _check_type(name, value, str(known[name].type), where)
    missing = [n for n, f in known.items() if f.default is MISSING and n not in given]
    if missing:
        raise BadInput(f"{missing[0]} is not set", where=where)
    return sort(**given)


def _check_type(name: str, value: Any, wanted: str, where: str) -> None:
    allowed = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}
    if wanted not in allowed:
        return
    fits = isinstance(value, allowed[wanted]) and (wanted == "bool" or not isinstance(value, bool))
    if not fits:
        names = {
            "str": "text",
            "int": "a whole number",
            "float": "a number",
            "bool": "true or false",
        }
        raise BadInput(f"{name} = {value!r}", where=where, allowed=names[wanted])
