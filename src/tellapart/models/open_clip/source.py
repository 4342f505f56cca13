"""What a string behind `open_clip:` names: an architecture, weights, and their activation.

OpenAI's weights and some others were trained with QuickGELU; with GELU they lose points and only
a warning tells (open_clip since 2.29). So the activation follows from the tag, and where nothing
says which it is, the model is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellapart.errors import BadInput, TellapartError, UnknownName

ACTIVATIONS = ("gelu", "quickgelu")
FOLDER_CONFIG = "open_clip_config.json"
EXAMPLES = "ARCH/TAG, ARCH/path/to/checkpoint.pt, ./folder or hf-hub:ORG/NAME"


@dataclass(frozen=True, slots=True)
class Source:
    """What open_clip is asked for: its name of the model, the weights, the activation."""

    model: str
    pretrained: str | None
    activation: str


def source_of(open_clip: Any, text: str, activation: str = "") -> Source:
    """Take the string behind `open_clip:` apart; raises where the activation is not known."""
    if activation and activation not in ACTIVATIONS:
        raise BadInput(
            f"activation={activation} is not an activation", allowed=" or ".join(ACTIVATIONS)
        )
    if text.startswith("hf-hub:"):
        return Source(text, None, _stated(_hub_config(open_clip, text), activation, text))
    if text.startswith((".", "/", "~")) or (Path(text) / FOLDER_CONFIG).is_file():
        return _folder(Path(text).expanduser(), activation)
    arch, _, weights = text.partition("/")
    config = open_clip.get_model_config(arch)
    if config is None:
        raise UnknownName("architecture of open_clip", arch, open_clip.list_models())
    tag = open_clip.get_pretrained_cfg(arch, weights)
    if tag:
        trained = bool(tag.get("quick_gelu") or config.get("quick_gelu") or weights == "openai")
        return Source(arch, weights, _agreed(_name(trained), activation, text))
    return _checkpoint(open_clip, arch, weights, activation, bool(config.get("quick_gelu")))


def _hub_config(open_clip: Any, text: str) -> Any:
    try:
        return open_clip.get_model_config(text)
    except OSError as error:
        raise TellapartError(
            f"{text} is not within reach",
            where=str(error).strip().splitlines()[0][:300],
            allowed="a model of open_clip on the Hugging Face hub or in its cache (HF_HOME)",
            todo="check the name and the network",
        ) from error


def _folder(folder: Path, activation: str) -> Source:
    try:
        config = json.loads((folder / FOLDER_CONFIG).read_text(encoding="utf-8"))
        model = config["model_cfg"]
    except (OSError, ValueError, KeyError):
        raise BadInput(
            "the folder does not hold a model of open_clip",
            where=str(folder),
            allowed=f"a folder with {FOLDER_CONFIG} (with its part model_cfg) and the weights",
            todo="save the model with open_clip.push_to_hf_hub.save_for_hf",
        ) from None
    return Source(f"local-dir:{folder}", None, _stated(model, activation, str(folder)))


def _checkpoint(open_clip: Any, arch: str, weights: str, activation: str, quick: bool) -> Source:
    path = Path(weights).expanduser()
    if not weights or not path.is_file():
        tags = open_clip.list_pretrained_tags_by_model(arch)
        raise BadInput(
            f"{weights!r} is neither a tag of {arch} nor a file"
            if weights
            else f"{arch} is an architecture without weights",
            allowed=f"open_clip:{arch}/TAG with a tag of: {', '.join(tags) or 'none known'}; "
            f"or open_clip:{arch}/path/to/checkpoint.pt",
        )
    if quick:  # the architecture's own name says so
        activation = _agreed("quickgelu", activation, arch)
    if not activation:
        raise BadInput(
            "a bare checkpoint does not say with which activation it was trained",
            where=str(path),
            allowed="activation=gelu or activation=quickgelu (OpenAI's weights and what was "
            "fine-tuned from them: quickgelu)",
            todo=f"open_clip:{arch}/{weights}?activation=...",
        )
    return Source(arch, str(path), activation)


def _stated(config: dict[str, Any], activation: str, where: str) -> str:
    return _agreed(_name(bool(config.get("quick_gelu"))), activation, where)


def _agreed(known: str, asked: str, where: str) -> str:
    """The known activation; asking for another one is a mistake, not a choice."""
    if asked and asked != known:
        raise BadInput(
            f"activation={asked} does not fit: these weights were trained with {known}",
            where=where,
            todo="leave the option out",
        )
    return known


def _name(quick: bool) -> str:
    return "quickgelu" if quick else "gelu"
