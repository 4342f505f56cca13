"""`storybook`: the shipped model keeps its promises, and its training stays off the test scenes."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from tellapart.corpus.corpus import Corpus
from tellapart.corpus.world.painter import StorybookPainter, drawn_categories
from tellapart.corpus.world.world import part_of, random_scenes, scene_of
from tellapart.models.model import DualEncoder
from tellapart.models.onnx import STORYBOOK, STORYBOOK_FILES, Onnx, storybook
from tellapart.training.examples import SHARES, NearMissExample, example, save_inputs, vocabulary
from tellapart.verbs.world import world

SCENES = 40


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return world(tmp_path_factory.mktemp("storybook") / "world", scenes=SCENES, part="test")


@pytest.fixture(scope="module")
def model() -> Onnx:
    return storybook()


@pytest.fixture(scope="module")
def examples() -> list[NearMissExample]:
    painter, categories = StorybookPainter(), drawn_categories()
    return [example(0, index, painter, categories) for index in range(150)]


def test_is_a_dual_encoder_with_fingerprints(model: Onnx) -> None:
    assert isinstance(model, DualEncoder)
    assert model.facts.name == "storybook"
    assert model.facts.fingerprint[:32] == "a2a0f90add2d6595bb127b629718a085"  # as in 0.1.0


def test_is_a_folder_as_training_writes_it(tmp_path: Path, model: Onnx) -> None:
    save_inputs(tmp_path)
    for name in ("model.json", "vocabulary.json"):
        assert (tmp_path / name).read_bytes() == (STORYBOOK / name).read_bytes()
    folder = Onnx(str(STORYBOOK))
    texts = ["A dog.", "Two red cats on a table."]
    assert folder.embed_texts(texts).tobytes() == model.embed_texts(texts).tobytes()


def test_files_are_small() -> None:
    folder = files("tellapart.models") / "storybook_files"
    assert sum(len((folder / name).read_bytes()) for name in STORYBOOK_FILES) < 6_000_000


def test_embeddings_have_unit_length(model: Onnx, corpus: Corpus) -> None:
    pictures = [corpus.picture(image) for image in corpus.images["id"]]
    texts = corpus.captions["text"].to_list()
    for rows in (model.embed_images(pictures), model.embed_texts(texts)):
        assert rows.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_same_input_gives_the_same_bytes(model: Onnx, corpus: Corpus) -> None:
    pictures = [corpus.picture(image) for image in corpus.images["id"][:8]]
    texts = corpus.captions["text"].to_list()[:40]
    again = storybook()
    assert model.embed_images(pictures).tobytes() == again.embed_images(pictures).tobytes()
    assert model.embed_texts(texts).tobytes() == again.embed_texts(texts).tobytes()


def test_what_else_is_in_a_batch_changes_nothing(model: Onnx, corpus: Corpus) -> None:
    pictures = [corpus.picture(image) for image in corpus.images["id"][:35]]
    texts = corpus.captions["text"].to_list()[:70]
    alone = np.concatenate([model.embed_images([picture]) for picture in pictures])
    np.testing.assert_allclose(model.embed_images(pictures), alone, atol=1e-5)
    alone = np.concatenate([model.embed_texts([text]) for text in texts])
    np.testing.assert_allclose(model.embed_texts(texts), alone, atol=1e-5)


def test_odd_texts_do_not_fail(model: Onnx) -> None:
    odd = ["A zebra juggles.", "", "?!", "Ein Hündchen", "dog " * 500]
    rows = model.embed_texts(odd)
    assert rows.shape == (len(odd), 192) and np.isfinite(rows).all()


def test_no_pictures_and_no_texts_give_no_rows(model: Onnx) -> None:
    assert len(model.embed_images([])) == len(model.embed_texts([])) == 0


def test_finds_the_picture_of_a_detailed_caption(model: Onnx, corpus: Corpus) -> None:
    """Each scene's last caption, its own picture against every other: chance is 50%."""
    ids = corpus.images["id"].to_list()
    images = model.embed_images([corpus.picture(image) for image in ids])
    texts = model.embed_texts([corpus.texts_by_image[image][-1] for image in ids])
    fits = images @ texts.T
    above = (np.diag(fits)[None, :] > fits)[~np.eye(SCENES, dtype=bool)]
    assert above.mean() > 0.9


def test_training_keeps_to_its_half_of_all_scenes(
    examples: list[NearMissExample], corpus: Corpus
) -> None:
    used = [scene for one in examples for scene in one.scenes]
    assert {part_of(scene) for scene in used} == {"train"}
    tested = {scene_of(corpus.picture(image)).what() for image in corpus.images["id"]}  # type: ignore[union-attr]
    assert not tested & {scene.what() for scene in used}


def test_training_draws_other_scenes_than_a_world_of_the_same_seed(
    examples: list[NearMissExample],
) -> None:
    drawn = {scene.what() for scene in random_scenes(150, 0, StorybookPainter(), "train")}
    shared = drawn & {one.scenes[0].what() for one in examples}
    # A lone thing can come up twice; a stream of the same numbers would give all of them.
    assert all(len(what) == 2 for what in shared)


def test_examples_are_true_of_their_own_scene_alone(examples: list[NearMissExample]) -> None:
    from tellapart.corpus.world.grammar import understand
    from tellapart.corpus.world.scene import is_true

    for one in examples:
        for s, texts in enumerate(one.texts):
            for text, shared in zip(texts, one.shared[s], strict=True):
                statement = understand(text)
                assert statement is not None and is_true(statement, one.scenes[s])
                assert is_true(statement, one.scenes[1 - s]) == shared
            assert not one.shared[s][0]
    assert {one.kind for one in examples} == set(SHARES)


def test_vocabulary_knows_every_word_of_the_captions(examples: list[NearMissExample]) -> None:
    from tellapart.text.tokens import tokens

    known = set(vocabulary())
    assert {w for one in examples for ts in one.texts for t in ts for w in tokens(t)} <= known


def test_a_little_training_runs_and_exports_what_it_trained(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    import onnxruntime

    from tellapart.models.zoo.towers import Shape, Towers
    from tellapart.training.examples import draw_examples
    from tellapart.training.storybook import (
        MatchTask,
        Schedule,
        TrainingPlan,
        export,
        optimise,
        stream,
    )

    torch.set_num_threads(1)  # two that wait for each other are slow on a busy machine
    plan = TrainingPlan(examples=16, held_out=0, epochs=12, pairs_a_batch=8)
    drawn = draw_examples(tmp_path, plan.examples, plan.seed, 1)
    torch.manual_seed(0)
    shape = Shape(channels=(8, 16, 24), width=32, dimensions=16, text_layers=1)
    towers = Towers(shape, 2 + len(vocabulary()))
    schedule = Schedule(24, rate=4e-3, warmup=2, bfloat16=False)
    losses = optimise(MatchTask(towers), schedule, stream(plan, drawn))
    assert len(losses) == 24
    assert np.mean(losses[-3:]) < 0.95 * np.mean(losses[:3])

    export(towers, tmp_path)
    images, words = np.array(drawn.images[:3, 0]), drawn.words[:3, 0, 0]
    with torch.no_grad():
        wanted = towers.image(torch.from_numpy(images)), towers.text(torch.from_numpy(words))
    for name, shown, rows in zip(
        STORYBOOK_FILES, ({"pixels": images}, {"words": words}), wanted, strict=False
    ):
        session = onnxruntime.InferenceSession(tmp_path / name)
        np.testing.assert_allclose(session.run(None, shown)[0], rows.numpy(), atol=1e-3)
