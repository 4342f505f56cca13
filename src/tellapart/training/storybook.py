"""The command that trains `storybook`: python -m tellapart.training.storybook --out DIR --seed 0.

Draws its examples (some minutes), trains (longer: `docs/storybook.md` has times), and writes the
model's files, which belong into `tellapart/models/storybook_files`, with a record of how it went.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from tellapart import seeds
from tellapart.tables import whole_folder, write_json
from tellapart.training.examples import (
    SHARES,
    ExampleArrays,
    TrainingBatch,
    batches,
    draw_examples,
    save_inputs,
    vocabulary,
)
from tellapart.training.loop import Loop, Schedule, TrainingStep
from tellapart.training.losses import MatchTask, group_scores
from tellapart.training.towers import Shape, Towers, export


@dataclass(frozen=True)
class TrainingPlan:
    """Everything that the trained model depends on."""

    seed: int = 0
    examples: int = 24_000
    held_out: int = 1_000
    epochs: int = 7
    pairs_a_batch: int = 96
    rate: float = 2e-3
    leave_out: float = 0.15
    bfloat16: bool = True
    threads: int = 2
    shape: Shape = field(default_factory=Shape)

    @property
    def steps_an_epoch(self) -> int:
        """How many whole batches the examples fill."""
        return (self.examples - self.held_out) // self.pairs_a_batch


def train(plan: TrainingPlan, out: Path, *, overwrite: bool = False) -> dict[str, float]:
    """Train and write the model's files into a folder; scores on the examples held out."""
    began = time.perf_counter()
    torch.set_num_threads(plan.threads)
    with whole_folder(out, overwrite=overwrite) as folder, tempfile.TemporaryDirectory() as drawn:
        examples = draw_examples(Path(drawn), plan.examples, plan.seed, plan.threads, _tell_drawn)
        seconds_drawing = time.perf_counter() - began
        held_out = examples.part(slice(0, plan.held_out))
        towers = fit(plan, examples.part(slice(plan.held_out, None)), held_out)
        scores = group_scores(towers, held_out)
        export(towers, folder)
        save_inputs(folder)
        record = {
            "plan": asdict(plan),
            "near misses wanted": SHARES,
            "torch": torch.__version__,
            "Group on the examples held out": scores,
            "seconds drawing": round(seconds_drawing),
            "seconds in all": round(time.perf_counter() - began),
        }
        write_json(folder / "training.json", record)
    return scores


def fit(plan: TrainingPlan, examples: ExampleArrays, held_out: ExampleArrays) -> Towers:
    """Train new towers on some examples; after each epoch tell how well others are told apart."""
    torch.manual_seed(plan.seed)
    towers = Towers(plan.shape, 2 + len(vocabulary()))
    schedule = Schedule(plan.steps_an_epoch * plan.epochs, rate=plan.rate, bfloat16=plan.bfloat16)

    def tell(step: TrainingStep) -> None:
        if (step.number + 1) % 100 == 0:
            print(f"step {step.number + 1:,} of {schedule.steps:,}: loss {step.loss:.3f}, "
                  f"{step.seconds:.0f} s", flush=True)  # fmt: skip
        if (step.number + 1) % plan.steps_an_epoch == 0:
            print(_table(group_scores(towers, held_out)), flush=True)

    Loop(MatchTask(towers), schedule, tell).run(stream(plan, examples))
    return towers


def stream(plan: TrainingPlan, examples: ExampleArrays) -> Iterator[TrainingBatch]:
    """The batches of all epochs."""
    for epoch in range(plan.epochs):
        rng = seeds.rng(plan.seed, "batches", epoch)
        yield from batches(examples, plan.pairs_a_batch, rng, plan.leave_out)


def _tell_drawn(phase: str, done: int, total: int) -> None:
    if done % 2_000 == 0 or done == total:
        print(f"drawn: {done:,} of {total:,} pairs of scenes", flush=True)


def _table(scores: dict[str, float]) -> str:
    return "Group on held-out near misses: " + ", ".join(
        f"{kind} {100 * value:.1f}" for kind, value in scores.items()
    )


def main() -> None:
    """Read the command line, train, print the scores."""
    parser = argparse.ArgumentParser(description="Train the model that comes with the package.")
    parser.add_argument("--out", type=Path, required=True, help="folder for the model's files")
    parser.add_argument("--seed", type=int, default=TrainingPlan.seed)
    parser.add_argument(
        "--examples", type=int, default=TrainingPlan.examples, help="pairs of scenes"
    )
    parser.add_argument("--epochs", type=int, default=TrainingPlan.epochs)
    parser.add_argument("--overwrite", action="store_true", help="replace what is in the folder")
    given = parser.parse_args()
    plan = TrainingPlan(seed=given.seed, examples=given.examples, epochs=given.epochs)
    print(_table(train(plan, given.out, overwrite=given.overwrite)))


if __name__ == "__main__":
    main()
