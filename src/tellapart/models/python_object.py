"""`python`: a user's own model, from a module in the current folder or an installed one."""

from __future__ import annotations

import hashlib
import importlib
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from tellapart.errors import BadInput
from tellapart.models.model import ModelInfo, kind_of


def own(module_object: str) -> Any:
    """Your own: python:module:object, a model, a class or a function that makes one.

    The module is searched for among installed packages and in the current folder. The run records
    the string, and the sha256 of the module's file if the model has no fingerprint itself.
    """
    module_name, _, object_name = module_object.partition(":")
    if not module_name or not object_name:
        raise BadInput(
            f"python:{module_object} does not name an object in a module",
            allowed="python:module:object, such as python:my_models:Brightness",
        )
    module = _module(module_name)
    target: Any = module
    for part in object_name.split("."):
        if not hasattr(target, part):
            raise BadInput(
                f"the module {module_name!r} has no {object_name!r}",
                where=str(getattr(module, "__file__", "")),
                allowed=", ".join(n for n in vars(module) if not n.startswith("_")) or "nothing",
            )
        target = getattr(target, part)
    model = target if _is_model(target) else _call(target, module_object)
    file = getattr(module, "__file__", None)
    source = hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
    # The run's model string should rebuild the model, so it replaces the object's name if possible;
    # an object that is frozen, or whose `facts` is a property, keeps its own.
    with suppress(AttributeError):
        weights = model.facts.weights or source
        model.facts = replace(model.facts, name=f"python:{module_object}", weights=weights)
    return model


def _module(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # last, so that no local file hides an installed package
    try:
        importlib.invalidate_caches()
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        what = f"the module {name!r} does not exist"
        if error.name != name.partition(".")[0] and error.name != name:
            what = f"the module {name!r} needs {error.name!r}, which is not installed"
        raise BadInput(
            what,
            where=here,
            allowed="a module in the current folder, or an installed one",
        ) from error


def _call(target: Any, text: str) -> Any:
    try:
        model = target() if callable(target) else target
    except TypeError as error:
        raise BadInput(
            f"python:{text} cannot be called without arguments: {error}",
            todo="name a function that takes no arguments and returns the model",
        ) from error
    if not _is_model(model):
        raise BadInput(
            f"python:{text} is not a model but {type(model).__name__}",
            allowed="an object with `facts` and embed_images and embed_texts, or score_pairs, or "
            "choose; or a class or function that makes one",
            todo="see docs/models.md, your own",
        )
    return model


def _is_model(target: Any) -> bool:
    if isinstance(target, type):
        return False
    try:
        kind_of(target)
    except TypeError:
        return False
    return isinstance(target.facts, ModelInfo)
