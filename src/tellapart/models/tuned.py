"""Dual encoders fine-tuned by this package: their folders, and their use as models.

A folder: `system.json` (the card: the starting model, the recipe, how it was trained), the encoder
in its own library's format, `metrics.jsonl`; `timings.json` is never part of a hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.files import read_json, write_json
from tellapart.models.model import NO_ROWS, ModelInfo, NamedModel
from tellapart.pictures import Picture
from tellapart.torch_tools import fingerprint, unit_rows
from tellapart.types import Floats32

SCHEMA = "tellapart-tuned-1"
CARD = "system.json"


@dataclass(frozen=True)
class TunedCard:
    """The metadata of a fine-tuned encoder; `encoder` is the library that reads it."""

    system: str
    encoder: str
    start: str
    weights: str
    trained: Mapping[str, Any]


def write_tuned_card(folder: Path, card: TunedCard) -> None:
    """Write the card beside the weights."""
    write_json(folder / CARD, {"schema": SCHEMA, **asdict(card)})


def is_tuned(folder: Path) -> bool:
    """Whether a folder holds a fine-tuned encoder."""
    path = folder / CARD
    card = read_json(path) if path.is_file() else None
    return isinstance(card, dict) and card.get("schema") == SCHEMA


def read_tuned_card(folder: Path) -> TunedCard:
    """Read the card of a fine-tuned encoder."""
    card = read_json(folder / CARD)
    try:
        return TunedCard(**{f.name: card[f.name] for f in fields(TunedCard)})
    except (KeyError, TypeError) as error:
        raise BadInput(
            f"{CARD} is not the card of a fine-tuned encoder: {error}",
            where=str(folder / CARD),
            todo="train it again: tellapart train clip --from MODEL --on PAIRS --out FOLDER",
        ) from None


class TunedEncoder(NamedModel):
    """A fine-tuned dual encoder as a model; `tuned` can be trained further."""

    def __init__(self, tuned: Any, facts: ModelInfo, device: str) -> None:
        self.tuned, self.facts, self._device = tuned, facts, device

    @classmethod
    def live(cls, encoder: Any, device: str) -> TunedEncoder:
        """An encoder that is still being trained, so its embeddings must not be cached."""
        return cls(encoder, ModelInfo("training", dtype="float32"), device)

    def embed_images(self, pictures: Sequence[Picture]) -> Floats32:
        """One unit-length row per picture."""
        import torch

        if not pictures:
            return NO_ROWS
        with torch.inference_mode():
            seen = self.tuned.prepare_images(pictures).to(self._device)
            return unit_rows(self.tuned.encode_images(seen))

    def embed_texts(self, texts: Sequence[str]) -> Floats32:
        """One unit-length row per text."""
        import torch

        if not texts:
            return NO_ROWS
        with torch.inference_mode():
            read = tuple(one.to(self._device) for one in self.tuned.prepare_texts(texts))
            return unit_rows(self.tuned.encode_texts(read))


def load_tuned(folder: Path, name: str, device: str) -> TunedEncoder:
    """The model in a folder, checked against its card."""
    from tellapart.models.zoo.pixel_encoder import saved_encoder

    card = read_tuned_card(folder)
    encoder = saved_encoder(folder, card.encoder).to(device).eval()
    weights = fingerprint(encoder.inner)
    if weights != card.weights:
        raise BadInput(
            "the weights do not match the card: they are not the weights that were trained",
            where=str(folder),
            todo="restore the original file, or train again",
        )
    # Pictures and texts are prepared as for the starting model, so its name identifies that.
    preprocessing = seeds.digest("tuned", card.encoder, card.start)
    facts = ModelInfo(name, weights=weights, preprocessing=preprocessing, dtype="float32")
    return TunedEncoder(encoder, facts, device)
