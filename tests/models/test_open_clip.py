"""`open_clip`: the same numbers as the library's own calls, and the right activation."""

from __future__ import annotations

import json
import logging
import re
from functools import cache

import numpy as np
import pytest
from tests.models.small import CAPTIONS, library, one_thread, pictures

from tellapart.errors import BadInput, TellapartError, UnknownName
from tellapart.models.model import DualEncoder
from tellapart.models.names import load
from tellapart.models.open_clip import PUBLISHED, source_of

TINY = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "patch_size": 8, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
SIGLIP = {
    "no_causal_mask": True, "pool_type": "last", "proj_bias": True, "context_length": 64,
    "vocab_size": 300, "width": 32, "heads": 2, "layers": 2, "hf_tokenizer_name": "local",
    "tokenizer_kwargs": {"clean": "canonicalize"},
}  # fmt: skip


@pytest.fixture(scope="module")
def open_clip():
    found = library("open_clip")
    with (
        pytest.MonkeyPatch.context() as patch,
        one_thread(),
    ):  # building its tokenizer takes a second
        patch.setattr(found, "get_tokenizer", cache(found.get_tokenizer))
        yield found


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return pictures(tmp_path_factory.mktemp("pictures"))


@pytest.fixture(scope="module")
def checkpoint(open_clip, tmp_path_factory):
    """A small architecture under two names, and random weights of it."""
    import torch

    folder = tmp_path_factory.mktemp("open_clip")
    (folder / "tiny.json").write_text(json.dumps(TINY))
    (folder / "tiny-quickgelu.json").write_text(json.dumps(TINY | {"quick_gelu": True}))
    open_clip.add_model_config(folder)
    torch.manual_seed(0)
    model = open_clip.create_model("tiny")
    for parameter in model.parameters():  # wide enough for activations to matter
        torch.nn.init.normal_(parameter, std=0.3)
    path = folder / "weights.pt"
    torch.save(model.state_dict(), path)
    return path


