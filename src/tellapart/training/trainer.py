"""A whole training: from data, vocabulary, system and task to a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
import torch

from tellapart import registry, seeds
from tellapart.errors import BadInput
from tellapart.files import resumable_folder, write_json, write_parquet
from tellapart.models.trained import (
    WEIGHTS,
    TrainedCard,
    load_system,
    read_card,
    write_card,
)
from tellapart.models.zoo.system import System, system_class
from tellapart.models.zoo.weights import load_tensors, save_tensors
from tellapart.text.vocabulary import Vocabulary
from tellapart.torch_tools import fingerprint
from tellapart.training.checkpoint import BEST, STATE, TrainingState
from tellapart.training.checkpoint import WEIGHTS as CHECKPOINT
from tellapart.training.data import CaptionedImages, TrainingSet
from tellapart.training.loop import TrainingJob, fit
from tellapart.training.processes import is_first, wait_for_all
from tellapart.training.settings import Recipe, TrainingSettings, recipe_of, task_of
from tellapart.types import Progress, silent


@dataclass(frozen=True, slots=True)
class TrainingOrder:
    """What to train: names, settings and seed; `start` is a trained folder to continue from.

    `task` overrides the system's own.
    """

    system: str
    recipe: str = "paper"
    changes: tuple[str, ...] = ()
    seed: int = 0
    task: str = ""
    start: Path | None = None

    @property
    def task_name(self) -> str:
        """The task: the one asked for, the recipe's, or the system's own."""
        return self.task or task_of(self.system, self.recipe) or system_class(self.system).task


@dataclass(frozen=True, slots=True)
class TrainedSystem:
    """The result of a training: its folder, and the measures by which it was chosen."""

    folder: Path
    card: TrainedCard
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"folder": str(self.folder), "model": f"trained:{self.folder}", **asdict(self.card)}

    def __str__(self) -> str:
        trained = self.card.trained
        figures = ", ".join(f"{key} {value:.2f}" for key, value in trained["validation"].items())
        counts = ", ".join(
            f"{trained[noun]:,} {noun}"
            for noun in ("images", "captions", "items")
            if noun in trained
        )
        best = f"best after epoch {trained['best_epoch']} of {trained['epochs']}"
        if not trained["best_epoch"]:
            best = f"none of {trained['epochs']} epochs was better than the start"
        return f"{self.card.system}: {counts}, {best} ({figures})  ->  trained:{self.folder}"


def train_system(
    order: TrainingOrder,
    data: CaptionedImages,
    validation: CaptionedImages,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress = silent,
) -> TrainedSystem:
    """Train and write a folder; an interrupted training resumes."""
    kind = system_class(order.system)
    task_name = order.task_name
    task_kind = registry.tasks.get(task_name)
    begun = read_card(order.start).settings if order.start else {}
    defaults = Recipe(kind.Config(**begun), task_kind.Settings(), TrainingSettings())
    recipe = recipe_of(order.system, order.recipe, defaults, order.changes)
    job = seeds.digest(
        "train", order.system, task_name, recipe.to_json(), order.seed, _content(data),
        _content(validation), read_card(order.start).weights if order.start else "",
    )  # fmt: skip
    with resumable_folder(out, job, overwrite=overwrite, finish=is_first()) as folder:
        torch.manual_seed(seeds.number(order.seed, "weights"))
        system = _built(order, kind, recipe, data, task_kind.texts_to_count(data))
        sets = [
            part.encoded(system.vocabulary, recipe.training.longest) for part in (data, validation)
        ]
        task = task_kind(system, recipe.task, sets[0])
        fitted = TrainingJob(
            task, sets[0], sets[1], recipe.training, order.seed, folder, order.start is not None
        )
        state = fit(fitted, progress)
        if is_first():
            _finish(fitted, state, order, recipe, out)
    wait_for_all()
    return TrainedSystem(out, read_card(out))


def _content(data: CaptionedImages) -> list[Any]:
    """The parts of the data that a training depends on."""
    return [data.space.key, seeds.digest(data.column("sha256")), data.content()]


def _built(
    order: TrainingOrder,
    kind: type[System],
    recipe: Recipe,
    data: CaptionedImages,
    texts: Sequence[str],
) -> System:
    """A new system, or one with the weights and words of another training."""
    if order.start is None:
        vocabulary = Vocabulary.counted(texts, recipe.training.least)
        if not vocabulary.words:
            raise BadInput(
                f"no word occurs {recipe.training.least} times in the captions",
                todo="keep rarer words with --set least=1",
            )
        return kind(recipe.system, vocabulary, data.space)
    begun, card = load_system(order.start)
    if card.space.key != data.space.key:
        raise BadInput(
            "the features differ from those that the starting system was trained on",
            where=str(order.start),
            allowed=f"{card.space.backbone}, {card.space.layout}",
        )
    system = kind(recipe.system, begun.vocabulary, data.space)
    try:
        system.load_state_dict(begun.state_dict())
    except RuntimeError as error:
        raise BadInput(
            f"{card.system} cannot be the start: {str(error).splitlines()[-1].strip()}",
            where=str(order.start),
            allowed=f"a {order.system} of the same widths",
        ) from None
    return system


def _finish(
    fitted: TrainingJob, state: TrainingState, order: TrainingOrder, recipe: Recipe, out: Path
) -> None:
    """Write the best weights and their metadata into the folder, which becomes `out`."""
    folder, task = fitted.folder, fitted.task
    assert isinstance(fitted.data, TrainingSet)
    system, data = task.system.eval(), fitted.data.images
    system.load_state_dict(load_tensors(folder / BEST))
    save_tensors(folder / WEIGHTS, system.state_dict())
    measured = [row for row in state.rows if "loss" not in row]
    best = next(row for row in measured if row["epoch"] == state.best_epoch + 1)
    trained = {
        "recipe": order.recipe,
        "seed": order.seed,
        **data.counts(),
        "epochs": state.epoch,
        "best_epoch": state.best_epoch + 1,
        "measure": type(task).measure,
        "validation": {k: v for k, v in best.items() if k not in ("epoch", "step")},
        **recipe.to_json(),
        **task.conclude(fitted.data, folder),
    }
    stores = tuple(Path(os.path.relpath(one.folder, out)).as_posix() for one in data.stores)
    card = TrainedCard(
        order.system, asdict(recipe.system), data.space, system.vocabulary.sha256,
        fingerprint(system), trained, stores,
    )  # fmt: skip
    write_card(folder, card, system.vocabulary)
    write_parquet(folder / "metrics.parquet", pl.DataFrame(state.rows, infer_schema_length=None))
    write_json(folder / "timings.json", state.seconds)
    for name in (STATE, BEST):
        (folder / name).unlink()
    for left in folder.glob(f"*-{CHECKPOINT}"):
        left.unlink()
