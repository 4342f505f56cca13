"""Sentence vectors by a model of sentence-transformers (Reimers & Gurevych 2019)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tellapart.errors import BadInput, need
from tellapart.models.model import ModelInfo, NamedModel
from tellapart.torch_tools import mend_torchvision
from tellapart.types import Floats32

PROBE = "Two dogs run after a red ball."


class SentenceModel(NamedModel):
    """A model, given by its name on the hub or its folder."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def facts(self) -> ModelInfo:  # type: ignore[override]
        """Name in full and fingerprint."""
        return ModelInfo(f"sentences:{self.name}", weights=self.fingerprint, dtype="float32")

    def embed_texts(self, texts: Sequence[str]) -> Floats32:
        """One vector of unit length a text."""
        rows = self._model.encode(
            list(texts),
            batch_size=max(1, len(texts)),
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        return np.asarray(rows, np.float32)

    @cached_property
    def fingerprint(self) -> str:
        """Another for a model with other weights, whatever its name: a hash of what it says."""
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
