"""`python`: a model of one's own, from a module in the current folder or an installed one."""

from __future__ import annotations

import hashlib
import importlib
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from tellapart.errors import BadInput
from tellapart.models.model import ModelInfo, kind_of


def own(module_object: str) -> Any:
    """Your own: python:module:object, a model, a class or a function that makes one.

    The module is looked for among what is installed and in the current folder. The run records
    the string, and the sha256 of the module's file where the model gives no fingerprint itself.
    """
    module_name, _, object_name = module_object.partition(":")
    if not module_name or not object_name:
        raise BadInput(
            f"python:{module_object} does not name an object in a module",
            allowed="python:module:object, such as python:my_models:Brightness",
        )
    module = _module(module_name)
    found: Any = module
    for part in object_name.split("."):
        if not hasattr(found, part):
            raise BadInput(
                f"the module {module_name!r} has no {object_name!r}",
                where=str(getattr(module, "__file__", "")),
                allowed=", ".join(n for n in vars(module) if not n.startswith("_")) or "nothing",
            )
        found = getattr(found, part)
    model = found if _is_model(found) else _made(found, module_object)
    _named(model, f"python:{module_object}", module)
    return model


def _module(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # behind all else, so that no local file hides an installed package
    try:
        importlib.invalidate_caches()
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        what = f"there is no module {name!r}"
        if error.name != name.partition(".")[0] and error.name != name:
            what = f"the module {name!r} needs {error.name!r}, which is not installed"
        raise BadInput(
            what,
            where=here,
            allowed="a module in the current folder, or an installed one",
        ) from error


def _made(found: Any, text: str) -> Any:
    try:
        model = found() if callable(found) else found
    except TypeError as error:
        raise BadInput(
            f"python:{text} cannot be called without arguments: {error}",
            todo="name a function that takes none and returns the model",
        ) from error
    if not _is_model(model):
        raise BadInput(
            f"python:{text} is not a model but {type(model).__name__}",
            allowed="an object with `facts` and embed_images and embed_texts, or score_pairs, or "
            "choose; or a class or function that makes one",
            todo="see docs/models.md, your own",
        )
    return model


def _is_model(found: Any) -> bool:
    if isinstance(found, type):
        return False
    try:
        kind_of(found)
    except TypeError:
        return False
    return isinstance(found.facts, ModelInfo)


def _named(model: Any, name: str, module: ModuleType) -> None:
    """Make the run's model string one that builds the model again, where the object allows it."""
    file = getattr(module, "__file__", None)
    source = hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
    try:
        model.facts = replace(model.facts, name=name, weights=model.facts.weights or source)
    except AttributeError:  # frozen, or facts is a property: then it speaks for itself
        return
