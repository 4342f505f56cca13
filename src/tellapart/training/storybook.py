"""Training `storybook`: python -m tellapart.training.storybook --out DIR --seed 0.

Draws its examples (a few minutes), trains (longer: `docs/storybook.md` has times), and writes the
model's files, which belong in `tellapart/models/storybook_files`, with a record of the training. In
the losses, rows are unit vectors; row i of the pictures belongs to row i of the texts.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart import seeds
from tellapart.files import whole_folder, write_json
from tellapart.models.zoo.towers import Shape, Towers
from tellapart.training.examples import (
    SHARES,
    SIDE,
    ExampleArrays,
    TrainingBatch,
    batch_of,
    batches,
    draw_examples,
    save_inputs,
    vocabulary,
)


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
        """The number of whole batches that the examples fill."""
        return (self.examples - self.held_out) // self.pairs_a_batch


def train(plan: TrainingPlan, out: Path, *, overwrite: bool = False) -> dict[str, float]:
    """Train and write the model's files into a folder; returns scores on held-out examples."""
    began = time.perf_counter()
    torch.set_num_threads(plan.threads)
    with whole_folder(out, overwrite=overwrite) as folder, tempfile.TemporaryDirectory() as drawn:
        examples = draw_examples(Path(drawn), plan.examples, plan.seed, plan.threads, _report_drawn)
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
    """Train new towers on some examples; print scores on held-out examples after each epoch."""
    torch.manual_seed(plan.seed)
    towers = Towers(plan.shape, 2 + len(vocabulary()))
    schedule = Schedule(plan.steps_an_epoch * plan.epochs, rate=plan.rate, bfloat16=plan.bfloat16)

    def report(step: int, loss: float, seconds: float) -> None:
        if step % 100 == 0:
            done = f"step {step:,} of {schedule.steps:,}"
            print(f"{done}: loss {loss:.3f}, {seconds:.0f} s", flush=True)
        if step % plan.steps_an_epoch == 0:
            print(_table(group_scores(towers, held_out)), flush=True)

    optimise(MatchTask(towers), schedule, stream(plan, examples), report)
    return towers


def stream(plan: TrainingPlan, examples: ExampleArrays) -> Iterator[TrainingBatch]:
    """The batches of all epochs."""
    for epoch in range(plan.epochs):
        rng = seeds.rng(plan.seed, "batches", epoch)
        yield from batches(examples, plan.pairs_a_batch, rng, plan.leave_out)


def _report_drawn(phase: str, done: int, total: int) -> None:
    if done % 2_000 == 0 or done == total:
        print(f"drawn: {done:,} of {total:,} pairs of scenes", flush=True)


def _table(scores: dict[str, float]) -> str:
    return "Group on held-out near misses: " + ", ".join(
        f"{kind} {100 * value:.1f}" for kind, value in scores.items()
    )


@dataclass(frozen=True)
class MatchTask:
    """Match pictures with captions in the whole batch, and near misses within their pairs."""

    model: Towers
    pair_weight: float = 0.5

    def loss(self, batch: TrainingBatch) -> Tensor:
        """The contrastive loss on distinguishing and plain captions, and the loss on pairs."""
        images = self.model.image(torch.from_numpy(batch.images))
        telling = self.model.text(torch.from_numpy(batch.telling))
        plain = self.model.text(torch.from_numpy(batch.plain))
        scale = self.model.scale()
        also_true = near_miss_cells(torch.from_numpy(batch.shared))
        with torch.autocast("cpu", enabled=False):  # softmaxes in full precision
            whole = contrastive(images, telling, scale) + contrastive(
                images, plain, scale, also_true
            )
            return whole / 2 + self.pair_weight * pairs(images, telling, scale)


def group_scores(model: Towers, examples: ExampleArrays, size: int = 100) -> dict[str, float]:
    """The share of near misses with all four choices right, by kind and overall (chance: 1/6)."""
    was_training = model.training
    model.eval()
    right: list[bool] = []
    for start in range(0, len(examples), size):
        rows = np.arange(start, min(start + size, len(examples)))
        batch = batch_of(examples, rows, np.ones((len(rows), 2), int), np.random.default_rng(0))
        with torch.no_grad():
            images = model.image(torch.from_numpy(batch.images)).view(len(rows), 2, -1)
            texts = model.text(torch.from_numpy(batch.telling)).view(len(rows), 2, -1)
        fits = (images @ texts.transpose(1, 2)).numpy()
        least_right = np.minimum(fits[:, 0, 0], fits[:, 1, 1])
        right += (least_right > np.maximum(fits[:, 0, 1], fits[:, 1, 0])).tolist()
    model.train(was_training)
    rights = np.array(right)
    by_kind = {str(k): float(rights[examples.kinds == k].mean()) for k in np.unique(examples.kinds)}
    return {"all": float(rights.mean()), **by_kind}


def contrastive(
    images: Tensor, texts: Tensor, scale: Tensor, ignore: Tensor | None = None
) -> Tensor:
    """Pick each picture's text among all texts of the batch, and each text's picture.

    InfoNCE both ways (Radford et al. 2021, CLIP, section 2.3). Where `ignore` (n, n) is True, the
    column's text is also true of the row's picture, and the cell is left out.
    """
    fits = scale * images @ texts.T
    if ignore is not None:
        fits = fits.masked_fill(ignore, float("-inf"))
    right = torch.arange(len(fits))
    return (functional.cross_entropy(fits, right) + functional.cross_entropy(fits.T, right)) / 2


