"""Small things for the tests of fine-tuning: drawn near misses and small encoders to start from."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

from tests.models.small import clip_tokenizer, library, wide

from tellapart.verbs.build import build
from tellapart.verbs.world import world

OPEN_CLIP = {
    "embed_dim": 16,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "patch_size": 8, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
TEXT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}


def near_misses(root: Path, scenes: int = 20, seed: int = 1, part: str = "train"):
    """A benchmark of two images and two captions each."""
    drawn = world(root / f"world-{seed}", scenes=scenes, seed=seed, part=part)
    return build("bivlc", drawn, root / f"bivlc-{seed}")


def open_clip_folder(folder: Path) -> Path:
    """A small model of open_clip with QuickGELU and random weights, as its library saves it."""
    open_clip = library("open_clip")
    import torch
    from safetensors.torch import save_file

    folder.mkdir()
    config = {"model_cfg": OPEN_CLIP, "preprocess_cfg": {"mean": [0.5] * 3, "std": [0.3] * 3}}
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = open_clip.CLIP(**OPEN_CLIP)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    return folder


def hf_folder(folder: Path) -> Path:
    """A small CLIP of transformers with random weights."""
    transformers = library("transformers")
    tokenizer = clip_tokenizer(transformers)
    text = TEXT | {"vocab_size": len(tokenizer), "max_position_embeddings": 77, "bos_token_id":
                   tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}  # fmt: skip
    vision = TEXT | {"image_size": 32, "patch_size": 8}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    wide(transformers.CLIPModel(config), 0.1).save_pretrained(folder)
    images = transformers.CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )
    transformers.CLIPProcessor(images, tokenizer).save_pretrained(folder)
    return folder