@pytest.fixture
def tagged(open_clip, checkpoint, monkeypatch):
    """The weights as if published: under `openai` with QuickGELU, under `other` without."""
    made = {"file": str(checkpoint), "mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4)}
    tags = {"openai": made | {"quick_gelu": True}, "other": made}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny", tags)
    return tags


def own_call(open_clip, seen, texts, **options):
    """What the library itself says, the obvious way."""
    import torch

    model, transform = open_clip.create_model_from_pretrained("tiny", **options)
    model.eval()
    tokens = open_clip.get_tokenizer("tiny")(texts)
    with torch.no_grad():
        images = model.encode_image(
            torch.stack([transform(p.open()) for p in seen]), normalize=True
        )
        return images.numpy(), model.encode_text(tokens, normalize=True).numpy()


@pytest.mark.parametrize("tag", ["openai", "other"])
def test_pitfall_1_the_tag_decides_the_activation(open_clip, tagged, seen, tag):
    model = load(f"open_clip:tiny/{tag}?device=cpu")
    assert isinstance(model, DualEncoder)
    assert model.facts.options["activation"] == ("quickgelu" if tag == "openai" else "gelu")
    quick = tag == "openai"
    images, texts = own_call(open_clip, seen, CAPTIONS, pretrained=tag, force_quick_gelu=quick)
    np.testing.assert_allclose(model.embed_images(seen), images, atol=1e-5)
    np.testing.assert_allclose(model.embed_texts(CAPTIONS), texts, atol=1e-5)


def test_pitfall_1_the_wrong_activation_would_show(open_clip, tagged, seen):
    model = load("open_clip:tiny/openai")
    with pytest.warns(UserWarning, match="QuickGELU mismatch"):
        images, _ = own_call(open_clip, seen, CAPTIONS, pretrained="openai")
    assert np.abs(model.embed_images(seen) - images).max() > 1e-3


def test_pitfall_1_a_bare_checkpoint_must_state_its_activation(open_clip, checkpoint, seen):
    with pytest.raises(BadInput, match="does not say which activation") as caught:
        load(f"open_clip:tiny/{checkpoint}")
    assert "activation=quickgelu" in caught.value.allowed
    made = {a: load(f"open_clip:tiny/{checkpoint}?activation={a}") for a in ("gelu", "quickgelu")}
    for name, model in made.items():
        images, texts = own_call(
            open_clip, seen, CAPTIONS, pretrained=str(checkpoint), force_quick_gelu=name != "gelu"
        )
        np.testing.assert_allclose(model.embed_images(seen), images, atol=1e-5)
        np.testing.assert_allclose(model.embed_texts(CAPTIONS), texts, atol=1e-5)
        assert load(model.facts.name).facts == model.facts
        assert model.facts.options["activation"] == name
    assert (
        np.abs(made["gelu"].embed_images(seen) - made["quickgelu"].embed_images(seen)).max() > 1e-3
    )
    named = load(f"open_clip:tiny-quickgelu/{checkpoint}")  # the architecture's name states it
    np.testing.assert_array_equal(
        named.embed_texts(CAPTIONS), made["quickgelu"].embed_texts(CAPTIONS)
    )


def test_pitfall_1_every_published_tag_gets_the_activation_it_was_trained_with(open_clip):
    from tellapart.models.open_clip import source_of

    for arch, tag in open_clip.list_pretrained():
        if open_clip.get_model_config(arch) is None:
            continue
        trained = open_clip.pretrained.get_pretrained_cfg(arch, tag).get("quick_gelu", False)
        if trained or tag == "openai":
            assert source_of(open_clip, f"{arch}/{tag}").activation == "quickgelu", (arch, tag)


def test_texts_are_trimmed_and_nothing_changes(open_clip, tagged):
    """The adapter's trimmed text tower against the library's own call at full length."""
    import torch

    from tellapart.models.open_clip import encode_text, trims

    model = open_clip.create_model("tiny", pretrained="other").eval()
    tokens = open_clip.get_tokenizer("tiny")([*CAPTIONS, "a " * 100])
    lengths = [int(row.argmax()) + 1 for row in tokens]  # up to the end token, the largest id
    assert trims(model) and max(lengths) == 77
    assert max(lengths[:-1]) < 20
    sizes = []
    model.transformer.register_forward_pre_hook(lambda _, args: sizes.append(args[0].shape[1]))
    with torch.no_grad():
        for some in (tokens, tokens[:-1], tokens[1:2]):
            np.testing.assert_allclose(
                encode_text(model, some).numpy(), model.encode_text(some).numpy(), atol=1e-5
            )
    assert sizes[::2] == [77, max(lengths[:-1]), lengths[1]]


def test_custom_text_towers_are_trimmed_too(open_clip, tagged):
    import torch

    from tellapart.models.open_clip import encode_text, trims

    model = open_clip.create_model("tiny", force_custom_text=True).eval()
    tokens = open_clip.get_tokenizer("tiny")(CAPTIONS)
    assert type(model).__name__ == "CustomTextCLIP" and trims(model)
    with torch.no_grad():
        np.testing.assert_allclose(
            encode_text(model, tokens).numpy(), model.encode_text(tokens).numpy(), atol=1e-5
        )


@pytest.fixture(scope="module")
def siglip_folder(open_clip, tmp_path_factory):
    """A SigLIP-like model as a folder: no causal mask, last token, all 64 places attended to."""
    import torch
    from safetensors.torch import save_model
    from tests.models.small import bert_tokenizer

    folder = tmp_path_factory.mktemp("siglip")
    bert_tokenizer(library("transformers"), folder).save_pretrained(folder)
    config = TINY | {"text_cfg": SIGLIP, "custom_text": True, "init_logit_bias": -10}
    told = {
        "mean": [0.5] * 3,
        "std": [0.5] * 3,
        "resize_mode": "squash",
        "interpolation": "bicubic",
    }
    text = json.dumps({"model_cfg": config, "preprocess_cfg": told})
    (folder / "open_clip_config.json").write_text(text)
    torch.manual_seed(1)
    plain = config | {"text_cfg": {k: v for k, v in SIGLIP.items() if "token" not in k}}
    kept = {k: v for k, v in plain.items() if k != "custom_text"}
    save_model(open_clip.CustomTextCLIP(**kept), str(folder / "open_clip_model.safetensors"))
    return folder


def test_pitfall_11_siglip_texts_are_canonicalised_and_never_trimmed(
    open_clip, siglip_folder, seen
):
    import torch

    model = load(f"open_clip:{siglip_folder}")
    own, transform = open_clip.create_model_from_pretrained(f"local-dir:{siglip_folder}")
    tokens = open_clip.get_tokenizer(f"local-dir:{siglip_folder}")(CAPTIONS)
    assert tokens.shape[1] == 64
    with torch.no_grad():
        texts = own.eval().encode_text(tokens, normalize=True).numpy()
        pixels = torch.stack([transform(p.open()) for p in seen])
        images = own.encode_image(pixels, normalize=True).numpy()
    np.testing.assert_allclose(model.embed_texts(CAPTIONS), texts, atol=1e-5)
    np.testing.assert_allclose(model.embed_images(seen), images, atol=1e-5)
    rows = model.embed_texts(["A cat, on the mat!", "a cat on the mat", "a cat on the dog"])
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)
    assert np.abs(rows[0] - rows[2]).max() > 1e-3
    assert model.facts.options["activation"] == "gelu"


