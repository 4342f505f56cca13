"""`hf`: the same numbers as the library's own calls, for models made small from a config."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.models.small import (
    CAPTIONS,
    bert_tokenizer,
    clip_tokenizer,
    library,
    one_thread,
    pairs,
    pictures,
    wide,
)
from typer.testing import CliRunner

from tellapart.cli.main import app
from tellapart.errors import BadInput, TellapartError
from tellapart.models.caption_writer import Decoding, writes_captions
from tellapart.models.model import DualEncoder, PairScorer
from tellapart.models.names import load

TEXT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
VISION = TEXT | {"image_size": 32, "patch_size": 8}
COLOURS = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.4]}


@pytest.fixture(scope="module")
def transformers():
    found = library("transformers")
    with one_thread():
        yield found


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return pictures(tmp_path_factory.mktemp("pictures"))


@pytest.fixture(scope="module")
def clip(transformers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clip")
    tokenizer = clip_tokenizer(transformers)
    text = TEXT | {
        "vocab_size": len(tokenizer), "max_position_embeddings": 77,
        "bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id,
    }  # fmt: skip
    config = transformers.CLIPConfig(text_config=text, vision_config=VISION, projection_dim=16)
    wide(transformers.CLIPModel(config)).save_pretrained(folder)
    images = transformers.CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}, **COLOURS
    )
    transformers.CLIPProcessor(images, tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def siglip(transformers, tmp_path_factory):
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    folder = tmp_path_factory.mktemp("siglip")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([t.lower() for t in CAPTIONS] * 20),
        model_prefix=str(folder / "spiece"), vocab_size=40, hard_vocab_limit=False,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, minloglevel=2,
    )  # fmt: skip
    tokenizer = transformers.SiglipTokenizer.from_pretrained(
        folder, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        model_max_length=64, model_input_names=["input_ids"],
    )  # fmt: skip
    text = TEXT | {"vocab_size": len(tokenizer), "max_position_embeddings": 64}
    config = transformers.SiglipConfig(
        text_config=text | {"projection_size": 32}, vision_config=VISION
    )
    wide(transformers.SiglipModel(config)).save_pretrained(folder)
    images = transformers.SiglipImageProcessor(size={"height": 32, "width": 32}, **COLOURS)
    transformers.SiglipProcessor(images, tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def siglip2(transformers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("siglip2")
    marks = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    tokens = [*marks, *"▁abcdefghijklmnopqrstuvwxyz.,;!"]
    tokenizer = transformers.Siglip2Tokenizer(
        vocab={token: k for k, token in enumerate(tokens)}, merges=[],
        model_max_length=64, model_input_names=["input_ids"], padding_side="right",
    )  # fmt: skip
    text = TEXT | {"vocab_size": len(tokens), "max_position_embeddings": 64, "projection_size": 32}
    vision = TEXT | {"patch_size": 16, "num_patches": 256}
    config = transformers.Siglip2Config(text_config=text, vision_config=vision)
    wide(transformers.Siglip2Model(config)).save_pretrained(folder)
    images = transformers.Siglip2ImageProcessor(max_num_patches=256, patch_size=16)
    transformers.Siglip2Processor(images, tokenizer).save_pretrained(folder)
    return folder


def own_call(transformers, folder, seen, texts, **padding):
    """Features of images and texts the way the library's own pages show it."""
    import torch

    model = transformers.AutoModel.from_pretrained(folder).eval()
    processor = transformers.AutoProcessor.from_pretrained(folder)
    rows = []
    with torch.no_grad():
        for kind, inputs in (
            ("image", processor(images=[p.open() for p in seen], return_tensors="pt")),
            ("text", processor(text=texts, return_tensors="pt", truncation=True, **padding)),
        ):
            out = getattr(model, f"get_{kind}_features")(**inputs)
            out = out if isinstance(out, torch.Tensor) else out.pooler_output
            rows.append((out / out.norm(dim=-1, keepdim=True)).numpy())
    return rows


PADDING = {
    "clip": {"padding": True},
    "siglip": {"padding": "max_length", "max_length": 64},
    "siglip2": {"padding": "max_length", "max_length": 64},
}


@pytest.mark.parametrize("family", list(PADDING))
def test_dual_encoders_equal_the_librarys_own_call(transformers, family, seen, request):
    folder = request.getfixturevalue(family)
    model = load(f"hf:{folder}?device=cpu")
    assert isinstance(model, DualEncoder)
    images, texts = own_call(transformers, folder, seen, CAPTIONS, **PADDING[family])
    np.testing.assert_allclose(model.embed_images(seen), images, atol=1e-5)
    np.testing.assert_allclose(model.embed_texts(CAPTIONS), texts, atol=1e-5)
    assert np.ptp(images, axis=0).min() > 1e-2 and np.ptp(texts, axis=0).min() > 1e-2
    assert load(model.facts.name).facts == model.facts
    assert model.facts.weights and model.facts.preprocessing
    assert model.embed_texts([]).shape[0] == model.embed_images([]).shape[0] == 0


