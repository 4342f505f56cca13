"""Mutants of a module: where Cosmic Ray can change it, and the changed source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names


@dataclass(frozen=True, slots=True)
class Mutant:
    """The `occurrence`-th place in a module where an operator applies."""

    path: Path
    operator: str
    occurrence: int
    line: int
    column: int

    @property
    def name(self) -> str:
        """The same from run to run as long as the module's text is."""
        place = f"{self.path.parent.name}/{self.path.name}:{self.line}:{self.column}"
        return f"{place} {self.operator.partition('/')[2]} {self.occurrence}"

    def source(self) -> str:
        """The module's text with the change."""
        code = mutate_code(_text(self.path), get_operator(self.operator)(), self.occurrence)
        if code is None:
            raise ValueError(f"{self.name} changes nothing")
        return str(code)


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every mutant of a module, annotations, declarations and doctests apart."""
    nodes = list(ast_nodes(get_ast(_text(path))))
    idle = idle_ranges(_text(path))
    for name in operator_names():
        if "Variable" in name:  # needs to be told which variable
            continue
        operator, occurrence = get_operator(name)(), 0
        for node in nodes:
            for start, _ in operator.mutation_positions(node):
                if not any(low <= start < high for low, high in idle):
                    yield Mutant(path, name, occurrence, *start)
                occurrence += 1


Place = tuple[int, int]


def idle_ranges(text: str) -> list[tuple[Place, Place]]:
    """What nothing runs by: annotations, and blocks for the type checker alone."""
    found: list[ast.AST] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            found.append(node.returns)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            found.append(node)
    return [_range(node) for node in found]


def _range(node: Any) -> tuple[Place, Place]:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
