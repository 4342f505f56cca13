"""FOIL's systems: through the verbs on drawn scenes, and against obvious slow versions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

from tests.models.small import one_thread  # noqa: E402
from tests.models.small_systems import captioned, features, foils  # noqa: E402

import tellapart as ta  # noqa: E402
from tellapart.errors import BadInput  # noqa: E402
from tellapart.image_features.store import FeatureSpace  # noqa: E402
from tellapart.items import word_pair  # noqa: E402
from tellapart.models.foil_answers import NO_OBJECTION, TrainedClassifier  # noqa: E402
from tellapart.models.names import load  # noqa: E402
from tellapart.models.zoo.captioner import CaptionerConfig  # noqa: E402
from tellapart.models.zoo.decoding import MARK, UNSEEN  # noqa: E402
from tellapart.models.zoo.foil.ic_wang import UNOPPOSED, ICWang  # noqa: E402
from tellapart.models.zoo.foil.mender import NEVER, fit_mender  # noqa: E402
from tellapart.models.zoo.system import ImageInputs, TextInputs  # noqa: E402
from tellapart.questions import Ask  # noqa: E402
from tellapart.score.engine import Settings, run_model  # noqa: E402
from tellapart.text.vocabulary import Vocabulary  # noqa: E402
from tellapart.training.foil_classification import JudgingTask  # noqa: E402
from tellapart.training.items_data import gather_items  # noqa: E402
from tellapart.verbs.build.foil import FoilOptions  # noqa: E402
from tellapart.verbs.build.foil import foil as build  # noqa: E402
from tellapart.verbs.runs.evaluate import evaluate  # noqa: E402
from tellapart.verbs.runs.measure import measure  # noqa: E402
from tellapart.verbs.systems.train import TrainOptions, train  # noqa: E402
from tellapart.verbs.table import table  # noqa: E402
from tellapart.verbs.world import world  # noqa: E402

NAMES = ("T1@own", "T2-content@change", "T2-content@occlusion", "T3@linear", "T3@substitution")


@pytest.fixture(autouse=True)
def quick():
    with one_thread():
        yield


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Two worlds with foils and a classifier trained on one of them, through the verbs."""
    root = tmp_path_factory.mktemp("foil-systems")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TELLAPART_CACHE", str(root / "cache"))
        made = {}
        for number, part in enumerate(("train", "test")):
            corpus = world(root / f"world-{part}", scenes=30, seed=number, part=part)
            own = FoilOptions(unfiltered=True, split="both-ways", part=part, name=part)
            made[part] = build(corpus, root / part, own)
        given = TrainOptions(
            recipe="small", backbone="pixels",
            changes=("epochs=2", "batch=8", "least=1", "lstm=8", "common=8", "words=8"),
        )  # fmt: skip
        train("lstm-norm-i", made["train"], root / "own", never=[made["test"]], options=given)
        yield root, made["train"], made["test"], given


def test_a_trained_classifier_answers_every_task_by_its_own_procedures(drawn):
    root, _, test, _ = drawn
    runs = evaluate(f"trained:{root / 'own'}", test, root / "runs")
    (run,) = runs
    assert run.card.threshold == 0.0 and run.card.ways == ("mend",)
    rows = {row.measure: row for row in measure(runs, measures=NAMES).rows}
    assert set(rows) == set(NAMES)
    assert rows["T1@own"].n == 2 * len(test) and not any(row.failed for row in rows.values())
    shown = {row.shown for row in measure(runs).rows}
    assert {"T1@own", "T2-content@change", "T3@linear"} <= shown


def test_a_caption_is_read_once_for_all_words_that_may_correct_it(drawn):
    root, _, test, _ = drawn
    model = load(f"trained:{root / 'own'}")
    items = list(test)[:3]
    rows = [
        (test.pictures(item)[0], item.captions[1 - true], (0, 5), word)
        for word in ("dog", "cat", "a")
        for item in items
        for true in (0, 1)
    ]
    each = [float(model.mend_words(*([one] for one in row))[0]) for row in rows]
    read: list[int] = []
    joint = model.system.joint
    model.system.joint = lambda images, texts: read.append(len(images[0])) or joint(images, texts)
    found = model.mend_words(*zip(*rows, strict=True))
    np.testing.assert_allclose(found, each, rtol=1e-5)
    assert read == [len({(picture.id, text) for picture, text, _, _ in rows})]


