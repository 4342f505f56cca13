"""Checkpoints: the state of a training in safetensors and JSON, written whole."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tellapart.errors import BadInput
from tellapart.files import read_json, write_json
from tellapart.models.zoo.weights import load_tensors, save_tensors
from tellapart.seeds import digest

WEIGHTS, STATE, BEST = "weights.safetensors", "state.json", "best.safetensors"


@dataclass(slots=True)
class TrainingState:
    """The progress of a training: `step` batches of `epoch` are done.

    `rows` are the metrics so far, and `losses` are the losses since the last row.
    """

    epoch: int = 0
    step: int = 0
    best: float | None = None
    best_epoch: int = -1
    best_step: int = 0
    losses: list[float] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def save_checkpoint(
    folder: Path, state: TrainingState, system: nn.Module, optimiser: torch.optim.Optimizer
) -> None:
    """Write the state of a training; it names its weights by their hash.

    The weights alternate between two files, so that the last complete checkpoint exists until the
    next one does.
    """
    tensors = {f"system.{name}": one for name, one in system.state_dict().items()}
    packed = optimiser.state_dict()
    plain: dict[str, Any] = {}
    for number, slots in packed["state"].items():
        for key, value in slots.items():
            if isinstance(value, Tensor):
                tensors[f"optimiser.{number}.{key}"] = value
            else:
                plain[f"{number}.{key}"] = value
    place = f"{digest(state.epoch, state.step)[:8]}-{WEIGHTS}"
    save_tensors(folder / place, tensors)
    write_json(folder / STATE, {**asdict(state), "weights": place, "optimiser": plain})
    for old in folder.glob(f"*-{WEIGHTS}"):
        if old.name != place:
            old.unlink()


def load_checkpoint(
    folder: Path, system: nn.Module, optimiser: torch.optim.Optimizer
) -> TrainingState:
    """Restore a training from its checkpoint; without one, it starts from the beginning."""
    if not (folder / STATE).exists():
        return TrainingState()
    stored = read_json(folder / STATE)
    try:
        place, plain = stored.pop("weights"), stored.pop("optimiser")
        state = TrainingState(**stored)
        tensors = load_tensors(folder / place)
        system.load_state_dict(_under("system.", tensors))
        optimiser.load_state_dict(_unpacked(optimiser, _under("optimiser.", tensors), plain))
    except (KeyError, TypeError, AttributeError, ValueError, RuntimeError) as error:
        raise BadInput(
            f"the checkpoint does not match: {str(error).splitlines()[0]}",
            where=str(folder),
            todo="delete the folder and train again",
        ) from None
    return state


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def _unpacked(
    optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor], plain: dict[str, Any]
) -> dict[str, Any]:
    slots: dict[int, dict[str, Any]] = {}
    for name, value in [*tensors.items(), *plain.items()]:
        number, _, key = name.partition(".")
        slots.setdefault(int(number), {})[key] = value
    return {"state": slots, "param_groups": optimiser.state_dict()["param_groups"]}
