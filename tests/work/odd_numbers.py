"""A task for workers that sometimes goes wrong; workers import this file alone."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellapart.errors import BadInput
from tellapart.work.shard import ShardResult


@dataclass(frozen=True)
class Numbers:
    """Writes down numbers; does something odd with some of them, as long as a mark is there."""

    folder: Path
    odd: str = ""

    def open(self) -> Callable[[Any], ShardResult]:
        (self.folder / f"opened-{os.getpid()}").touch()
        return self._made

    def _made(self, number: int) -> ShardResult:
        mark = self.folder / "mark"
        if number == 3 and self.odd and (mark.exists() or self.odd == "always"):
            mark.unlink(missing_ok=True)
            if self.odd == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.odd == "input":
                raise BadInput("three is no number", todo="take another")
            raise RuntimeError("three again")
        return ShardResult(f"{number}\n".encode() * number, {"number": number})
