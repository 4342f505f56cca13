"""How often one caller may ask: a bucket of permits each, refilled at a steady rate.

Kept in memory: each server limits what comes to itself. A caller is a session, or where there is
none an address.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

CALLERS = 20_000
"""Callers that are remembered; beyond them the one longest silent is forgotten."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Permits a second, and how many can be saved up."""

    per_second: float
    burst: float


REQUESTS = Rate(20.0, 100.0)
"""What one session or address may ask."""
FAILURES = Rate(0.2, 20.0)
"""Links and sessions that open nothing, by address: guessing is slow."""


@dataclass(slots=True)
class Limits:
    """Buckets by caller; not for use from several threads."""

    now: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def wait(self, caller: str, rate: Rate, cost: float = 1.0) -> float:
        """Take a permit: 0 if there is one, else how many seconds to wait for it."""
        now = self.now()
        permits, since = self._buckets.pop(caller, (rate.burst, now))
        permits = min(rate.burst, permits + max(0.0, now - since) * rate.per_second)
        short = cost - permits
        self._buckets[caller] = (permits - cost if short <= 0 else permits, now)
        if len(self._buckets) > CALLERS:
            self._buckets.popitem(last=False)
        return max(0.0, short / rate.per_second)
