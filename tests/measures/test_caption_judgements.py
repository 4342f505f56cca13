"""Caption metrics against ratings by people: on made ratings, in every form that they come in."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import kendalltau
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli.main import app
from tellapart.errors import BadInput
from tellapart.stats.rank_correlation import rank_correlations
from tellapart.text.caption_metrics.bleu import bleu
from tellapart.text.caption_metrics.references import ReferenceSets
from tellapart.text.ptb import ptb_tokenise

METRICS = ("BLEU-1", "CIDEr-D")


@pytest.fixture(scope="module")
def flickr(world, tmp_path_factory):
    """The world as a token file, and ratings of captions of other images in Flickr8k's form."""
    folder = tmp_path_factory.mktemp("flickr")
    texts = list(world.texts_by_image.values())
    lines = [f"{k}.jpg#{n}\t{text}" for k, own in enumerate(texts) for n, text in enumerate(own)]
    (folder / "captions.token.txt").write_text("\n".join(lines) + "\n")
    rng = np.random.default_rng(5)
    judged = []
    for image in range(len(texts)):
        for step in (0, 1, 7):  # step 0: its own caption
            other = (image + step) % len(texts)
            if step and texts[other][0] in texts[image]:
                continue
            shared = len(set(texts[image][1].split()) & set(texts[other][0].split()))
            ratings = [min(4, max(1, shared // 2 + int(rng.integers(2)))) for _ in range(3)]
            judged.append((f"{image}.jpg", f"{other}.jpg#0", ratings))
    rows = ["\t".join([image, caption, *map(str, ratings)]) for image, caption, ratings in judged]
    (folder / "ExpertAnnotations.txt").write_text("\n".join(rows) + "\n")
    return folder


def asked(folder, name: str, **more):
    options = ta.CaptionOptions(judgements=folder / name, metrics=METRICS, **more)
    return ta.captions((), folder / "captions.token.txt", options)


def test_each_rating_is_a_row_and_own_captions_are_left_out(flickr):
    found = asked(flickr, "ExpertAnnotations.txt")
    texts: dict[str, list[str]] = {}
    by_id = {}
    for line in (flickr / "captions.token.txt").read_text().splitlines():
        name, text = line.split("\t")
        by_id[name] = text
        texts.setdefault(name.partition("#")[0], []).append(text)
    candidates, references, ratings, images = [], [], [], []
    for line in (flickr / "ExpertAnnotations.txt").read_text().splitlines():
        image, caption, *given = line.split("\t")
        if by_id[caption] not in texts[image]:
            candidates.append(by_id[caption])
            references.append(texts[image])
            ratings.append([int(one) for one in given])
            images.append(image)
    sets = ReferenceSets.of(ptb_tokenise(candidates), [ptb_tokenise(own) for own in references])
    scores = np.repeat(bleu(sets, smoothing="coco").sentences[0], 3)
    row = found.judgements[0]
    assert (row.captions, row.ratings) == (len(ratings), 3 * len(ratings))
    for variant, one in (("b", row.tau_b), ("c", row.tau_c)):
        expected = kendalltau(scores, np.ravel(ratings), variant=variant).statistic
        assert one.value == pytest.approx(expected) and one.low < one.value < one.high
    rows = (scores, np.ravel(ratings).astype(float), np.repeat(images, 3))
    by_image = rank_correlations(*rows, np.random.default_rng(0)).tau_c
    assert (row.tau_c.low, row.tau_c.high) == pytest.approx((by_image.low, by_image.high))
    own = sum(len(set(own)) > 0 for own in texts.values())
    assert f"left out: {own} captions that are references of their own image" in found.remarks


def test_a_table_of_texts_says_the_same(flickr, tmp_path):
    by_id = dict(
        line.split("\t") for line in (flickr / "captions.token.txt").read_text().splitlines()
    )
    rows = []
    for line in (flickr / "ExpertAnnotations.txt").read_text().splitlines():
        image, caption, *given = line.split("\t")
        ratings = {f"rating_{k}": int(one) for k, one in enumerate(given)}
        rows.append({"image": image, "caption": by_id[caption], **ratings})
    (flickr / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    first, second = asked(flickr, "ExpertAnnotations.txt"), asked(flickr, "mine.jsonl")
    assert first.judgements == second.judgements


def test_the_command_prints_correlations_and_which_cider_it_is(flickr):
    words = ["captions", "--references", str(flickr / "captions.token.txt"), "--judgements",
             str(flickr / "ExpertAnnotations.txt")]  # fmt: skip
    done = CliRunner().invoke(app, [*words, "--metrics", "BLEU-4,CIDEr-D,CIDEr"])
    assert done.exit_code == 0 and "Kendall tau-c" in done.output
    assert "CIDEr-D is what papers and the COCO scripts call CIDEr" in done.output
    assert "do not compare it with published figures" in done.output
    plain = CliRunner().invoke(app, [*words, "--latex"])
    assert r"$\tau_c$" in plain.output and "CIDEr &" not in plain.output, "not in the default table"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nowhere.jpg\t1.jpg#0\t1\t2\t3", "has no references"),
        ("0.jpg\t999.jpg#0\t1\t2\t3", "is not in the references"),
        ("0.jpg\t1.jpg#0\tgood", "is not an image, a caption id and ratings"),
    ],
)
def test_bad_judgements_are_named(flickr, tmp_path, line, message):
    bad = flickr / "bad.txt"
    bad.write_text((flickr / "ExpertAnnotations.txt").read_text() + line + "\n")
    with pytest.raises(BadInput, match=message) as caught:
        asked(flickr, "bad.txt")
    assert str(bad) in caught.value.where


def test_nothing_to_judge_is_said():
    with pytest.raises(BadInput, match="no references"):
        ta.captions([])
