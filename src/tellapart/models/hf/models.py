"""`hf`: models of the transformers library, by name on the hub or from a folder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tellapart.errors import BadInput
from tellapart.models.hf.blip import BlipContrast, BlipMatching
from tellapart.models.hf.captioners import FAMILIES, Captioner
from tellapart.models.hf.dual import PADDING, HFDualEncoder
from tellapart.models.hf.loading import Wanted, fetch, transformers_library
from tellapart.models.language.causal import CausalModel
from tellapart.models.language.classifiers import TextClassifier
from tellapart.models.model import Facts
from tellapart.models.names import canonical
from tellapart.models.torch_tools import device_of, dtype_of

HEADS = {
    **dict.fromkeys(PADDING, ("",)),
    **dict.fromkeys(FAMILIES, ("caption",)),
    "blip": ("itm", "itc", "caption"),
}
"""Which heads each family of models has; the empty one is what a dual encoder is."""
REDUCES = ("mean", "sum")
REDUCING = ("caption", "lm")
"""Heads whose score is made of tokens' scores."""


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
    transformers = transformers_library()
    dtype_of(dtype)
    wanted = Wanted(name, dtype, device_of(device), revision)
    _check_way(head, reduce, label)
    told = {
        "head": head,
        "reduce": reduce,
        "label": label,
        "dtype": dtype,
        "device": device,
        "revision": revision,
    }
    kept = {"head": head, "dtype": dtype, "device": wanted.device}
    kept |= {"reduce": reduce} if head in REDUCING else {}
    facts = Facts(canonical("hf", told, name), kept)
    if head == "lm":
        return CausalModel(transformers, wanted, facts, reduce)
    if head == "classifier":
        return TextClassifier(transformers, wanted, facts, label)
    family = fetch(transformers.AutoConfig.from_pretrained, wanted).model_type
    _check_head(name, family, head)
    facts = replace(facts, options={"family": family, **kept})
    if head == "itm":
        return BlipMatching(transformers, wanted, facts)
    if head == "itc":
        return BlipContrast(transformers, wanted, facts)
    if head == "caption":
        return Captioner(transformers, family, wanted, facts, reduce)
    return HFDualEncoder(transformers, family, wanted, facts)


def _check_way(head: str, reduce: str, label: str) -> None:
    if reduce not in REDUCES:
        raise BadInput(f"reduce={reduce} is not a way to join tokens", allowed=" or ".join(REDUCES))
    if reduce != "mean" and head not in REDUCING:
        heads = " or ".join(f"head={one}" for one in REDUCING)
        raise BadInput(f"reduce={reduce} means nothing without {heads}", todo="leave it out")
    if label and head != "classifier":
        raise BadInput(f"label={label} means nothing without head=classifier", todo="leave it out")


def _check_head(name: str, family: str, head: str) -> None:
    if family not in HEADS:
        raise BadInput(
            f"{name!r} is of the family {family!r}, which hf cannot score",
            allowed=", ".join(sorted(HEADS)),
            todo="to score captions alone add ?head=lm or ?head=classifier; for models that answer "
            "questions use vqascore:; else see docs/adapters.md, your own model",
        )
    heads = HEADS[family]
    if head not in heads:
        words = [f"head={one}" if one else "no head" for one in heads]
        told = f"head={head} is not a head of it" if head else "its heads give different scores"
        raise BadInput(
            f"{name!r} is of the family {family!r}: {told}",
            allowed=" or ".join(words),
            todo=f"hf:{name}?head={heads[0]}" if heads[0] else f"hf:{name}",
        )
