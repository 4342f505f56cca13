"""Trained systems: their folders, and their use as models.

A folder: `system.json` (the card: system, settings, feature space, how it was trained),
`weights.safetensors`, `vocabulary.json`, `metrics.jsonl`; `timings.json` is never part of a hash.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tellapart import seeds
from tellapart.errors import BadInput, UnknownName, need
from tellapart.files import read_json, write_json
from tellapart.image_features.source import FeatureSource
from tellapart.image_features.store import (
    MOST,
    FeatureSpace,
    FeatureStore,
    ImageArrays,
    load_store,
)
from tellapart.models.caption_writer import Decoding
from tellapart.models.model import NO_ROWS, ModelInfo, NamedModel
from tellapart.models.names import canonical
from tellapart.models.tuned import TunedEncoder, is_tuned, load_tuned
from tellapart.pictures import Picture
from tellapart.text.tokens import tokens
from tellapart.text.vocabulary import Vocabulary, load_vocabulary
from tellapart.torch_tools import device_of, fingerprint
from tellapart.types import Floats32, Progress, silent

SCHEMA = "tellapart-system-1"
CARD, WEIGHTS, WORDS = "system.json", "weights.safetensors", "vocabulary.json"
SEEN, ZEROED, SHUFFLED = "seen", "zeroed", "shuffled"


@dataclass(frozen=True)
class TrainedCard:
    """The metadata of a trained system; `features` are stores that may have its images."""

    system: str
    settings: Mapping[str, Any]
    space: FeatureSpace
    vocabulary: str
    weights: str
    trained: Mapping[str, Any]
    features: tuple[str, ...] = ()


def write_card(folder: Path, card: TrainedCard, vocabulary: Vocabulary) -> None:
    """Write the card and the vocabulary beside the weights."""
    vocabulary.save(folder / WORDS)
    write_json(folder / CARD, {"schema": SCHEMA, **asdict(card), "features": list(card.features)})


def read_card(folder: Path) -> TrainedCard:
    """Read a trained system's card."""
    if not (folder / CARD).is_file():
        raise BadInput(
            f"{folder.name} is not the folder of a trained system: it has no {CARD}",
            where=str(folder),
            allowed="a folder that tellapart train wrote",
            todo="check the path",
        )
    card = read_json(folder / CARD)
    try:
        if card["schema"] != SCHEMA:
            raise KeyError("schema")
        known = {f.name: card[f.name] for f in fields(TrainedCard)}
        texts = (*(card[name] for name in ("system", "vocabulary", "weights")), *card["features"])
        if not all(isinstance(one, str) for one in texts):
            raise TypeError("a name or a hash is no text")
        if not all(isinstance(card[name], dict) for name in ("settings", "trained")):
            raise TypeError("its settings or its training are no objects")
        space, features = FeatureSpace.of(card["space"]), tuple(card["features"])
        return TrainedCard(**known | {"space": space, "features": features})
    except (KeyError, TypeError) as error:
        raise BadInput(
            f"{CARD} is not the card of a trained system: {error}",
            where=str(folder / CARD),
            allowed=f'"schema": "{SCHEMA}"',
            todo="train it again: tellapart train SYSTEM --on CORPUS --out FOLDER",
        ) from None


def load_system(folder: Path) -> tuple[Any, TrainedCard]:
    """The system in a folder, in evaluation mode, and its card; hashes are checked."""
    from tellapart.models.zoo.system import system_class
    from tellapart.models.zoo.weights import load_tensors

    card = read_card(folder)
    vocabulary = load_vocabulary(folder / WORDS)
    if vocabulary.sha256 != card.vocabulary:
        raise BadInput(
            f"the vocabulary of {len(vocabulary.words):,} words does not match the weights",
            where=str(folder / WORDS),
            allowed=f"the vocabulary used in training (sha256 {card.vocabulary[:12]})",
            todo="restore the original file, or train again",
        )
    kind = system_class(card.system)
    config = _config(kind.Config, card.settings, folder / CARD)
    try:
        system = kind(config, vocabulary, card.space)
    except (RuntimeError, ValueError, TypeError, ZeroDivisionError) as error:
        raise BadInput(
            f"no {card.system} can be made with these settings: {str(error).splitlines()[0]}",
            where=str(folder / CARD),
            todo="restore the original file, or train again",
        ) from None
    try:
        system.load_state_dict(load_tensors(folder / WEIGHTS))
    except RuntimeError as error:
        raise _unfit(folder, str(error).splitlines()[-1].strip()) from None
    if fingerprint(system) != card.weights:
        raise _unfit(folder, "they are not the weights that were trained")
    return system.eval(), card


