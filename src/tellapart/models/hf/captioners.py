"""Image-to-text models as pair scorers: how likely is the caption, given the picture?

`reduce=mean` is the mean log-probability of a token, `reduce=sum` that of the whole caption (which
favours short ones). The mark of the end is counted, the mark of the beginning is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tellapart.models.hf.loading import Wanted, described, fetch, weights_of
from tellapart.models.hf.pairs import alike, log_probabilities, seen_once, token_ids
from tellapart.models.model import Facts, Floats
from tellapart.models.torch_tools import dtype_of, fingerprint
from tellapart.pictures import Picture

if TYPE_CHECKING:
    import torch


class _Speaker(Protocol):
    """A family of captioners."""

    def see(self, pixels: torch.Tensor) -> torch.Tensor:
        """What is kept of pictures, a row each."""
        ...

    def logits(self, seen: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores of the next token at each place, and the tokens that stand there."""
        ...


class Captioner:
    """Scores a pair by the log-likelihood of the text as a caption of the picture."""

    def __init__(
        self, transformers: Any, family: str, wanted: Wanted, facts: Facts, reduce: str
    ) -> None:
        kind, speaker = FAMILIES[family]
        self._wanted, self._reduce = wanted, reduce
        self._model = weights_of(getattr(transformers, kind), wanted)
        self._speaker: _Speaker = speaker(self._model)
        self._images = fetch(transformers.AutoImageProcessor.from_pretrained, wanted)
        self._tokenizer = fetch(transformers.AutoTokenizer.from_pretrained, wanted)
        self._end = self._tokenizer.eos_token_id if family == "vision-encoder-decoder" else None
        self._length = _length(self._model.config, self._tokenizer)
        self.facts = Facts(
            facts.name,
            facts.options,
            weights=fingerprint(self._model),
            preprocessing=described(self._images, self._tokenizer, [self._length]),
            dtype=wanted.dtype,
        )

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """One log-likelihood a pair."""
        import torch

        seen = seen_once(pictures, self._images, self._see)
        ids = [self._ended(row) for row in token_ids(self._tokenizer, texts, self._length)]
        scores = np.empty(len(texts))
        for part in alike([len(row) for row in ids]):
            image = torch.stack([seen[pictures[k].id] for k in part])
            tokens = torch.tensor([ids[k] for k in part], device=self._wanted.device)
            with torch.inference_mode():
                each = log_probabilities(*self._speaker.logits(image, tokens))
            scores[part] = (each.mean(1) if self._reduce == "mean" else each.sum(1)).cpu().numpy()
        return scores

    def _see(self, pixels: torch.Tensor) -> torch.Tensor:
        import torch

        with torch.inference_mode():
            return self._speaker.see(pixels.to(self._wanted.device, dtype_of(self._wanted.dtype)))

    def _ended(self, ids: list[int]) -> list[int]:
        return ids if self._end is None or ids[-1:] == [self._end] else [*ids, self._end]


class _Blip:
    def __init__(self, model: Any) -> None:
        self._model = model

    def see(self, pixels: torch.Tensor) -> torch.Tensor:
        seen: torch.Tensor = self._model.vision_model(pixel_values=pixels)[0]
        return seen

    def logits(self, seen: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        begun = tokens.clone()
        begun[:, 0] = self._model.config.text_config.bos_token_id  # as the library's generate does
        out = self._model.text_decoder(
            input_ids=begun,
            attention_mask=torch.ones_like(begun),
            encoder_hidden_states=seen,
            encoder_attention_mask=torch.ones(seen.shape[:2], dtype=torch.long, device=seen.device),
        )
        return out.logits[:, :-1], tokens[:, 1:]


class _Git:
    def __init__(self, model: Any) -> None:
        self._model = model

    def see(self, pixels: torch.Tensor) -> torch.Tensor:
        return pixels  # the decoder takes pixels, and text and picture go through it together

    def logits(self, seen: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        out = self._model(
            input_ids=tokens, attention_mask=torch.ones_like(tokens), pixel_values=seen
        )
        return out.logits[:, -tokens.shape[1] : -1], tokens[:, 1:]


class _EncoderDecoder:
    def __init__(self, model: Any) -> None:
        self._model = model
        config, decoder = model.config, model.config.decoder
        starts = [getattr(c, "decoder_start_token_id", None) for c in (config, decoder)]
        starts += [getattr(decoder, "bos_token_id", None)]
        self._start = next(token for token in starts if token is not None)

    def see(self, pixels: torch.Tensor) -> torch.Tensor:
        seen: torch.Tensor = self._model.encoder(pixel_values=pixels)[0]
        return seen

    def logits(self, seen: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        start = torch.full_like(tokens[:, :1], self._start)
        out = self._model(
            encoder_outputs=(seen,), decoder_input_ids=torch.cat([start, tokens[:, :-1]], dim=1)
        )
        return out.logits, tokens


FAMILIES: dict[str, tuple[str, type[Any]]] = {
    "blip": ("BlipForConditionalGeneration", _Blip),
    "git": ("GitForCausalLM", _Git),
    "vision-encoder-decoder": ("VisionEncoderDecoderModel", _EncoderDecoder),
}
"""The families of captioners that are known: the library's class, and how to ask it."""


def _length(config: Any, tokenizer: Any) -> int:
    """How many tokens the decoder takes, with room for the mark of the end."""
    text = getattr(config, "text_config", None) or getattr(config, "decoder", None) or config
    return int(min(text.max_position_embeddings, tokenizer.model_max_length)) - 1