def test_pitfall_12_the_tags_own_preprocessing_is_used_and_hashed(open_clip, tagged, seen):
    before = load("open_clip:tiny/other")
    tagged["other"] = tagged["other"] | {"resize_mode": "squash", "interpolation": "bilinear"}
    after = load("open_clip:tiny/other")
    assert before.facts.weights == after.facts.weights
    assert before.facts.preprocessing != after.facts.preprocessing
    assert np.abs(before.embed_images(seen) - after.embed_images(seen)).max() > 1e-4


def test_pitfall_3_half_precision_towers_give_float32_similarities(tagged, seen):
    exact, half = load("open_clip:tiny/openai"), load("open_clip:tiny/openai?dtype=bfloat16")
    for rows in (half.embed_images(seen), half.embed_texts(CAPTIONS)):
        assert rows.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    scores = half.embed_images(seen) @ half.embed_texts(CAPTIONS).T
    np.testing.assert_allclose(
        scores, exact.embed_images(seen) @ exact.embed_texts(CAPTIONS).T, atol=0.05
    )
    assert len(np.unique(scores)) == scores.size, "no ties, as there are in bfloat16"
    assert half.facts.dtype == "bfloat16"


def test_the_order_and_company_of_texts_do_not_matter(tagged, seen):
    model = load("open_clip:tiny/openai")
    rows, order = model.embed_texts(CAPTIONS), [3, 0, 4, 1, 2]
    again = model.embed_texts([CAPTIONS[k] for k in order])
    np.testing.assert_allclose(again, rows[order], atol=1e-6)
    assert model.embed_texts([]).shape[0] == model.embed_images([]).shape[0] == 0


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("open_clip:tinny/openai", UnknownName, "no architecture of open_clip called 'tinny'"),
        ("open_clip:ViT-B-32", BadInput, "an architecture but no weights"),
        ("open_clip:ViT-B-32/opena", BadInput, "neither a tag of ViT-B-32 nor a file"),
        ("open_clip:ViT-B-32/openai?activation=gelu", BadInput, "were trained with quickgelu"),
        ("open_clip:ViT-B-32/openai?activation=relu", BadInput, "is not an activation"),
        ("open_clip:ViT-B-32/openai?dtype=float8", BadInput, "dtype=float8 is not a dtype"),
        ("open_clip:ViT-B-32/openai?device=tpu9", BadInput, "device=tpu9 cannot be used"),
        ("open_clip:./nowhere", BadInput, "the folder has no open_clip model"),
    ],
)
def test_mistakes_are_explained(open_clip, text, error, message):
    with pytest.raises(error, match=re.escape(message)):
        load(text)


def test_weights_of_another_architecture_are_an_error(open_clip, checkpoint):
    with pytest.raises(TellapartError, match="open_clip cannot load"):
        load(f"open_clip:ViT-S-32-alt/{checkpoint}?activation=gelu")


def test_what_open_clip_logs_is_not_printed_beside_the_error(open_clip, monkeypatch, capsys):
    def fails(*given, **options):
        logging.error("Failed to download weights")
        raise RuntimeError("Failed to download weights. " + 100 * "Check it. ")

    monkeypatch.setattr(open_clip, "create_model_from_pretrained", fails)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with pytest.raises(TellapartError, match="open_clip cannot load") as caught:
        load("open_clip:ViT-B-32/openai")
    assert not logging.getLogger().handlers and not capsys.readouterr().err
    assert caught.value.where.endswith(" ...") and len(caught.value.where) <= 300


def test_published_fine_tunes_are_found_by_name_with_their_activation(
    open_clip, tmp_path, monkeypatch
):
    monkeypatch.setenv("TELLAPART_HOME", str(tmp_path))
    with pytest.raises(BadInput, match="the file of negclip does not exist"):
        load("open_clip:negclip")
    (tmp_path / "checkpoints").mkdir()
    for name, file in PUBLISHED.items():
        (tmp_path / "checkpoints" / file).touch()
        found = source_of(open_clip, name)
        assert (found.model, found.activation) == ("ViT-B-32", "quickgelu")
        assert found == source_of(open_clip, f"{name}/{tmp_path / 'checkpoints' / file}")
    with pytest.raises(BadInput, match="activation=gelu is wrong"):
        load("open_clip:gnm?activation=gelu")
