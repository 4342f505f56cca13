"""CLIP, SigLIP and SigLIP 2 through transformers: dual encoders.

Texts are padded as each was trained: CLIP to the longest (its causal tower reads nothing behind
the end token), SigLIP and SigLIP 2 always to their full length of 64, canonicalised (pitfall 11).
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tellapart.models.hf.loading import Wanted, described, fetch, weights_of
from tellapart.models.model import Facts, Floats
from tellapart.models.torch_tools import chunks, dtype_of, fingerprint, put_back, unit_rows
from tellapart.pictures import Picture

if TYPE_CHECKING:
    import torch

PADDING = {"clip": "longest", "siglip": "max_length", "siglip2": "max_length"}
"""The families that are known, and how their texts are padded."""
IMAGES, TEXTS = 32, 64


class HFDualEncoder:
    """A model with `get_image_features` and `get_text_features`, behind its own processor."""

    def __init__(self, transformers: Any, family: str, wanted: Wanted, facts: Facts) -> None:
        self._family, self._wanted = family, wanted
        self._model = weights_of(transformers.AutoModel, wanted)
        self._processor = fetch(transformers.AutoProcessor.from_pretrained, wanted)
        self._length = text_length(self._model.config, self._processor.tokenizer)
        self.facts = Facts(
            facts.name,
            facts.options,
            weights=fingerprint(self._model),
            preprocessing=described(
                self._processor.image_processor,
                self._processor.tokenizer,
                [PADDING[family], self._length, "canonical" if family != "clip" else "as is"],
            ),
            dtype=wanted.dtype,
        )

    def embed_images(self, pictures: Sequence[Picture]) -> Floats:
        """One row of unit length a picture."""
        rows = []
        for part in chunks(len(pictures), IMAGES):
            opened = [pictures[k].open() for k in part]
            seen = self._processor(images=opened, return_tensors="pt")
            rows.append(self._features(self._model.get_image_features, seen))
        return put_back(rows, range(len(pictures)))

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """One row of unit length a text."""
        ready = [canonical_text(self._family, text, self._processor.tokenizer) for text in texts]
        order = sorted(range(len(ready)), key=lambda k: len(ready[k]))
        rows = []
        for part in chunks(len(order), TEXTS):
            read = self._processor(
                text=[ready[order[k]] for k in part],
                padding=PADDING[self._family],
                truncation=True,
                max_length=self._length,
                return_tensors="pt",
            )
            rows.append(self._features(self._model.get_text_features, read))
        return put_back(rows, order)

    def _features(self, tower: Any, inputs: Any) -> Floats:
        import torch

        ready = to_device(inputs, self._wanted)
        with torch.inference_mode():
            out = tower(**ready)
        # transformers 5 returns an output object, 4 the tensor itself
        return unit_rows(out if isinstance(out, torch.Tensor) else out.pooler_output)


def to_device(inputs: Any, wanted: Wanted) -> dict[str, torch.Tensor]:
    """Inputs on the model's device, pixels in its dtype."""
    dtype = dtype_of(wanted.dtype)
    return {
        name: value.to(wanted.device, dtype)
        if value.is_floating_point()
        else value.to(wanted.device)
        for name, value in inputs.items()
    }


def text_length(config: Any, tokenizer: Any) -> int:
    """How many tokens the text tower takes; tokenizers saved without it claim 10 ** 30."""
    text = getattr(config, "text_config", config)
    return int(min(text.max_position_embeddings, tokenizer.model_max_length))


def canonical_text(family: str, text: str, tokenizer: Any = None) -> str:
    """A caption as the family's training saw captions.

    SigLIP: lower case, no punctuation, single spaces; SigLIP 2: lower case; CLIP: as it is (its
    tokenizer lower-cases). Tokenizers that do this themselves are left to do so. SigLIP 2 of one
    resolution calls itself `siglip`, but its tokenizer is Gemma's.

    >>> canonical_text("siglip", "A dog,  on the left."), canonical_text("siglip2", "A dog.")
    ('a dog on the left', 'a dog.')
    """
    second = family == "siglip2" or type(tokenizer).__name__.startswith(("Gemma", "Siglip2"))
    if family == "siglip" and not second and not hasattr(tokenizer, "canonicalize_text"):
        bare = text.lower().translate(str.maketrans("", "", string.punctuation))
        return " ".join(bare.split())
    return text.lower() if second else text
