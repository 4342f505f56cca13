"""The loop that trains every system: plain torch, with accelerate for devices and processes.

Everything in a step depends on the seed and the number of the step, so a killed training resumes
from its last checkpoint and ends, on one kind of processor, in the same bytes.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tellapart import seeds
from tellapart.errors import TellapartError
from tellapart.files import write_text
from tellapart.models.zoo.weights import save_tensors
from tellapart.training.checkpoint import BEST, TrainingState, load_checkpoint, save_checkpoint
from tellapart.training.data import BatchPlan, ahead_of
from tellapart.training.processes import on_cpu
from tellapart.training.settings import TrainingSettings, make_optimiser
from tellapart.training.task import Task
from tellapart.types import Ints, Progress, silent

METRICS = "metrics.jsonl"


class NotANumber(TellapartError):
    """The loss is no longer a number, so further training would be meaningless."""


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """A system, its training data (rows that become batches), and the work folder.

    Weights that were `begun` elsewhere compete to be the best weights, too.
    """

    task: Task
    data: Any
    validation: Any
    settings: TrainingSettings
    seed: int
    folder: Path
    begun: bool = False


def fit(job: TrainingJob, progress: Progress = silent) -> TrainingState:
    """Train until the epochs or the patience end; the best weights are in the folder as `BEST`."""
    return _Loop(job, progress).run()


class _Loop:
    """One training: the accelerator, the optimiser, and the progress."""

    def __init__(self, job: TrainingJob, progress: Progress) -> None:
        self.job, self.settings, self.progress = job, job.settings, progress
        self.accelerator = _accelerator(job.settings)
        self.system = job.task.system
        optimiser = make_optimiser(job.settings, job.task)
        self.state = load_checkpoint(job.folder, self.system, optimiser)
        self.task, self.optimiser = self.accelerator.prepare(job.task, optimiser)
        self.recent: list[Tensor] = []

    def run(self) -> TrainingState:
        """Run all remaining epochs."""
        state, settings = self.state, self.settings
        plan = BatchPlan(settings.batch, settings.together, self.job.seed)
        if self.job.begun and not state.rows:
            state.epoch = -1  # counts as an epoch that ended before the first
            self._validate()
            state.epoch = 0
        while state.epoch < settings.epochs and not self._tired():
            batches = self._mine(plan.epoch(self.job.data, state.epoch))
            self._epoch(batches)
            self._note(len(batches))
            self._validate()
            state.epoch, state.step = state.epoch + 1, 0
            self._save()
        self.accelerator.wait_for_everyone()
        return state

    def _tired(self) -> bool:
        """Whether the measure has not improved within the patience."""
        patience, state = self.settings.patience, self.state
        return bool(patience) and state.epoch - state.best_epoch > patience

    def _mine(self, batches: list[Ints]) -> list[Ints]:
        """The batches of this process: whole updates, the same number for each process."""
        accelerator = self.accelerator
        rank, count = accelerator.process_index, accelerator.num_processes
        if self.job.task.splits_batches:  # each process holds its part of every batch
            rank, count = 0, 1
        share = count * self.settings.accumulate
        whole = len(batches) // share * share or len(batches)
        return batches[:whole][rank::count]

    def _epoch(self, batches: list[Ints]) -> None:
        state, settings = self.state, self.settings
        self.task.train()
        regions = type(self.system).needs_regions
        waiting = ahead_of(self.job.data, batches[state.step :], regions=regions)
        with self._timed("all"):
            while state.step < len(batches):
                with self._timed("reading"):
                    batch = next(waiting).to(self.accelerator.device)
                self._step(batch, len(batches))
                state.step += 1
                done = state.epoch * len(batches) + state.step
                self.progress("training", done, settings.epochs * len(batches))
                if state.step % settings.log_steps == 0:
                    self._note(len(batches))
                every = settings.validate_steps
                if every and state.step % every == 0 and state.step < len(batches):
                    self._note(len(batches))
                    self._validate()
                    self.task.train()
                due = state.step % settings.checkpoint_steps < 1 and state.step < len(batches)
                if due and state.step % settings.accumulate == 0:
                    self._settle()
                    self._save()

    def _step(self, batch: Any, steps: int) -> None:
        """Forward, backward, and an update once enough gradients have accumulated."""
        state, settings, accelerator = self.state, self.settings, self.accelerator
        rank = accelerator.process_index
        torch.manual_seed(seeds.number(self.job.seed, "step", state.epoch, state.step, rank))
        with accelerator.accumulate(self.task):
            with self._timed("model"), accelerator.autocast():
                loss = self.task(batch, state.epoch)
                accelerator.backward(loss)
            if accelerator.sync_gradients:
                if settings.clip_norm:
                    accelerator.clip_grad_norm_(self.task.parameters(), settings.clip_norm)
                if settings.clip_value:
                    accelerator.clip_grad_value_(self.task.parameters(), settings.clip_value)
            for group in self.optimiser.param_groups:
                group["lr"] = self._rate(steps)
            self.optimiser.step()
            self.optimiser.zero_grad()
        self.recent.append(loss.detach())

    def _rate(self, steps: int) -> float:
        updates = max(1, steps // self.settings.accumulate)
        update = self.state.epoch * updates + self.state.step // self.settings.accumulate
        return self.settings.rate_at(update, updates)

    def _settle(self) -> None:
        """Check the losses since the last call; raise if one is not a number."""
        if self.recent:
            losses = self.accelerator.reduce(torch.stack(self.recent).double(), "mean").tolist()
            self.recent.clear()
            for loss in losses:
                if not math.isfinite(loss):
                    raise self._not_a_number(f"the loss became {loss}")
            self.state.losses += losses

    def _not_a_number(self, what: str) -> NotANumber:
        return NotANumber(
            f"{what} in epoch {self.state.epoch + 1}",
            where=f"near batch {self.state.step} of the epoch",
            todo="use a lower rate (--set rate=...), clip gradients (--set clip_norm=1), or check "
            "the features for values that are not numbers; the last checkpoint is kept",
        )

    def _note(self, steps: int) -> None:
        """Add a row of metrics, with the mean loss since the last row."""
        self._settle()
        state = self.state
        if state.losses:
            loss = sum(state.losses) / len(state.losses)
            place = {"epoch": state.epoch + 1, "step": state.step}
            state.rows.append({**place, "loss": loss, "rate": self._rate(steps)})
            state.losses = []

    def _validate(self) -> None:
        state = self.state
        # No loss follows the last update of an epoch, so the weights are checked instead.
        if not all(bool(one.isfinite().all()) for one in self.system.parameters()):
            raise self._not_a_number("a weight became infinite or not a number")
        self.task.eval()
        with self._timed("validation"), torch.inference_mode():
            figures = self.job.task.validate(self.job.validation)
        state.rows.append({"epoch": state.epoch + 1, "step": state.step, **figures})
        measure = figures[self.job.task.measure]
        if state.best is None or measure > state.best or self.settings.keep_last:
            state.best, state.best_epoch, state.best_step = measure, state.epoch, state.step
            if self.accelerator.is_main_process:
                save_tensors(self.job.folder / BEST, self.system.state_dict())

    def _save(self) -> None:
        if self.accelerator.is_main_process:
            inner = getattr(self.optimiser, "optimizer", self.optimiser)
            save_checkpoint(self.job.folder, self.state, self.system, inner)
            lines = [json.dumps(row) + "\n" for row in self.state.rows]
            write_text(self.job.folder / METRICS, "".join(lines))
        self.accelerator.wait_for_everyone()

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        seconds = self.state.seconds
        seconds[what] = seconds.get(what, 0.0) + time.perf_counter() - begin


def _accelerator(settings: TrainingSettings) -> Any:
    """A new accelerator, without the state of an earlier one in this process."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state()
    return Accelerator(
        cpu=on_cpu(),
        mixed_precision=settings.precision,
        gradient_accumulation_steps=settings.accumulate,
    )
