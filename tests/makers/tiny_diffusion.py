"""Pipelines of diffusers with random weights, as small as they can be."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from tellapart.torch_tools import mend_torchvision

VOCABULARY = [
    "<|startoftext|>", "<|endoftext|>", *(chr(k) for k in range(97, 123)),
    *(f"{chr(k)}</w>" for k in range(97, 123)), ".", ".</w>",
]  # fmt: skip
WIDTH = 16


def save_tiny_pipeline(folder: Path, kind: str = "StableDiffusionPipeline") -> Path:
    """A text-to-image pipeline, or one that edits or repaints pictures, by its class's name."""
    diffusers = library(seed=0)
    channels = {"StableDiffusionInstructPix2PixPipeline": 8, "StableDiffusionInpaintPipeline": 9}
    pipeline = getattr(diffusers, kind)(
        vae=vae(), text_encoder=text_encoder("CLIPTextModel"), tokenizer=tokenizer(folder),
        unet=unet(in_channels=channels.get(kind, 4), cross_attention_dim=WIDTH),
        scheduler=scheduler(), safety_checker=None, feature_extractor=None,
        requires_safety_checker=False,
    )  # fmt: skip
    return saved(pipeline, folder)


def save_tiny_sdxl(folder: Path) -> tuple[Path, Path]:
    """A pipeline of SDXL's class, and the folder of another UNet for it."""
    diffusers = library(seed=0)
    words = tokenizer(folder)
    units: dict[str, Any] = {
        "in_channels": 4, "cross_attention_dim": 2 * WIDTH, "addition_embed_type": "text_time",
        "addition_time_embed_dim": 8, "projection_class_embeddings_input_dim": 6 * 8 + WIDTH,
    }  # fmt: skip
    pipeline = diffusers.StableDiffusionXLPipeline(
        vae=vae(), text_encoder=text_encoder("CLIPTextModel"), tokenizer=words,
        text_encoder_2=text_encoder("CLIPTextModelWithProjection"), tokenizer_2=words,
        unet=unet(**units), scheduler=scheduler(), add_watermarker=False,
    )  # fmt: skip
    other = folder / "dpo"
    unet(**units).save_pretrained(other / "unet")
    return saved(pipeline, folder), other


def library(seed: int | None = None) -> Any:
    """The library; with a seed, the weights that follow are always the same."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a torchvision that does not match torch
        mend_torchvision()
    if seed is not None:
        torch.manual_seed(seed)
    return pytest.importorskip("diffusers")


def saved(pipeline: Any, folder: Path) -> Path:
    pipeline.set_progress_bar_config(disable=True)
    pipeline.save_pretrained(folder / "pipeline")
    return folder / "pipeline"


def tokenizer(folder: Path) -> Any:
    from transformers import CLIPTokenizer

    words = folder / "words"
    words.mkdir(parents=True)
    (words / "vocab.json").write_text(json.dumps({w: k for k, w in enumerate(VOCABULARY)}))
    (words / "merges.txt").write_text("#version: 0.2\n")
    files = str(words / "vocab.json"), str(words / "merges.txt")
    return CLIPTokenizer(*files, model_max_length=WIDTH)


def text_encoder(kind: str) -> Any:
    import transformers

    settings = transformers.CLIPTextConfig(
        vocab_size=len(VOCABULARY), hidden_size=WIDTH, intermediate_size=WIDTH,
        num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=WIDTH,
        projection_dim=WIDTH, bos_token_id=0, eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
    return getattr(transformers, kind)(settings)


def scheduler() -> Any:
    return library().DDIMScheduler(steps_offset=1, clip_sample=False)


def unet(**settings: Any) -> Any:
    return library().UNet2DConditionModel(
        sample_size=8, out_channels=4, block_out_channels=(8, 8), norm_num_groups=4,
        layers_per_block=1, attention_head_dim=2,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), **settings,
    )  # fmt: skip


def vae() -> Any:
    return library().AutoencoderKL(
        block_out_channels=(8, 8), norm_num_groups=4, latent_channels=4,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