def _config(kind: Any, settings: Mapping[str, Any], where: Path) -> Any:
    """A system's settings as a card has them, each of its default's type."""
    defaults = {f.name: getattr(kind(), f.name) for f in fields(kind)}
    for name, value in settings.items():
        if name not in defaults:
            error = UnknownName("setting of the system", name, defaults)
            error.where = str(where)
            raise error
        default = defaults[name]
        kinds = (int, float) if type(default) is float else (type(default),)
        numeric = type(value) in (int, float)
        if type(value) not in kinds or (numeric and not -MOST <= value <= MOST):  # NaN is neither
            raise BadInput(
                f"the setting {name} is {reprlib.repr(value)}",
                where=str(where),
                allowed=f"such as {default!r}",
                todo="restore the original file, or train again",
            )
    return kind(**settings)


def _unfit(folder: Path, why: str) -> BadInput:
    return BadInput(
        f"the weights do not match the system's card: {why}",
        where=str(folder / WEIGHTS),
        todo="restore the original file, or train again",
    )


class PictureFeatures(Protocol):
    """A source of features of pictures."""

    @property
    def space(self) -> FeatureSpace:
        """The space of the features."""

    def take(self, pictures: Sequence[Picture], *, regions: bool = True) -> ImageArrays:
        """The features of some pictures, one row per picture."""


@dataclass(frozen=True)
class BlindFeatures:
    """Features that say nothing about the picture: all zero, or those of another picture.

    The other picture comes from the store, selected by the content of the picture itself, so that a
    picture is always replaced by the same one. What a system still gets right comes from the
    captions.
    """

    source: FeatureSource
    how: str

    @property
    def space(self) -> FeatureSpace:
        """The space of the features."""
        return self.source.space

    def take(self, pictures: Sequence[Picture], *, regions: bool = True) -> ImageArrays:
        """Zeros, or features of other pictures."""
        if self.how == ZEROED:
            arrays = self.source.take(pictures, regions=regions)
            zero = np.zeros_like
            return ImageArrays(zero(arrays.whole), zero(arrays.regions), arrays.counts)
        (store, *_) = self.source.stores
        hashes = (picture.stored_sha256() for picture in pictures)
        rows = [seeds.number(0, "another picture", one) % len(store) for one in hashes]
        return store.take(rows, regions=regions)


class _Trained(NamedModel):
    """The base of trained models."""

    def __init__(self, folder: Path, name: str, system: Any, source: PictureFeatures, device: str):
        self.folder, self.source, self.device = folder, source, device
        self.system = system.to(device)
        vocabulary: Vocabulary = system.vocabulary
        blind = [source.how] if isinstance(source, BlindFeatures) else []
        self.facts = ModelInfo(
            name,
            weights=fingerprint(system),
            preprocessing=seeds.digest(source.space.key, vocabulary.sha256, *blind),
            dtype="float32",
        )

    def _images(self, pictures: Sequence[Picture]) -> Any:
        from tellapart.models.zoo.system import ImageInputs

        arrays = self.source.take(pictures, regions=self.system.needs_regions)
        return ImageInputs.of(arrays, self.device)

    def _words(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.system.vocabulary.encode(text) for text in texts]


class TrainedEncoder(_Trained):
    """A trained system that embeds both sides."""

    def embed_images(self, pictures: Sequence[Picture]) -> Floats32:
        """One unit-length row per picture."""
        import torch

        if not pictures:
            return NO_ROWS
        with torch.inference_mode():
            rows = self.system.encode_images(self._images(pictures))[0]
        return np.asarray(rows.float().cpu().numpy(), np.float32)

    def embed_texts(self, texts: Sequence[str]) -> Floats32:
        """One unit-length row per text."""
        import torch

        from tellapart.models.zoo.system import TextInputs

        if not texts:
            return NO_ROWS
        with torch.inference_mode():
            rows = self.system.encode_texts(TextInputs.of(self._words(texts), self.device))[0]
        return np.asarray(rows.float().cpu().numpy(), np.float32)


