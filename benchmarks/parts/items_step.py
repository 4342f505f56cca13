"""One step of `benchmarks/items.py`, by the version of the package that is first on the path.

Arguments: the step, BISON's annotations, a folder. The step runs once on a few items first, so that
imports and compilation on first use are not counted. Prints processor time and memory.
"""

from __future__ import annotations

import inspect
import json
import resource
import sys
import time
from typing import Any

import tellapart as ta

ta_: Any = ta  # older versions have other names


def subset(source: str, out: str, limit: int) -> None:
    """A random sample of the items."""
    if hasattr(ta, "SubsetOptions"):
        ta_.subset(source, out, ta_.SubsetOptions(limit=limit))
    else:
        ta_.subset(source, out, ta_.Choice(number=limit))


def validate(source: str) -> None:
    """Check the items, without their pictures."""
    newer = "look" in inspect.signature(ta_.validate).parameters
    ta_.validate(source, **{"look" if newer else "images": False})


def act(step: str, source: str, out: str, limit: int) -> None:
    """Do the step."""
    if step == "import":
        ta_.get("bison", source, out)
    elif step == "subset":
        subset(source, out, limit)
    elif step == "validate":
        validate(source)
    elif step == "blind":
        ta_.evaluate("blind", source, out)
    else:
        ta_.measure(out)


def megabytes() -> float:
    """The most memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Warm up, act, print."""
    step, annotations, folder = sys.argv[1:]
    few = f"{folder}/few-{step}"
    ta_.get("bison", f"{folder}/few.json", few)
    if step == "measure":
        ta_.evaluate("blind", few, f"{few}-out")
    act(step, f"{folder}/few.json" if step == "import" else few, f"{few}-out", 5)
    loaded, began = megabytes(), time.process_time()
    whole = f"{folder}/bison"
    out = {"import": whole, "subset": f"{folder}/subset"}.get(step, f"{folder}/runs")
    act(step, annotations if step == "import" else whole, out, 30_000)
    seconds = time.process_time() - began
    print(json.dumps({"seconds": seconds, "loaded_mb": loaded, "peak_mb": megabytes()}))


if __name__ == "__main__":
    main()
