"""Dual encoders that can be trained from pixels: models of open_clip and transformers, and towers.

An encoder prepares pictures and texts as its library does, encodes both sides with gradients, and
writes a folder that its own library reads: `open_clip:FOLDER`, `hf:FOLDER`. Its rows are not
normalised; a score is the cosine, multiplied by the scale during training.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.errors import BadInput, need
from tellapart.files import read_json, write_json
from tellapart.models.hf import HFDualEncoder
from tellapart.models.names import ModelName, load
from tellapart.models.onnx import LOOK, pixels, word_ids
from tellapart.models.open_clip import FOLDER_CONFIG, OpenClip, encode_text
from tellapart.models.zoo.towers import Shape, Towers
from tellapart.models.zoo.weights import load_tensors, save_tensors
from tellapart.pictures import Picture
from tellapart.text.tokens import tokens
from tellapart.torch_tools import torch_library

Read = tuple[Tensor, ...]
"""Texts as inputs of an encoder: tensors with one row per text."""
WEIGHTS, WORDS, SHAPE = "weights.safetensors", "vocabulary.json", "towers.json"
OPEN_CLIP_WEIGHTS = "open_clip_model.safetensors"
SIZES = {"small": Shape((32, 64, 128), 128, 1, 2, 4, 128), "storybook": Shape()}
MOST_SCALE = 100.0
"""The largest scale, as in CLIP (Radford et al. 2021, section 2.5)."""


class PixelEncoder(nn.Module):
    """The interface of a dual encoder that can be trained and saved.

    `kind` is the name by which a saved folder says how to load it; `adapted` are the names of the
    layers that LoRA adapts.
    """

    kind: ClassVar[str]
    adapted: ClassVar[tuple[str, ...]] = ()
    needs_regions: ClassVar[bool] = False
    inner: Any

    def prepare_images(self, pictures: Sequence[Picture]) -> Tensor:
        """Pictures as inputs of the image tower."""
        raise NotImplementedError

    def prepare_texts(self, texts: Sequence[str]) -> Read:
        """Texts as inputs of the text tower."""
        raise NotImplementedError

    def encode_images(self, prepared: Tensor) -> Tensor:
        """One row per picture."""
        raise NotImplementedError

    def encode_texts(self, read: Read) -> Tensor:
        """One row per text."""
        raise NotImplementedError

    def log_scale(self) -> Tensor:
        """The logarithm of the scale of cosines."""
        raise NotImplementedError

    def tower(self, name: str) -> list[nn.Parameter]:
        """The weights of the `image` or the `text` tower."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write everything needed to load it again."""
        raise NotImplementedError

    def scale(self) -> Tensor:
        """The scale of cosines, at most `MOST_SCALE`."""
        return self.log_scale().exp().clamp(max=MOST_SCALE)


