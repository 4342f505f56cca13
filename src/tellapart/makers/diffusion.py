"""`diffusers:`: any text-to-image pipeline of the diffusers library, SDXL-DPO by name.

`diffusers:FOLDER-OR-HUB-NAME?steps=30&guidance=5&size=512`. `diffusers:sdxl-dpo` is what BiVLC used
(Miranda et al. 2024, step 2): Stable Diffusion XL with the UNet of Wallace et al. 2023, fp16,
guidance 5, kept at 512 x 512; the prompt is the caption without its full stop, followed by words
that ask for quality. Every picture has its own random generator, seeded by caption and candidate,
so that it does not depend on its batch (beyond the last bits of a GPU's sums).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tellapart.errors import BadInput, TellapartError, need
from tellapart.makers.maker import (
    ImageRequest,
    MadeImage,
    MakerFailed,
    MakerInfo,
    maker_name,
    png,
)
from tellapart.seeds import digest
from tellapart.torch_tools import fingerprint, mend_torchvision

NSFW = "the pipeline's own filter found it unsafe"


@dataclass(frozen=True, slots=True)
class KnownPipeline:
    """A published pipeline: its parts on the hub, and its settings."""

    base: str
    unet: str = ""
    suffix: str = ""
    guidance: float = 7.5
    keep: int = 0
    licence: str = ""


KNOWN = {
    "sdxl-dpo": KnownPipeline(
        "stabilityai/stable-diffusion-xl-base-1.0",
        unet="mhdang/dpo-sdxl-text2image-v1",
        suffix=", high quality, highly detailed",
        guidance=5.0,
        keep=512,
        licence="SDXL: CreativeML Open RAIL++-M; the DPO UNet: Apache 2.0",
    ),
}
"""Pipelines by name; the words after the prompt are ours if a paper does not print them."""


class Diffusion:
    """Text-to-image pipelines of diffusers, such as sdxl-dpo, a hub name or a folder."""

    needs: Literal["caption", "picture", "boxes"] = "caption"

    def __init__(
        self,
        pipeline: str,
        steps: int = 50,
        guidance: float = 0.0,
        size: int = 0,
        keep: int = 0,
        suffix: str = "",
        batch: int = 1,
        device: str = "",
        dtype: str = "",
    ) -> None:
        known = KNOWN.get(pipeline, KnownPipeline(pipeline))
        if steps < 1 or batch < 1 or size < 0 or keep < 0:
            raise BadInput(
                f"steps={steps}, batch={batch}, size={size}, keep={keep}",
                allowed="steps and batch from 1; size and keep in pixels, 0 for the pipeline's own",
            )
        options: dict[str, Any] = {
            "steps": steps, "guidance": guidance, "size": size, "keep": keep, "suffix": suffix,
            "batch": batch, "device": device, "dtype": dtype,
        }  # fmt: skip
        self.batch, self._steps, self._size = batch, steps, size
        self._guidance = guidance or known.guidance
        self._keep, self._suffix = keep or known.keep, suffix or known.suffix
        torch = need("torch", "generate", "the maker diffusers:")
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._dtype = dtype or ("float16" if self._device.startswith("cuda") else "float32")
        self._pipeline = load_pipeline("DiffusionPipeline", known, self._device, self._dtype)
        # a picture's name includes the precision, but not the batch or the device
        named = {**options, "batch": 1, "device": "", "dtype": self._dtype}
        name = maker_name("diffusers", named, pipeline)
        self.facts = MakerInfo(name, options, weights_of(self._pipeline), known.licence)

    def make(self, requests: Sequence[ImageRequest]) -> list[MadeImage]:
        """One call of the pipeline for the batch, each picture with its own generator."""
        side = {"height": self._size, "width": self._size} if self._size else {}
        result = called(
            self._pipeline,
            prompt=[prompt_of(one.caption, self._suffix) for one in requests],
            num_inference_steps=self._steps,
            guidance_scale=self._guidance,
            generator=generators(requests),
            output_type="pil",
            **side,
        )
        return finished(result, self._keep)


def prompt_of(caption: str, suffix: str) -> str:
    """The caption without its full stop, followed by the suffix.

    >>> prompt_of("A dog on a beach.", ", detailed")
    'A dog on a beach, detailed'
    """
    return caption.rstrip().rstrip(".") + suffix


def generators(requests: Sequence[ImageRequest]) -> list[Any]:
    """A CPU generator for each picture, so that its numbers are the same on every machine."""
    torch = need("torch", "generate", "the maker diffusers:")
    return [torch.Generator("cpu").manual_seed(one.seed) for one in requests]


def load_pipeline(class_name: str, known: KnownPipeline, device: str, dtype: str) -> Any:
    """A pipeline from a folder or the hub, on its device, without progress bars."""
    torch = need("torch", "generate", "the maker diffusers:")
    mend_torchvision()
    diffusers = need("diffusers", "generate", "the maker diffusers:")
    try:
        kind = getattr(torch, dtype)
        parts: dict[str, Any] = {}
        if known.unet:
            parts["unet"] = diffusers.UNet2DConditionModel.from_pretrained(
                known.unet, subfolder="unet", torch_dtype=kind
            )
        pipeline = getattr(diffusers, class_name).from_pretrained(
            known.base, torch_dtype=kind, **parts
        )
    except TellapartError:
        raise
    except Exception as error:  # the library raises many kinds of errors, and they change
        reason = str(error).strip().partition("\n")[0][:300] or type(error).__name__
        raise BadInput(
            f"the pipeline {known.base} cannot be loaded: {reason}",
            allowed="the folder of a pipeline, a name on the Hugging Face hub, or "
            + ", ".join(KNOWN),
            todo="download it first, or check the name",
        ) from None
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(device)


def weights_of(pipeline: Any) -> str:
    """A hash of all weights of a pipeline, on which its pictures depend besides the settings."""
    torch = need("torch", "generate", "the maker diffusers:")
    modules = {n: m for n, m in pipeline.components.items() if isinstance(m, torch.nn.Module)}
    return digest([[name, fingerprint(part)] for name, part in sorted(modules.items())])


def called(pipeline: Any, **arguments: Any) -> Any:
    """Call a pipeline, and turn its failures into errors that say what to do."""
    torch = need("torch", "generate", "the maker diffusers:")
    try:
        with torch.no_grad():
            return pipeline(**arguments)
    except torch.OutOfMemoryError:
        raise MakerFailed(
            "the pipeline ran out of memory",
            todo="make fewer pictures at a time with ?batch=1, or smaller ones with ?size=512",
        ) from None
    except (RuntimeError, ValueError, TypeError) as error:
        reason = str(error).strip().partition("\n")[0][:300]
        raise MakerFailed(f"the pipeline stopped: {reason}") from error


def unsafe(result: Any) -> list[bool]:
    """For each picture, whether the pipeline's own filter caught it; without one, none is."""
    return getattr(result, "nsfw_content_detected", None) or [False] * len(result.images)


def finished(result: Any, keep: int) -> list[MadeImage]:
    """A pipeline's pictures, at the size to keep; those its filter caught become refusals."""
    made = []
    for picture, bad in zip(result.images, unsafe(result), strict=True):
        if bad:
            made.append(MadeImage(refused=NSFW))
        else:
            made.append(png(picture.resize((keep, keep)) if keep else picture))
    return made
