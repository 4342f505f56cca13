"""What every importer does alike: files, images, duplicates, order, the card, the errors."""

from __future__ import annotations

import hashlib
import json
import sys
import types

import pytest

import tellapart as ta
from tellapart import registry
from tellapart.benchmark.benchmark import card_json
from tellapart.benchmark.published.options import GetOptions
from tellapart.errors import TellapartError
from tellapart.verbs.benchmarks.get import get
from tellapart.verbs.benchmarks.validate import validate


def crepe(number: int, caption: str = "A dog.", negative: str = "A cat.") -> dict:
    return {"filename": f"{number:012d}.jpg", "caption": caption, "negative_caption": negative}


@pytest.mark.parametrize("name", registry.importers.names())
def test_every_importer_says_what_it_is(name):
    importer = registry.importers.get(name)
    assert importer.name == name and importer.about and importer.endings
    assert name in ("pairs", "table") or (importer.licence and importer.citation and importer.page)
    assert registry.importers.describe(name) == importer.about
    for measure in importer.measures:
        registry.measures.get(measure)


@pytest.mark.parametrize("name", registry.importers.names())
def test_a_file_that_is_not_there_is_one_clear_error(desk, name):
    ending = registry.importers.get(name).endings[0]
    missing = desk.folder / f"{'add_att' if name == 'sugarcrepe' else 'nothing'}.{ending}"
    columns = {"images_columns": ("a",), "captions_columns": ("b",)} if name == "table" else {}
    assert desk.error(name, missing, **columns).startswith(
        f"there is no file or folder {missing.name}"
    )


def test_the_card_names_files_hashes_and_options(desk):
    file = desk.write("add_att.json.gz", {"0": crepe(1), "1": crepe(2)})
    card = card_json(desk.get("sugarcrepe", file, seed=7, name="mine"))
    assert card["name"] == "mine" and card["licence"] == "MIT" and "Hsieh" in card["citation"]
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    assert card["made"] == {
        "by": "tellapart get sugarcrepe",
        "files": [{"name": "add_att.json.gz", "sha256": sha256, "as_published": False}],
        "duplicates": {"items": 0, "kept": True, "of": {}},
        "images": {"found": 0, "missing": 2},
        "items_with_images": 0,
        "options": {
            "only_with_images": False,
            "drop_duplicates": False,
            "keep_order": False,
            "keep_all": False,
            "alike": False,
            "seed": 7,
            "skip_bad": False,
        },
    }


def test_duplicates_are_kept_flagged_and_counted(desk):
    first = desk.write("add_att.json", {"0": crepe(1), "5": crepe(2)})
    second = desk.write("swap_obj.json", {"3": crepe(1)})
    benchmark = desk.get("sugarcrepe", first, second)
    assert len(benchmark.items) == 3
    twin = benchmark.by_id["sugarcrepe:swap_obj/3"]
    assert twin.origin.notes["duplicate_of"] == "sugarcrepe:add_att/0"
    assert "duplicate_of" not in benchmark.by_id["sugarcrepe:add_att/0"].origin.notes
    told = benchmark.card.made["duplicates"]
    assert told == {"items": 1, "kept": True, "of": {twin.id: "sugarcrepe:add_att/0"}}
    dropped = desk.get("sugarcrepe", first, second, drop_duplicates=True)
    assert [item.id for item in dropped.items] == ["sugarcrepe:add_att/0", "sugarcrepe:add_att/5"]
    assert dropped.card.made["duplicates"]["kept"] is False


@pytest.mark.parametrize(
    "there",
    ["pics/000000000139.jpg", "pics/COCO_val2014_000000000139.jpg", "pics/139.jpg",
     "pics/train2014/COCO_train2014_000000000139.jpg", "pics/val2017/000000000139.jpg"],
)  # fmt: skip
def test_coco_pictures_are_found_under_each_usual_name(desk, there):
    desk.picture(there)
    file = desk.write("add_att.json", {"0": crepe(139), "1": crepe(140)})
    benchmark = desk.get("sugarcrepe", file, images=desk.folder / "pics")
    assert sorted(benchmark.images) == ["139", "140"]
    assert benchmark.picture("139").open().size == (8, 6)
    assert benchmark.images["140"].uri.endswith("000000000140.jpg")
    assert benchmark.card.made["images"] == {"found": 1, "missing": 1}


