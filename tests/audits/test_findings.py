"""Findings about items: each planted once and counted, and 0 where it is not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.audits.conftest import bench, choice, pairs

from tellapart.audits.findings import (
    foil_rules,
    mentions,
    open_other,
    overlap,
    plain_id,
    read_synonyms,
    structure,
    unanswerable,
)
from tellapart.benchmark.benchmark import Benchmark, save_benchmark
from tellapart.corpus.corpus import make_corpus
from tellapart.errors import BadInput
from tellapart.items import Image, Item, Origin, Slot
from tellapart.verbs.benchmarks.audit import audit


def counts(benchmark: Benchmark) -> dict[str, int]:
    return {found.name: found.count for found in structure(benchmark)}


CLEAN = [choice(str(k), f"a cat {k}", f"a dog {k}", f"an owl {k}", place=k % 3) for k in range(6)]


def test_a_clean_benchmark_has_no_findings():
    found = counts(bench(CLEAN, verified="by hand"))
    places = {f"caption place {k}" for k in range(3)} | {"sorted options"}
    assert {name: n for name, n in found.items() if n and name not in places} == {}
    assert [found[f"caption place {k}"] for k in range(3)] == [2, 2, 2]


def test_pitfall_5_marks_on_one_side_are_counted_both_ways():
    rows = [("a cat", "a dog.")] * 3 + [("a cat.", "a dog")] + [("a cat. ", "a dog.")] * 2
    found = counts(pairs(rows))
    assert (found["final stop, wrong only"], found["final stop, right only"]) == (3, 1)
    assert (found["white space, wrong only"], found["white space, right only"]) == (0, 2)
    assert (found["capital, wrong only"], found["capital, right only"]) == (0, 0)


def test_pitfall_7_sorted_options_are_found():
    in_order = [choice(f"s{k}", "b", "a", "c", place=1) for k in range(4)]
    found = counts(bench([*in_order, choice("x", "z", "a", place=0)]))
    assert found["sorted options"] == 4 and found["caption place 1"] == 4


def test_pitfall_8_a_decoy_with_the_same_words_is_found():
    items = [
        choice("same", "sitting on a bench, outside", "Sitting outside on a bench."),
        choice("other", "sitting on a bench", "sitting on a chair"),
        choice("decoys alike", "a cat", "a dog runs", "runs a dog"),
    ]
    found = {f.name: f for f in structure(bench(items))}
    assert (found["same words"].count, found["same words"].examples) == (1, ("test:same",))


def test_pitfall_9_duplicates_are_found_by_content_whatever_the_order():
    items = [
        choice("a", "a cat", "a dog", images=("one",)),
        choice("b", "a cat", "a dog", images=("one",), place=1),
        choice("c", "a cat", "a dog", images=("two",)),
        choice("d", "a dog", "a cat", images=("one",)),
    ]
    found = {f.name: f for f in structure(bench(items))}
    assert (found["duplicates"].count, found["duplicates"].examples) == (1, ("test:b",))


def test_equal_options_and_questions_without_an_answer_are_found():
    def item(name: str, captions: tuple[str, ...], true: set[tuple[int, int]]) -> Item:
        return Item.imported("test", name, images=(name,), captions=captions, true=frozenset(true),
                             kind="x", origin=Origin("test"))  # fmt: skip

    items = [
        item("equal", ("a cat", "a  cat"), {(0, 0)}),
        item("none", ("a cat", "a dog"), set()),
        item("all", ("a cat", "a pet"), {(0, 0), (0, 1)}),
        item("good", ("a cat", "a dog"), {(0, 1)}),
        item("judge", ("a cat",), set()),
    ]
    found = {f.name: f for f in structure(bench(items))}
    assert found["equal options"].examples == ("test:equal",)
    assert found["no answer"].examples == ("test:none", "test:all")
    assert not unanswerable(bench(items[-1:]).items.patterns[0])


def test_unverified_items_are_counted():
    doubted = choice("no", "a cat", "a dog", origin=Origin("test", notes={"confirmed": "no"}))
    assert counts(bench([*CLEAN, doubted]))["unverified"] == 7
    assert counts(bench([*CLEAN, doubted], verified="by people"))["unverified"] == 1


@pytest.mark.parametrize(
    "name",
    ["COCO_train2014_000000000139.jpg", "000000000139.jpg", "139", "val2017/000000000139.jpg"],
)
def test_pitfall_13_one_image_has_one_id(name):
    assert plain_id(name) == "139"


def test_pitfall_13_overlap_by_id_and_by_hash(tmp_path):
    items = [
        choice(n, "a cat", "a dog", images=(n,))
        for n in ("COCO_val2014_000000000139.jpg", "7", "new")
    ]
    mine = bench(items)
    hashed = {n: Image(n, i.uri, {"7": "aa", "new": "bb"}.get(n)) for n, i in mine.images.items()}
    mine = Benchmark(mine.card, mine.root, mine.items, hashed)
    rows = [{"id": "139", "uri": "x"}, {"id": "other", "uri": "y", "sha256": "bb"}]
    corpus = make_corpus("trained", Path(), rows, [{"id": "c", "image": "139", "text": "a"}])
    found = {f.name: f for f in overlap(mine, corpus)}
    by_id, by_hash = found["overlap by id"], found["overlap by sha256"]
    assert (by_id.examples, by_id.of) == (("COCO_val2014_000000000139.jpg",), 3)
    assert (by_hash.examples, by_hash.of) == (("new",), 2)
    assert found["overlap, items"].count == 2
    saved = save_benchmark(mine, tmp_path / "saved")
    assert isinstance(open_other(saved.root), Benchmark)
    assert {f.name: f.count for f in overlap(mine, saved)}["overlap by id"] == 3


def foils() -> Benchmark:
    def item(name: str, target: str, foil: str, **more) -> Item:
        return choice(name, f"a {target} here", f"a {foil} here", images=(f"COCO_{name}",), **more)

    slot = Slot(1, 2, 5, "dog", "cat")
    noted = {"classes": "couch", "classes_foil": "ball"}
    return bench(
        [
            item("val2014_000000000001", "dog", "cat", slot=slot),  # salient and absent
            item("val2014_000000000002", "dog", "cat", slot=slot),  # in one caption, shown
            item("val2014_000000000003", "couch", "ball", origin=Origin("t", notes=noted)),  # shown
            item("val2014_000000000004", "dog", "cat", slot=slot),  # not in the corpus
            item("val2014_000000000005", "dog", "cat"),  # no slot
        ]
    )


def coco() -> object:
    shown = {"1": ["dog"], "2": ["dog", "cat"], "3": ["couch", "sports ball"], "5": []}
    texts = {
        "1": ["Two dogs run.", "a dog"], "2": ["a dog", "an animal, hotdog"],
        "3": ["a couch", "the couch", "red couches"], "5": ["a dog"],
    }  # fmt: skip
    images = [{"id": k, "uri": f"{k}.jpg", "objects": v} for k, v in shown.items()]
    captions = [
        {"id": f"{k}-{n}", "image": k, "text": text}
        for k, t in texts.items()
        for n, text in enumerate(t)
    ]
    return make_corpus("coco", Path(), images, captions)


def test_foil_rules_count_what_is_not_salient_and_what_is_not_absent(quick):
    found = {f.name: (f.count, f.of) for f in foil_rules(foils(), coco())}
    assert found == {
        "target in one caption": (1, 3),
        "target in no caption": (0, 3),
        "foil is shown": (2, 3),
        "not in the corpus": (1, 4),
    }
    audited = audit(foils(), corpus=coco(), options=quick)
    assert audited.finding("foil is shown").examples == (
        "test:val2014_000000000002", "test:val2014_000000000003",
    )  # fmt: skip


def test_synonyms_say_which_category_a_word_names(tmp_path):
    file = tmp_path / "synonyms.json"
    file.write_text(json.dumps({"inverse_synonym_dict": {"cat": "dog", "": ""}}))
    words = read_synonyms(file)
    assert words == {"cat": "dog"}
    with pytest.raises(BadInput, match="which category"):
        file.write_text("[1]")
        read_synonyms(file)
    shown = {f.name: f.count for f in foil_rules(foils(), coco(), {"ball": "couch"})}
    assert shown["foil is shown"] == 2


def test_a_corpus_without_foils_is_remarked(quick):
    found = audit(bench(CLEAN), corpus=coco(), options=quick)
    assert any("no item has a target" in remark for remark in found.remarks)


def test_a_target_is_found_in_the_plural_and_not_inside_a_word():
    assert mentions("Knives on a table", "knife") and mentions("a hot dog", "hot dog")
    assert not mentions("a doghouse", "dog")
