"""Captions of systems against references: the numbers, and every way in which a file can be bad."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from tellapart.cli.main import app
from tellapart.corpus.corpus import make_corpus, save_corpus
from tellapart.corpus.reader import read_corpus
from tellapart.errors import BadInput, TellapartError, UnknownName
from tellapart.measures.captions.judge import drawn_references
from tellapart.measures.captions.systems import SystemCaptions, read_system
from tellapart.measures.options import NATIVE, CaptionOptions
from tellapart.text.caption_metrics.bleu import bleu
from tellapart.text.caption_metrics.cider import cider_d
from tellapart.text.caption_metrics.meteor import Meteor
from tellapart.text.caption_metrics.references import DocumentFrequencies, ReferenceSets
from tellapart.text.ptb import ptb_tokenise
from tellapart.verbs.captions import captions

QUICK = {"resamples": 200, "permutations": 500}


def options(**more) -> CaptionOptions:
    return CaptionOptions(**{**QUICK, "metrics": ("BLEU-4", "CIDEr-D"), **more})


def written(name: str, found: dict[str, str]) -> SystemCaptions:
    return SystemCaptions(name, found)


@pytest.fixture(scope="module")
def corpus(world):
    return world


@pytest.fixture(scope="module")
def good(corpus) -> SystemCaptions:
    """A system that says what somebody said."""
    texts = corpus.texts_by_image
    return written("good", {image: own[0] for image, own in texts.items()})


@pytest.fixture(scope="module")
def poor(corpus) -> SystemCaptions:
    """A system that says the same of everything, but for the first twenty images."""
    texts = corpus.texts_by_image
    same = next(iter(texts.values()))[1]
    return written(
        "poor", {image: own[1] if k < 20 else same for k, (image, own) in enumerate(texts.items())}
    )


def results_file(path: Path, rows: object) -> Path:
    path.write_text(json.dumps(rows))
    return path


def test_scores_are_those_of_the_kernels_on_the_same_tokens(corpus, good, poor):
    found = captions([good, poor], corpus, options(metrics=NATIVE))
    texts = corpus.texts_by_image
    for system in (good, poor):
        sets = ReferenceSets.of(
            ptb_tokenise(list(system.captions.values())),
            [ptb_tokenise(own) for own in texts.values()],
        )
        assert found.value(system.name, "BLEU-4") == pytest.approx(
            bleu(sets, smoothing="coco").corpus[3]
        )
        assert found.value(system.name, "CIDEr-D") == pytest.approx(cider_d(sets).corpus)
        own = found.per_image.filter(system=system.name)
        assert own["image"].to_list() == list(texts)
        assert own["CIDEr-D"].to_numpy() == pytest.approx(cider_d(sets).sentences)


def test_an_interval_is_that_of_images_drawn_with_replacement(corpus, poor):
    """BLEU of resampled images, computed anew each time, against resampled counts."""
    found = captions(poor, corpus, options(resamples=400, permutations=10))
    row = found.scores[0]
    assert row.metric == "BLEU-4" and row.low < row.value < row.high
    tokens = ptb_tokenise(list(poor.captions.values()))
    references = [ptb_tokenise(own) for own in corpus.texts_by_image.values()]
    rng, drawn = np.random.default_rng(0), []
    for _ in range(200):
        some = rng.integers(len(tokens), size=len(tokens))
        sets = ReferenceSets.of([tokens[k] for k in some], [references[k] for k in some])
        drawn.append(bleu(sets, smoothing="coco").corpus[3])
    low, high = np.quantile(drawn, [0.02, 0.98])
    assert (row.low, row.high) == pytest.approx((low, high), abs=0.25 * (high - low))


def test_two_systems_are_told_apart_only_where_they_differ(corpus, good, poor):
    found = captions([good, poor, written("copy", good.captions)], corpus, options())
    pairs = {(p.metric, p.first, p.second): p for p in found.pairs}
    clear, same = pairs["CIDEr-D", "good", "poor"], pairs["CIDEr-D", "good", "copy"]
    assert clear.difference > 0 and clear.low > 0 and clear.p_holm < 0.01 and "*" in clear.mark
    assert clear.difference == pytest.approx(clear.first_value - clear.second_value)
    assert clear.won > clear.lost and clear.images == 60
    assert (same.difference, same.p, same.won, same.lost, same.mark) == (0, 1, 0, 0, "~")
    assert clear.p_holm == pytest.approx(3 * min(p.p for p in found.pairs if "CIDEr" in p.metric))


def test_the_same_seed_gives_the_same_and_another_one_others(corpus, poor, good):
    first, again = (captions([good, poor], corpus, options()) for _ in range(2))
    assert first.to_json() == again.to_json() and first.per_image.equals(again.per_image)
    other = captions([good, poor], corpus, options(seed=1))
    assert [s.value for s in other.scores] == [s.value for s in first.scores]
    assert [s.low for s in other.scores] != [s.low for s in first.scores]


def test_document_frequencies_come_from_where_they_are_asked_from(corpus, good, tmp_path):
    half = written("half", dict(list(good.captions.items())[:30]))
    texts = corpus.texts_by_image
    tokens = [ptb_tokenise(own) for own in texts.values()]
    sets = ReferenceSets.of(ptb_tokenise(list(half.captions.values())), tokens[:30])
    judged = captions(half, corpus, options()).value("half", "CIDEr-D")
    assert judged == pytest.approx(cider_d(sets).corpus)
    every = captions(half, corpus, options(frequencies="references")).value("half", "CIDEr-D")
    assert every == pytest.approx(cider_d(sets, DocumentFrequencies.of(tokens)).corpus)
    named = captions(half, corpus, options(frequencies=str(corpus.root)))
    assert named.value("half", "CIDEr-D") == pytest.approx(every) != pytest.approx(judged)
    assert any(str(corpus.root) in line for line in named.methods)
    with pytest.raises(BadInput, match="no file or folder nowhere"):
        captions(half, corpus, options(frequencies=str(tmp_path / "nowhere")))


def test_fewer_references_are_random_ones_of_each_image(corpus, poor):
    found = captions(poor, corpus, options(references_used=(1, 3, 5), repeats=4))
    rows = {(row.metric, row.used): row for row in found.fewer}
    whole = found.value("poor", "BLEU-4")
    assert rows["BLEU-4", 1].value < rows["BLEU-4", 3].value < rows["BLEU-4", 5].value
    assert rows["BLEU-4", 5].value == pytest.approx(whole) and rows["BLEU-4", 5].repeats == 1
    assert rows["BLEU-4", 1].repeats == 4 and rows["BLEU-4", 1].spread > 0
    references = list(corpus.texts_by_image.values())
    drawn = [drawn_references(references, 3, 0, repeat) for repeat in range(2)]
    assert drawn[0] != drawn[1]
    for some, own in zip(drawn[0], references, strict=True):
        assert len(some) == 3 and all(some.count(text) <= own.count(text) for text in some)
    slow = []
    for repeat in range(4):
        some = drawn_references(references, 3, 0, repeat)
        sets = ReferenceSets.of(
            ptb_tokenise(list(poor.captions.values())), [ptb_tokenise(own) for own in some]
        )
        slow.append(bleu(sets, smoothing="coco").corpus[3])
    assert rows["BLEU-4", 3].value == pytest.approx(np.mean(slow))
    assert rows["BLEU-4", 3].spread == pytest.approx(np.std(slow, ddof=1))


def test_an_image_with_too_few_references_keeps_all_and_is_counted(corpus, poor):
    found = captions(poor, corpus, options(references_used=(7,)))
    assert {row.short for row in found.fewer} == {60}
    with pytest.raises(BadInput, match="judged with 0 references"):
        captions(poor, corpus, options(references_used=(0,)))
    with pytest.raises(BadInput, match="drawn 0 times"):
        captions(poor, corpus, options(references_used=(1,), repeats=0))


def test_images_that_a_system_left_out_are_counted_and_shown(corpus, good, poor):
    half = written("half", dict(list(good.captions.items())[:30]))
    found = captions([half, poor], corpus, options())
    assert {row.images for row in found.scores} == {30}
    assert "judged on 30 of 60 images with references" in found.remarks
    assert any("poor: 30 of its captions" in remark for remark in found.remarks)
    every = captions(half, corpus, options(every_image=True))
    assert {row.images for row in every.scores} == {60}
    assert "half has no caption for 30 images, which count as empty captions" in every.remarks
    assert every.value("half", "CIDEr-D") < 0.6 * captions(half, corpus, options()).value(
        "half", "CIDEr-D"
    )
    other = written("other", dict(list(good.captions.items())[30:]))
    with pytest.raises(BadInput, match="no image has a caption from every system"):
        captions([half, other], corpus, options())


def test_images_without_references_are_an_error_or_counted(corpus, good):
    more = written("more", {**good.captions, "99": "A dog.", "98": "A cat."})
    with pytest.raises(BadInput, match="2 of the 62 images of more have no references: 99, 98"):
        captions(more, corpus, options())
    found = captions(more, corpus, options(skip_bad=True))
    assert "more: left out: image 99 has no references" in found.remarks
    assert found.scores[0].images == 60
    with pytest.raises(BadInput, match="1 of the 1 images"):
        captions(written("none", {"99": "A dog."}), corpus, options(skip_bad=True))


def test_an_empty_caption_scores_nothing_and_is_counted(corpus, good):
    first = next(iter(good.captions))
    found = captions(written("mute", {**good.captions, first: "  "}), corpus, options())
    assert "mute: 1 captions are empty and score 0" in found.remarks
    row = found.per_image.filter(image=first)
    assert row["CIDEr-D"].item() == 0 and row["BLEU-4"].item() == pytest.approx(0, abs=1e-12)
    assert found.value("mute", "CIDEr-D") < captions(good, corpus, options()).value(
        "good", "CIDEr-D"
    )


def test_a_caption_that_a_metric_cannot_judge_counts_as_nothing_and_is_told(
    corpus, good, monkeypatch
):
    monkeypatch.setattr(Meteor, "lacking", lambda self: None)
    counts = " ".join(["2 2 0 0 2 2", *["0"] * 14, "1 2 2"])
    monkeypatch.setattr(Meteor, "_answers", lambda self, lines: ["", *[counts] * (len(lines) - 1)])
    found = captions(good, corpus, options(metrics=("METEOR",)))
    first = found.per_image["image"][0]
    told = "METEOR could not judge 1 captions of good, which count as 0"
    assert f"{told}: {first}" in found.remarks and told in str(found)
    each = found.per_image["METEOR"].to_list()
    assert each[0] == 0 and min(each[1:]) > 0


def test_one_image_has_a_score_but_no_interval(corpus, good):
    one = written("one", dict(list(good.captions.items())[:1]))
    found = captions([one, written("two", one.captions)], corpus, options(metrics=("ROUGE-L",)))
    assert found.scores[0].low is None and found.scores[0].value == 1.0 and not found.pairs
    assert "1 image\n" in f"{found}\n" and "ROUGE-L  100.00" in str(found)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"image_id": 1, "caption": "a"}, {"image_id": 1, "caption": "b"}], "has two captions"),
        ([{"image_id": 1, "caption": None}], "the caption of image 1 is missing"),
        ([{"image_id": 1, "caption": float("nan")}], "the caption of image 1 is NaN"),
        (
            [{"image_id": 1, "caption": "x/" * 15_000}],
            "the caption of image 1 has 30,000 characters",
        ),
        ([{"image_id": 1, "caption": "a \ud800"}], "the caption of image 1 has a character that"),
        ([{"image_id": "\ud800", "caption": "a"}], "the id of an image has a character that"),
        ([{"image_id": 1, "caption": 7}], r"the caption of image 1 is int \(7\), not text"),
        ([{"image_id": 1.5, "caption": "a"}], r"an image is float \(1.5\)"),
        ([{"image_id": None, "caption": "a"}], "an image is NoneType"),
        ([{"image_id": True, "caption": "a"}], "an image is bool"),
        ([{"image": 1, "text": "a"}], "a row is {'image': 1"),
        (["a dog"], "a row is 'a dog'"),
        ([], "has no captions"),
        ({"annotations": []}, "is an object, not a list of captions"),
        ("a dog", "is str, not a list"),
    ],
)
def test_a_bad_row_is_named(rows, said, tmp_path):
    path = results_file(tmp_path / "results.json", rows)
    with pytest.raises(BadInput, match=said) as caught:
        read_system(path)
    assert str(path) in str(caught.value)


def test_bad_rows_are_left_out_only_when_asked_and_listed(tmp_path):
    rows = [
        {"image_id": 1, "caption": "a dog"},
        {"image_id": 1, "caption": "a cat"},
        {"image_id": 2, "caption": None},
        {"image_id": 3, "caption": ""},
    ]
    path = results_file(tmp_path / "mine.json", rows)
    with pytest.raises(BadInput, match=r"two captions: 'a dog' and 'a cat' \(and 1 more"):
        read_system(path)
    found = read_system(path, skip_bad=True)
    assert found.captions == {"1": "a dog", "3": ""} and len(found.skipped) == 2
    assert found.name == "mine"


def test_files_that_are_not_utf8_or_not_whole_are_said(tmp_path):
    text = json.dumps([{"image_id": 1, "caption": "a café"}], ensure_ascii=False)
    for encoding in ("latin-1", "utf-16"):
        path = tmp_path / f"{encoding}.json"
        path.write_bytes(text.encode(encoding))
        with pytest.raises(BadInput, match="not UTF-8"):
            read_system(path)
    marked = tmp_path / "marked.json"
    marked.write_bytes(text.encode("utf-8-sig"))
    assert read_system(marked).captions == {"1": "a café"}
    cut = tmp_path / "cut.json"
    cut.write_text(text[:20])
    with pytest.raises(BadInput, match="is not JSON"):
        read_system(cut)
    with pytest.raises(BadInput, match="there is no file"):
        read_system(tmp_path / "none.json")
    (tmp_path / "results.txt").write_text(text)
    with pytest.raises(BadInput, match="not a table"):
        read_system(tmp_path / "results.txt")


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "json.gz", "csv.gz"])
def test_tables_and_packed_files_are_read(kind, tmp_path):
    path = tmp_path / f"mine.{kind}"
    table = pl.DataFrame({"image": ["7", "8"], "caption": ["A dog, red.", ""]})
    if kind == "json.gz":
        rows = [{"image_id": 7, "caption": "A dog, red."}, {"image_id": 8, "caption": ""}]
        path.write_bytes(gzip.compress(json.dumps(rows).encode()))
    elif kind == "parquet":
        table.write_parquet(path)
    elif kind == "jsonl":
        table.write_ndjson(path)
    else:
        text = table.write_csv(separator="\t" if kind == "tsv" else ",", quote_style="necessary")
        text = text.replace('""', "")  # an empty cell, as most programs write it
        path.write_bytes(gzip.compress(text.encode()) if kind == "csv.gz" else text.encode())
    found = read_system(path)
    assert found.captions == {"7": "A dog, red.", "8": ""} and found.name == "mine"


def test_columns_are_named_and_nulls_outside_text_tables_are_mistakes(tmp_path):
    path = tmp_path / "mine.parquet"
    pl.DataFrame({"file": ["7"], "said": ["A dog."]}).write_parquet(path)
    assert read_system(path, "file", "said").captions == {"7": "A dog."}
    with pytest.raises(TellapartError, match="no column called 'image'"):
        read_system(path)
    pl.DataFrame({"image_id": [7, 8], "caption": ["A dog.", None]}).write_parquet(path)
    with pytest.raises(BadInput, match="caption of image 8 is missing"):
        read_system(path)


def test_images_are_known_by_file_name_too(tmp_path):
    data = {
        "images": [{"id": 139, "file_name": "COCO_val2014_000000000139.jpg"}],
        "annotations": [{"id": 1, "image_id": 139, "caption": "A dog."}],
    }
    corpus = read_corpus(results_file(tmp_path / "captions.json", data))
    quick = options(metrics=("ROUGE-L",))
    for name in ("139", "COCO_val2014_000000000139.jpg", "000000000139.jpg"):
        assert captions(written("mine", {name: "A dog."}), corpus, quick).scores[0].value == 1.0
    twice = written("mine", {"139": "A dog.", "000000000139.jpg": "A cat."})
    with pytest.raises(BadInput, match="two captions in mine, under two names"):
        captions(twice, corpus, quick)


def test_metrics_that_cannot_run_are_an_error_when_named_and_a_remark_among_all(
    corpus, good, monkeypatch
):
    monkeypatch.setattr("tellapart.text.caption_metrics.java.find_spec", lambda name: None)
    with pytest.raises(TellapartError, match="METEOR comes with the package"):
        captions(good, corpus, options(metrics=("METEOR",)))
    found = captions(good, corpus, options(metrics=("all",)))
    assert {"BLEU-1", "CIDEr"} <= {row.metric for row in found.scores}
    left_out = {remark.partition(" ")[0] for remark in found.remarks if "is left out" in remark}
    assert left_out == {"METEOR", "SPICE", "spice-py"}
    with pytest.raises(TellapartError, match="no caption-metric called 'BLUE'"):
        captions(good, corpus, options(metrics=("BLUE",)))


@pytest.fixture
def run(tmp_path, corpus, good, poor):
    """The verb, with two files of results."""
    for system in (good, poor):
        rows = [{"image_id": image, "caption": text} for image, text in system.captions.items()]
        results_file(tmp_path / f"{system.name}.json", rows)

    def invoke(*words: str):
        files = [str(tmp_path / "good.json"), str(tmp_path / "poor.json")]
        given = ["captions", *files, "--references", str(corpus.root), "--permutations", "100"]
        draws = () if "--resamples" in words else ("--resamples", "100")
        return CliRunner().invoke(app, [*given, *draws, *words])

    return invoke


def test_the_verb_prints_tables_json_and_latex(run, tmp_path):
    said = run("--metrics", "BLEU-4,CIDEr-D", "--references-used", "1-3,5", "--repeats", "2")
    assert said.exit_code == 0, said.output
    for part in ("BLEU-4", "A - B", "won-lost-level", "references used", "±", "100%"):
        assert part in said.stdout
    told = json.loads(run("--json", "--metrics", "ROUGE-L").stdout)
    assert [row["system"] for row in told["scores"]] == ["good", "poor"]
    assert told["pairs"][0]["metric"] == "ROUGE-L" and told["remarks"] == []
    latex = run("--latex", "--metrics", "ROUGE-L,BLEU-4").stdout
    assert r"System & ROUGE-L & BLEU-4 \\" in latex and latex.count(r"\\") == 3


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "tsv"])
def test_the_verb_writes_a_row_an_image(kind, run, tmp_path):
    path = tmp_path / "out" / f"each.{kind}"
    assert run("--metrics", "CIDEr-D", "--per-image", str(path)).exit_code == 0
    read = {"parquet": pl.read_parquet, "jsonl": pl.read_ndjson}.get(kind, pl.read_csv)
    table = read(path, separator="\t") if kind == "tsv" else read(path)
    assert table.columns == ["system", "image", "caption", "CIDEr-D"] and table.height == 120


def test_the_verb_checks_before_it_computes(run, tmp_path):
    for words, said in (
        (["--per-image", "each.xlsx"], "not a name for a table"),
        (["--references-used", "many"], "is not a whole number"),
        (["--resamples", "0"], "need random draws"),
    ):
        error = run(*words).exception
        assert isinstance(error, BadInput) and said in error.what


def test_captions_and_references_are_prepared_alike(tmp_path):
    rows = [(k, text) for k in range(6) for text in ("A dog's ball, on grass.", f"rare{'x' * k}")]
    images = [{"id": str(k), "uri": f"{k}.png"} for k in range(6)]
    people = make_corpus(
        "people",
        tmp_path,
        images,
        [{"id": str(n), "image": str(k), "text": text} for n, (k, text) in enumerate(rows)],
    )
    own = written("own", {str(k): "a dogs BALL on (grass) 12" for k in range(6)})
    few = options(metrics=("ROUGE-L",))
    plain = captions([own], people, few).scores[0].value
    prepared = captions([own], people, replace(few, prepare="mcic"))
    assert plain < 0.9 and prepared.scores[0].value == pytest.approx(1.0)
    assert any("prepared as in mcic" in line for line in prepared.methods)
    # words that the counted corpus lacks are all the same word
    save_corpus(
        make_corpus("none", tmp_path, images[:1], [{"id": "0", "image": "0", "text": "nothing"}]),
        tmp_path / "none",
    )
    other = written("other", dict.fromkeys(own.captions, "we say five other words"))
    blind = replace(few, prepare="mcic", words_from=tmp_path / "none")
    assert captions([other], people, blind).scores[0].value == pytest.approx(1.0)
    with pytest.raises(BadInput, match="no effect without --prepare"):
        captions([own], people, replace(few, words_from=tmp_path / "none"))
    with pytest.raises(UnknownName, match="preparation"):
        captions([own], people, replace(few, prepare="mcci"))
