"""The contract of systems: every one that is installed learns, is saved, and goes on."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

from tests.models.small import one_thread  # noqa: E402
from tests.models.small_systems import SPACE, captioned, choices, features, foils  # noqa: E402

from tellapart import registry  # noqa: E402
from tellapart.models.trained import load_system  # noqa: E402
from tellapart.models.zoo.system import ImageInputs, Minibatch, TextInputs, system_class  # noqa: E402
from tellapart.text.vocabulary import Vocabulary  # noqa: E402
from tellapart.training.data import gather  # noqa: E402
from tellapart.training.items_data import gather_items  # noqa: E402
from tellapart.training.trainer import TrainingOrder, train_system  # noqa: E402

SYSTEMS = registry.systems.names()
PARAGRAPHS = ("i2c", "c2i", "linm")
SMALL = 8
"""What every width is set to."""


@pytest.fixture(autouse=True)
def quick():
    with one_thread():
        yield


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same images with their captions, and with items about them."""
    root = tmp_path_factory.mktemp("systems")
    corpus = captioned(root)
    stores = [features(corpus, root / "features")]
    items = {"judging": gather_items([foils(corpus)], stores)}
    return gather([corpus], stores), gather_items([choices(corpus)], stores), items


@pytest.fixture(params=SYSTEMS)
def name(request):
    if request.param in PARAGRAPHS:
        pytest.importorskip("gensim", reason="gensim is not installed")
    return request.param


@pytest.fixture
def data(name, both):
    task = system_class(name).task
    return both[2].get(task, both[registry.tasks.get(task).items])


def widths(name):
    """Settings that make a system tiny and sure: widths small, nothing left out by chance."""
    config = system_class(name).Config()
    wide = {f.name: SMALL for f in fields(config) if isinstance(getattr(config, f.name), int)}
    wide = {key: value for key, value in wide.items() if getattr(config, key) > SMALL}
    return wide | {f.name: 0.0 for f in fields(config) if f.name == "dropout"}


@pytest.fixture
def system(name, data):
    torch.manual_seed(0)
    kind = system_class(name)
    vocabulary = Vocabulary.counted(data.texts)
    return kind(replace(kind.Config(), **widths(name)), vocabulary, SPACE).eval()


def task_of(system, data):
    encoded = data.encoded(system.vocabulary, None)
    kind = registry.tasks.get(type(system).task)
    return kind(system, kind.Settings(), encoded), encoded


def scores(system, batch):
    with torch.no_grad():
        images, texts = system.encode_images(batch.images), system.encode_texts(batch.texts)
        return system.match(images, texts).numpy()


def part(batch, images, texts):
    """Other images and captions out of a batch, in other orders."""
    seen, said = batch.images, batch.texts
    return Minibatch(
        ImageInputs(seen.whole[images], seen.regions[images], seen.counts[images]),
        TextInputs(said.words[texts], said.lengths[texts]),
        torch.zeros(len(texts), dtype=torch.int64),
        torch.tensor(images),
    )


def test_the_loss_falls_and_all_weights_get_finite_gradients(system, data):
    task, encoded = task_of(system, data)
    batch = encoded.minibatch(np.arange(len(encoded)), regions=True)
    task.train()
    optimiser = torch.optim.Adam(task.parameters(), 0.02)
    losses = []
    for _ in range(15):
        optimiser.zero_grad()
        loss = task(batch, 0)
        loss.backward()
        losses.append(loss.item())
        optimiser.step()
    missing = [n for n, p in system.named_parameters() if p.grad is None]
    assert not missing
    assert all(torch.isfinite(p.grad).all() for p in system.parameters())
    assert any(p.grad.abs().sum() > 0 for p in system.parameters())
    assert losses[-1] < 0.9 * losses[0]


def test_batch_order_and_filling_change_nothing(system, data):
    _, encoded = task_of(system, data)
    batch = encoded.minibatch(np.arange(12), regions=True)
    whole = scores(system, batch)
    texts, images = [7, 2, 5], [3, 0]
    some = scores(system, part(batch, images, texts))
    np.testing.assert_allclose(some, whole[np.ix_(images, texts)], rtol=1e-4, atol=1e-5)

    filled = TextInputs(torch.nn.functional.pad(batch.texts.words, (0, 3)), batch.texts.lengths)
    more = torch.nn.functional.pad(batch.images.regions, (0, 0, 0, 2), value=9.0)
    wider = ImageInputs(batch.images.whole, more, batch.images.counts)
    longer = Minibatch(wider, filled, batch.owner, batch.numbers)
    np.testing.assert_allclose(scores(system, longer), whole, rtol=1e-4, atol=1e-5)


def test_pairs_score_as_in_the_grid(system, data):
    _, encoded = task_of(system, data)
    batch = encoded.minibatch(np.arange(9), regions=True)
    with torch.no_grad():
        images = system.encode_images(part(batch, [2, 0, 1], [0]).images)
        texts = system.encode_texts(part(batch, [0], [4, 8, 1]).texts)
        pairs = system.match_pairs(images, texts).numpy()
    grid = scores(system, batch)
    np.testing.assert_allclose(pairs, grid[[2, 0, 1], [4, 8, 1]], rtol=1e-4, atol=1e-5)


class Stopped(Exception):
    pass


def stops(after):
    """Progress that ends the training at some step, as a kill would."""
    count = 0

    def show(phase, done, total):
        nonlocal count
        count += phase == "training"
        if count == after:
            raise Stopped

    return show


def test_killed_and_resumed_gives_the_same_bytes_and_loads_with_the_same_scores(
    name, data, tmp_path
):
    small = [f"{key}={value}" for key, value in widths(name).items() if key != "dropout"]
    steps = ["epochs=2", "batch=12", "together=1", "log_steps=2", "checkpoint_steps=2", "least=1"]
    order = TrainingOrder(name, "default", (*small, *steps))
    valid = data.part(np.arange(6))
    train_system(order, data, valid, tmp_path / "whole")
    for after in (3, 5):  # once in each epoch
        with pytest.raises(Stopped):
            train_system(order, data, valid, tmp_path / "cut", progress=stops(after))
    assert not (tmp_path / "cut").exists()
    train_system(order, data, valid, tmp_path / "cut")
    assert not list(tmp_path.glob(".*"))
    kept = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert kept == sorted(path.name for path in (tmp_path / "cut").iterdir())
    for file in set(kept) - {"timings.json"}:
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "cut" / file).read_bytes()

    first, card = load_system(tmp_path / "whole")
    second, _ = load_system(tmp_path / "cut")
    assert card.system == name
    encoded = valid.encoded(first.vocabulary, None)
    batch = encoded.minibatch(np.arange(len(encoded)), regions=True)
    np.testing.assert_array_equal(scores(first, batch), scores(second, batch))