def test_scores_equal_the_logits_of_the_whole_model(transformers, clip, seen):
    import torch

    own = transformers.AutoModel.from_pretrained(clip).eval()
    processor = transformers.AutoProcessor.from_pretrained(clip)
    opened = [p.open() for p in seen]
    inputs = processor(text=CAPTIONS, images=opened, padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = (own(**inputs).logits_per_image / own.logit_scale.exp()).numpy()
    model = load(f"hf:{clip}")
    np.testing.assert_allclose(
        model.embed_images(seen) @ model.embed_texts(CAPTIONS).T, logits, atol=1e-5
    )


@pytest.mark.parametrize("family", ["siglip", "siglip2"])
def test_pitfall_11_siglip_texts_are_canonical_and_padded_to_64(
    transformers, family, seen, request
):
    """Padded to the longest only, as other models are, every caption would get other numbers."""
    folder = request.getfixturevalue(family)
    model = load(f"hf:{folder}")
    _, short = own_call(transformers, folder, seen[:1], CAPTIONS, padding=True)
    assert np.abs(model.embed_texts(CAPTIONS) - short).max() > 1e-2
    shouted = {"siglip": "A DOG, on the LEFT!", "siglip2": "A DOG on the LEFT"}[family]
    rows = model.embed_texts([shouted, "a dog on the left"])
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)


def test_pitfall_11_a_tokenizer_that_does_not_canonicalise_is_helped(transformers, clip):
    from tellapart.models.hf import canonical_text

    assert canonical_text("siglip", " A dog,\n on it. ") == "a dog on it"
    assert canonical_text("siglip2", "A dog, on it.") == "a dog, on it."
    assert canonical_text("clip", "A dog") == "A dog"
    gemma = type("GemmaTokenizerFast", (), {})()
    assert canonical_text("siglip", "A dog, on it.", gemma) == "a dog, on it."


def test_pitfall_12_the_models_own_processor_is_used_and_hashed(transformers, clip, seen, tmp_path):
    import shutil

    other = shutil.copytree(clip, tmp_path / "other")
    images = transformers.CLIPImageProcessor(
        size={"height": 32, "width": 32}, do_center_crop=False, **COLOURS
    )
    processor = transformers.CLIPProcessor(images, clip_tokenizer(transformers))
    processor.save_pretrained(other)
    first, second = load(f"hf:{clip}"), load(f"hf:{other}")
    assert first.facts.weights == second.facts.weights
    assert first.facts.preprocessing != second.facts.preprocessing
    assert np.abs(first.embed_images(seen) - second.embed_images(seen)).max() > 1e-3


def test_pitfall_3_half_precision_towers_give_float32_similarities(clip, seen):
    exact, half = load(f"hf:{clip}"), load(f"hf:{clip}?dtype=bfloat16")
    scores = half.embed_images(seen) @ half.embed_texts(CAPTIONS).T
    assert scores.dtype == np.float32 and half.facts.dtype == "bfloat16"
    np.testing.assert_allclose(
        scores, exact.embed_images(seen) @ exact.embed_texts(CAPTIONS).T, atol=0.1
    )
    norms = np.linalg.norm(half.embed_texts(CAPTIONS), axis=1)
    np.testing.assert_allclose(norms, 1, atol=1e-6)