def test_only_with_images_leaves_the_others_out_and_says_how_many(desk):
    desk.picture("pics/000000000139.jpg")
    file = desk.write("add_att.json", {"0": crepe(139), "1": crepe(140), "2": crepe(141)})
    benchmark = desk.get("sugarcrepe", file, images=desk.folder / "pics", only_with_images=True)
    assert [item.id for item in benchmark.items] == ["sugarcrepe:add_att/0"]
    assert benchmark.card.made["left_out_without_images"] == 2
    assert validate(benchmark).good


def test_only_with_images_and_none_there_is_an_error(desk):
    file = desk.write("add_att.json", {"0": crepe(139)})
    message = desk.error("sugarcrepe", file, only_with_images=True)
    assert message.startswith("none of the 1 items has all of its images")
    assert "000000000139.jpg" in message and "--images" in message


def test_pictures_beside_files_in_several_folders_are_found(desk):
    first = desk.write("a/add_att.json", {"0": crepe(1)})
    second = desk.write("b/swap_obj.json", {"0": crepe(2)})
    desk.picture("a/000000000001.jpg")
    desk.picture("b/000000000002.jpg")
    assert validate(desk.get("sugarcrepe", first, second)).good


def test_options_are_shuffled_by_the_seed_and_the_truth_goes_along(desk):
    rows = {str(n): crepe(n, f"true {n}", f"false {n}") for n in range(60)}
    file = desk.write("add_att.json", rows)
    one, again, other = (desk.get("sugarcrepe", file, seed=s) for s in (1, 1, 2))
    kept = desk.get("sugarcrepe", file, keep_order=True)
    places = [min(item.true)[1] for item in one.items]
    assert 15 < sum(places) < 45
    assert places == [min(item.true)[1] for item in again.items]
    assert places != [min(item.true)[1] for item in other.items]
    assert {min(item.true) for item in kept.items} == {(0, 0)}
    for item in one.items:
        assert item.captions[min(item.true)[1]].startswith("true")
        assert item.original == min(item.true)
    assert {i.content for i in one.items} == {i.content for i in kept.items}


def test_out_left_out_goes_under_the_home(desk, monkeypatch):
    monkeypatch.setenv("TELLAPART_HOME", str(desk.folder / "home"))
    file = desk.write("add_att.json", {"0": crepe(1)})
    get("sugarcrepe", [file])
    get("sugarcrepe", [file], options=GetOptions(name="other"))
    assert len(ta.load_benchmark("sugarcrepe").items) == len(ta.load_benchmark("other").items) == 1
    with pytest.raises(TellapartError, match="already exists"):
        get("sugarcrepe", [file])
    get("sugarcrepe", str(file), options=GetOptions(overwrite=True))


def test_a_folder_stands_for_the_files_in_it(desk):
    desk.write("data/add_att.json", {"0": crepe(1)})
    desk.write("data/swap_obj.json.gz", {"0": crepe(2)})
    desk.write("data/README.md", "no data")
    assert len(desk.get("sugarcrepe", desk.folder / "data").items) == 2
    (desk.folder / "empty").mkdir()
    message = desk.error("sugarcrepe", desk.folder / "empty")
    assert message.startswith("empty contains no files of sugarcrepe") and ".json" in message


def test_no_files_and_no_address_says_where_they_are(desk):
    assert desk.error("bison") == (
        "no files were given for bison\n"
        "  allowed: .json, each also with .gz\n"
        "  to do:   give them with --from; they are at "
        "https://github.com/facebookresearch/binary-image-selection"
    )


def test_an_unknown_name_is_answered_with_near_ones(desk):
    assert "did you mean sugarcrepe" in desk.error("sugarcreep")


def test_bad_rows_stop_the_import_or_are_left_out_and_listed(desk):
    rows = {"0": crepe(1), "1": {"filename": "a.jpg"}, "2": crepe(3, caption=" ")}
    file = desk.write("add_att.json", rows)
    assert desk.error("sugarcrepe", file) == (
        'row "1" of add_att.json has no "caption" (and 1 more: "caption" of row "2" of '
        "add_att.json is empty)\n"
        '  where:   add_att.json, key "1"\n'
        "  allowed: its keys are: filename\n"
        "  to do:   skip the bad rows with --skip-bad (skip_bad=True)"
    )
    benchmark = desk.get("sugarcrepe", file, skip_bad=True)
    assert len(benchmark.items) == 1 and len(benchmark.card.skipped) == 2


