"""`model.json`: what a pair of ONNX encoders is fed with, read and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tellapart.errors import BadInput

FORMAT = "tellapart-onnx-1"
RESIZES = ("squash", "shortest")
FILTERS = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")
LAYOUTS = ("NCHW", "NHWC")
TOKENIZERS = ("words", "tokenizers")


@dataclass(frozen=True, slots=True)
class ImageSide:
    """The image encoder; pixels are uint8 as they are, or float32: (x / 255 - mean) / std."""

    file: str = "image.onnx"
    input: str = "pixels"
    output: str = ""
    size: tuple[int, int] = (224, 224)
    resize: str = "shortest"
    filter: str = "bicubic"
    layout: str = "NCHW"
    dtype: str = "float32"
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """`words`: a JSON list of words, storybook's way; `tokenizers`: a tokenizer.json."""

    kind: str = "tokenizers"
    file: str = "tokenizer.json"
    length: int = 77
    pad: int = 0
    full: bool = False


@dataclass(frozen=True, slots=True)
class TextSide:
    """The text encoder; `mask` names the input that says which tokens are no padding."""

    file: str = "text.onnx"
    input: str = "input_ids"
    mask: str = ""
    output: str = ""
    tokenizer: Tokenizer = Tokenizer()


@dataclass(frozen=True, slots=True)
class Description:
    """All of `model.json`."""

    image: ImageSide
    text: TextSide
    normalise: bool = True

    def sides(self) -> dict[str, ImageSide | TextSide]:
        """Both encoders, by name."""
        return {"image": self.image, "text": self.text}

    def preprocessing(self) -> dict[str, Any]:
        """What is hashed into the run."""
        return asdict(self)


def read_description(folder: Path) -> Description:
    """Read `model.json`; every mistake in it is named."""
    path = folder / "model.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise BadInput(
            "the folder holds no model.json",
            where=str(folder),
            allowed="a folder with model.json and the files that it names",
            todo="see docs/adapters.md, onnx",
        ) from None
    except ValueError as error:
        raise BadInput(f"model.json is not JSON: {error}", where=str(path)) from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise BadInput("model.json is of another format", where=str(path), allowed=FORMAT)
    image = dict(_part(told, "image", path))
    image |= {key: tuple(image[key]) for key in ("size", "mean", "std") if key in image}
    text = dict(_part(told, "text", path))
    text["tokenizer"] = _filled(Tokenizer, text.get("tokenizer", {}), path)
    made = Description(
        _filled(ImageSide, image, path), _filled(TextSide, text, path), told.get("normalise", True)
    )
    _check(made, folder)
    return made


def _part(told: Mapping[str, Any], name: str, path: Path) -> Mapping[str, Any]:
    part = told.get(name, {})
    if not isinstance(part, Mapping):
        raise BadInput(f"{name} in model.json is not an object", where=str(path))
    return part


def _filled(kind: Any, values: Mapping[str, Any], path: Path) -> Any:
    unknown = set(values) - set(kind.__dataclass_fields__)
    if unknown:
        raise BadInput(
            f"model.json has fields that mean nothing: {', '.join(sorted(unknown))}",
            where=str(path),
            allowed=", ".join(kind.__dataclass_fields__),
        )
    return kind(**values)


def _check(made: Description, folder: Path) -> None:
    image, tokenizer = made.image, made.text.tokenizer
    choices = [
        ("resize", image.resize, RESIZES),
        ("filter", image.filter, FILTERS),
        ("layout", image.layout, LAYOUTS),
        ("dtype", image.dtype, ("uint8", "float32")),
        ("kind of tokenizer", tokenizer.kind, TOKENIZERS),
    ]
    for name, value, allowed in choices:
        if value not in allowed:
            raise BadInput(
                f"{value!r} is no {name}",
                where=str(folder / "model.json"),
                allowed=", ".join(allowed),
            )
    for file in (image.file, made.text.file, tokenizer.file):
        if not (folder / file).is_file():
            raise BadInput(f"model.json names {file}, which is not there", where=str(folder))
