"""`onnx`: a folder with two encoders as ONNX files and a description of what goes into them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.models.model import Facts, Floats
from tellapart.models.needing import need
from tellapart.models.onnx.folder import Description, read_description
from tellapart.models.onnx.inputs import pixels, tokenizer_of
from tellapart.pictures import Picture

IMAGES, TEXTS = 32, 64


class Onnx:
    """Two encoders as ONNX files: onnx:./folder with image.onnx, text.onnx and model.json.

    A dual encoder that needs no PyTorch; `docs/adapters.md` describes the folder. One thread
    setting and deterministic kernels, so that the same machine gives the same bytes.
    """

    def __init__(self, folder: str) -> None:
        onnxruntime = need("onnxruntime", "models")
        root = Path(folder).expanduser()
        self._told: Description = read_description(root)
        files = {side: root / part.file for side, part in self._told.sides().items()}
        self._sessions = {side: _session(onnxruntime, path) for side, path in files.items()}
        self._tokenize = tokenizer_of(self._told.text.tokenizer, root)
        hashes = [hashlib.sha256(files[side].read_bytes()).hexdigest() for side in sorted(files)]
        self.facts = Facts(
            f"onnx:{folder}",
            weights=seeds.digest(*hashes),
            preprocessing=seeds.digest(self._told.preprocessing(), self._tokenize.fingerprint),
            dtype="float32",
        )

    def embed_images(self, pictures: Sequence[Picture]) -> Floats:
        """One row a picture."""
        told = self._told.image
        rows = []
        for start in range(0, len(pictures), IMAGES):
            some = pictures[start : start + IMAGES]
            seen = np.stack([pixels(picture.open(), told) for picture in some])
            rows.append(self._run("image", {told.input: seen}))
        return _joined(rows)

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """One row a text."""
        told = self._told.text
        # Texts of like length go together, so that little is spent on padding.
        order = sorted(range(len(texts)), key=lambda k: len(texts[k]))
        rows = []
        for start in range(0, len(order), TEXTS):
            ids, mask = self._tokenize([texts[k] for k in order[start : start + TEXTS]])
            rows.append(
                self._run("text", {told.input: ids} | ({told.mask: mask} if told.mask else {}))
            )
        joined = _joined(rows)
        placed = np.empty_like(joined)
        placed[order] = joined
        return placed

    def _run(self, side: str, inputs: dict[str, Any]) -> Floats:
        output = self._told.sides()[side].output
        rows = np.asarray(
            self._sessions[side].run([output] if output else None, inputs)[0], np.float32
        )
        if not self._told.normalise:
            return rows
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.maximum(length, 1e-12))


def _joined(rows: list[Floats]) -> Floats:
    return np.concatenate(rows) if rows else np.empty((0, 0), np.float32)


def _session(onnxruntime: Any, path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
