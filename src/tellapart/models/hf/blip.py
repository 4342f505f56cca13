"""BLIP's two heads: `itm` scores pairs with the matching head, `itc` is a dual encoder.

They are two models that share weights, and published numbers differ by which was used, so the
head is part of the name (pitfall 18).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart.models.hf.dual import text_length
from tellapart.models.hf.loading import Wanted, described, fetch, weights_of
from tellapart.models.hf.pairs import IMAGES, PAIRS, alike, seen_once, token_ids
from tellapart.models.model import Facts, Floats
from tellapart.models.torch_tools import chunks, dtype_of, fingerprint, put_back, unit_rows
from tellapart.pictures import Picture

if TYPE_CHECKING:
    import torch


class _Blip:
    """The weights and the processor, and the vision tower that both heads look through."""

    def __init__(self, transformers: Any, wanted: Wanted, facts: Facts) -> None:
        self._wanted = wanted
        self._model = weights_of(transformers.BlipForImageTextRetrieval, wanted)
        self._images = fetch(transformers.AutoImageProcessor.from_pretrained, wanted)
        self._tokenizer = fetch(transformers.AutoTokenizer.from_pretrained, wanted)
        self._length = text_length(self._model.config, self._tokenizer)
        self.facts = Facts(
            facts.name,
            facts.options,
            weights=fingerprint(self._model),
            preprocessing=described(self._images, self._tokenizer, [self._length]),
            dtype=wanted.dtype,
        )

    def _see(self, pixels: torch.Tensor) -> torch.Tensor:
        import torch

        with torch.inference_mode():
            ready = pixels.to(self._wanted.device, dtype_of(self._wanted.dtype))
            seen: torch.Tensor = self._model.vision_model(pixel_values=ready)[0]
        return seen

    def _read(self, ids: list[list[int]], **more: Any) -> torch.Tensor:
        """What the text tower makes of texts of one length, at their first token."""
        import torch

        tokens = torch.tensor(ids, device=self._wanted.device)
        with torch.inference_mode():
            out = self._model.text_encoder(
                input_ids=tokens, attention_mask=torch.ones_like(tokens), **more
            )
        first: torch.Tensor = out[0][:, 0, :]
        return first


class BlipMatching(_Blip):
    """BLIP's image-text matching head: a score is the log-odds of "match"."""

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """One log-odds a pair (probabilities near 1 would tie in float32)."""
        import torch

        seen = seen_once(pictures, self._images, self._see)
        ids = token_ids(self._tokenizer, texts, self._length)
        scores = np.empty(len(texts), np.float32)
        for part in alike([len(row) for row in ids]):
            image = torch.stack([seen[pictures[k].id] for k in part])
            mask = torch.ones(image.shape[:2], dtype=torch.long, device=image.device)
            first = self._read(
                [ids[k] for k in part], encoder_hidden_states=image, encoder_attention_mask=mask
            )
            with torch.inference_mode():
                logits = self._model.itm_head(first).float()
            scores[part] = (logits[:, 1] - logits[:, 0]).cpu().numpy()
        return scores


class BlipContrast(_Blip):
    """BLIP's contrastive head: a dual encoder."""

    def embed_images(self, pictures: Sequence[Picture]) -> Floats:
        """One row of unit length a picture."""
        import torch

        rows = []
        for part in chunks(len(pictures), IMAGES):
            some = [pictures[k] for k in part]
            pixels = self._images(images=[p.open() for p in some], return_tensors="pt").pixel_values
            with torch.inference_mode():
                rows.append(unit_rows(self._model.vision_proj(self._see(pixels)[:, 0, :])))
        return put_back(rows, range(len(pictures)))

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """One row of unit length a text."""
        import torch

        ids = token_ids(self._tokenizer, texts, self._length)
        rows, order = [], []
        for part in alike([len(row) for row in ids], PAIRS):
            with torch.inference_mode():
                rows.append(unit_rows(self._model.text_proj(self._read([ids[k] for k in part]))))
            order += part
        return put_back(rows, order)
