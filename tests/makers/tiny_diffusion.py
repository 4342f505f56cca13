"""A text-to-image pipeline of diffusers with random weights, as small as it can be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tellapart.torch_tools import mend_torchvision


def save_tiny_pipeline(folder: Path) -> Path:
    torch = pytest.importorskip("torch")
    mend_torchvision()
    diffusers = pytest.importorskip("diffusers")
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    torch.manual_seed(0)
    vocabulary = ["<|startoftext|>", "<|endoftext|>"]
    vocabulary += [chr(k) for k in range(97, 123)] + [f"{chr(k)}</w>" for k in range(97, 123)]
    vocabulary += [".", ".</w>"]
    words = folder / "words"
    words.mkdir(parents=True)
    (words / "vocab.json").write_text(json.dumps({w: k for k, w in enumerate(vocabulary)}))
    (words / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer(
        str(words / "vocab.json"), str(words / "merges.txt"), model_max_length=16
    )
    text = CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(vocabulary), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
            num_attention_heads=2, max_position_embeddings=16, projection_dim=16,
            bos_token_id=0, eos_token_id=1, pad_token_id=1,
        )
    )  # fmt: skip
    unet = diffusers.UNet2DConditionModel(
        sample_size=8, in_channels=4, out_channels=4, block_out_channels=(8, 8), norm_num_groups=4,
        layers_per_block=1, cross_attention_dim=16, attention_head_dim=2,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    vae = diffusers.AutoencoderKL(
        block_out_channels=(8, 8), norm_num_groups=4, latent_channels=4,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    pipeline = diffusers.StableDiffusionPipeline(
        vae=vae, text_encoder=text, tokenizer=tokenizer, unet=unet,
        scheduler=diffusers.DDIMScheduler(), safety_checker=None, feature_extractor=None,
        requires_safety_checker=False,
    )  # fmt: skip
    pipeline.set_progress_bar_config(disable=True)
    pipeline.save_pretrained(folder / "pipeline")
    return folder / "pipeline"
