"""Captioners: likelihood, decoding and self-critical training, held to obvious slow versions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.models.small import one_thread  # noqa: E402

from tellapart.image_features.store import FeatureSpace  # noqa: E402
from tellapart.models.caption_writer import Decoding  # noqa: E402
from tellapart.models.zoo.captioner import CaptionerConfig  # noqa: E402
from tellapart.models.zoo.decoding import (  # noqa: E402
    MARK,
    UNSEEN,
    beam_search,
    greedy,
    rows_of,
    sample,
)
from tellapart.models.zoo.neural_talk import NeuralTalk  # noqa: E402
from tellapart.models.zoo.self_critical import ENDED, SelfCritical  # noqa: E402
from tellapart.models.zoo.show_att_tell import ShowAttTell  # noqa: E402
from tellapart.models.zoo.show_tell import ShowTell  # noqa: E402
from tellapart.models.zoo.system import ImageInputs, Minibatch, TextInputs  # noqa: E402
from tellapart.models.zoo.updown import UpDown  # noqa: E402
from tellapart.text.caption_metrics.cider import cider_d  # noqa: E402
from tellapart.text.caption_metrics.references import (  # noqa: E402
    DocumentFrequencies,
    ReferenceSets,
)
from tellapart.text.vocabulary import Vocabulary  # noqa: E402

WORDS = ["", "?", "dog", "cat", "runs"]
LONGEST = 3
EVERY = [c for n in range(LONGEST + 1) for c in product((2, 3, 4), repeat=n)]
"""Every caption that can be written with three words, of up to three words."""


def rows(captions):
    return torch.tensor([[*c, *[MARK] * (LONGEST - len(c))] for c in captions])


@pytest.fixture(autouse=True)
def quick():
    with one_thread():
        yield


@pytest.fixture(params=[ShowTell, NeuralTalk, ShowAttTell, UpDown], ids=lambda kind: kind.__name__)
def model(request):
    torch.manual_seed(0)
    vocabulary = Vocabulary(tuple(WORDS[2:]))
    space = FeatureSpace("none", "", "", "cells 2x2", 7, 7, 4)
    made = request.param(CaptionerConfig(8, 8, reduce="sum"), vocabulary, space).eval()
    for parameter in made.parameters():
        parameter.data *= 3  # so that images and words matter
    return made


@pytest.fixture
def images():
    make = torch.Generator().manual_seed(1)
    whole, regions = (torch.randn(*size, generator=make) for size in ((3, 7), (3, 4, 7)))
    return ImageInputs(whole, regions, torch.tensor([4, 2, 3]))


def grid_of(model, captions, seen):
    return model.match(seen, (captions,))


def part(images, image):
    own = slice(image, image + 1)
    return ImageInputs(images.whole[own], images.regions[own], images.counts[own])


def slow_log_likelihood(model, images, image, caption):
    """A word at a time, one caption, one image, no batch."""
    seen = model.encode_images(part(images, image))
    memory, word, total = model.begin(seen), MARK, 0.0
    for following in [*caption, MARK]:
        scores, memory = model.step(torch.tensor([word]), memory, seen)
        total += float(scores.double().log_softmax(-1)[0, following])
        word = following
    return total


@torch.no_grad()
def test_the_grid_is_what_a_loop_over_words_gives(model, images):
    captions = [*EVERY[::3], (2, UNSEEN)]
    grid = grid_of(model, rows(captions), model.encode_images(images))
    slow = [[slow_log_likelihood(model, images, i, c) for c in captions] for i in range(3)]
    np.testing.assert_allclose(grid.numpy(), slow, atol=2e-6)
    model.config = CaptionerConfig(8, 8)
    words = grid_of(model, rows(captions), model.encode_images(images))
    steps = torch.tensor([len(c) + 1 for c in captions])
    np.testing.assert_allclose(words.numpy(), (grid / steps).numpy(), atol=1e-9)


@torch.no_grad()
def test_the_probabilities_of_all_captions_and_longer_ones_sum_to_one(model, images):
    """With unknown words among the words: nothing is likelier for being unknown."""
    every = [c for n in range(LONGEST) for c in product((1, 2, 3, 4), repeat=n)]
    cut = list(product((1, 2, 3, 4), repeat=LONGEST))
    seen = model.encode_images(images)
    ended = grid_of(model, rows(every), seen).exp().sum(1)
    one_each = rows_of(seen, torch.arange(3).repeat_interleave(len(cut)))
    each = model.word_log_probabilities(rows(cut).repeat(3, 1), one_each)
    begun = each[:, :LONGEST].sum(1).exp().view(3, -1).sum(1)
    np.testing.assert_allclose((ended + begun).numpy(), 1.0, atol=2e-6)


@torch.no_grad()
def test_padding_and_company_change_nothing(model, images):
    seen, captions = model.encode_images(images), rows(EVERY)
    padded = torch.nn.functional.pad(captions, (0, 4), value=MARK)
    order = torch.randperm(len(EVERY), generator=torch.Generator().manual_seed(2))
    whole = grid_of(model, captions, seen)
    np.testing.assert_allclose(grid_of(model, padded, seen).numpy(), whole.numpy(), atol=2e-6)
    mixed = grid_of(model, captions[order], seen).numpy()
    np.testing.assert_allclose(mixed, whole[:, order].numpy(), atol=2e-6)


@torch.no_grad()
def test_regions_that_are_not_there_change_nothing(model, images):
    filled = images.regions.masked_fill(~images.mask()[..., None], 99.0)
    other = ImageInputs(images.whole, filled, images.counts)
    captions = rows(EVERY)
    whole = grid_of(model, captions, model.encode_images(images))
    np.testing.assert_allclose(
        grid_of(model, captions, model.encode_images(other)).numpy(), whole.numpy()
    )


def test_a_wide_beam_is_an_exhaustive_search(model, images):
    seen = model.encode_images(images)
    with torch.no_grad():
        grid = grid_of(model, rows(EVERY), seen)
    found, totals = beam_search(model, seen, len(EVERY) + 9, LONGEST)
    for image in range(3):
        best = grid[image].argsort(descending=True)
        assert torch.equal(found[image, : len(EVERY)], rows(EVERY)[best])
        np.testing.assert_allclose(totals[image, : len(EVERY)], grid[image][best], atol=2e-6)
    assert torch.isinf(totals[:, len(EVERY) :]).all()


def test_a_beam_of_one_is_greedy_and_wider_ones_are_no_worse(model, images):
    seen = model.encode_images(images)
    one, of_one = beam_search(model, seen, 1, LONGEST)
    assert torch.equal(one[:, 0], greedy(model, seen, LONGEST))
    assert (beam_search(model, seen, 5, LONGEST)[1][:, 0] >= of_one[:, 0] - 1e-9).all()


def test_samples_come_up_as_often_as_the_model_says(model, images):
    """Without unknown words, which share out what they would have had."""
    many = 2_000
    seen = model.encode_images(images)
    same = rows_of(seen, torch.zeros(many, dtype=torch.long))
    chances = torch.as_tensor(np.random.default_rng(0).random((many, LONGEST)))
    first = torch.bincount(sample(model, same, chances)[:, 0], minlength=5) / many
    with torch.no_grad():
        begin = model.begin(rows_of(seen, torch.zeros(1, dtype=torch.long)))
        scores, _ = model.step(torch.tensor([MARK]), begin, rows_of(seen, torch.tensor([0])))
    scores[:, UNSEEN] = float("-inf")
    np.testing.assert_allclose(first, scores[0].softmax(-1), atol=0.04)
    assert first[UNSEEN] == 0
    cold = sample(model, same, chances, temperature=1e-3)
    assert torch.equal(cold[:1], greedy(model, seen, LONGEST)[:1])


REFERENCES = [[["dog", "runs"], ["dog"]], [["cat", "runs"]], [["cat"], ["cat", "cat", "runs"]]]


def test_the_reward_is_cider_d_with_ends_as_words():
    critical = SelfCritical.of(REFERENCES, WORDS, samples=2, longest=LONGEST)
    captions = rows([(2, 4), (3,), (2, 3, 4)])
    places = np.array([0, 2, 1])
    texts = [f"dog runs {ENDED}", f"cat {ENDED}", "dog cat runs"]  # the last one was cut
    of_images = [[" ".join([*words, ENDED]) for words in own] for own in REFERENCES]
    sets = ReferenceSets.of(texts, [of_images[k] for k in places])
    expected = cider_d(sets, DocumentFrequencies.of(of_images)).sentences
    np.testing.assert_allclose(critical.rewards(captions, places), expected)


def test_the_gradient_is_reinforce_written_out(model, images):
    critical = SelfCritical.of(REFERENCES, WORDS, samples=4, longest=LONGEST)
    chances = torch.as_tensor(np.random.default_rng(3).random((12, LONGEST)))
    critical.loss(model.train(), images, [0, 1, 2], chances).backward()
    assert model.training
    found = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    model.eval()
    seen = model.encode_images(images)
    every = rows_of(seen, torch.arange(3).repeat_interleave(4))
    captions = sample(model, every, chances)
    baseline = critical.rewards(greedy(model, seen, LONGEST), np.arange(3))
    total, words = 0.0, 0
    for k, caption in enumerate(captions):
        own = rows_of(seen, torch.tensor([k // 4]))
        reward = critical.rewards(caption[None], np.array([k // 4]))[0]
        memory, before = model.begin(own), MARK
        for word in caption.tolist():
            scores, memory = model.step(torch.tensor([before]), memory, own)
            allowed = torch.tensor([k != UNSEEN for k in range(len(WORDS))])
            logs = scores[0].masked_fill(~allowed, float("-inf")).log_softmax(-1)
            total = total - (reward - baseline[k // 4]) * logs[word]
            words, before = words + 1, word
            if word == MARK:
                break
    (total / words).backward()
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(found[name], parameter.grad, atol=2e-6, err_msg=name)
    assert max(float(grad.abs().max()) for grad in found.values()) > 1e-3


def test_training_on_two_captions_tells_images_apart(model, images):
    """A few steps, and each image's own caption is the likelier one."""
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    texts = TextInputs.of([[4, 6], [5], [6, 4]])  # the vocabulary's numbers
    captions, owner = rows([(2, 4), (3,), (4, 2)]), torch.arange(3)
    assert torch.equal(model.encode_texts(texts)[0], captions[:, :2])
    batch = Minibatch(images, texts, owner, owner)
    first = float(model(batch).detach())
    for _ in range(30):
        optimiser.zero_grad()
        loss = model(batch)
        loss.backward()
        optimiser.step()
    assert float(loss.detach()) < first / 2
    with torch.no_grad():
        grid = grid_of(model, captions, model.encode_images(images))
    assert torch.equal(grid.argmax(0), torch.arange(3))


def test_what_is_written_is_in_the_vocabularys_numbers(model, images):
    seen = model.encode_images(images)
    chances = torch.as_tensor(np.random.default_rng(1).random((3, LONGEST)))
    expected = {
        "greedy": greedy(model, seen, LONGEST),
        "beam": beam_search(model, seen, 2, LONGEST)[0][:, 0],
        "sample": sample(model, seen, chances),
    }
    for method, classes in expected.items():
        how = Decoding(method=method, beams=2, longest=LONGEST)
        found = [model.vocabulary.decode(row) for row in model.write(images, how, chances).tolist()]
        assert found == [" ".join(WORDS[k] for k in row if k) for row in classes.tolist()]