def pairs(images: Tensor, texts: Tensor, scale: Tensor) -> Tensor:
    """Tell near misses apart: rows 2i and 2i + 1 are a pair; choose between the two, four times.

    The four choices of BiVLC (Miranda et al. 2024, section 4): each picture picks a text of the
    pair's two, and each text a picture.
    """
    n, dimensions = len(images) // 2, images.shape[1]
    fits = scale * images.view(n, 2, dimensions) @ texts.view(n, 2, dimensions).transpose(1, 2)
    right = torch.arange(2).repeat(n)
    by_image = functional.cross_entropy(fits.reshape(-1, 2), right)
    by_text = functional.cross_entropy(fits.transpose(1, 2).reshape(-1, 2), right)
    return (by_image + by_text) / 2


def near_miss_cells(shared: Tensor) -> Tensor:
    """Cells (n, n) to leave out: the near miss's picture with a text that is true of both."""
    rows = torch.arange(len(shared))
    cells = torch.zeros(len(shared), len(shared), dtype=torch.bool)
    cells[rows ^ 1, rows] = shared
    return cells


@dataclass(frozen=True, slots=True)
class Schedule:
    """Steps and rates. The rate rises over `warmup` steps, then falls to zero along a cosine."""

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


def optimise(
    task: MatchTask,
    schedule: Schedule,
    batches: Iterable[TrainingBatch],
    report: Callable[[int, float, float], None] = lambda step, loss, seconds: None,
) -> list[float]:
    """Train until the schedule or the batches end; returns the losses of all steps.

    `report` is called after each step, with its number (from 1), its loss and the seconds so far.
    """
    optimiser = torch.optim.AdamW(_groups(task.model, schedule.decay))
    losses: list[float] = []
    began = time.perf_counter()
    task.model.train()
    for step, batch in zip(range(schedule.steps), batches, strict=False):
        for group in optimiser.param_groups:
            group["lr"] = schedule.rate_at(step)
        # Half precision where that loses nothing; a large gain on processors with bfloat16.
        with torch.autocast("cpu", torch.bfloat16, enabled=schedule.bfloat16):
            loss = task.loss(batch)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(task.model.parameters(), schedule.clip)
        optimiser.step()
        losses.append(loss.item())
        report(step + 1, losses[-1], time.perf_counter() - began)
    task.model.eval()
    return losses


def _groups(model: nn.Module, decay: float) -> list[dict[str, object]]:
    """Matrices decay; biases, normalisations and the scale do not."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": rest, "weight_decay": 0.0}]


def main() -> None:
    """Read the command line, train, print the scores."""
    parser = argparse.ArgumentParser(description="Train the model shipped with the package.")
    parser.add_argument("--out", type=Path, required=True, help="folder for the model's files")
    parser.add_argument("--seed", type=int, default=TrainingPlan.seed)
    parser.add_argument(
        "--examples", type=int, default=TrainingPlan.examples, help="pairs of scenes"
    )
    parser.add_argument("--epochs", type=int, default=TrainingPlan.epochs)
    parser.add_argument("--overwrite", action="store_true", help="replace the folder's contents")
    options = parser.parse_args()
    plan = TrainingPlan(seed=options.seed, examples=options.examples, epochs=options.epochs)
    print(_table(train(plan, options.out, overwrite=options.overwrite)))


if __name__ == "__main__":
    main()


OPSET = 17
FEW = 256
"""Tensors with fewer numbers than this stay in 32 bits."""


def export(towers: Towers, folder: Path) -> None:
    """Write `image.onnx` and `text.onnx`, with 16-bit weights that are cast to 32 bits to run."""
    towers.eval()
    pixels = torch.zeros(2, SIDE, SIDE, 3, dtype=torch.uint8)
    words = torch.ones(2, 7, dtype=torch.long)
    _export(towers.image, pixels, "pixels", {0: "n"}, folder / "image.onnx")
    _export(towers.text, words, "words", {0: "n", 1: "length"}, folder / "text.onnx")


def _export(tower: nn.Module, shown: Tensor, name: str, free: dict[int, str], path: Path) -> None:
    with warnings.catch_warnings():
        # The older exporter on purpose: the newer one needs another package for the same graph.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            tower,
            (shown,),
            str(path),
            input_names=[name],
            output_names=["rows"],
            dynamic_axes={name: free, "rows": {0: "n"}},
            opset_version=OPSET,
            dynamo=False,
        )
    halve(path)


def halve(path: Path) -> None:
    """Store large tensors as float16, each followed by a cast: half the size, same arithmetic."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load(path)
    graph = model.graph
    casts = []
    for tensor in graph.initializer:
        numbers = numpy_helper.to_array(tensor)
        if tensor.data_type != TensorProto.FLOAT or numbers.size < FEW:
            continue
        name, stored = tensor.name, f"{tensor.name}.16"
        tensor.CopyFrom(numpy_helper.from_array(numbers.astype(np.float16), stored))
        casts.append(helper.make_node("Cast", [stored], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    for node in graph.node:
        node.doc_string = ""
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString(deterministic=True))
