"""The time for a view to open and to answer: 100,000 items x 8 runs, generated on the fly.

`tellapart view` runs as a separate process and gets the same HTTP requests as from its page. Times
are wall-clock times on an otherwise idle machine; `cpu_s` is the server's processor time until it
was ready. Percentiles are over queries that were not asked before.

The last line is JSON: ready_s (from the start of the process until the first cards are there),
first_page_ms (all requests of a page of items after that), filter_p95_ms and search_p95_ms,
thumbs_per_s (one request at a time: one core), peak_mb; and, for machines that are not idle, the
processor time of a query and of a thumbnail (filter_cpu_ms, search_cpu_ms, thumb_cpu_ms).

    python benchmarks/view.py [--items 100000] [--runs 8]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

PARTS = Path(__file__).parent / "parts"
PICTURES = 400
WORDS = (
    "dog cat horse red blue park street beach wooden bicycle train runs holds young metal".split()
)


def start(folder: Path) -> tuple[subprocess.Popen[str], str, str]:
    """The view's process, its address and its secret."""
    words = ["view", str(folder / "runs"), "--no-open", "--port", "0"]
    environment = dict(os.environ, TELLAPART_CACHE=str(folder / "cache"))
    process = subprocess.Popen(
        [sys.executable, "-m", "tellapart.cli.main", *words],
        stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert process.stdout is not None
    url, _, key = process.stdout.readline().split()[-1].partition("/#key=")
    return process, url, key


class Page:
    """Asks what the page asks, with the session's cookie."""

    def __init__(self, url: str, key: str) -> None:
        self.client = httpx.Client(base_url=url, timeout=60)
        joined = self.client.post("/api/join", json={"key": key}, headers={"X-Tellapart": "1"})
        joined.raise_for_status()

    def get(self, path: str) -> Any:
        """The JSON behind a path."""
        answer = self.client.get(path)
        answer.raise_for_status()
        return answer.json()

    def took(self, path: str) -> float:
        """Milliseconds that an answer took."""
        began = time.perf_counter()
        self.client.get(path).raise_for_status()
        return 1000 * (time.perf_counter() - began)


def filters() -> list[str]:
    """Queries that filter and sort, no two alike."""
    found = []
    for a in range(8):
        b = (a + 3) % 8
        found += [
            f"a=model-{a}&ao=w&sort=margin",
            f"a=model-{a}&ao=r&b=model-{b}&bo=w",
            f"a=model-{a}&b=model-{b}&sort=gap",
            f"a=model-{a}&ao=wtmf&fact.kind=swap-object&sort=wrong",
            f"a=model-{a}&fact.category=dog&sort=disagreement",
            f"a=model-{a}&sort=close",
        ]
    return found


def searches() -> list[str]:
    """Queries that search in captions and in changed words."""
    pairs = [f"q={one}+{other}" for one in WORDS for other in WORDS[:3] if one != other]
    return [*pairs, *(f"q={word}&in=changed" for word in WORDS), "q=tree&in=changed"]


def peak_mb(process: subprocess.Popen[str]) -> float:
    """The most memory that the process had."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    """What the process took of a processor so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(folder: Path) -> dict[str, float]:
    """All figures."""
    began = time.perf_counter()
    process, url, key = start(folder)
    try:
        page = Page(url, key)
        page.get("/api/items?limit=24")
        figures = {"ready_s": time.perf_counter() - began, "cpu_s": cpu_seconds(process)}
        first = ["/", "/api/view", "/api/facts", "/api/items?limit=24&sort=wrong", "/api/overview"]
        figures["first_page_ms"] = sum(page.took(path) for path in first)
        time.sleep(5)  # what is worked out beside the server
        for name, queries in (("filter", filters()), ("search", searches())):
            before = cpu_seconds(process)
            times = [page.took(f"/api/items?limit=24&{query}") for query in queries]
            spent = 1000 * (cpu_seconds(process) - before) / len(queries)
            figures[f"{name}_cpu_ms"] = spent
            figures[f"{name}_p95_ms"] = float(np.percentile(times, 95))
            figures[f"{name}_median_ms"] = float(np.median(times))
        short = page.get("/api/view")["sheets"][0]["sha256"][:12]
        began, before = time.perf_counter(), cpu_seconds(process)
        for place in range(200):
            page.client.get(f"/pictures/{short}-{place}-480.webp").raise_for_status()
        figures["thumbs_per_s"] = 200 / (time.perf_counter() - began)
        figures["thumb_cpu_ms"] = 1000 * (cpu_seconds(process) - before) / 200
        figures["peak_mb"] = peak_mb(process)
    finally:
        process.terminate()
        process.wait()
    return {name: round(value, 2) for name, value in figures.items()}


def main() -> None:
    """Make the data, measure, print."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--items", type=int, default=100_000)
    reader.add_argument("--runs", type=int, default=8)
    given = reader.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        counts = [str(given.items), str(given.runs), str(PICTURES)]
        script = str(PARTS / "view_data.py")
        subprocess.run(
            [sys.executable, script, *counts, str(folder)], check=True, stdout=sys.stderr
        )
        print(json.dumps(measure(folder)))


if __name__ == "__main__":
    main()
