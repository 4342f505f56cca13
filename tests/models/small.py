"""Small things for the tests of adapters: pictures, captions, tokenizers with few words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from tellapart.items import Image
from tellapart.pictures import Picture

CAPTIONS = [
    "A dog on the left.",
    "a cat",
    "Two big dogs, and a cat on the mat!",
    "the dog",
    "A cat on the left of two dogs; the mat is big",
]
WORDS = (
    "a two the dog dogs cat mat big on left of is and yes no does this figure show please answer or"
)


def library(name: str) -> Any:
    """A package, or the test is skipped; with torchvision mended where it must be."""
    pytest.importorskip("torch", reason="torch is not installed")
    from tellapart.torch_tools import mend_torchvision

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mend_torchvision()
        return pytest.importorskip(name, reason=f"{name} is not installed")


@contextmanager
def one_thread() -> Iterator[None]:
    """Networks this small take longest to share out among threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def pictures(folder: Path, count: int = 5) -> list[Picture]:
    """Pictures of many shapes, noise over stripes, one of them grey and one a JPEG."""
    rng = np.random.default_rng(0)
    made = []
    for k in range(count):
        height, width = 24 + 13 * k, 61 - 8 * k
        pixels = rng.integers(0, 255, (height, width, 3), np.uint8)
        pixels[:: k + 2] //= 3
        name = f"p{k}.jpg" if k == 1 else f"p{k}.png"
        picture = Pillow.fromarray(pixels)
        (picture.convert("L") if k == 2 else picture).save(folder / name)
        made.append(Picture(Image(f"p{k}", name), folder))
    return made


def wide(model: Any, spread: float = 0.5) -> Any:
    """Weights wide enough that picture and words matter far more than the tolerance."""
    import torch

    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        middle = 1.0 if "norm" in name.lower() else 0.0
        narrow = parameter.ndim < 2 or "logit" in name
        torch.nn.init.normal_(parameter, middle, 0.1 if narrow else spread)
    return model


def pairs(seen: list[Picture]) -> tuple[list[Picture], list[str]]:
    """Every picture with every caption."""
    return [p for p in seen for _ in CAPTIONS], [t for _ in seen for t in CAPTIONS]


def bert_tokenizer(transformers: Any, folder: Path) -> Any:
    """A WordPiece tokenizer that knows `WORDS`, letters and marks."""
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *'.,!;?"']
    letters = [c for letter in "abcdefghijklmnopqrstuvwxyz" for c in (letter, f"##{letter}")]
    words = list(dict.fromkeys([*marks, *WORDS.split(), *letters]))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    return transformers.BertTokenizerFast.from_pretrained(folder, model_max_length=64)


def clip_tokenizer(transformers: Any) -> Any:
    """CLIP's tokenizer, with letters only."""
    letters = list("abcdefghijklmnopqrstuvwxyz.,;!?\"'")
    tokens = [*letters, *(f"{c}</w>" for c in letters), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: k for k, token in enumerate(tokens)}
    return transformers.CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=77)


def causal_folder(transformers: Any, folder: Path) -> Path:
    """A small causal language model with its tokenizer, saved where `hf:` finds it."""
    tokenizer = bert_tokenizer(transformers, folder)
    tokenizer.bos_token = "[CLS]"
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_positions=48, n_embd=32, n_layer=2, n_head=2,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.sep_token_id,
    )  # fmt: skip
    wide(transformers.GPT2LMHeadModel(config), 0.3).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
