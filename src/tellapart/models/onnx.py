"""`onnx`: a folder with two encoders as ONNX files; its `model.json` describes their inputs.

`storybook`, the small model that comes with the package, is such a folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tellapart import seeds
from tellapart.errors import BadInput, need
from tellapart.models.model import NO_ROWS, ModelInfo, NamedModel
from tellapart.pictures import Picture
from tellapart.text.tokens import tokens
from tellapart.types import Floats32, Ints

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

FORMAT = "tellapart-onnx-1"
RESIZES = ("squash", "shortest")
FILTERS = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")
LAYOUTS = ("NCHW", "NHWC")
TOKENIZERS = ("words", "tokenizers")
PAD, UNKNOWN = 0, 1
"""The ids of padding and of unknown words; the words follow."""
MOST_WORDS = 40
"""At most this many words of a caption are read."""
STORYBOOK = Path(__file__).parent / "storybook_files"
STORYBOOK_FILES = ("image.onnx", "text.onnx", "vocabulary.json")


@dataclass(frozen=True, slots=True)
class ImageSide:
    """The image encoder; pixels are raw uint8, or float32: (x / 255 - mean) / std."""

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


LOOK = ImageSide(size=(112, 112), resize="squash", filter="box", layout="NHWC", dtype="uint8")
"""How `storybook` looks at a picture."""


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """`words`: a JSON list of words, as for storybook; `tokenizers`: a tokenizer.json."""

    kind: str = "tokenizers"
    file: str = "tokenizer.json"
    length: int = 77
    pad: int = 0
    full: bool = False


@dataclass(frozen=True, slots=True)
class TextSide:
    """The text encoder; `mask` names the input that marks the tokens that are not padding."""

    file: str = "text.onnx"
    input: str = "input_ids"
    mask: str = ""
    output: str = ""
    tokenizer: Tokenizer = Tokenizer()


@dataclass(frozen=True, slots=True)
class Description:
    """The contents of `model.json`."""

    image: ImageSide
    text: TextSide
    normalise: bool = True

    def sides(self) -> dict[str, ImageSide | TextSide]:
        """Both encoders, by name."""
        return {"image": self.image, "text": self.text}


def read_description(folder: Path) -> Description:
    """Read `model.json`; errors name every mistake in it."""
    path = folder / "model.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise BadInput(
            "the folder has no model.json",
            where=str(folder),
            allowed="a folder with model.json and the files that it names",
            todo="see docs/adapters.md, onnx",
        ) from None
    except ValueError as error:
        raise BadInput(f"model.json is not JSON: {error}", where=str(path)) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BadInput("model.json is of another format", where=str(path), allowed=FORMAT)
    for name in ("image", "text"):
        if not isinstance(data.get(name, {}), dict):
            raise BadInput(f"{name} in model.json is not an object", where=str(path))
    image, text = dict(data.get("image", {})), dict(data.get("text", {}))
    image |= {key: tuple(image[key]) for key in ("size", "mean", "std") if key in image}
    text["tokenizer"] = _from_fields(Tokenizer, text.get("tokenizer", {}), path)
    description = Description(
        _from_fields(ImageSide, image, path),
        _from_fields(TextSide, text, path),
        data.get("normalise", True),
    )
    _check(description, folder)
    return description


def _from_fields(kind: Any, values: Mapping[str, Any], path: Path) -> Any:
    unknown = set(values) - set(kind.__dataclass_fields__)
    if unknown:
        raise BadInput(
            f"model.json has unknown fields: {', '.join(sorted(unknown))}",
            where=str(path),
            allowed=", ".join(kind.__dataclass_fields__),
        )
    return kind(**values)


def _check(description: Description, folder: Path) -> None:
    image, tokenizer = description.image, description.text.tokenizer
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
                f"{value!r} is not a {name}",
                where=str(folder / "model.json"),
                allowed=", ".join(allowed),
            )
    for file in (image.file, description.text.file, tokenizer.file):
        if not (folder / file).is_file():
            raise BadInput(f"model.json names {file}, which does not exist", where=str(folder))


def pixels(picture: PILImage, side: ImageSide) -> npt.NDArray[Any]:
    """One picture as an input of the encoder.

    `squash` resizes to the size whatever the shape; `shortest` resizes the shorter side to it and
    crops the centre.
    """
    from PIL.Image import Resampling

    width, height = side.size
    kind = Resampling[side.filter.upper()]
    picture = picture.convert("RGB")
    if side.resize == "shortest":
        scale = max(width / picture.width, height / picture.height)
        wide = max(width, round(picture.width * scale))
        high = max(height, round(picture.height * scale))
        left, top = (wide - width) // 2, (high - height) // 2
        resized = picture.resize((wide, high), kind)
        seen: npt.NDArray[Any] = np.asarray(
            resized.crop((left, top, left + width, top + height)), np.uint8
        )
    else:
        seen = np.asarray(picture.resize((width, height), kind), np.uint8)
    if side.dtype == "float32":
        mean, std = np.asarray(side.mean, np.float32), np.asarray(side.std, np.float32)
        seen = (seen.astype(np.float32) / np.float32(255) - mean) / std
    return np.ascontiguousarray(seen.transpose(2, 0, 1)) if side.layout == "NCHW" else seen


def word_ids(texts: Sequence[str], vocabulary: Sequence[str]) -> Ints:
    """The ids of the words of some texts, shape (n, longest), padded with `PAD`.

    >>> word_ids(["A dog.", "A big dog!"], ["a", "dog"])
    array([[2, 3, 0],
           [2, 1, 3]])
    """
    number = {word: k for k, word in enumerate(vocabulary, UNKNOWN + 1)}
    rows = [[number.get(w, UNKNOWN) for w in tokens(text)[:MOST_WORDS]] for text in texts]
    ids = np.full((len(rows), max([1, *map(len, rows)])), PAD, np.int64)
    for row, words in zip(ids, rows, strict=True):
        row[: len(words)] = words
    return ids


@dataclass(frozen=True, slots=True)
class Tokenize:
    """Turns texts into (ids, mask), both of shape (n, longest); has a hash of its settings."""

    fingerprint: str
    call: Callable[[Sequence[str]], Ints]
    pad: int

    def __call__(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """The tokens, and a mask with 1 where they are not padding."""
        ids = self.call(texts)
        return ids, (ids != self.pad).astype(np.int64)


def tokenizer_of(settings: Tokenizer, folder: Path) -> Tokenize:
    """The tokenizer that a description names."""
    stored = (folder / settings.file).read_bytes()
    if settings.kind == "words":
        words: list[str] = json.loads(stored)
        return Tokenize(seeds.digest(words), lambda texts: word_ids(texts, words), PAD)
    library = need("tokenizers", "models").Tokenizer.from_str(stored.decode("utf-8"))
    library.enable_truncation(max_length=settings.length)
    library.enable_padding(pad_id=settings.pad, length=settings.length if settings.full else None)

    def call(texts: Sequence[str]) -> Ints:
        return np.array([row.ids for row in library.encode_batch(list(texts))], np.int64)

    return Tokenize(seeds.digest(stored.decode("utf-8")), call, settings.pad)


class Onnx(NamedModel):
    """Two encoders as ONNX files: onnx:./folder with image.onnx, text.onnx and model.json.

    A dual encoder that needs no PyTorch; `docs/adapters.md` describes the folder. The number of
    threads is fixed and kernels are deterministic, so that a machine always gives the same bytes.
    """

    def __init__(self, folder: str) -> None:
        onnxruntime = need("onnxruntime", "models")
        root = Path(folder).expanduser()
        self._description = read_description(root)
        files = {side: root / part.file for side, part in self._description.sides().items()}
        self._sessions = {side: _session(onnxruntime, path) for side, path in files.items()}
        self._tokenize = tokenizer_of(self._description.text.tokenizer, root)
        self.facts = ModelInfo(
            f"onnx:{folder}",
            weights=_hash_of_files(files[side] for side in sorted(files)),
            preprocessing=seeds.digest(asdict(self._description), self._tokenize.fingerprint),
            dtype="float32",
        )

    def embed_images(self, pictures: Sequence[Picture]) -> Floats32:
        """One row per picture."""
        if not pictures:
            return NO_ROWS
        side = self._description.image
        seen = np.stack([pixels(picture.open(), side) for picture in pictures])
        return self._run("image", {side.input: seen})

    def embed_texts(self, texts: Sequence[str]) -> Floats32:
        """One row per text."""
        if not texts:
            return NO_ROWS
        side = self._description.text
        ids, mask = self._tokenize(texts)
        return self._run("text", {side.input: ids} | ({side.mask: mask} if side.mask else {}))

    def _run(self, side: str, inputs: dict[str, Any]) -> Floats32:
        output = self._description.sides()[side].output
        rows = np.asarray(
            self._sessions[side].run([output] if output else None, inputs)[0], np.float32
        )
        if not self._description.normalise:
            return rows
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.maximum(length, 1e-12))


def _session(onnxruntime: Any, path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    # Two, or one where that is wanted, as in workers; the bytes are the same.
    options.intra_op_num_threads = 1 if os.environ.get("OMP_NUM_THREADS") == "1" else 2
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _hash_of_files(paths: Iterable[Path]) -> str:
    return seeds.digest(*(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths))


def storybook() -> Onnx:
    """A small network that learned to match drawings of the built-in world with captions.

    A dual encoder of two million parameters that runs on any processor. It knows the world's
    backgrounds and colours well, numbers, sizes and things less well, and takes no notice of the
    order of words: it cannot say which of two things is red, or on the left. How it was trained
    and how it scores is in `docs/storybook.md`.
    """
    model = Onnx(str(STORYBOOK))
    # Do not reword: this text is part of the cache key, so that cached rows stay valid.
    preprocessing = (
        "RGB, squeezed to 112 x 112 by Pillow's BOX filter, uint8; lower-case words of "
        f"tellapart.text.words, at most {MOST_WORDS}, unknown ones as one word"
    )
    model.facts = ModelInfo(
        "storybook",
        weights=_hash_of_files(STORYBOOK / name for name in STORYBOOK_FILES),
        preprocessing=seeds.digest(preprocessing),
        dtype="float32",
    )
    return model