def blip_folder(transformers, folder, kind):
    """One of BLIP's models, small."""
    tokenizer = bert_tokenizer(transformers, folder)
    text = TEXT | {
        "vocab_size": len(tokenizer) + 2, "max_position_embeddings": 64, "encoder_hidden_size": 32,
        "projection_dim": 16, "bos_token_id": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.sep_token_id, "sep_token_id": tokenizer.sep_token_id,
    }  # fmt: skip
    config = transformers.BlipConfig(
        text_config=text, vision_config=VISION, projection_dim=16, image_text_hidden_size=16
    )
    wide(getattr(transformers, kind)(config)).save_pretrained(folder)
    images = transformers.BlipImageProcessor(size={"height": 32, "width": 32}, **COLOURS)
    transformers.BlipProcessor(images, tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def blip(transformers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("blip")
    return blip_folder(transformers, folder, "BlipForImageTextRetrieval")


def test_pitfall_18_blips_two_heads_equal_the_librarys_own_calls(transformers, blip, seen):
    import torch

    own = transformers.BlipForImageTextRetrieval.from_pretrained(blip).eval()
    processor = transformers.AutoProcessor.from_pretrained(blip)
    matching, contrast = load(f"hf:{blip}?head=itm"), load(f"hf:{blip}?head=itc")
    assert isinstance(matching, PairScorer) and isinstance(contrast, DualEncoder)
    itm = matching.score_pairs(*pairs(seen)).reshape(len(seen), -1)
    itc = contrast.embed_images(seen) @ contrast.embed_texts(CAPTIONS).T
    for i, picture in enumerate(seen):
        for j, text in enumerate(CAPTIONS):
            inputs = processor(images=picture.open(), text=text, return_tensors="pt")
            with torch.no_grad():
                logits = own(**inputs).itm_score[0]
                cosine = own(**inputs, use_itm_head=False).itm_score[0, 0]
            assert itm[i, j] == pytest.approx(float(logits[1] - logits[0]), abs=1e-5)
            assert itc[i, j] == pytest.approx(float(cosine), abs=1e-5)
    assert np.ptp(itm) > 1e-2 and np.ptp(itc) > 1e-2
    assert np.ptp(itm, axis=0).min() > 1e-3 and np.ptp(itm, axis=1).min() > 1e-3
    assert matching.facts.options["head"] == "itm" and "head=itm" in matching.facts.name
    assert contrast.facts.options["head"] == "itc" and contrast.facts.name != matching.facts.name


def test_pitfall_18_blip_without_a_head_is_refused(blip):
    with pytest.raises(BadInput, match="its heads give different scores") as caught:
        load(f"hf:{blip}")
    assert caught.value.allowed == "head=itm or head=itc or head=caption"


def test_pitfall_18_a_head_that_was_never_trained_is_refused(blip):
    with pytest.raises(TellapartError, match="would fill them with random numbers"):
        load(f"hf:{blip}?head=caption")


@pytest.fixture(scope="module")
def captioner(transformers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("captioner")
    return blip_folder(transformers, folder, "BlipForConditionalGeneration")


@pytest.fixture(scope="module")
def git(transformers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("git")
    tokenizer = bert_tokenizer(transformers, folder)
    tokenizer.save_pretrained(folder)
    text = TEXT | {"vocab_size": len(tokenizer), "max_position_embeddings": 64}
    config = transformers.GitConfig(
        vision_config=VISION, bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id, pad_token_id=tokenizer.pad_token_id, **text,
    )  # fmt: skip
    wide(transformers.GitForCausalLM(config)).save_pretrained(folder)
    images = transformers.CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}, **COLOURS
    )
    transformers.GitProcessor(images, tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def encoder_decoder(transformers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder-decoder")
    tokenizer = bert_tokenizer(transformers, folder)
    encoder = transformers.ViTConfig(**VISION)
    decoder = transformers.BertConfig(
        vocab_size=len(tokenizer), max_position_embeddings=64, is_decoder=True,
        add_cross_attention=True, **TEXT,
    )  # fmt: skip
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id = tokenizer.cls_token_id
    config.pad_token_id = tokenizer.pad_token_id
    wide(transformers.VisionEncoderDecoderModel(config)).save_pretrained(folder)
    transformers.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)
    tokenizer.eos_token = tokenizer.sep_token
    tokenizer.save_pretrained(folder)
    return folder


KINDS = {
    "captioner": "BlipForConditionalGeneration",
    "git": "GitForCausalLM",
    "encoder_decoder": "VisionEncoderDecoderModel",
}


@pytest.mark.parametrize("family", list(KINDS))
def test_captioners_equal_the_librarys_own_loss(transformers, family, seen, request):
    """The library's loss is minus the mean log-probability of the caption's tokens."""
    import torch

    folder = request.getfixturevalue(family)
    own = getattr(transformers, KINDS[family]).from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    images = transformers.AutoImageProcessor.from_pretrained(folder)
    model = load(f"hf:{folder}?head=caption")
    summed = load(f"hf:{folder}?head=caption&reduce=sum")
    some = seen[:3]
    means = model.score_pairs(*pairs(some)).reshape(len(some), -1)
    sums = summed.score_pairs(*pairs(some)).reshape(len(some), -1)
    for i, picture in enumerate(some):
        pixels = images(images=picture.open(), return_tensors="pt").pixel_values
        for j, text in enumerate(CAPTIONS):
            labels = tokenizer(text, return_tensors="pt").input_ids
            given = {} if family == "encoder_decoder" else {"input_ids": labels.clone()}
            if family == "captioner":
                given["input_ids"][:, 0] = own.config.text_config.bos_token_id
            with torch.no_grad():
                loss = float(own(pixel_values=pixels, labels=labels, **given).loss)
            count = labels.shape[1] - (family != "encoder_decoder")
            assert means[i, j] == pytest.approx(-loss, abs=1e-5)
            assert sums[i, j] == pytest.approx(-loss * count, abs=1e-4)
    assert np.ptp(means, axis=0).min() > 1e-3, "the picture matters"
    assert "reduce=sum" in summed.facts.name
    assert summed.facts.options["reduce"] == "sum" and model.facts.options["reduce"] == "mean"
    assert load(summed.facts.name).facts == summed.facts


WAYS = {
    "greedy": {"do_sample": False, "num_beams": 1},
    "beam": {"do_sample": False, "num_beams": 3},
}


@pytest.mark.parametrize("family", list(KINDS))
def test_captions_written_equal_the_librarys_own_generate(transformers, family, seen, request):
    import torch

    folder = request.getfixturevalue(family)
    own = getattr(transformers, KINDS[family]).from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    images = transformers.AutoImageProcessor.from_pretrained(folder)
    model = writes_captions(load(f"hf:{folder}?head=caption"))
    for method, given in WAYS.items():
        texts = model.write_captions(seen, Decoding(method=method, beams=3, longest=6))
        for picture, text in zip(seen, texts, strict=True):
            pixels = images(images=picture.open(), return_tensors="pt").pixel_values
            with torch.no_grad():
                tokens = own.generate(pixel_values=pixels, max_new_tokens=6, **given)
            expected = tokenizer.batch_decode(tokens, skip_special_tokens=True)[0]
            assert text == " ".join(expected.split())
        assert any(texts)


def test_raw_pictures_go_in_and_a_results_file_comes_out(captioner, tmp_path):
    (tmp_path / "photos").mkdir()
    pictures(tmp_path / "photos")
    out = tmp_path / "captions.json"
    words = ["caption", f"hf:{captioner}?head=caption", "--on", str(tmp_path / "photos")]
    done = CliRunner().invoke(app, [*words, "--out", str(out), "--longest", "6"])
    assert done.exit_code == 0, (done.output, done.exception)
    rows = json.loads(out.read_text())
    assert len(rows) == len(list((tmp_path / "photos").iterdir()))
    assert all(row["image_id"] in done.output for row in rows[:2])
    assert any(row["caption"] for row in rows)


def test_what_is_drawn_for_a_picture_depends_on_it_and_the_seed_alone(captioner, seen):
    model = load(f"hf:{captioner}?head=caption")
    how = Decoding(method="sample", longest=6, seed=1)
    together = model.write_captions(seen, how)
    assert together[2:3] == model.write_captions(seen[2:3], how)
    assert together != model.write_captions(seen, replace(how, seed=2))
    cold = replace(how, temperature=1e-4)
    assert model.write_captions(seen, cold) == model.write_captions(
        seen, Decoding(method="greedy", longest=6)
    )


def test_a_model_that_writes_nothing_is_refused(clip):
    with pytest.raises(BadInput, match="does not write captions"):
        writes_captions(load(f"hf:{clip}"))


def test_a_picture_is_looked_at_once_for_all_its_captions(captioner, seen):
    model = load(f"hf:{captioner}?head=caption")
    looks = []
    model._model.vision_model.register_forward_pre_hook(
        lambda _, args, given: looks.append(len(given["pixel_values"])), with_kwargs=True
    )
    model.score_pairs(*pairs(seen))
    assert sum(looks) == len(seen)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("?head=itm", "it has no head=itm"),
        ("?reduce=sum", "has no effect without head=caption"),
        ("?reduce=max", "reduce=max is not known"),
    ],
)
def test_options_that_do_not_fit_are_explained(clip, options, message):
    with pytest.raises(BadInput, match=message):
        load(f"hf:{clip}{options}")


def test_other_families_are_refused(transformers, tmp_path):
    transformers.BertConfig(**TEXT).save_pretrained(tmp_path)
    with pytest.raises(BadInput, match="family 'bert', which hf cannot score"):
        load(f"hf:{tmp_path}")


def test_a_folder_that_is_not_there_is_explained(transformers):
    with pytest.raises(BadInput, match="the folder does not exist"):
        load("hf:./not-here")


def test_offline_a_missing_model_says_what_to_do(transformers, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    # the library reads them when it is imported
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(TellapartError) as caught:
        load("hf:no-such-org/no-such-model")
    error = str(caught.value)
    assert "the model 'no-such-org/no-such-model' cannot be loaded" in error
    assert re.search(rf"where: +{re.escape(str(tmp_path))}.*HF_HUB_OFFLINE is set", error)
    assert "to do:" in error and "allowed:" in error
