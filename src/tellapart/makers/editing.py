"""`edit:`: pictures edited by diffusers, by an instruction or by repainting a box.

`edit:FOLDER-OR-HUB-NAME?way=instruct` gives the original picture and the negative caption to a
pipeline such as InstructPix2Pix; `way=inpaint` repaints the boxes of a photograph, so that it can
replace MI-GAN on photographs with boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from tellapart.errors import BadInput, need
from tellapart.makers.diffusion import (
    NSFW,
    KnownPipeline,
    called,
    finished,
    generators,
    load_pipeline,
    prompt_of,
    unsafe,
    weights_of,
)
from tellapart.makers.maker import ImageRequest, MadeImage, MakerInfo, jpeg, maker_name
from tellapart.makers.photo import GROWTH, QUALITY, hole_of, whole_blocks

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

WAYS = {"instruct": "DiffusionPipeline", "inpaint": "AutoPipelineForInpainting"}
STEP = 8
"""Pipelines need sides that are multiples of this."""


class Editing:
    """Pictures edited by diffusers: by the caption, or with boxes repainted (?way=inpaint)."""

    batch = 1

    def __init__(
        self,
        pipeline: str,
        way: str = "instruct",
        steps: int = 50,
        guidance: float = 7.5,
        size: int = 512,
        prompt: str = "background, nothing there",
        device: str = "",
        dtype: str = "",
    ) -> None:
        if way not in WAYS:
            raise BadInput(f"way={way}", allowed=" or ".join(WAYS))
        if steps < 1 or size < STEP:
            raise BadInput(f"steps={steps}, size={size}", allowed=f"1 or more, {STEP} or more")
        torch = need("torch", "generate", "the maker edit:")
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        dtype = dtype or ("float16" if device.startswith("cuda") else "float32")
        self.needs: Literal["caption", "picture", "boxes"] = (
            "boxes" if way == "inpaint" else "picture"
        )
        self._way, self._steps, self._guidance = way, steps, guidance
        self._size, self._prompt = size, prompt
        self._pipeline = load_pipeline(WAYS[way], KnownPipeline(pipeline), device, dtype)
        options: dict[str, Any] = {
            "way": way, "steps": steps, "guidance": guidance, "size": size, "prompt": prompt,
            "device": "", "dtype": dtype,
        }  # fmt: skip
        name = maker_name("edit", options, pipeline)
        self.facts = MakerInfo(name, options, weights_of(self._pipeline))

    def make(self, requests: Sequence[ImageRequest]) -> list[MadeImage]:
        """Each source picture, edited."""
        return [self._make_one(request) for request in requests]

    def _make_one(self, request: ImageRequest) -> MadeImage:
        if request.source is None:
            raise BadInput("edit: needs a picture to edit")
        picture = request.source.open()
        if self._way == "inpaint":
            return self._inpainted(request, whole_blocks(picture))
        result = called(
            self._pipeline,
            prompt=prompt_of(request.caption, ""),
            image=self._square(picture),
            num_inference_steps=self._steps,
            guidance_scale=self._guidance,
            generator=generators([request])[0],
            output_type="pil",
        )
        return finished(result, 0)[0]

    def _square(self, picture: PILImage) -> PILImage:
        side = self._size - self._size % STEP
        return picture.convert("RGB").resize((side, side))

    def _inpainted(self, request: ImageRequest, picture: PILImage) -> MadeImage:
        from PIL import Image, ImageOps

        edit = request.edit
        if edit is None:
            raise BadInput("edit: with way=inpaint needs boxes", todo="name them with --boxes")
        if edit.erase:
            hole = hole_of(picture, edit.erase, GROWTH)
            result = called(
                self._pipeline,
                prompt=self._prompt,
                image=self._square(picture),
                mask_image=self._square(hole.convert("RGB")).convert("L"),
                num_inference_steps=self._steps,
                guidance_scale=self._guidance,
                generator=generators([request])[0],
                output_type="pil",
            )
            if unsafe(result)[0]:
                return MadeImage(refused=NSFW)
            painted = result.images[0].resize(picture.size)
            picture = Image.composite(painted, picture, hole)
        return jpeg(ImageOps.mirror(picture) if edit.mirror else picture, QUALITY)
