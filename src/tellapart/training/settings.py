"""Settings of training, and recipes: YAML files with named settings for a system."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from typing import TYPE_CHECKING, Any

import yaml

from tellapart.errors import BadInput, UnknownName
from tellapart.registry import read_options

if TYPE_CHECKING:
    import torch

OPTIMISERS = ("adam", "adamw", "adagrad", "rmsprop", "sgd")
TASK = "task"
"""The key of a recipe that names a task other than the system's own."""
SCHEDULES = ("constant", "step", "exponential", "cosine")


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How weights are trained; the defaults are from VSE++'s code, which BISON's systems follow.

    `batch` counts captions, `together` how many captions of an image are in it side by side. `rate`
    is multiplied by `decay` every `every` epochs (step), each epoch (exponential), or falls to zero
    along a cosine, after it rises for `warmup` steps. Gradients are clipped at a norm of
    `clip_norm` or a size of `clip_value` (0: not at all). `patience` epochs without improvement end
    the training (0: never). `least` is how often a word must occur in the training captions to be
    known; captions are cut at `longest` words. Without `decay_all`, biases, norms and other vectors
    are exempt from `weight_decay`. Validation happens after each epoch and every `validate_steps`
    steps (0: never). With `keep_last` the last weights are kept, otherwise the best.
    """

    epochs: int = 20
    batch: int = 128
    together: int = 1
    accumulate: int = 1
    optimiser: str = "adam"
    rate: float = 5e-4
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    momentum: float = 0.0
    weight_decay: float = 0.0
    decay_all: bool = True
    schedule: str = "step"
    decay: float = 0.1
    every: int = 10
    warmup: int = 0
    clip_norm: float = 2.0
    clip_value: float = 0.0
    patience: int = 0
    least: int = 5
    longest: int = 50
    precision: str = "no"
    log_steps: int = 50
    checkpoint_steps: int = 500
    validate_steps: int = 0
    keep_last: bool = False

    def check(self) -> None:
        """Raise if a setting makes no sense."""
        if self.optimiser not in OPTIMISERS:
            raise UnknownName("optimiser", self.optimiser, OPTIMISERS)
        if self.schedule not in SCHEDULES:
            raise UnknownName("schedule", self.schedule, SCHEDULES)
        if self.precision not in ("no", "bf16", "fp16"):
            raise UnknownName("precision", self.precision, ("no", "bf16", "fp16"))
        if not (math.isfinite(self.rate) and self.rate >= 0):
            raise BadInput(f"rate={self.rate} is not a rate", allowed="a number, 0 or more")
        for name in ("epochs", "batch", "together", "accumulate", "log_steps", "checkpoint_steps"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name}={getattr(self, name)} is too small", allowed="1 or more")
        if self.batch % self.together:
            raise BadInput(
                f"a batch of {self.batch} captions cannot hold {self.together} of each image",
                allowed=f"a multiple of {self.together}",
            )

    def rate_at(self, step: int, steps_an_epoch: int) -> float:
        """The learning rate of a step, counted from 0 over all epochs."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        epoch = step // max(1, steps_an_epoch)
        if self.schedule == "step":
            return self.rate * self.decay ** (epoch // self.every)
        if self.schedule == "exponential":
            return self.rate * self.decay**epoch
        if self.schedule == "cosine":
            total = self.epochs * steps_an_epoch
            done = (step - self.warmup) / max(1, total - self.warmup)
            return self.rate * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
        return self.rate


def make_optimiser(settings: TrainingSettings, module: torch.nn.Module) -> torch.optim.Optimizer:
    """The optimiser; `fused`, with one kernel per step, if available."""
    import torch

    trained = [one for one in module.parameters() if one.requires_grad]
    weights: list[Any] = trained
    if not settings.decay_all:
        weights = [
            {"params": [one for one in trained if one.ndim > 1]},
            {"params": [one for one in trained if one.ndim < 2], "weight_decay": 0.0},
        ]
    common: dict[str, Any] = {"lr": settings.rate, "weight_decay": settings.weight_decay}
    betas, epsilon = (settings.beta1, settings.beta2), settings.epsilon
    if settings.optimiser == "adam":
        return torch.optim.Adam(weights, betas=betas, eps=epsilon, fused=True, **common)
    if settings.optimiser == "adamw":
        return torch.optim.AdamW(weights, betas=betas, eps=epsilon, fused=True, **common)
    if settings.optimiser == "adagrad":
        return torch.optim.Adagrad(weights, eps=epsilon, fused=True, **common)
    if settings.optimiser == "rmsprop":
        momentum, alpha = settings.momentum, settings.beta2
        return torch.optim.RMSprop(weights, alpha=alpha, eps=epsilon, momentum=momentum, **common)
    return torch.optim.SGD(weights, momentum=settings.momentum, fused=True, **common)


@dataclass(frozen=True, slots=True)
class Recipe:
    """All settings of one training: the system's own, its task's, and the loop's."""

    system: Any
    task: Any
    training: TrainingSettings

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON-like values."""
        parts = ("system", "task", "training")
        return {part: asdict(getattr(self, part)) for part in parts}


def recipe_of(name: str, chosen: str, defaults: Recipe, changes: Sequence[str] = ()) -> Recipe:
    """The recipe of a system, with some settings changed: `rate=1e-4`.

    Systems without a recipe file have one recipe, `default`.
    """
    recipe = defaults
    if chosen != "default":
        recipes = _recipes(name)
        if chosen not in recipes:
            raise UnknownName(f"recipe of {name}", chosen, [*recipes, "default"])
        own = {key: value for key, value in recipes[chosen].items() if key != TASK}
        recipe = _changed(recipe, own, f"recipe {chosen} of {name}")
    given: dict[str, str] = {}
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals:
            raise BadInput(f"--set {change} has no value", allowed="--set NAME=VALUE")
        given[key.strip()] = value.strip()
    recipe = _changed(recipe, given, "--set")
    recipe.training.check()
    return recipe


def task_of(name: str, chosen: str) -> str:
    """The task that a recipe of a system names, or an empty string."""
    return str(_recipes(name).get(chosen, {}).get(TASK, ""))


def _recipes(name: str) -> dict[str, dict[str, Any]]:
    file = resources.files("tellapart.training.recipes").joinpath(f"{name}.yaml")
    if not file.is_file():
        return {}
    found: dict[str, dict[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return {key: value or {} for key, value in found.items()}


def _changed(recipe: Recipe, changes: Mapping[str, Any], where: str) -> Recipe:
    """A recipe with some settings changed, each in the part it belongs to."""
    parts = {part: getattr(recipe, part) for part in ("training", "task", "system")}
    homes = {f.name: part for part, one in reversed(parts.items()) for f in fields(one)}
    for key, value in changes.items():
        if key not in homes:
            error = UnknownName("setting", key, homes)
            error.where = where
            raise error
        part = parts[homes[key]]
        defaults = {key: getattr(part, key)}
        read = read_options("the recipe", [(key, str(value))], defaults, where)
        parts[homes[key]] = replace(part, **read)
    return Recipe(parts["system"], parts["task"], parts["training"])
