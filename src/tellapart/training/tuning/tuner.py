"""A whole fine-tune of a dual encoder: from pairs, encoder and task to a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput, UnknownName, need
from tellapart.files import resumable_folder, write_json
from tellapart.measures.cost import TuningCost
from tellapart.models.tuned import TunedCard, read_tuned_card, write_tuned_card
from tellapart.models.zoo.pixel_encoder import PixelEncoder, start_encoder
from tellapart.models.zoo.weights import load_tensors
from tellapart.torch_tools import fingerprint, mend_torchvision
from tellapart.training.checkpoint import BEST, STATE, TrainingState
from tellapart.training.checkpoint import WEIGHTS as CHECKPOINT
from tellapart.training.loop import TrainingJob, fit
from tellapart.training.processes import is_first, processes, wait_for_all
from tellapart.training.settings import Recipe, TrainingSettings, recipe_of
from tellapart.training.tuning.contrast import (
    FROZEN,
    IN_BATCH,
    ContrastSettings,
    ContrastTask,
    TuningConfig,
)
from tellapart.training.tuning.pair_batches import PairSet
from tellapart.training.tuning.pairs import TrainingPairs
from tellapart.types import Progress, silent

NAME = "clip"


@dataclass(frozen=True, slots=True)
class TuningOrder:
    """What to fine-tune, by which recipe; `watched` benchmarks are measured during training."""

    start: str
    recipe: str = "coco"
    changes: tuple[str, ...] = ()
    seed: int = 0
    watched: tuple[Benchmark, ...] = ()


@dataclass(frozen=True, slots=True)
class TunedModel:
    """The result of a fine-tune: its folder, the figures that selected it, and its cost."""

    folder: Path
    card: TunedCard
    notes: tuple[str, ...] = ()
    cost: TuningCost | None = None

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        told = {"cost": self.cost.to_json()} if self.cost else {}
        where = {"folder": str(self.folder), "model": f"trained:{self.folder}"}
        return {**where, **asdict(self.card), **told}

    def __str__(self) -> str:
        trained = self.card.trained
        figures = ", ".join(f"{key} {value:.2f}" for key, value in trained["validation"].items())
        return (
            f"{self.card.start} by {trained['recipe']}: {trained['pairs']:,} pairs, "
            f"{trained['images']:,} images, best after step {trained['best_step']} of epoch "
            f"{trained['best_epoch']} of {trained['epochs']} ({figures})  ->  "
            f"trained:{self.folder}" + (f"\n\n{self.cost}" if self.cost else "")
        )


def tuning_recipe(order: TuningOrder) -> Recipe:
    """All settings of a fine-tune, checked."""
    defaults = Recipe(TuningConfig(), ContrastSettings(), TrainingSettings())
    recipe = recipe_of(NAME, order.recipe, defaults, order.changes)
    recipe.task.check()
    if recipe.system.freeze not in FROZEN:
        raise UnknownName("tower to freeze", recipe.system.freeze, FROZEN[1:])
    names = [f"{one.name}:{measure}" for one in order.watched for measure in one.card.measures]
    if recipe.task.best_by not in (*IN_BATCH, *names):
        raise UnknownName("figure to choose by", recipe.task.best_by, (*IN_BATCH, *names))
    return recipe


def tune(
    order: TuningOrder,
    data: TrainingPairs,
    validation: TrainingPairs,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress = silent,
) -> TunedModel:
    """Fine-tune and write a folder; an interrupted training resumes."""
    recipe = tuning_recipe(order)
    negatives = recipe.task.negatives
    data, validation = data.having(negatives), validation.having(negatives)
    torch.manual_seed(seeds.number(order.seed, "weights"))
    encoder = start_encoder(order.start, _texts(data))
    began = fingerprint(encoder.inner)
    watched = [one.sha256 for one in order.watched]
    job = seeds.digest(
        "tune", order.start, began, recipe.to_json(), order.seed, data.sha256, validation.sha256,
        watched, processes().num_processes,
    )  # fmt: skip
    with resumable_folder(out, job, overwrite=overwrite, finish=is_first()) as folder:
        adapted = adapt(encoder, recipe.system)
        state_of = processes()
        share = (state_of.process_index, state_of.num_processes)
        if recipe.task.statistics and share[1] > 1:
            raise BadInput(
                "batch normalisation cannot learn its statistics from a part of a batch",
                allowed="one process, or statistics=false",
            )
        keep = recipe.task.keep_gb
        sets = (
            PairSet(data, encoder, negatives, share=share, keep_gb=keep),
            PairSet(validation, encoder, negatives, keep_gb=keep / 4),
        )
        task = ContrastTask(
            encoder, recipe.task, sets[0], batch=recipe.training.batch, watched=order.watched
        )
        state = fit(TrainingJob(task, *sets, recipe.training, order.seed, folder), progress)
        if is_first():
            encoder.load_state_dict(load_tensors(folder / BEST))
            if adapted is not None:
                encoder.inner = adapted.merge_and_unload()
            _finish(folder, order, recipe, encoder, state, data)
    wait_for_all()
    return TunedModel(out, read_tuned_card(out))


def _texts(data: TrainingPairs) -> Sequence[str]:
    return [*data.rows["title"], *data.rows["neg_title"].drop_nulls()]


def adapt(encoder: PixelEncoder, config: TuningConfig) -> Any:
    """Freeze a tower, or add LoRA's weights; returns the wrapper that merges them, or None."""
    if config.freeze:
        for one in encoder.tower(config.freeze):
            one.requires_grad_(False)
    if not config.lora_rank:
        return None
    mend_torchvision()  # peft imports it indirectly
    peft = need("peft", "lora")
    settings = peft.LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.lora_scale * config.lora_rank,
        lora_dropout=config.lora_dropout,
        target_modules=list(encoder.adapted),
        bias="none",
    )
    tuner = peft.LoraModel(encoder.inner, settings, "default")
    encoder.inner = tuner.model
    if config.freeze:
        for one in encoder.tower(config.freeze):
            one.requires_grad_(False)
    return tuner


def _finish(
    folder: Path,
    order: TuningOrder,
    recipe: Recipe,
    encoder: PixelEncoder,
    state: TrainingState,
    data: TrainingPairs,
) -> None:
    """Write the best weights and their metadata into the folder."""
    encoder.save(folder)
    measured = [row for row in state.rows if "loss" not in row]
    place = {"epoch": state.best_epoch + 1, "step": state.best_step}
    best = next(row for row in measured if place.items() <= row.items())
    trained = {
        "recipe": order.recipe,
        "seed": order.seed,
        "on": data.name,
        "about": dict(data.about),
        "pairs": len(data),
        "images": len(data.images),
        "epochs": state.epoch,
        "best_epoch": place["epoch"],
        "best_step": state.best_step,
        "measure": recipe.task.best_by,
        "validation": {k: v for k, v in best.items() if k not in place},
        **recipe.to_json(),
    }
    card = TunedCard(NAME, encoder.kind, order.start, fingerprint(encoder.inner), trained)
    write_tuned_card(folder, card)
    write_json(folder / "timings.json", state.seconds)
    for name in (STATE, BEST):
        (folder / name).unlink()
    for left in folder.glob(f"*-{CHECKPOINT}"):
        left.unlink()
