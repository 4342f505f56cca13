"""`reference`: a caption metric as a model equals its obvious slow version, pictures unopened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.conftest import benchmark_of

import tellapart as ta
from tellapart.corpus.corpus import save_corpus
from tellapart.errors import BadImage, BadInput, TellapartError, UnknownName
from tellapart.items import Image, Item, Origin
from tellapart.models.names import load
from tellapart.models.reference import Draw, References
from tellapart.pictures import Picture
from tellapart.text.caption_metrics.bleu import bleu
from tellapart.text.caption_metrics.cider import cider_d
from tellapart.text.caption_metrics.references import DocumentFrequencies, ReferenceSets
from tellapart.text.caption_metrics.rouge import rouge_l
from tellapart.text.ptb import ptb_tokenise
from tellapart.verbs.runs.evaluate import EvaluateOptions, evaluate
from tellapart.verbs.runs.measure import measure

FIVE = [f"caption number {k}" for k in range(5)]


def pictures(*ids: str) -> list[Picture]:
    """Pictures whose files do not exist."""
    return [Picture(Image(name, f"{name}.png"), Path("nowhere")) for name in ids]


@pytest.fixture(scope="module")
def corpus(world):
    return world


@pytest.fixture(scope="module")
def bison(corpus):
    """Each image's first caption, to be told from the next image; the pictures are nowhere."""
    texts = list(corpus.texts_by_image.items())
    items = [
        Item.imported(
            "test", image, images=(image, other), captions=(own[0],), true=frozenset({(0, 0)}),
            kind="pair", origin=Origin("test"),
        )
        for (image, own), (other, _) in zip(texts, texts[1:] + texts[:1], strict=True)
    ]  # fmt: skip
    return benchmark_of(items)


def test_the_caption_itself_is_left_out_and_random_ones_kept():
    held = References("mine", {"a": FIVE, "b": ["x", "x", "y"], "c": ["only"]})
    assert held.left("a", " caption  number 2 ", Draw()) == [FIVE[k] for k in (0, 1, 3, 4)]
    elsewhere = held.left("a", "something else", Draw())
    assert len(elsewhere) == 4 and set(elsewhere) < set(FIVE)
    assert held.left("a", "something else", Draw(keep=0)) == FIVE
    assert len(held.left("a", "something else", Draw(keep=9))) == 5
    assert held.left("b", "x", Draw()) == ["x", "y"]  # somebody else wrote the same
    with pytest.raises(BadImage, match="no captions in mine"):
        held.left("d", "x", Draw())
    with pytest.raises(BadImage, match="no caption in mine other than"):
        held.left("c", "only", Draw())


def test_fewer_are_kept_elsewhere_where_that_is_asked_for():
    held = References("mine", {"a": FIVE})
    assert len(held.left("a", "something else", Draw(elsewhere=3))) == 3
    assert len(held.left("a", FIVE[0], Draw(elsewhere=3))) == 4


def test_which_ones_are_kept_depends_on_seed_image_and_caption_alone():
    held = References("mine", {f"i{k}": FIVE for k in range(40)})
    drawn = [tuple(held.left(image, "else", Draw())) for image in held.by_image]
    assert drawn == [tuple(held.left(image, "else", Draw())) for image in held.by_image]
    assert len(set(drawn)) == 5  # every one of the five is left out somewhere
    assert drawn != [tuple(held.left(image, "else", Draw(seed=1))) for image in held.by_image]


def slowly(corpus, pairs, metric):
    """One pair after another."""
    texts = {k: [" ".join(t.split()) for t in own] for k, own in corpus.texts_by_image.items()}
    held = References("mine", texts)
    frequencies = DocumentFrequencies.of([ptb_tokenise(own) for own in texts.values()])
    found = []
    for image, text in pairs:
        left = held.left(image, text, Draw())
        sets = ReferenceSets.of(ptb_tokenise([text]), [ptb_tokenise(left)])
        found.append(
            {
                "CIDEr-D": lambda s: cider_d(s, frequencies).corpus,
                "BLEU-4": lambda s: bleu(s, smoothing="floor").corpus[3],
                "ROUGE-L": lambda s: rouge_l(s).corpus,
            }[metric](sets)
        )
    return found


