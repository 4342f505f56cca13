"""FOIL's classifiers with `scaled`: whatever the scale of image features, they can be used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.models.small import one_thread  # noqa: E402

from tellapart.image_features.store import FeatureSpace  # noqa: E402
from tellapart.models.zoo.layers import keep_variance  # noqa: E402
from tellapart.models.zoo.system import ImageInputs, TextInputs, system_class  # noqa: E402
from tellapart.text.vocabulary import Vocabulary  # noqa: E402

SEEING = ("cnn-lstm", "lstm-norm-i", "hiecoatt")
SPACE = FeatureSpace("none", "", "", "cells 2x2", 320, 320, 4)
WORDS = 60


@pytest.fixture(autouse=True)
def quick():
    with one_thread():
        yield


def made(name, **settings):
    torch.manual_seed(0)
    kind = system_class(name)
    words = Vocabulary(tuple(f"w{k}" for k in range(WORDS)))
    return kind(replace(kind.Config(), dropout=0.0, **settings), words, SPACE)


def inputs(factor=1.0, shift=0.0, images=40):
    """Images whose features have a large mean and small differences, as after a ReLU; captions."""
    rng = np.random.default_rng(0)
    whole, regions = (
        torch.tensor(factor * (1 + 0.2 * rng.normal(size=size)) + shift).float()
        for size in ((images, 320), (images, 4, 320))
    )
    counts = torch.tensor([2 + k % 3 for k in range(images)])
    texts = TextInputs.of([rng.integers(3, WORDS, 5 + k % 4).tolist() for k in range(images)])
    return ImageInputs(whole, regions, counts), texts


def logits(system, images, texts):
    return system.logits(system.encode_images(images), system.encode_texts(texts))


@pytest.mark.parametrize("name", SEEING)
@torch.no_grad()
def test_scaled_classifiers_answer_alike_whatever_the_scale_of_features(name):
    answers = []
    for factor, shift in ((1.0, 0.0), (50.0, -7.0)):
        system = made(name, scaled=True).train()
        images, texts = inputs(factor, shift)
        training = logits(system, images, texts)
        answers.append((training, logits(system.eval(), images, texts)))
    for one, other in zip(*answers, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", SEEING)
@torch.no_grad()
def test_scaled_classifiers_differ_more_between_images_and_between_captions_at_the_start(name):
    """How far answers change with the image, with the caption, each with the other held."""
    spread = {}
    for scaled in (False, True):
        system = made(name, scaled=scaled).train()
        images, texts = inputs()
        logits(system, images, texts)
        seen, said = system.eval().encode_images(images), system.encode_texts(texts)
        first = ((one[:1].expand_as(one) for one in codes) for codes in (seen, said))
        one_image, one_caption = (tuple(codes) for codes in first)
        spread[scaled] = [
            float(system.joint(*codes).std(0).mean())
            for codes in ((seen, one_caption), (one_image, said))
        ]
    assert all(own > 3 * before for own, before in zip(spread[True], spread[False], strict=True))
    assert 0.1 < spread[True][0] / spread[True][1] < 10


@pytest.mark.parametrize("name", SEEING)
@torch.no_grad()
def test_the_scale_of_training_images_is_kept_with_the_weights(name):
    system = made(name, scaled=True).train()
    images, texts = inputs()
    logits(system, images, texts)
    again = made(name, scaled=True).eval()
    again.load_state_dict(system.state_dict())
    expected = logits(system.eval(), images, texts)
    torch.testing.assert_close(logits(again, images, texts), expected)
    few = ImageInputs(images.whole[:1], images.regions[:1], images.counts[:1])
    own = TextInputs(texts.words[:1], texts.lengths[:1])
    torch.testing.assert_close(logits(again, few, own), expected[:1], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_weights_that_keep_variance_keep_it():
    torch.manual_seed(0)
    parts = torch.nn.ModuleList(
        [torch.nn.Embedding(500, 200, padding_idx=0), torch.nn.Linear(200, 200),
         torch.nn.LSTM(200, 200, batch_first=True)]
    )  # fmt: skip
    keep_variance(parts)
    words, linear, lstm = parts
    vectors = words(torch.arange(500))
    assert vectors[0].abs().sum() == 0
    assert vectors[1:].var() == pytest.approx(1, abs=0.05)
    assert linear(vectors[1:]).var() == pytest.approx(1, abs=0.1)
    states, _ = lstm(vectors[1:].reshape(-1, 1, 200))
    plain, _ = torch.nn.LSTM(200, 200, batch_first=True)(vectors[1:].reshape(-1, 1, 200))
    assert states.std() > 1.3 * plain.std()
    assert all((w == 0).all() for n, w in parts.named_parameters() if "bias" in n)