class TrainedScorer(_Trained):
    """A trained system that looks at image and text together."""

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats32:
        """One score per pair; each distinct picture is encoded once."""
        import torch

        with torch.inference_mode():
            scores = self.system.match_pairs(*self._codes(pictures, self._words(texts)))
        return np.asarray(scores.float().cpu().numpy(), np.float32)

    def _codes(self, pictures: Sequence[Picture], words: Sequence[Sequence[int]]) -> Any:
        """The codes of picture k and text k; each distinct picture is encoded once."""
        import torch

        from tellapart.models.zoo.system import TextInputs

        seen = {(picture.image, picture.root): picture for picture in pictures}
        place = {which: k for k, which in enumerate(seen)}
        rows = torch.tensor([place[one.image, one.root] for one in pictures], device=self.device)
        images = self.system.encode_images(self._images(list(seen.values())))
        texts = self.system.encode_texts(TextInputs.of(words, self.device))
        return tuple(one[rows] for one in images), texts

    def score_grid(
        self, pictures: Sequence[Picture], texts: Sequence[str], progress: Progress = silent
    ) -> Floats32:
        """The score of every picture with every text, (n, m)."""
        from tellapart.models.zoo.grids import image_blocks, match_blocks, text_blocks

        def take(places: Any) -> Any:
            return self._images([pictures[k] for k in places.tolist()])

        images = image_blocks(self.system, len(pictures), take)
        words = text_blocks(self.system, self._words(texts), self.device)
        return match_blocks(self.system, images, words, progress)


class TrainedCaptioner(TrainedScorer):
    """A trained system that also writes captions."""

    def unknown_words(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of each text that the system does not know."""
        known = self.system.vocabulary.numbers
        return [[word for word in tokens(text) if word not in known] for text in texts]

    def write_captions(self, pictures: Sequence[Picture], how: Decoding) -> list[str]:
        """One caption per picture; samples depend only on the picture's id and the seed."""
        import torch

        if not pictures:
            return []
        rows = [seeds.rng(how.seed, "caption", one.id).random(how.longest) for one in pictures]
        chances = torch.as_tensor(np.stack(rows), device=self.device)
        written = self.system.write(self._images(pictures), how, chances)
        return [self.system.vocabulary.decode(row) for row in written.tolist()]


def trained(
    folder: str, *, features: str = "", images: str = SEEN, device: str = "auto"
) -> TrainedEncoder | TrainedScorer | TunedEncoder:
    """A system trained by `tellapart train`: trained:FOLDER, or trained:FOLDER?features=STORE.

    Features of pictures come from the stores that it was trained with, if they still exist, and
    from the one named; others are computed by the backbone. With `images=zeroed` it sees nothing,
    with `images=shuffled` another picture of the stores: what it still gets right comes from the
    captions.
    """
    need("torch", "train")
    place = Path(folder).expanduser()
    if is_tuned(place):
        name = canonical("trained", {"features": features, "device": device}, folder)
        return load_tuned(place, name, device_of(device))
    system, card = load_system(place)
    listed = [place / one for one in card.features]
    stores = [_store(path, card.space) for path in listed if (path / "features.json").is_file()]
    if features:
        stores.append(_store(Path(features).expanduser(), card.space, asked=True))
    source = FeatureSource(card.space, tuple(one for one in stores if one is not None))
    options = {"features": features, "images": images, "device": device}
    name = canonical("trained", options, folder)
    shown = _picture_features(source, images)
    return _model_class(system, card)(place, name, system, shown, device_of(device))


def _picture_features(source: FeatureSource, images: str) -> PictureFeatures:
    if images not in (SEEN, ZEROED, SHUFFLED):
        raise UnknownName("way to see images", images, (SEEN, ZEROED, SHUFFLED))
    if images == SHUFFLED and not source.stores:
        raise BadInput(
            "images=shuffled needs stored features of other pictures",
            todo="name a store with features=FOLDER",
        )
    return source if images == SEEN else BlindFeatures(source, images)


def _model_class(system: Any, card: TrainedCard) -> type[TrainedEncoder | TrainedScorer]:
    """The model class for a system."""
    from tellapart.models import foil_answers

    if hasattr(system, "threshold"):
        mends = "mending" in card.trained
        return foil_answers.MendingClassifier if mends else foil_answers.TrainedClassifier
    if hasattr(system, "proposals"):
        return foil_answers.TrainedProposer
    if hasattr(system, "write"):
        return TrainedCaptioner
    return TrainedEncoder if system.dual else TrainedScorer


def _store(path: Path, space: FeatureSpace, *, asked: bool = False) -> FeatureStore | None:
    store = load_store(path)
    if store.space.key == space.key:
        return store
    if not asked:
        return None
    raise BadInput(
        f"the features in {path} differ from those that the system was trained on",
        where=str(path),
        allowed=f"{space.backbone}, {space.layout}; not {store.space.backbone}, "
        f"{store.space.layout}",
        todo="compute features with that backbone, or leave features= out",
    )