class OpenClipEncoder(PixelEncoder):
    """A model of open_clip, with its own transform, tokenizer and activation."""

    kind = "open_clip"
    adapted = ("attn", "c_fc", "c_proj")

    def __init__(self, model: OpenClip) -> None:
        super().__init__()
        self.inner = model._model.float()
        self._transform, self._tokenizer = model._transform, model._tokenizer
        self._quick = model.facts.options["activation"] == "quickgelu"
        self._named = ModelName.parse(model.facts.name).rest

    def prepare_images(self, pictures: Sequence[Picture]) -> Tensor:
        """The model's own transform for evaluation, without augmentation."""
        return torch.stack([self._transform(picture.open()) for picture in pictures])

    def prepare_texts(self, texts: Sequence[str]) -> Read:
        """The model's own tokenizer."""
        return (self._tokenizer(list(texts)),)

    def encode_images(self, prepared: Tensor) -> Tensor:
        """One row per picture."""
        rows: Tensor = self.inner.encode_image(prepared)
        return rows

    def encode_texts(self, read: Read) -> Tensor:
        """One row per text."""
        return encode_text(self.inner, read[0])

    def log_scale(self) -> Tensor:
        """The model's own."""
        found: Tensor = self.inner.logit_scale
        return found

    def tower(self, name: str) -> list[nn.Parameter]:
        """The visual part, or all the rest except the scale."""
        image = {id(one) for one in self.inner.visual.parameters()}
        skipped = {id(self.inner.logit_scale)}
        if name == "image":
            return [one for one in self.inner.parameters() if id(one) in image]
        return [one for one in self.inner.parameters() if id(one) not in image | skipped]

    def save(self, folder: Path) -> None:
        """Write a folder that open_clip reads and that states its activation."""
        seen = self.inner.visual
        known = dict(getattr(seen, "preprocess_cfg", {}))
        asked = {k: known[k] for k in ("mean", "std", "interpolation", "resize_mode") if k in known}
        config = {"model_cfg": self._config(), "preprocess_cfg": asked}
        write_json(folder / FOLDER_CONFIG, config)
        save_tensors(folder / OPEN_CLIP_WEIGHTS, self.inner.state_dict())
        if hasattr(self._tokenizer, "save_pretrained"):
            self._tokenizer.save_pretrained(folder)

    def _config(self) -> dict[str, Any]:
        open_clip = torch_library("open_clip")
        local = Path(self._named).expanduser() / FOLDER_CONFIG
        if local.is_file():
            config = json.loads(local.read_text(encoding="utf-8"))["model_cfg"]
        else:
            hub = self._named.startswith("hf-hub:")
            name = self._named if hub else self._named.partition("/")[0]
            config = open_clip.get_model_config(name)
        return {**config, "quick_gelu": self._quick}


class HFEncoder(PixelEncoder):
    """CLIP, SigLIP or SigLIP 2 of transformers, behind its own processor."""

    kind = "hf"
    adapted = ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")

    def __init__(self, model: HFDualEncoder) -> None:
        super().__init__()
        if model._family == "siglip2":
            raise BadInput(
                "SigLIP 2 of many resolutions cannot be trained here",
                allowed="CLIP, SigLIP, or SigLIP 2 of one resolution",
            )
        self.inner = model._model.float()
        self._model, self._processor = model, model._processor

    def prepare_images(self, pictures: Sequence[Picture]) -> Tensor:
        """Through the processor."""
        opened = [picture.open() for picture in pictures]
        seen: Tensor = self._processor(images=opened, return_tensors="pt").pixel_values
        return seen

    def prepare_texts(self, texts: Sequence[str]) -> Read:
        """Token ids, and the mask of real tokens if the family uses it."""
        read = self._model.read(texts)
        mask = read.get("attention_mask")
        return (read["input_ids"],) if mask is None else (read["input_ids"], mask)

    def encode_images(self, prepared: Tensor) -> Tensor:
        """One row per picture."""
        return _rows(self.inner.get_image_features(pixel_values=prepared))

    def encode_texts(self, read: Read) -> Tensor:
        """One row per text."""
        names = ("input_ids", "attention_mask")[: len(read)]
        return _rows(self.inner.get_text_features(**dict(zip(names, read, strict=True))))

    def log_scale(self) -> Tensor:
        """The model's own."""
        found: Tensor = self.inner.logit_scale.reshape(())
        return found

    def tower(self, name: str) -> list[nn.Parameter]:
        """The parameters with the library's prefix for this tower."""
        begins = {"image": ("vision_model", "visual_projection"), "text": ("text_",)}[name]
        return [one for key, one in self.inner.named_parameters() if key.startswith(begins)]

    def save(self, folder: Path) -> None:
        """Write a folder that transformers reads."""
        self.inner.save_pretrained(folder)
        self._processor.save_pretrained(folder)


def _rows(out: Any) -> Tensor:
    # transformers 5 returns an output object, 4 the tensor itself
    rows: Tensor = out if isinstance(out, Tensor) else out.pooler_output
    return rows


