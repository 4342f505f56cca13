"""Several processes (`torchrun`, `accelerate launch`): who is the first, and waiting for all."""

from __future__ import annotations

from typing import Any

from tellapart.torch_tools import device_of


def on_cpu() -> bool:
    """Whether there is no graphics card: accelerate must be told, or it sees one process only."""
    return device_of("auto") == "cpu"


def processes() -> Any:
    """Where this process stands among all; alone where nobody launched several."""
    from accelerate import PartialState

    return PartialState(cpu=on_cpu())


def is_first() -> bool:
    """Whether this process writes what all of them made."""
    return bool(processes().is_main_process)


def wait_for_all() -> None:
    """Go on when every process is here."""
    processes().wait_for_everyone()
