"""The verb `diff`: how two benchmarks differ, item by item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tellapart.verbs import BenchmarkSource, Verb, open_benchmark


@dataclass(frozen=True, slots=True)
class BenchmarkDifference:
    """How two benchmarks differ, by item id."""

    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    changed: tuple[str, ...]
    same: int

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "only_first": list(self.only_first),
            "only_second": list(self.only_second),
            "changed": list(self.changed),
            "same": self.same,
        }

    def __str__(self) -> str:
        lines = [f"{self.same:,} items are the same"]
        for ids, what in (
            (self.only_first, "only in the first"),
            (self.only_second, "only in the second"),
            (self.changed, "differ under the same id"),
        ):
            shown = ", ".join(ids[:5]) + (", ..." if len(ids) > 5 else "")
            lines.append(f"{len(ids):,} {what}" + (f": {shown}" if ids else ""))
        return "\n".join(lines)


def diff(first: BenchmarkSource, second: BenchmarkSource) -> BenchmarkDifference:
    """Show how two benchmarks differ, item by item."""
    a, b = (open_benchmark(one).items.frame.select("id", "content") for one in (first, second))
    common = a.join(b, on="id", how="inner", suffix="_b", maintain_order="left")
    changed = common.filter(common["content"] != common["content_b"])["id"]
    return BenchmarkDifference(
        tuple(a.join(b, on="id", how="anti", maintain_order="left")["id"]),
        tuple(b.join(a, on="id", how="anti", maintain_order="left")["id"]),
        tuple(changed),
        common.height - len(changed),
    )


VERB = Verb(diff, example="tellapart diff my-bison my-bison-2")
