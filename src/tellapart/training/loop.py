"""The loop: steps of AdamW over batches, for any module that can say its loss."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

B = TypeVar("B")
B_contra = TypeVar("B_contra", contravariant=True)


class TrainingTask(Protocol[B_contra]):
    """A model joined with its loss: all that the loop needs to know."""

    @property
    def model(self) -> nn.Module:
        """What is trained."""
        ...

    def loss(self, batch: B_contra) -> Tensor:
        """One number to make smaller."""
        ...


@dataclass(frozen=True, slots=True)
class Schedule:
    """How far to go. The rate rises over `warmup` steps, then falls along a cosine to zero."""

    steps: int
    rate: float = 2e-3
    warmup: int = 100
    decay: float = 0.05
    clip: float = 1.0
    bfloat16: bool = True

    def rate_at(self, step: int) -> float:
        """The learning rate of a step."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.rate * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """What is told of a step as it is done."""

    number: int
    loss: float
    seconds: float


@dataclass(frozen=True)
class Loop(Generic[B]):
    """Training under a schedule; `tell` hears of every step."""

    task: TrainingTask[B]
    schedule: Schedule
    tell: Callable[[TrainingStep], None] = lambda step: None

    def run(self, batches: Iterable[B]) -> list[float]:
        """Train until the schedule or the batches end; the losses of all steps."""
        optimiser = torch.optim.AdamW(_groups(self.task.model, self.schedule.decay))
        losses: list[float] = []
        began = time.perf_counter()
        self.task.model.train()
        for number, batch in zip(range(self.schedule.steps), batches, strict=False):
            for group in optimiser.param_groups:
                group["lr"] = self.schedule.rate_at(number)
            # Half the bits where that loses nothing; processors that know bfloat16 gain much.
            with torch.autocast("cpu", torch.bfloat16, enabled=self.schedule.bfloat16):
                loss = self.task.loss(batch)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.task.model.parameters(), self.schedule.clip)
            optimiser.step()
            losses.append(loss.item())
            self.tell(TrainingStep(number, losses[-1], time.perf_counter() - began))
        self.task.model.eval()
        return losses


def _groups(model: nn.Module, decay: float) -> list[dict[str, object]]:
    """Matrices decay; biases, normalisations and the scale do not."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": rest, "weight_decay": 0.0}]