class TowersEncoder(PixelEncoder):
    """Storybook's two towers: small enough to train from scratch on two processor cores."""

    kind = "towers"
    adapted = ("asked_and_held", "mixed")

    def __init__(self, size: str, words: Sequence[str]) -> None:
        super().__init__()
        if size not in SIZES:
            raise BadInput(f"towers have no size {size}", allowed=" or ".join(SIZES))
        self.size, self.words = size, tuple(words)
        self.inner = Towers(SIZES[size], 2 + len(self.words))

    def prepare_images(self, pictures: Sequence[Picture]) -> Tensor:
        """Small pictures as uint8."""
        return torch.from_numpy(np.stack([pixels(one.open(), LOOK) for one in pictures]))

    def prepare_texts(self, texts: Sequence[str]) -> Read:
        """Word ids."""
        return (torch.from_numpy(word_ids(texts, self.words)),)

    def encode_images(self, prepared: Tensor) -> Tensor:
        """One row per picture."""
        rows: Tensor = self.inner.image(prepared)
        return rows

    def encode_texts(self, read: Read) -> Tensor:
        """One row per text."""
        rows: Tensor = self.inner.text(read[0])
        return rows

    def log_scale(self) -> Tensor:
        """The model's own."""
        found: Tensor = self.inner.log_scale
        return found

    def tower(self, name: str) -> list[nn.Parameter]:
        """The parameters of one tower."""
        return list(getattr(self.inner, name).parameters())

    def save(self, folder: Path) -> None:
        """Write the size, words and weights."""
        write_json(folder / SHAPE, {"size": self.size})
        write_json(folder / WORDS, list(self.words))
        save_tensors(folder / WEIGHTS, self.inner.state_dict())


def new_towers(name: ModelName, texts: Sequence[str]) -> TowersEncoder:
    """Towers with random weights that know the words of some texts: `towers?size=small`."""
    options = dict(name.options)
    unknown = set(options) - {"size"}
    if unknown or name.rest:
        raise BadInput(f"{name} does not name towers", allowed="towers, towers?size=storybook")
    words = sorted({word for text in texts for word in tokens(text)})
    return TowersEncoder(options.get("size", "small"), words)


def load_towers(folder: Path) -> TowersEncoder:
    """Load saved towers."""
    encoder = TowersEncoder(read_json(folder / SHAPE)["size"], read_json(folder / WORDS))
    encoder.inner.load_state_dict(load_tensors(folder / WEIGHTS))
    return encoder


def encoder_of(model: Any, name: str) -> PixelEncoder:
    """A loaded model, ready for training; raises if its kind is not known."""
    inner = getattr(model, "tuned", model)
    if isinstance(inner, PixelEncoder):
        return inner
    if isinstance(inner, OpenClip):
        return OpenClipEncoder(inner)
    if isinstance(inner, HFDualEncoder):
        return HFEncoder(inner)
    raise BadInput(
        f"{name} is not a dual encoder that can be trained",
        allowed="open_clip:ARCH/TAG, hf:ORG/NAME of the families CLIP and SigLIP, trained:FOLDER "
        "of an earlier fine-tune, or towers (small, from scratch)",
    )


def start_encoder(text: str, texts: Sequence[str]) -> PixelEncoder:
    """The encoder from which training starts, by name; new towers know the words of `texts`."""
    need("torch", "train", "training")
    name = ModelName.parse(text)
    if name.scheme == "towers":
        return new_towers(name, texts)
    return encoder_of(load(text), text)


def saved_encoder(folder: Path, kind: str) -> PixelEncoder:
    """The encoder in a folder that `save` wrote."""
    if kind == "towers":
        return load_towers(folder)
    place = folder.resolve()
    return encoder_of(load(f"{kind}:{place}?device=cpu"), str(folder))
