"""`hf`: models of the transformers library, by name on the hub or from a folder.

CLIP, SigLIP and SigLIP 2 are dual encoders. BLIP has two heads that share weights, and published
numbers depend on which was used, so the head is part of the name. Captioners score a pair by the
likelihood of the caption, given the picture.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.models.caption_writer import Decoding
from tellapart.models.checkpoint import (
    Checkpoint,
    alike,
    fetch,
    loaded_info,
    log_probabilities,
    pixels_of,
    see_once,
    text_length,
    to_device,
    token_ids,
    weights_of,
)
from tellapart.models.language import CausalModel, TextClassifier
from tellapart.models.model import NO_ROWS, AnyFloats, ModelInfo, NamedModel
from tellapart.models.names import canonical
from tellapart.pictures import Picture
from tellapart.torch_tools import unit_rows
from tellapart.types import Floats32

if TYPE_CHECKING:
    import torch


PADDING = {"clip": "longest", "siglip": "max_length", "siglip2": "max_length"}
"""The known families, and how their texts are padded."""


class HFDualEncoder(NamedModel):
    """A model with `get_image_features` and `get_text_features`, behind its own processor."""

    def __init__(self, family: str, checkpoint: Checkpoint, info: ModelInfo) -> None:
        self._family, self._checkpoint = family, checkpoint
        self._model = weights_of("AutoModel", checkpoint)
        self._processor = fetch("AutoProcessor", checkpoint)
        images, tokenizer = self._processor.image_processor, self._processor.tokenizer
        self._length = text_length(self._model.config, tokenizer)
        how = [PADDING[family], self._length, "canonical" if family != "clip" else "as is"]
        self.facts = loaded_info(info, checkpoint, self._model, images, tokenizer, how)

    def embed_images(self, pictures: Sequence[Picture]) -> Floats32:
        """One unit-length row per picture."""
        if not pictures:
            return NO_ROWS
        seen = self._processor(images=[p.open() for p in pictures], return_tensors="pt")
        return self._features(self._model.get_image_features, seen)

    def embed_texts(self, texts: Sequence[str]) -> Floats32:
        """One unit-length row per text."""
        if not texts:
            return NO_ROWS
        return self._features(self._model.get_text_features, self.read(texts))

    def read(self, texts: Sequence[str]) -> Any:
        """Texts as inputs of the text tower."""
        tokenizer = self._processor.tokenizer
        return self._processor(
            text=[canonical_text(self._family, text, tokenizer) for text in texts],
            padding=PADDING[self._family],
            truncation=True,
            max_length=self._length,
            return_tensors="pt",
        )

    def _features(self, tower: Any, inputs: Any) -> Floats32:
        import torch

        ready = to_device(inputs, self._checkpoint)
        with torch.inference_mode():
            out = tower(**ready)
        # transformers 5 returns an output object, 4 the tensor itself
        return unit_rows(out if isinstance(out, torch.Tensor) else out.pooler_output)


def canonical_text(family: str, text: str, tokenizer: Any = None) -> str:
    """A caption in the form that the family was trained on.

    SigLIP: lower case, no punctuation, single spaces; SigLIP 2: lower case; CLIP: unchanged (its
    tokenizer lower-cases). Tokenizers that do this themselves get the caption unchanged. SigLIP 2
    of one resolution calls itself `siglip`, but its tokenizer is Gemma's.

    >>> canonical_text("siglip", "A dog,  on the left."), canonical_text("siglip2", "A dog.")
    ('a dog on the left', 'a dog.')
    """
    second = family == "siglip2" or type(tokenizer).__name__.startswith(("Gemma", "Siglip2"))
    if family == "siglip" and not second and not hasattr(tokenizer, "canonicalize_text"):
        bare = text.lower().translate(str.maketrans("", "", string.punctuation))
        return " ".join(bare.split())
    return text.lower() if second else text


class _ImageTextModel(NamedModel):
    """A model with an image processor and a tokenizer; `spare` tokens stay free."""

    def __init__(self, kind: str, checkpoint: Checkpoint, info: ModelInfo, spare: int = 0) -> None:
        self._checkpoint = checkpoint
        self._model = weights_of(kind, checkpoint)
        self._images = fetch("AutoImageProcessor", checkpoint)
        self._tokenizer = fetch("AutoTokenizer", checkpoint)
        self._length = text_length(self._model.config, self._tokenizer) - spare
        self.facts = loaded_info(
            info, checkpoint, self._model, self._images, self._tokenizer, [self._length]
        )


class _Blip(_ImageTextModel):
    """The towers that both heads of BLIP's retrieval model share."""

    def __init__(self, checkpoint: Checkpoint, info: ModelInfo) -> None:
        super().__init__("BlipForImageTextRetrieval", checkpoint, info)

    def _see(self, pixels: torch.Tensor) -> torch.Tensor:
        seen: torch.Tensor = self._model.vision_model(pixel_values=pixels)[0]
        return seen

    def _read(self, ids: list[list[int]], **more: Any) -> torch.Tensor:
        """The text tower's output at the first token, for texts of one length."""
        import torch

        tokens = torch.tensor(ids, device=self._checkpoint.device)
        with torch.inference_mode():
            out = self._model.text_encoder(
                input_ids=tokens, attention_mask=torch.ones_like(tokens), **more
            )
        first: torch.Tensor = out[0][:, 0, :]
        return first