def test_tables_of_foil_stand_beside_the_published_ones(drawn):
    root, _, test, _ = drawn
    if not (root / "runs").exists():
        evaluate(f"trained:{root / 'own'}", test, root / "runs")
    two, three, four = table("foil", runs=[root / "runs"]).tables
    rows = [(row.name, row.whose) for row in two.rows]
    assert rows[rows.index(("LSTM + norm I", "ours")) - 1] == ("LSTM + norm I", "published")
    assert ("chance", "ours") in rows and ("people, majority", "people") in rows
    notes = "\n".join(two.notes)
    assert "ours: T1, T1-correct, T1-foil by own" in notes and "ours: T3 by linear" in notes
    assert list(three.heads)[:2] == ["outdoor", "food"]
    names = [(row.name, row.whose, row.measure) for row in four.rows]
    assert ("LSTM + norm I", "ours", "T1-foil") in names
    assert "racket::glove" in str(four) and r"\begin{tabular}{llllrlr}" in four.to_latex()
    assert [one.name for one in table("foil-4", runs=[root / "runs"]).tables] == ["foil-4"]


def test_trainings_of_a_system_are_one_row_of_pairs_by_its_printed_name(drawn, tmp_path):
    root, _, test, given = drawn
    runs = []
    for seed in range(2):
        other = replace(given, seed=seed, changes=(*given.changes[:3], "lstm=8", "words=8"))
        train("blind-lstm", root / "train", tmp_path / f"{seed}", options=other)
        runs += evaluate(f"trained:{tmp_path / str(seed)}", test, tmp_path / "runs")
    runs += evaluate(f"trained:{tmp_path / '0'}?images=shuffled", test, tmp_path / "runs")
    (four,) = table("foil-4", runs=runs).tables
    ours = [(row.name, row.whose, row.measure) for row in four.rows if row.whose != "published"]
    assert ours == [
        ("Blind", whose, measure)
        for measure in ("T1-foil", "T2-content")
        for whose in ("ours", "ours, images shuffled")
    ]
    pairs, shares = {item.id: "::".join(word_pair(item)) for item in test}, {}
    foils_of = {(item.id, f"judge@0,{item.slot.caption}") for item in test}
    told = ta.outcomes(runs[:2], measures=["T1@own"])
    for item, question, right in told[["item", "question", "right"]].rows():
        if (item, question) in foils_of:
            shares.setdefault(pairs[item], []).append(right)
    row = next(row for row in four.rows if row.whose == "ours" and row.measure == "T1-foil")
    for pair, share in row.easiest:
        assert len(shares[pair]) % 2 == 0 and share == pytest.approx(100 * np.mean(shares[pair]))


def test_one_that_calls_everything_correct_gets_all_true_captions_and_no_foil(drawn):
    root, _, test, _ = drawn
    model = load(f"trained:{root / 'own'}")
    assert isinstance(model, TrainedClassifier)
    with torch.no_grad():
        model.system.head.weight.zero_()
        model.system.head.bias.copy_(torch.tensor([-3.0, 3.0]))
    run = run_model(model, test, Settings(frozenset({Ask.JUDGE})))
    names = ("T1", "T1-correct", "T1-foil")
    assert [row.value for row in measure(run, measures=names).rows] == [0.5, 1.0, 0.0]


def test_pairs_and_images_of_a_test_are_not_trained_on(drawn, tmp_path):
    _, training, _, given = drawn
    small = captioned(tmp_path)
    data = gather_items([foils(small)], [features(small, tmp_path / "features")])
    with pytest.raises(BadInput, match=r"target-foil pairs of the training data are also in"):
        JudgingTask.refuse(data, foils(captioned(tmp_path, 4, "other")))
    noted = next(iter(training))
    odd = replace(noted, slot=replace(noted.slot, foil="Written Otherwise"))
    assert word_pair(odd) == word_pair(noted) == (noted.slot.target, noted.origin.notes["foil"])
    with pytest.raises(BadInput, match="training images are also in train"):
        train("blind-lstm", training, tmp_path / "out", never=[training], options=given)
    corpus = world(tmp_path / "world", scenes=4)
    with pytest.raises(BadInput, match="learns from items"):
        train("blind-lstm", corpus, tmp_path / "out", options=given)
    with pytest.raises(BadInput, match="does not classify captions"):
        train("ffnn", training, tmp_path / "o", options=replace(given, changes=(), task="judging"))


def test_a_linear_mender_gives_log_probabilities_of_target_words():
    rng = np.random.default_rng(0)
    targets = torch.tensor(rng.integers(0, 3, 60))
    vectors = torch.eye(3)[targets] + 0.1 * torch.tensor(rng.normal(size=(60, 3))).float()
    mender = fit_mender(vectors, targets, ("cat", "dog", "owl"), 1e-4)
    assert mender.fits > 0.95
    each = torch.stack([mender.scores(vectors, [word] * 60) for word in mender.words], 1)
    np.testing.assert_allclose(each.exp().sum(1).numpy(), 1.0)
    assert (mender.scores(vectors, ["fox"] * 60) == NEVER).all()


@pytest.fixture
def both_ways():
    torch.manual_seed(0)
    vocabulary = Vocabulary(("dog", "cat", "runs"))
    space = FeatureSpace("none", "", "", "cells 2x2", 7, 7, 4)
    made = ICWang(CaptionerConfig(8, 8, reduce="sum"), vocabulary, space).eval()
    for parameter in made.parameters():
        parameter.data *= 3  # so that images and words matter
    images = ImageInputs(torch.randn(3, 7), torch.randn(3, 4, 7), torch.tensor([4, 2, 3]))
    return made, images