@pytest.mark.parametrize(
    ("metric", "options"), [("CIDEr-D", ""), ("BLEU-4", "?smoothing=floor"), ("ROUGE-L", "")]
)
def test_scores_equal_the_slow_version_however_they_are_batched(
    metric, options, corpus, bison, tmp_path
):
    name = f"reference:{metric}@{corpus.root}{options}"
    scores = []
    for size in (64, 7):
        (run,) = evaluate(name, bison, tmp_path / f"{size}",
                          EvaluateOptions(batch_size=size))  # fmt: skip
        assert not run.failures and run.model == load(name).facts.name == name
        scores.append(run.scores)
    assert scores[0].equals(scores[1])
    items = {item.id: item for item in bison.items}
    rows = scores[0].head(40).iter_rows()
    pairs, values = [], []
    for item, image, caption, _, value in rows:
        pairs.append((items[item].images[image], items[item].captions[caption]))
        values.append(value)
    assert values == pytest.approx(slowly(corpus, pairs, metric), abs=1e-9)


def test_people_who_describe_the_same_scene_agree_more(corpus, bison, tmp_path):
    name = f"reference:CIDEr-D@{corpus.root}"
    (run,) = ta.evaluate(name, bison, tmp_path / "runs")
    row = measure(run).rows[0]
    assert row.value > 0.65 and row.chance == 0.5


def test_texts_that_were_not_announced_are_scored_too(corpus):
    model = load(f"reference:ROUGE-L@{corpus.root}")
    image, own = next(iter(corpus.texts_by_image.items()))
    scores = model.score_pairs(pictures(image, image), [own[0], "nothing of the sort"])
    assert scores.shape == (2,) and scores[0] > scores[1]
    with pytest.raises(BadImage, match="image gone has no captions"):
        model.score_pairs(pictures(image, "gone"), ["a dog", "a dog"])
    assert np.isfinite(model.score_pairs(pictures(image), ["a dog"])).all()


def test_images_without_references_stop_the_run_or_are_failures(corpus, bison, tmp_path):
    gone = bison.items[0].images[0]
    part = ta.Corpus(
        "part",
        corpus.root,
        corpus.images.filter(corpus.images["id"] != gone),
        corpus.captions.filter(corpus.captions["image"] != gone),
    )
    save_corpus(part, tmp_path / "part")
    name = f"reference:ROUGE-L@{tmp_path / 'part'}"
    with pytest.raises(BadImage, match=f"image {gone} has no captions in part"):
        ta.evaluate(name, bison, tmp_path / "runs")
    skipping = EvaluateOptions(skip_bad=True, overwrite=True)
    (run,) = ta.evaluate(name, bison, tmp_path / "runs", skipping)
    assert run.failures and all("has no captions in part" in f.reason for f in run.failures)
    assert run.covered == {item.id for item in bison.items}


def test_a_string_that_names_no_metric_or_corpus_is_refused(corpus, tmp_path):
    with pytest.raises(BadInput, match="does not name a metric and a corpus"):
        load("reference:CIDEr-D")
    with pytest.raises(UnknownName, match="CIDER"):
        load(f"reference:CIDER@{corpus.root}")
    with pytest.raises(UnknownName, match="no option of ROUGE-L called 'smoothing'"):
        load(f"reference:ROUGE-L@{corpus.root}?smoothing=floor")
    with pytest.raises(BadInput, match="no file or folder nowhere"):
        load(f"reference:ROUGE-L@{tmp_path / 'nowhere'}")
    with pytest.raises(BadInput, match="-1 references"):
        load(f"reference:ROUGE-L@{corpus.root}?keep=-1")


def test_the_run_knows_which_references_it_was_made_with(corpus, tmp_path):
    first = load(f"reference:ROUGE-L@{corpus.root}").facts
    save_corpus(corpus, tmp_path / "same")
    same = load(f"reference:ROUGE-L@{tmp_path / 'same'}").facts
    assert same.weights == first.weights != ""
    fewer = ta.Corpus("fewer", corpus.root, corpus.images, corpus.captions.head(200))
    save_corpus(fewer, tmp_path / "fewer")
    assert load(f"reference:ROUGE-L@{tmp_path / 'fewer'}").facts.weights != first.weights


def test_a_metric_that_cannot_run_says_why(corpus, monkeypatch):
    monkeypatch.setattr("tellapart.text.caption_metrics.java.find_spec", lambda name: None)
    with pytest.raises(TellapartError, match="METEOR comes with"):
        load(f"reference:METEOR@{corpus.root}")
