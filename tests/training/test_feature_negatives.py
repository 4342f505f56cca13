"""Hard negatives of systems on features: false captions, and the images made for them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

from tests.models.small import one_thread  # noqa: E402
from tests.models.small_systems import captioned, features  # noqa: E402

from tellapart.benchmark.benchmark import Benchmark, Card  # noqa: E402
from tellapart.errors import BadInput, UnknownName  # noqa: E402
from tellapart.items import Grid, Item, Origin  # noqa: E402
from tellapart.training.data import TrainingSet, gather_pairs  # noqa: E402
from tellapart.training.losses import info_nce  # noqa: E402
from tellapart.training.task import RetrievalSettings, RetrievalTask  # noqa: E402
from tellapart.training.tuning.pairs import make_pairs, pairs_of_benchmark  # noqa: E402
from tellapart.verbs.systems.train import TrainOptions, train  # noqa: E402

ROWS = [
    ("small-0", "a red dog", "a red cat", "other-1", "replace", ""),
    ("small-1", "a red cat", "a blue cat", None, "replace", ""),
    ("small-2", "a red ball", None, "other-2", "add", ""),
    ("small-3", "a red tree", "a red cat", "other-1", "replace", ""),
]
WORDS = {word: k + 1 for k, word in enumerate("a red blue dog cat ball tree".split())}


def number_of(text):
    return float(sum(WORDS[word] for word in text.split()))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    root = tmp_path_factory.mktemp("negatives")
    own, other = captioned(root, 8), captioned(root, 8, "other", first=4)
    stores = [features(one, root / f"{one.name}-features") for one in (own, other)]
    pictures = {one: c.picture(one) for c in (own, other) for one in c.texts_by_image}
    return SimpleNamespace(
        own=own, stores=stores, pairs=make_pairs("pairs", ROWS, pictures), pictures=pictures
    )


@pytest.fixture
def data(small):
    vocabulary = SimpleNamespace(encode=lambda text, longest: [WORDS[w] for w in text.split()])
    return TrainingSet.encoded(gather_pairs(small.pairs, small.stores), vocabulary, None)


class Cells:
    """A system whose scores are read off a table: images by texts, known by their first numbers."""

    def encode_images(self, images):
        return (images.whole,)

    def encode_texts(self, texts):
        return (texts.words.float().sum(dim=1),)

    def match(self, images, texts):
        return torch.sin(images[0].sum(dim=1)[:, None] * 3 + texts[0][None, :])

    def __call__(self, batch):
        return self.match(self.encode_images(batch.images), self.encode_texts(batch.texts))


def loss(data, negatives, rows=(0, 1, 2, 3)):
    task = RetrievalTask(torch.nn.Module(), RetrievalSettings("info-nce", negatives), data)
    object.__setattr__(task, "system", Cells())
    task.__dict__["_modules"].pop("system")
    return task(data.minibatch(np.array(rows), regions=False), 0)


def test_an_image_made_for_a_false_caption_is_read_from_the_store_that_has_it(small, data):
    batch = data.minibatch(np.arange(4), regions=False)
    store = small.stores[1]
    rows = np.array([store.by_id[name] for name in ("other-1", "other-2")])
    whole = store.take(rows, regions=False).whole
    assert np.allclose(batch.false.images.whole.numpy(), whole)
    assert batch.false.owner.tolist() == [4, -1, 4], "image 0's and 3's negatives share a picture"
    assert len(batch.images.whole) == 4 and batch.owner.tolist() == [0, 1, 2, 3]


def test_images_of_false_captions_take_part_as_pairs_of_their_own(small, data):
    """The loss written out: six images, and seven texts, of which six belong to an image."""
    system, batch = Cells(), data.minibatch(np.arange(4), regions=False)
    images = torch.cat([batch.images.whole, batch.false.images.whole])
    texts = [number_of(t) for t in ("a red dog", "a red cat", "a red ball", "a red tree",
                                    "a red cat", "a red cat", "a blue cat")]  # fmt: skip
    grid = system.match((images,), (torch.tensor(texts),)).double().numpy() * 20
    owner = [0, 1, 2, 3, 4, 4]
    losses = []
    for text, image in enumerate(owner):
        right = grid[image, text]
        others = [grid[image, t] for t in range(7) if t >= 6 or owner[t] != image]
        to_text = np.log(np.exp([right, *others]).sum()) - right
        losses.append((to_text + np.log(np.exp(grid[:, text]).sum()) - right) / 2)
    assert loss(data, "images").item() == pytest.approx(np.mean(losses), rel=1e-4)


def test_without_images_the_texts_alone_are_negatives(data):
    batch, system = data.minibatch(np.arange(4), regions=False), Cells()
    texts = torch.cat([system.encode_texts(one)[0] for one in (batch.texts, batch.false.texts)])
    grid = system.match((batch.images.whole,), (texts,))
    assert loss(data, "texts").item() == pytest.approx(info_nce(grid, batch.owner, 20.0).item())
    assert loss(data, "none").item() == pytest.approx(
        info_nce(grid[:, :4], batch.owner, 20.0).item()
    )


def test_images_without_texts_are_negatives_of_captions_alone(data):
    """Only row 2: its caption must find its image between two, and has no other text beside it."""
    batch, system = data.minibatch(np.array([2]), regions=False), Cells()
    images = torch.cat([batch.images.whole, batch.false.images.whole])
    cells = system.match((images,), system.encode_texts(batch.texts))[:, 0] * 20
    to_image = cells.logsumexp(0) - cells[0]
    assert loss(data, "images", rows=(2,)).item() == pytest.approx(to_image.item() / 2, rel=1e-5)
    assert loss(data, "texts", rows=(2,)).item() == 0


def test_a_part_keeps_the_images_made_for_its_captions(small):
    whole = gather_pairs(small.pairs, small.stores)
    kept = [whole.ids.index(name) for name in ("small-0", "other-1", "small-2")]
    part = whole.part(np.array(kept))
    assert part.texts == ("a red dog", "a red ball") and part.false_image.tolist() == [1, -1]


def test_an_image_that_lacks_a_thing_is_a_negative_without_a_text(small):
    grid = Grid(
        ("small-0", "small-1"), ("a dog on grass", "grass"), frozenset({(0, 0), (0, 1), (1, 1)}),
        (0, 0),
    )  # fmt: skip
    item = Item.built("test", grid, kind="add-object", origin=Origin("test"))
    images = {name: small.own.image("small-0") for name in grid.images}
    bench = Benchmark(Card("b"), small.own.root, [item], images)
    (row,) = pairs_of_benchmark(bench).rows.iter_rows()
    assert row[:4] == ("small-0", "a dog on grass", None, "small-1")


def test_negatives_that_are_not_there_are_said(small, tmp_path):
    def told(*changes):
        return TrainOptions(
            recipe="default", changes=("epochs=1", "batch=2", "joint=8", "hidden=8", "words=8",
                                       "least=1", *changes),
            features=tuple(store.folder for store in small.stores),
        )  # fmt: skip

    texts = make_pairs("texts", [(*row[:3], None, *row[4:]) for row in ROWS], small.pictures)
    for change, error, says in (
        ("negatives=images", BadInput, "no image was made"),
        ("negatives=all", UnknownName, "sort of negatives"),
    ):
        with pytest.raises(error, match=says):
            train("convnet-bow", texts, tmp_path / "a",
                  options=told(change))  # fmt: skip
    with one_thread():
        done = train(
            "convnet-bow", small.pairs, tmp_path / "b",
            options=told("negatives=images"),
        )  # fmt: skip
    assert "'negatives': 'images'" in str(done.card.trained) and len(done.card.features) == 2
