"""Sentence vectors by a model of sentence-transformers (Reimers & Gurevych 2019)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tellapart.errors import BadInput, need
from tellapart.models.torch_tools import mend_torchvision
from tellapart.text.gensim_vectors import Progress
from tellapart.types import Floats32

PART = 4096
PROBE = "Two dogs run after a red ball."


@dataclass(frozen=True)
class SentenceModel:
    """A model, given by its name on the hub or its folder."""

    name: str

    def vectors(
        self, texts: Sequence[str], progress: Progress = lambda done, total: None
    ) -> Floats32:
        """One vector of unit length a text."""
        parts = []
        for start in range(0, len(texts), PART):
            part = list(texts[start : start + PART])
            parts.append(
                self._model.encode(
                    part, batch_size=64, normalize_embeddings=True, show_progress_bar=False
                )
            )
            progress(start + len(part), len(texts))
        return np.concatenate(parts).astype(np.float32)

    @property
    def fingerprint(self) -> str:
        """Another for a model with other weights, whatever its name: a hash of what it says."""
        return hashlib.sha256(self.vectors([PROBE]).round(4).tobytes()).hexdigest()

    @cached_property
    def _model(self) -> Any:
        return _loaded(self.name)


def _loaded(name: str) -> Any:
    mend_torchvision()
    library = need("sentence_transformers", "sentences", f"the vectors sentences:{name}")
    try:
        return library.SentenceTransformer(name, device="cpu")
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise BadInput(
            f"the sentence model {name!r} cannot be loaded: {reason}",
            allowed="a folder with a model of sentence-transformers, or its name on the hub",
        ) from None
