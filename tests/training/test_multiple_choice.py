"""Learning from items: how they are read, what is refused, and what each loss asks for."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

from tests.models.small import one_thread  # noqa: E402
from tests.models.small_systems import captioned, choices, features  # noqa: E402

import tellapart as ta  # noqa: E402
from tellapart import registry  # noqa: E402
from tellapart.errors import BadInput, UnknownName  # noqa: E402
from tellapart.models.trained import read_card  # noqa: E402
from tellapart.models.zoo.decoding import MARK  # noqa: E402
from tellapart.models.zoo.system import TextInputs, system_class  # noqa: E402
from tellapart.text.vocabulary import Vocabulary  # noqa: E402
from tellapart.training.items_data import gather_items  # noqa: E402
from tellapart.training.multiple_choice import margins, scores_of  # noqa: E402
from tellapart.verbs.systems.train import TrainOptions, train  # noqa: E402

TINY = ("width=8", "epochs=2", "batch=12", "least=1")


@pytest.fixture(autouse=True)
def quick():
    with one_thread():
        yield


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    root = tmp_path_factory.mktemp("items")
    corpus = captioned(root)
    bench = choices(corpus)
    store = features(corpus, root / "features")
    return SimpleNamespace(
        corpus=corpus, bench=bench, store=store, data=gather_items([bench], [store])
    )


def options(small, *changes, **more):
    return TrainOptions(
        recipe="default", changes=(*TINY, *changes), features=(small.store.folder,), **more
    )


def built(name, data, **settings):
    torch.manual_seed(0)
    kind = system_class(name)
    vocabulary = Vocabulary.counted(data.own_texts)
    system = kind(kind.Config(**settings), vocabulary, data.space)
    return system, data.encoded(vocabulary, None)


def task_of(system, data, **settings):
    kind = registry.tasks.get(type(system).task)
    return kind(system, kind.Settings(**settings), data)


def test_questions_are_read_as_the_items_ask_them(small):
    data, first = small.data, small.bench.items[0]
    assert data.counts() == {"images": 24, "captions": 72, "items": 72}
    assert data.texts[:3] == first.captions and data.begins[1] == 3
    assert [(0, j) in first.true for j in range(3)] == data.right[:3].tolist()
    some = data.part(np.array([5, 2]))
    assert [data.ids[5], data.ids[2]] == list(some.ids)
    assert len(some.begins) - 1 == 6 and (np.diff(some.begins) == 3).all()
    own = small.corpus.texts_by_image
    assert sorted(some.own_texts) == sorted(own[some.ids[0]] + own[some.ids[1]])
    batch = some.encoded(Vocabulary.counted(some.own_texts), None).minibatch(
        np.array([4, 1]), regions=False
    )
    assert batch.question.tolist() == [0, 0, 0, 1, 1, 1] and batch.right.sum() == 2
    assert batch.owner.tolist() == [1, 1, 1, 0, 0, 0]


def test_words_that_only_decoys_have_are_not_known(small, tmp_path):
    item = small.bench.items[0]
    place = next(j for j in range(3) if (0, j) not in item.true)
    captions = tuple("a zebra" if j == place else text for j, text in enumerate(item.captions))
    changed = [replace(item, captions=captions), *small.bench.items[1:]]
    bench = replace(small.bench, items=changed)
    train("ffnn", bench, tmp_path / "out", options=options(small))
    known = json.loads((tmp_path / "out" / "vocabulary.json").read_text())["words"]
    assert "dog" in known and "zebra" not in known


def test_a_trained_system_says_what_it_learned_from_and_is_held_out_by_image(small, tmp_path):
    done = train("ffnn", small.bench, tmp_path / "out", options=options(small, held_out=0.25))
    trained = read_card(tmp_path / "out").trained
    assert (trained["images"], trained["captions"], trained["items"]) == (18, 54, 54)
    assert trained["measure"] == "accuracy" and 0 <= trained["validation"]["accuracy"] <= 100
    assert "54 items" in str(done)


def test_a_held_out_image_whose_captions_are_decoys_in_training_is_pointed_out(small, tmp_path):
    apart = tuple(one for one in small.bench.items if one.images[0] in small.data.ids[:6])
    told = train("ffnn", small.bench, tmp_path / "held", options=options(small))
    assert "are decoys in training" in told.notes[0] and "--validation" in told.notes[0]
    own = {text for item in apart for i, j in item.true for text in [item.captions[j]]}
    rest = [one for one in small.bench.items if not own & set(one.captions)]
    assert apart and rest
    benches = [replace(small.bench, items=items) for items in (rest, apart)]
    told = train("ffnn", benches[0], tmp_path / "out", validation=[benches[1]],
                 options=options(small, "batch=2"))  # fmt: skip
    assert not any("decoys" in note for note in told.notes)


def test_images_of_a_test_and_corpora_are_refused(small, tmp_path):
    with pytest.raises(BadInput, match="training images are also in"):
        train("ffnn", small.bench, tmp_path / "a", never=[small.bench], options=options(small))
    with pytest.raises(BadInput, match="learns from items") as caught:
        train("ffnn", small.corpus, tmp_path / "b", options=options(small))
    assert "tellapart build" in caught.value.todo
    with pytest.raises(BadInput, match="choose among captions"):
        train("showtell", small.bench, tmp_path / "c", options=options(small, task="yes-no"))


def test_the_margin_is_that_of_the_best_true_over_the_best_false_caption(small):
    system, data = built("ffnn", small.data, width=8)
    batch = data.minibatch(np.arange(7), regions=False)
    scores = scores_of(system, batch)
    for k, margin in enumerate(margins(scores, batch).tolist()):
        own = batch.question == k
        slow = scores[own & batch.right].max() - scores[own & ~batch.right].max()
        assert margin == pytest.approx(slow.item())


def test_yes_and_no_are_the_cross_entropy_of_each_caption_summed_over_a_question(small):
    system, data = built("ffnn", small.data, width=8)
    batch = data.minibatch(np.arange(4), regions=False)
    odds = scores_of(system, batch).detach().double().numpy()
    yes = 1 / (1 + np.exp(-odds))
    slow = -np.log(np.where(batch.right.numpy(), yes, 1 - yes)).sum() / 4
    assert task_of(system, data)(batch, 0).item() == pytest.approx(slow, rel=1e-5)


def test_writing_counts_by_its_weight_and_for_true_captions_only(small):
    system, data = built("vec2seq-ffnn", small.data, width=8)
    batch = data.minibatch(np.arange(4), regions=False)
    losses = [task_of(system, data, lambda_gen=k)(batch, 0).item() for k in (0.0, 1.0, 4.0)]
    seen = tuple(one[batch.owner[batch.right]] for one in system.encode_images(batch.images))
    captions = system.encode_texts(batch.texts)[0][batch.right]
    written = -system.log_likelihood(captions, seen).sum().item() / 4
    assert losses[1] - losses[0] == pytest.approx(written, rel=1e-4)
    assert losses[2] - losses[0] == pytest.approx(4 * written, rel=1e-4)
    likelihood = system.log_likelihood(captions, seen)
    by_word = -(likelihood / ((captions != MARK).sum(1) + 1)).sum().item() / 4
    mean = task_of(system, data, lambda_gen=4.0, writing="mean")(batch, 0).item()
    assert mean - losses[0] == pytest.approx(4 * by_word, rel=1e-4)
    with pytest.raises(BadInput, match="writing=product"):
        task_of(system, data, writing="product")


def test_vec2seq_does_not_lose_an_image_whose_features_differ_little(small):
    # Large means with small differences are usual: features are averages of positive numbers.
    system, data = built("vec2seq-ffnn", small.data, width=64)
    images = data.minibatch(np.arange(len(data)), regions=False).images
    codes = system.encode_images(replace(images, whole=5 + 0.01 * images.whole))
    assert codes[-1].std(0).mean() > 0.05  # 0.0002 if features keep their own scale
    for one, own in zip(images.whole, codes[-1], strict=True):  # in a batch of its own
        alone = system.encode_images(replace(images, whole=(5 + 0.01 * one)[None]))
        assert torch.allclose(alone[-1][0], own, atol=0.02)


def test_without_a_margin_a_matrix_of_zeros_would_be_content(small):
    pytest.importorskip("gensim", reason="gensim is not installed")
    system, data = built("linm", small.data, width=8, paragraph=8, passes=2)
    torch.nn.init.zeros_(system.theta)
    batch = data.minibatch(np.arange(12), regions=False)
    for margin, loss in ((0.0, 0.0), (0.5, 0.5)):
        task = task_of(system, data, margin=margin)
        system.theta.grad = None
        found = task(batch, 0)
        found.backward()
        assert found.item() == loss
        assert (system.theta.grad.abs().sum() > 0) == (margin > 0)


@pytest.mark.parametrize("name", ["i2c", "c2i"])
def test_a_regression_comes_near_least_squares(small, name):
    pytest.importorskip("gensim", reason="gensim is not installed")
    system, data = built(name, small.data, width=8, paragraph=16)
    task = task_of(system, data)
    batch = data.minibatch(np.arange(len(data)), regions=False)
    optimiser = torch.optim.Adam(system.parameters(), 0.05)
    for _ in range(300):
        optimiser.zero_grad()
        loss = task(batch, 0)
        loss.backward()
        optimiser.step()
    right = batch.right
    images = system.image_vectors(batch.images)[batch.owner[right]].numpy()
    texts = TextInputs(batch.texts.words[right], batch.texts.lengths[right])
    said = system.text_vectors(texts).numpy()
    given, wanted = (images, said) if name == "i2c" else (said, images)
    ones = np.column_stack([given, np.ones(len(given))])
    best, *_ = np.linalg.lstsq(ones, wanted, rcond=None)
    least = np.square(ones @ best - wanted).mean()
    spread = np.square(wanted - wanted.mean(axis=0)).mean()
    assert least < 0.9 * spread
    assert least - 1e-6 <= task(batch, 0).item() < least + 0.05 * (spread - least)
    system.eval()
    assert task.validate(data)["fit"] == pytest.approx(-task(batch, 0).item(), rel=1e-5)


def test_a_caption_has_one_paragraph_vector_and_like_captions_are_near(small):
    pytest.importorskip("gensim", reason="gensim is not installed")
    system, _ = built("c2i", small.data, width=8, paragraph=16, passes=40)
    known = system.vocabulary
    system.paragraphs.learn([known.encode(text) for text in small.data.own_texts], 40, 0)
    texts = ["a red dog", "there is a red dog here", "a blue cat", "The cat is blue."]
    lists = [known.encode(text) for text in texts]
    found = system.paragraphs(TextInputs.of(lists))
    alone = torch.cat([system.paragraphs(TextInputs.of([one])) for one in lists])
    torch.testing.assert_close(found, alone, rtol=1e-4, atol=1e-5)
    system.paragraphs.remember(lists)
    torch.testing.assert_close(system.paragraphs(TextInputs.of(lists)), found, rtol=1e-4, atol=1e-5)
    likes = torch.nn.functional.normalize(found) @ torch.nn.functional.normalize(found).T
    assert likes[0, 1] > likes[0, 2:].max() and likes[2, 3] > likes[2, :2].max()


def test_what_is_read_at_once_is_what_is_written_word_by_word(small):
    system, data = built("vec2seq-ffnn", small.data, width=8)
    system.eval()
    batch = data.minibatch(np.arange(3), regions=False)
    seen = tuple(one[batch.owner] for one in system.encode_images(batch.images))
    (captions,) = system.encode_texts(batch.texts)
    with torch.no_grad():
        outputs, there = system.read(captions, seen)
        memory, before = system.begin(seen), torch.zeros(len(captions), dtype=torch.long)
        for step in range(captions.shape[1] + 1):
            own, memory = system.advance(system.words(before), memory, seen)
            at = there[:, step]
            torch.testing.assert_close(outputs[at, step], own[at], rtol=1e-4, atol=1e-5)
            assert not outputs[~at, step].any()
            before = captions[:, min(step, captions.shape[1] - 1)]


def test_a_blind_system_scores_captions_alike_whatever_the_image(small):
    for name in ("ffnn", "vec2seq-ffnn", "linm", "c2i"):
        plain = {} if name in ("ffnn", "vec2seq-ffnn") else {"paragraph": 8}
        for blind in (True, False):
            system, data = built(name, small.data, width=8, blind=blind, **plain)
            batch = data.minibatch(np.arange(24), regions=False)
            with torch.no_grad():
                grid = system.match(
                    system.encode_images(batch.images), system.encode_texts(batch.texts)
                )
            assert bool((grid - grid[:1]).abs().max() < 1e-6) == blind, name


def test_from_items_to_a_run_captions_and_a_table(tmp_path, monkeypatch):
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))
    parts = {
        part: ta.world(tmp_path / part, scenes=40, seed=1, part=part) for part in ("train", "test")
    }
    how = ta.McicOptions(way="paper", verifier="oracle", doubt=1.0)
    learn, test = (ta.build("mcic", parts[part], tmp_path / f"{part}-items", how) for part in parts)
    small = ("width=8", "epochs=2", "least=1", "hidden=8", "hidden2=4", "precision=no", "batch=20")
    quick = TrainOptions(recipe="small", backbone="pixels", changes=small)
    train("vec2seq-ffnn", learn, tmp_path / "own", never=[test], options=quick)
    model = f"trained:{tmp_path / 'own'}"
    runs = ta.evaluate([model, f"{model}?images=zeroed"], test, tmp_path / "runs")
    assert runs[0].scores.equals(runs[1].scores) is False
    ta.caption(model, parts["test"], tmp_path / "own.json", ta.WriteCaptionsOptions(longest=8))
    tables = ta.table(
        "mcic", runs=[tmp_path / "runs"], captions=[tmp_path / "own.json"], references=parts["test"]
    )
    last = {(row.name, row.whose): row.values for row in tables.tables[2].rows}
    accuracy, fair, rouge, cider = last["lambda_gen 1", "ours, width 8"]
    assert 0 <= accuracy <= 100 and fair is None and rouge >= 0 and cider >= 0
    assert last["lambda_gen 1", "ours, width 8, images zeroed"][0] is not None
    with pytest.raises(UnknownName, match="images"):
        ta.evaluate(f"{model}?images=none", test, tmp_path / "no")
    other = ta.evaluate(f"{model}?images=shuffled", test, tmp_path / "other")
    assert not other[0].scores.equals(runs[0].scores)