CAPTIONS = ([2, 3, 4], [3], [UNSEEN, 4])


def slow_words(model, images, k, caption):
    """Each direction's log-probabilities of all words at each place, a word at a time."""
    own = ImageInputs(images.whole[k : k + 1], images.regions[k : k + 1], images.counts[k : k + 1])
    found = []
    for way, words in ((model.ahead, caption), (model.back, caption[::-1])):
        seen, rows, before = way.encode_images(own), [], MARK
        memory = way.begin(seen)
        for following in [*words, MARK]:
            scores, memory = way.step(torch.tensor([before]), memory, seen)
            rows.append(scores.double().log_softmax(-1)[0])
            before = following
        found.append(rows)
    return found


def slow_log_likelihood(model, images, k, caption):
    ahead, back = slow_words(model, images, k, caption)
    total = sum(float(row[word]) for row, word in zip(ahead, [*caption, MARK], strict=True))
    total += sum(float(row[word]) for row, word in zip(back, [*caption[::-1], MARK], strict=True))
    return total / 2


def slow_proposals(model, images, k, caption):
    ahead, back = slow_words(model, images, k, caption)
    found = []
    for place in range(len(caption)):
        both = ahead[place] + back[len(caption) - 1 - place]
        found.append(max((w for w in range(5) if w not in (MARK, UNSEEN)), key=lambda w: both[w]))
    return found


@torch.no_grad()
def test_a_captioner_that_proposes_words_is_what_loops_over_words_give(both_ways):
    model, images = both_ways
    codes = model.encode_images(images)
    texts = model.encode_texts(TextInputs.of([[w + 2 for w in c] for c in CAPTIONS]))
    likely = [slow_log_likelihood(model, images, k, c) for k, c in enumerate(CAPTIONS)]
    np.testing.assert_allclose(model.match_pairs(codes, texts).numpy(), likely, atol=1e-5)
    proposed = [slow_proposals(model, images, k, c) for k, c in enumerate(CAPTIONS)]
    found = model.proposals(texts[0], codes)
    assert [row[: len(c)] for row, c in zip(found.tolist(), CAPTIONS, strict=True)] == proposed
    margins, replaced = [], []
    for k, caption in enumerate(CAPTIONS):
        changed = [
            slow_log_likelihood(model, images, k, [*caption[:t], word, *caption[t + 1 :]])
            if word != caption[t] else float("-inf")
            for t, word in enumerate(proposed[k])
        ]  # fmt: skip
        best = max(changed)
        margins.append(UNOPPOSED if best == float("-inf") else likely[k] - best)
        replaced.append(changed[-1])
    np.testing.assert_allclose(model.margins(codes, texts).numpy(), margins, atol=1e-5)
    at = [[len(c) - 1] for c in CAPTIONS]
    np.testing.assert_allclose(model.replaced(codes, texts, at).numpy(), replaced, atol=1e-5)


def test_a_trained_captioner_judges_and_replaces_in_its_own_way(drawn, tmp_path):
    root, _, test, _ = drawn
    given = TrainOptions(
        recipe="small", backbone="pixels", changes=("epochs=1", "batch=20", "least=1", "width=8")
    )
    train("ic-wang", root / "world-train", tmp_path / "wang", never=[test], options=given)
    (run,) = evaluate(f"trained:{tmp_path / 'wang'}", test, tmp_path / "runs")
    assert run.card.threshold is None and run.card.ways == ("judge", "replace")
    names = ("T1@own", "T2-content@replacement", "T3@substitution", "T1@fitted")
    rows = {row.measure: row for row in measure(run, measures=(*names, "T3@linear")).rows}
    assert set(rows) == set(names) and not any(row.failed for row in rows.values())
    (own,) = evaluate(f"trained:{root / 'own'}", test, tmp_path / "runs")
    notes = table("foil-2", runs=[run, own]).tables[0].notes
    told = "ours: T2-nouns, T2-content by replacement (IC-Wang); change (LSTM + norm I)"
    assert told in notes, "systems are named as in their rows"
    model = load(f"trained:{tmp_path / 'wang'}")
    item = next(iter(test))
    text, picture = item.captions[item.slot.caption], test.pictures(item)[0]
    places = [(word.start, word.end) for word in item.slot.words]
    said = model.replace_words([picture] * len(places), [text] * len(places), places)
    kept = run.scores.filter(
        (run.scores["item"] == item.id) & run.scores["edit"].str.starts_with("~")
    )
    np.testing.assert_allclose(sorted(kept["score"]), sorted(said), rtol=1e-5)
    assert all(score == NO_OBJECTION or score < 0 for score in said)
