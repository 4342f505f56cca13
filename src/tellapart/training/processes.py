"""Several processes (`torchrun`, `accelerate launch`): finding the first, and waiting for all."""

from __future__ import annotations

from typing import Any

from tellapart.torch_tools import device_of


def on_cpu() -> bool:
    """Whether there is no GPU: accelerate must be told, or it sees only one process."""
    return device_of("auto") == "cpu"


def processes() -> Any:
    """The state of this process among all; a single one if not launched as several."""
    from accelerate import PartialState

    return PartialState(cpu=on_cpu())


def is_first() -> bool:
    """Whether this process writes the results of all."""
    return bool(processes().is_main_process)


def wait_for_all() -> None:
    """Wait until every process gets here."""
    processes().wait_for_everyone()
