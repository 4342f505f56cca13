"""Pipelines of diffusers, with random weights: pictures edited, repainted, and SDXL by name."""

from __future__ import annotations

import io
import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image as Pillow

import tellapart as ta
from tellapart.items import Image
from tellapart.makers import diffusion
from tellapart.makers.maker import ImageRequest, PhotoEdit, load_maker
from tellapart.pictures import Picture
from tellapart.verbs.build.bivlc import BivlcOptions
from tests.makers.tiny_diffusion import save_tiny_pipeline, save_tiny_sdxl

DOG, CAT = (0.1, 0.4, 0.2, 0.3), (0.7, 0.4, 0.2, 0.3)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of diffusers about its own future
        yield


@pytest.fixture(scope="module")
def inpainting(tmp_path_factory):
    place = tmp_path_factory.mktemp("inpainting")
    name = save_tiny_pipeline(place, "StableDiffusionInpaintPipeline")
    return f"edit:{name}?way=inpaint&size=16&steps=2&prompt=grass"


@pytest.fixture
def corpus(tmp_path):
    """A photograph of a dog and a cat, with boxes."""
    Pillow.effect_noise((128, 96), 60).convert("RGB").save(tmp_path / "1.jpg")
    texts = ["A dog and a cat.", "A dog on grass.", "A cat on grass."]
    (tmp_path / "captions.csv").write_text(
        "image,caption\n" + "".join(f"1.jpg,{text}\n" for text in texts)
    )
    objects = [{"category": "dog", "box": DOG}, {"category": "cat", "box": CAT}]
    (tmp_path / "boxes.json").write_text(json.dumps({"1.jpg": {"objects": objects}}))
    return tmp_path


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Pillow.open(io.BytesIO(data)).convert("RGB"), float)


def test_only_the_box_is_repainted(inpainting, corpus):
    maker = load_maker(inpainting)
    source = Picture(Image("1", "1.jpg"), corpus)
    whole, erased = (
        pixels(maker.make([ImageRequest("k", "A cat.", 1, source, edit)])[0].data)
        for edit in (PhotoEdit(), PhotoEdit(erase=(DOG,)))
    )
    changed = np.abs(whole - erased).mean(axis=2)
    assert whole.shape == (96, 128, 3)
    assert changed[45:60, 20:32].mean() > 10 and changed[:, 64:].mean() < 1


def test_photographs_are_repainted_by_the_verb(inpainting, corpus):
    options = BivlcOptions(
        maker=inpainting, kinds=("one-of-two",), boxes=corpus / "boxes.json", images=corpus
    )
    bench = ta.build("bivlc", corpus / "captions.csv", corpus / "out", options)
    (item,) = bench.items
    assert item.kind == "one-of-two" and bench.card.made["maker"]["name"].startswith("edit:")
    assert len({bench.picture(name).open().tobytes() for name in item.images}) == 2


def test_pictures_are_edited_by_their_negative_captions_through_the_verb(corpus, tmp_path):
    name = save_tiny_pipeline(tmp_path / "tiny", "StableDiffusionInstructPix2PixPipeline")
    (corpus / "pairs.csv").write_text("image,caption,negative_caption\n1.jpg,A dog.,A red cat.\n")
    negatives = ta.get("pairs", corpus / "pairs.csv", tmp_path / "negatives")
    options = BivlcOptions(maker=f"edit:{name}?size=16&steps=2", candidates=2)
    bench = ta.build("bivlc", negatives, tmp_path / "out", options)
    (item,) = bench.items
    made = [name for name in item.images if name.endswith(("-0", "-1"))]
    assert len(made) == 2 and len(item.images) == 3
    assert len({bench.picture(one).open().tobytes() for one in made}) == 2


def test_a_picture_that_the_filter_finds_unsafe_is_refused(inpainting, corpus):
    maker = load_maker(inpainting)
    real = maker._pipeline

    def strict(**arguments):
        result = real(**arguments)
        result.nsfw_content_detected = [True]
        return result

    maker._pipeline = strict
    source = Picture(Image("1", "1.jpg"), corpus)
    (made,) = maker.make([ImageRequest("k", "A cat.", 1, source, PhotoEdit(erase=(DOG,)))])
    assert made.refused == diffusion.NSFW and not made.data


def test_sdxl_dpo_by_name_has_the_papers_settings(tmp_path, monkeypatch):
    base, dpo = save_tiny_sdxl(tmp_path)
    published = diffusion.KNOWN["sdxl-dpo"]
    assert published.base == "stabilityai/stable-diffusion-xl-base-1.0"
    assert published.unet == "mhdang/dpo-sdxl-text2image-v1"
    local = replace(published, base=str(base), unet=str(dpo))
    monkeypatch.setitem(diffusion.KNOWN, "sdxl-dpo", local)
    maker = load_maker("diffusers:sdxl-dpo?steps=2")
    real, calls = maker._pipeline, []

    def seen(**arguments):
        calls.append(arguments)
        return real(**arguments)

    maker._pipeline = seen
    (made,) = maker.make([ImageRequest("k", "A red dog.", 7)])
    (call,) = calls
    assert call["guidance_scale"] == 5.0 and call["num_inference_steps"] == 2
    assert call["prompt"] == ["A red dog, high quality, highly detailed"]
    assert [one.initial_seed() for one in call["generator"]] == [7]
    assert Pillow.open(io.BytesIO(made.data)).size == (512, 512)
    # the UNet is the one that was tuned with preferences, not the base's
    plain = load_maker(f"diffusers:{base}?steps=2&guidance=5")
    assert maker.facts.weights != plain.facts.weights
    assert "Apache" in maker.facts.licence


def test_sdxl_dpo_runs_in_half_precision_where_asked(tmp_path, monkeypatch):
    base, dpo = save_tiny_sdxl(tmp_path)
    local = replace(diffusion.KNOWN["sdxl-dpo"], base=str(base), unet=str(dpo))
    monkeypatch.setitem(diffusion.KNOWN, "sdxl-dpo", local)
    maker = load_maker("diffusers:sdxl-dpo?dtype=float16&steps=2")
    kinds = {str(maker._pipeline.unet.dtype), str(maker._pipeline.text_encoder_2.dtype)}
    assert kinds == {"torch.float16"} and "dtype=float16" in maker.facts.name