def test_the_same_import_gives_the_same_bytes(desk):
    file = desk.write("add_att.json", {str(n): crepe(n) for n in range(5)})
    first, second = desk.get("sugarcrepe", file), desk.get("sugarcrepe", file)
    for name in ("items.parquet", "images.parquet", "benchmark.json"):
        assert (first.root / name).read_bytes() == (second.root / name).read_bytes()


def test_the_hub_without_its_package_is_a_clear_error(desk, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    message = desk.error("bivlc", "hf:imirandam/BiVLC")
    assert "huggingface_hub" in message.splitlines()[0]
    assert "pip install huggingface_hub" in message and "--from" in message


def test_the_hub_is_asked_for_parquet_only(desk, monkeypatch):
    asked = {}

    def snapshot_download(repository, **options):
        asked.update(options, repository=repository)
        (desk.folder / "hub").mkdir(exist_ok=True)
        return str(desk.folder / "hub")

    monkeypatch.setitem(
        sys.modules, "huggingface_hub", types.SimpleNamespace(snapshot_download=snapshot_download)
    )
    assert "has no Parquet files" in desk.error("bivlc", "hf:imirandam/BiVLC")
    assert asked == {
        "repository": "imirandam/BiVLC", "repo_type": "dataset", "allow_patterns": "*.parquet",
    }  # fmt: skip
    desk.error("bivlc", "hf:imirandam/BiVLC@0123abc")  # a commit, which cannot change
    assert (asked["repository"], asked["revision"]) == ("imirandam/BiVLC", "0123abc")


def test_an_imported_benchmark_can_be_run(desk, tmp_path):
    desk.picture("000000000001.jpg")
    file = desk.write("add_att.json", {"0": crepe(1)})
    (run,) = ta.evaluate(["chance"], on=desk.get("sugarcrepe", file), out=tmp_path / "runs")
    assert not run.failures


@pytest.mark.parametrize(
    ("row", "key"),
    [
        (crepe(1, caption="A \ud800 dog."), "caption"),
        ({**crepe(1), "filename": "\ud800.jpg"}, "filename"),
    ],
)
def test_half_a_surrogate_pair_is_a_bad_row(desk, row, key):
    file = desk.write("add_att.json", {"0": row, "1": crepe(2)})
    error = desk.error("sugarcrepe", file)
    assert f'"{key}" of row "0" of add_att.json is not Unicode text' in error
    benchmark = desk.get("sugarcrepe", file, skip_bad=True)
    assert len(benchmark.items) == 1 and len(benchmark.card.skipped) == 1


def test_a_key_that_is_no_unicode_is_spelled_out(desk):
    benchmark = desk.get("sugarcrepe", desk.write("add_att.json", {"\ud800": crepe(1)}))
    assert benchmark.items[0].id == "sugarcrepe:add_att/\\ud800"


def test_what_was_skipped_can_be_written_whatever_it_quotes(desk):
    bad = {**crepe(1), "caption": 3, "\udc00": 1}
    del bad["negative_caption"], bad["filename"]
    file = desk.write("add_att.json", {"0": bad, "1": crepe(2)})
    assert "\\udc00" in desk.error("sugarcrepe", file)
    assert desk.get("sugarcrepe", file, skip_bad=True).card.skipped


def test_a_picture_in_a_table_whose_path_is_no_unicode_is_a_bad_row(desk):
    row = {"image": "\ud800/a.jpg", "caption": "A dog.", "negative_caption": "A cat."}
    error = desk.error("pairs", desk.write("a.jsonl", json.dumps(row) + "\n"))
    assert error.startswith('"image" of row 1 of a.jsonl is not Unicode text')


def test_a_path_that_no_disk_can_hold_is_a_missing_picture(desk):
    row = {**crepe(1), "filename": f"a/{'x' * 5_000}.jpg"}
    benchmark = desk.get("sugarcrepe", desk.write("add_att.json", {"0": row}))
    assert benchmark.card.made["images"] == {"found": 0, "missing": 1}


@pytest.mark.parametrize("number", [[1], {"a": 1}, 1.5, "\ud800"])
def test_the_number_of_a_foil_must_be_one(desk, number):
    row = {"id": 1, "image_id": 2, "caption": "A cat.", "foil": True, "foil_id": number}
    words = {"target_word": "dog", "foil_word": "cat"}
    error = desk.error("foil", desk.write("val.json", {"annotations": [{**row, **words}]}))
    assert error.startswith('"foil_id" of row 1 of "annotations" in val.json is ')