class BlipMatching(_Blip):
    """BLIP's image-text matching head: a score is the log-odds of "match"."""

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """One log-odds per pair (probabilities near 1 would tie in float32)."""
        import torch

        seen = see_once(pictures, self._images, self._checkpoint, self._see)
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

    def embed_images(self, pictures: Sequence[Picture]) -> Floats32:
        """One unit-length row per picture."""
        import torch

        if not pictures:
            return NO_ROWS
        with torch.inference_mode():
            seen = self._see(pixels_of(pictures, self._images, self._checkpoint))
            return unit_rows(self._model.vision_proj(seen[:, 0, :]))

    def embed_texts(self, texts: Sequence[str]) -> Floats32:
        """One unit-length row per text."""
        import torch

        ids = token_ids(self._tokenizer, texts, self._length)
        rows: dict[int, Floats32] = {}
        for part in alike([len(row) for row in ids]):
            with torch.inference_mode():
                some = unit_rows(self._model.text_proj(self._read([ids[k] for k in part])))
            rows |= zip(part, some, strict=True)
        return np.stack([rows[k] for k in range(len(ids))]) if ids else NO_ROWS


class Captioner(_ImageTextModel):
    """Writes captions, and scores a pair by the log-likelihood of the text given the picture.

    A family defines the encoding of pictures (`_see`, one row each), and returns the scores of the
    next token at each position with the actual tokens (`_logits`).
    """

    kind: str
    """The family's class in the library."""

    def __init__(self, checkpoint: Checkpoint, info: ModelInfo, reduce: str) -> None:
        super().__init__(self.kind, checkpoint, info, spare=1)  # for the end token
        self._reduce = reduce

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """One log-likelihood per pair."""
        import torch

        seen = see_once(pictures, self._images, self._checkpoint, self._see)
        ids = self._token_ids(texts)
        scores = np.empty(len(texts))
        for part in alike([len(row) for row in ids]):
            image = torch.stack([seen[pictures[k].id] for k in part])
            tokens = torch.tensor([ids[k] for k in part], device=self._checkpoint.device)
            with torch.inference_mode():
                each = log_probabilities(*self._logits(image, tokens))
            scores[part] = (each.mean(1) if self._reduce == "mean" else each.sum(1)).cpu().numpy()
        return scores

    def write_captions(self, pictures: Sequence[Picture], how: Decoding) -> list[str]:
        """One caption per picture, by the library's own `generate`."""
        if how.method == "sample":  # one by one, so that a sample does not depend on the batch
            return [
                self._written([picture], seeds.number(how.seed, "caption", picture.id), how)[0]
                for picture in pictures
            ]
        return self._written(pictures, 0, how) if pictures else []

    def _written(self, pictures: Sequence[Picture], seed: int, how: Decoding) -> list[str]:
        import torch

        drawing = {"do_sample": True, "temperature": how.temperature, "top_k": 0}
        width = {"do_sample": False, "num_beams": how.beams if how.method == "beam" else 1}
        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(seed)
            tokens = self._model.generate(
                pixel_values=pixels_of(pictures, self._images, self._checkpoint),
                max_new_tokens=how.longest,
                **(drawing if how.method == "sample" else width),
            )
        texts = self._tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return [" ".join(text.split()) for text in texts]

    def _token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return token_ids(self._tokenizer, texts, self._length)

    def _see(self, pixels: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def _logits(
        self, seen: torch.Tensor, tokens: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        raise NotImplementedError


class BlipCaptioner(Captioner):
    """BLIP's caption head: a decoder that attends to the picture."""

    kind = "BlipForConditionalGeneration"

    def _see(self, pixels: torch.Tensor) -> torch.Tensor:
        seen: torch.Tensor = self._model.vision_model(pixel_values=pixels)[0]
        return seen

    def _logits(
        self, seen: torch.Tensor, tokens: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        begun = tokens.clone()
        begun[:, 0] = self._model.config.text_config.bos_token_id  # as in the library's generate
        out = self._model.text_decoder(
            input_ids=begun,
            attention_mask=torch.ones_like(begun),
            encoder_hidden_states=seen,
            encoder_attention_mask=torch.ones(seen.shape[:2], dtype=torch.long, device=seen.device),
        )
        return out.logits[:, :-1], tokens[:, 1:]


class GitCaptioner(Captioner):
    """GIT: text and pixels go through the decoder together."""

    kind = "GitForCausalLM"

    def _see(self, pixels: torch.Tensor) -> torch.Tensor:
        return pixels

    def _logits(
        self, seen: torch.Tensor, tokens: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        mask = torch.ones_like(tokens)
        out = self._model(input_ids=tokens, attention_mask=mask, pixel_values=seen)
        return out.logits[:, -tokens.shape[1] : -1], tokens[:, 1:]


class EncoderDecoderCaptioner(Captioner):
    """An image encoder and a text decoder; the end of the caption is scored, too."""

    kind = "VisionEncoderDecoderModel"

    def _token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        end = self._tokenizer.eos_token_id
        ids = super()._token_ids(texts)
        return [row if end is None or row[-1:] == [end] else [*row, end] for row in ids]

    def _see(self, pixels: torch.Tensor) -> torch.Tensor:
        seen: torch.Tensor = self._model.encoder(pixel_values=pixels)[0]
        return seen

    def _logits(
        self, seen: torch.Tensor, tokens: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        config, decoder = self._model.config, self._model.config.decoder
        starts = [getattr(c, "decoder_start_token_id", None) for c in (config, decoder)]
        starts += [getattr(decoder, "bos_token_id", None)]
        first = next(token for token in starts if token is not None)
        start = torch.full_like(tokens[:, :1], first)
        out = self._model(
            encoder_outputs=(seen,), decoder_input_ids=torch.cat([start, tokens[:, :-1]], dim=1)
        )
        return out.logits, tokens


FAMILIES: dict[str, type[Captioner]] = {
    "blip": BlipCaptioner,
    "git": GitCaptioner,
    "vision-encoder-decoder": EncoderDecoderCaptioner,
}
"""The known families of captioners."""
HEADS = {
    **dict.fromkeys(PADDING, ("",)),
    **dict.fromkeys(FAMILIES, ("caption",)),
    "blip": ("itm", "itc", "caption"),
}
"""The heads of each family of models; the empty head is that of a dual encoder."""
REDUCES = ("mean", "sum")
REDUCING = ("caption", "lm")
"""Heads whose score combines the scores of tokens."""


def hf(
    name: str,
    head: str = "",
    reduce: str = "mean",
    label: str = "",
    dtype: str = "float32",
    device: str = "auto",
    revision: str = "",
) -> Any:
    """CLIP, SigLIP, BLIP and captioners of Hugging Face: hf:ORG/NAME, hf:ORG/NAME?head=itm.

    CLIP, SigLIP and SigLIP 2 are dual encoders. BLIP needs `head=itm` (matching head, pairs),
    `head=itc` (dual encoder) or `head=caption`; GIT and encoder-decoders have `head=caption`
    (log-likelihood of the caption, `reduce=mean` per token or `reduce=sum`). Two heads never look:
    `head=lm` (log-likelihood by a language model, also a .gguf file) and `head=classifier`
    (probability of `label=`).
    """
    options = {"head": head, "reduce": reduce, "label": label}
    options |= {"dtype": dtype, "device": device, "revision": revision}
    checkpoint = Checkpoint.of(name, dtype, device, revision)
    _check_options(head, reduce, label)
    recorded = {"head": head, "dtype": dtype, "device": checkpoint.device}
    recorded |= {"reduce": reduce} if head in REDUCING else {}
    info = ModelInfo(canonical("hf", options, name), recorded)
    if head == "lm":
        return CausalModel(checkpoint, info, reduce)
    if head == "classifier":
        return TextClassifier(checkpoint, info, label)
    family = fetch("AutoConfig", checkpoint).model_type
    _check_head(name, family, head)
    info = replace(info, options={"family": family, **recorded})
    if head == "caption":
        return FAMILIES[family](checkpoint, info, reduce)
    if head:
        if head == "itm":  # log-odds: its softmax says "match" above 0
            return BlipMatching(checkpoint, replace(info, threshold=0.0))
        return BlipContrast(checkpoint, info)
    return HFDualEncoder(family, checkpoint, info)


def _check_options(head: str, reduce: str, label: str) -> None:
    if reduce not in REDUCES:
        raise BadInput(f"reduce={reduce} is not known", allowed=" or ".join(REDUCES))
    if reduce != "mean" and head not in REDUCING:
        heads = " or ".join(f"head={one}" for one in REDUCING)
        raise BadInput(f"reduce={reduce} has no effect without {heads}", todo="leave it out")
    if label and head != "classifier":
        raise BadInput(f"label={label} has no effect without head=classifier", todo="leave it out")


def _check_head(name: str, family: str, head: str) -> None:
    if family not in HEADS:
        raise BadInput(
            f"{name!r} belongs to the family {family!r}, which hf cannot score",
            allowed=", ".join(sorted(HEADS)),
            todo="to score captions alone, add ?head=lm or ?head=classifier; for models that "
            "answer questions, use vqascore:; otherwise see docs/adapters.md, your own model",
        )
    heads = HEADS[family]
    if head not in heads:
        problem = f"it has no head={head}" if head else "its heads give different scores"
        raise BadInput(
            f"{name!r} belongs to the family {family!r}: {problem}",
            allowed=" or ".join(f"head={one}" if one else "no head" for one in heads),
            todo=f"hf:{name}?head={heads[0]}" if heads[0] else f"hf:{name}",
        )
