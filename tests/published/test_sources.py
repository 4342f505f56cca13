"""Each source's format, by small files written by hand; every error message is read."""

from __future__ import annotations

import polars as pl
import pytest

from tellapart.benchmark.published.foil import find_slot
from tellapart.benchmark.published.options import PairColumns
from tellapart.errors import BadInput
from tellapart.questions import Ask, questions
from tellapart.verbs.benchmarks.validate import validate

ALL = frozenset(Ask)


def first_line(message: str) -> str:
    return message.splitlines()[0]


# BISON


def bison(number: int = 7, true: int = 12, **more) -> dict:
    candidates = [{"image_id": k, "image_filename": f"COCO_val2014_{k:012d}.jpg"} for k in (11, 12)]
    row = {"bison_id": number, "caption": "A dog\truns. \r", "image_candidates": candidates}
    return {**row, "true_image_id": true, "caption_id": 99, **more}


def test_bison(desk):
    benchmark = desk.get("bison", desk.write("b.json.gz", {"info": {}, "data": [bison()]}))
    (item,) = benchmark.items
    assert (item.id, item.images, item.captions) == ("bison:7", ("11", "12"), ("A dog runs.",))
    assert item.true == {(1, 0)} and item.kind == "bison"
    assert item.origin.notes == {"caption_id": "99"} and item.origin.seed is None
    assert next(q.id for q in questions(item, ALL)) == "image@0"
    assert benchmark.images["11"].uri.endswith("COCO_val2014_000000000011.jpg")
    assert "by people" in benchmark.card.verified


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (bison(true=5),
         '"true_image_id" 5 of row 1 of "data" in b.json is not among its candidates'),
        (bison(caption=3), '"caption" of row 1 of "data" in b.json is the number 3'),
        (bison(caption=" \r"), '"caption" of row 1 of "data" in b.json is empty'),
        (bison(bison_id=None), 'row 1 of "data" in b.json has no "bison_id"'),
        (bison(image_candidates=5),
         '"image_candidates" of row 1 of "data" in b.json is the number 5'),
        (bison(image_candidates=[5]),
         '"image_candidates" 1 of row 1 of "data" in b.json is the number 5'),
        (bison(image_candidates=[{"image_id": 12}] * 2),
         "two images of bison:7 are the same: '12'"),
        (["x"], 'row 1 of "data" in b.json is a list'),
    ],
)  # fmt: skip
def test_bison_errors_name_row_and_key(desk, row, message):
    error = desk.error("bison", desk.write("b.json", {"data": [row]}))
    assert first_line(error) == message
    assert "  where:   b.json, data, row 1" in error


def test_bison_files_that_are_something_else(desk):
    assert first_line(desk.error("bison", desk.write("b.json", []))) == "b.json contains a list"
    no_data = first_line(desk.error("bison", desk.write("c.json", {"a": 1})))
    assert no_data == '"data" in c.json is null'
    twice = desk.error("bison", desk.write("d.json", {"data": [bison(), bison(true=11)]}))
    assert first_line(twice) == "the id 'bison:7' occurs twice"
    assert "is not JSON" in desk.error("bison", desk.write("e.json", "{"))


# MCIC


def mcic(reference: object = 2, key: str = "5_0", **more: str) -> str:
    answers = {f"answer_{k}": f"caption = {k}" for k in range(5)}
    image = {"image": "COCO_train2014_000000000005.jpg", "example_id": key}
    parts = {**answers, **image, "reference": str(reference), **more}
    return "\t".join(f"{key}={value}" for key, value in parts.items() if value != "-")


def test_mcic(desk):
    file = desk.write("mc.txt.gz", mcic() + "\n" + mcic(key="5_1") + "\n")
    benchmark = desk.get("mcic", file)
    item = benchmark.items[0]
    assert item.id == "mcic:5_0" and item.images == ("5",) and len(item.captions) == 5
    ((_, place),) = item.true
    assert item.captions[place] == "caption = 2"
    order = [int(k) for k in item.origin.notes["source_order"].split()]
    assert [f"caption = {k}" for k in order] == list(item.captions) and order != sorted(order)
    assert item.origin.notes["source_reference"] == "2"
    kept = desk.get("mcic", file, keep_order=True).items[0]
    assert kept.true == {(0, 2)} and kept.origin.seed is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (mcic(5), '"reference" of line 1 of mc.txt is 5, but there is no such answer'),
        (mcic("x"), "\"reference\" of line 1 of mc.txt is the text 'x'"),
        (mcic("-"), 'line 1 of mc.txt has no "reference"'),
        (mcic(answer_3=" "), '"answer_3" of line 1 of mc.txt is empty'),
        (mcic(answer_1="-"), 'line 1 of mc.txt has no "answer_1"'),
        (mcic(answer_1="caption = 0"), "two captions of mcic:5_0 are the same: 'caption = 0'"),
        ("hello", "line 1 of mc.txt has a part without =: 'hello'"),
        (mcic() + "\n" + mcic(), "the id 'mcic:5_0' occurs twice"),
    ],
)
def test_mcic_errors(desk, line, message):
    error = desk.error("mcic", desk.write("mc.txt", line))
    assert first_line(error) == message and "mc.txt, line" in error


# SugarCrepe


def test_sugarcrepe_kinds_come_from_the_names_of_the_files(desk):
    row = {"filename": "000000000139.jpg", "caption": "A dog. ", "negative_caption": "A red dog."}
    names = ("add_att", "add_obj", "replace_att", "replace_obj", "replace_rel", "swap_att",
             "swap_obj")  # fmt: skip
    files = [desk.write(f"{name}.json", {"4": row}) for name in names]
    benchmark = desk.get("sugarcrepe", *files, keep_order=True)
    assert {item.id: item.kind for item in benchmark.items} == {
        "sugarcrepe:add_att/4": "add-attribute",
        "sugarcrepe:add_obj/4": "add-object",
        "sugarcrepe:replace_att/4": "replace-attribute",
        "sugarcrepe:replace_obj/4": "replace-object",
        "sugarcrepe:replace_rel/4": "replace-relation",
        "sugarcrepe:swap_att/4": "swap-attribute",
        "sugarcrepe:swap_obj/4": "swap-object",
    }
    assert benchmark.items[0].captions == ("A dog. ", "A red dog.")
    error = desk.error("sugarcrepe", desk.write("mine.json", {"0": row}))
    assert first_line(error) == (
        "the name of mine.json does not say which kind of near miss it contains"
    )
    assert "add_att.json" in error
    error = desk.error("sugarcrepe", desk.write("add_att.json", {"0": 3}))
    assert first_line(error) == 'row "0" of add_att.json is the number 3'


# BiVLC


def bivlc(**more) -> dict:
    row = {"image": "000000000139.jpg", "caption": "A dog.", "negative_caption": "A cat."}
    return {**row, "negative_image": "gen/1.png", "type": "Replace", "subtype": "obj", **more}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_bivlc_tables(desk, form):
    table = pl.DataFrame([bivlc(), bivlc(type="swap", subtype="Attribute", negative_image="2.png")])
    path = desk.folder / f"bivlc.{form}"
    getattr(table, {"csv": "write_csv", "jsonl": "write_ndjson"}.get(form, "write_parquet"))(path)
    desk.picture("gen/1.png")
    desk.picture("000000000139.jpg")
    benchmark = desk.get("bivlc", path, keep_order=True)
    one, two = benchmark.items
    assert one.id == "bivlc:bivlc/0" and one.kind == "replace-object"
    assert one.images == ("139", "gen/1.png") and one.captions == ("A dog.", "A cat.")
    assert one.true == {(0, 0), (1, 1)} and one.original == (0, 0)
    assert two.kind == "swap-attribute"
    assert benchmark.card.made["images"] == {"found": 2, "missing": 1}
    assert benchmark.card.measures[0] == "Group"


@pytest.mark.parametrize("packed", [False, True])
def test_bivlc_with_bytes_inside_parquet(desk, packed):
    bytes_of = {
        colour: desk.picture(f"{colour}.png", colour=colour).read_bytes()
        for colour in ("red", "blue")
    }
    rows = [
        bivlc(image={"bytes": bytes_of["red"], "path": None},
              negative_image={"bytes": bytes_of["blue"], "path": None})
    ] * 2  # fmt: skip
    path = desk.folder / "tables" / "test-00000.parquet"
    path.parent.mkdir()
    pl.DataFrame(rows).write_parquet(path)
    if packed:
        import gzip

        packed_path = path.with_name(path.name + ".gz")
        packed_path.write_bytes(gzip.compress(path.read_bytes()))
        path = packed_path
    benchmark = desk.get("bivlc", path, only_with_images=True)
    item = benchmark.items[0]
    assert len(benchmark.images) == 2 and validate(benchmark).good
    original = benchmark.picture(item.images[item.original[0]]).open()
    assert original.getpixel((0, 0)) == (255, 0, 0)
    assert item.captions[item.original[1]] == "A dog."
    assert benchmark.items[1].origin.notes["duplicate_of"] == item.id


def test_bivlc_order_is_shuffled_on_both_sides(desk):
    rows = [bivlc(caption=f"true {n}", negative_image=f"{n}.png") for n in range(40)]
    path = desk.folder / "b.jsonl"
    pl.DataFrame(rows).write_ndjson(path)
    benchmark = desk.get("bivlc", path)
    assert {item.original for item in benchmark.items} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    for item in benchmark.items:
        assert item.captions[item.original[1]].startswith("true")
        assert item.images[item.original[0]] == "139" and len(item.true) == 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (bivlc(type="remove"), "\"type\" of row 1 of b.jsonl is 'remove', 'obj'"),
        (bivlc(negative_image=None, x=1), 'row 1 of b.jsonl has no "negative_image"'),
        (bivlc(image=5), '"image" of row 1 of b.jsonl is the number 5'),
        (bivlc(caption=""), '"caption" of row 1 of b.jsonl is empty'),
    ],
)
def test_bivlc_errors(desk, row, message):
    assert first_line(desk.error("bivlc", desk.write("b.jsonl", row))) == message


def test_a_table_without_a_column_says_which_are_there(desk):
    error = desk.error("bivlc", desk.write("b.csv", "image,caption\na.jpg,A dog.\n"))
    assert first_line(error) == "there is no column called 'negative_caption'"
    assert "caption, image" in error


def test_a_broken_parquet_file_is_one_clear_error(desk):
    assert "is not an intact .parquet file" in desk.error("bivlc", desk.write("b.parquet", "PAR1"))


# Winoground


def test_winoground(desk):
    rows = [
        {"id": n, "image_0": f"ex_{n}_img_0", "image_1": f"ex_{n}_img_1", "caption_0": "dog on cat",
         "caption_1": "cat on dog", "tag": "Noun, Adjective", "secondary_tag": "",
         "collapsed_tag": tag}
        for n, tag in ((0, "Object"), (1, None))
    ]  # fmt: skip
    path = desk.folder / "examples.jsonl"
    pl.DataFrame(rows).write_ndjson(path)
    desk.picture("images/ex_0_img_0.png")
    benchmark = desk.get("winoground", path, images=desk.folder / "images", keep_order=True)
    one, two = benchmark.items
    assert (one.id, one.kind, two.kind) == ("winoground:0", "object", "noun-adjective")
    assert one.images == ("ex_0_img_0", "ex_0_img_1")
    assert one.true == {(0, 0), (1, 1)} and one.original is None
    assert one.origin.notes["tag"] == "Noun, Adjective"
    assert benchmark.picture("ex_0_img_0").open().size == (8, 6)
    assert benchmark.card.made["images"] == {"found": 1, "missing": 3}


# ARO


def aro(**more) -> dict:
    row = {"image_path": "7.jpg", "image_id": 7, "bbox_x": 2, "bbox_y": 1, "bbox_w": 4, "bbox_h": 3}
    captions = {"true_caption": "the dog is on the mat", "false_caption": "the mat is on the dog"}
    return {**row, **captions, "relation_name": "on", **more}


def test_aro_shows_the_part_of_the_picture_in_the_box(desk):
    relation = desk.write("visual_genome_relation.json", [aro(), aro(bbox_x=0)])
    attribution = desk.write(
        "visual_genome_attribution.json", [aro(relation_name=None, attributes=["red", "small"])]
    )
    desk.picture("VG/VG_100K/7.jpg")
    benchmark = desk.get("aro", relation, attribution, images=desk.folder / "VG")
    one, two, three = benchmark.items
    assert [one.id, two.id, three.id] == ["aro:relation/0", "aro:relation/1", "aro:attribution/0"]
    assert [one.kind, three.kind] == ["aro-relation", "aro-attribution"]
    assert one.images == ("7.jpg#crop=2,1,4,3",)
    assert one.origin.notes["box"] == "2,1,4,3" and one.origin.notes["relation_name"] == "on"
    assert three.origin.notes["attributes"] == "red, small"
    assert benchmark.picture(one.images[0]).open().size == (4, 3)
    assert one.captions[min(one.true)[1]] == "the dog is on the mat"
    assert one.group == two.group == three.group == "7.jpg"
    assert three.origin.notes["duplicate_of"] == one.id
    assert validate(benchmark).good


def test_a_box_outside_its_picture_is_an_error_of_that_image(desk):
    desk.picture("7.jpg")
    benchmark = desk.get("aro", desk.write("r.json", [aro(bbox_x=50)]))
    (problem,) = validate(benchmark).problems
    assert problem.what == "the box of image 7.jpg#crop=50,1,4,3 is outside the picture"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (aro(bbox_w=0), "the box of row 1 of r.json is 0 x 3 pixels"),
        (aro(bbox_x=-1), '"bbox_x" of row 1 of r.json is the number -1'),
        (aro(relation_name=None), 'row 1 of r.json has neither "relation_name" nor "attributes"'),
        (
            aro(false_caption="the dog is on the mat"),
            "two captions of aro:relation/0 are the same: 'the dog is on the mat'",
        ),
    ],
)
def test_aro_errors(desk, row, message):
    assert first_line(desk.error("aro", desk.write("r.json", [row]))) == message


# VALSE


def valse(votes: int = 3, **more) -> dict:
    row = {"dataset": "FOIL dataset", "image_file": "COCO_val2014_000000000139.jpg"}
    captions = {"caption": "A dog at a bus stop.", "foil": "A cat at a bus stop."}
    mturk = {"caption": votes, "foil": 3 - votes, "other": 0}
    names = {"linguistic_phenomena": "noun phrases", "classes": "dog", "classes_foil": "cat"}
    return {**row, **captions, **names, "mturk": mturk, **more}


def test_valse_keeps_what_people_confirmed(desk):
    file = desk.write("foil-it.json", {"1": valse(3), "2": valse(2), "3": valse(1)})
    benchmark = desk.get("valse", file)
    assert [item.id for item in benchmark.items] == ["valse:foil-it/1", "valse:foil-it/2"]
    one = benchmark.items[0]
    assert one.kind == "noun-phrases" and one.images == ("139",)
    assert one.origin.notes["votes"] == "caption 3, foil 0, other 0"
    assert benchmark.card.made["left_out_unconfirmed"] == 1
    assert "for 2 of the 3 in the files" in benchmark.card.verified
    everything = desk.get("valse", file, keep_all=True)
    assert everything.by_id["valse:foil-it/3"].origin.notes["confirmed"] == "no"
    assert everything.card.made["left_out_unconfirmed"] == 0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (valse(mturk=None), 'row "1" of v.json has no "mturk"'),
        (valse(mturk={"foil": 1}), '"mturk" of row "1" of v.json has no "caption"'),
        (valse(foil=""), '"foil" of row "1" of v.json is empty'),
        (valse(linguistic_phenomena=None), 'row "1" of v.json has no "linguistic_phenomena"'),
    ],
)
def test_valse_errors(desk, row, message):
    assert first_line(desk.error("valse", desk.write("v.json", {"1": row}))) == message


# FOIL


def annotation(number: int, caption: str, words: tuple[str, str] | None = None, **more) -> dict:
    target, foil = words or ("ORIG", "ORIG")
    row = {"id": number, "image_id": 139, "caption": caption, "foil": words is not None}
    return {**row, "target_word": target, "foil_word": foil, "foil_id": number * 10, **more}


def test_foil_joins_an_original_and_its_foil(desk):
    rows = [
        annotation(1, "A dog at a bus stop."),
        annotation(1, "A bus at a bus stop.", ("dog", "bus")),
        annotation(2, "Two cars pass.", ("bus", "car")),
        annotation(3, "A lamp."),
    ]
    images = [{"id": 139, "file_name": "COCO_val2014_000000000139.jpg"}]
    file = desk.write("foilv1.0_test_2017.json", {"annotations": rows, "images": images})
    benchmark = desk.get("foil", file)
    pair, alone, original = benchmark.items
    assert [i.id for i in benchmark.items] == ["foil:1/10", "foil:2/20", "foil:3/original"]
    slot = pair.slot
    assert pair.captions[slot.caption] == "A bus at a bus stop." and slot.start == 2
    assert (slot.target, slot.foil, slot.plural) == ("dog", "bus", False)
    assert slot.candidates == ("bus", "dog")
    assert [pair.captions[slot.caption][w.start : w.end] for w in slot.words] == [
        "bus",
        "bus",
        "stop",
    ]
    assert pair.true == {(0, 1 - slot.caption)} and pair.kind == "animal"
    assert [i.kind for i in (alone, original)] == ["vehicle", "replace-object"]
    asked = {q.id: q for q in questions(pair, ALL)}
    assert len(asked[f"mend@0,{slot.caption}"].right) == 1
    assert asked[f"noun@0,{slot.caption}"].right == {0}
    assert alone.captions == ("Two cars pass.",) and not alone.true
    assert alone.slot.plural and alone.slot.foil == "cars"
    assert original.true == {(0, 0)} and original.slot is None
    assert benchmark.card.made["pairs"] == 1
    assert benchmark.card.made["foils_without_original"] == 1
    assert benchmark.card.verified == "" and benchmark.card.measures[0] == "T1"
    assert validate(benchmark, look=False).good


def test_nouns_of_foil_captions_are_those_that_spacy_finds(desk, monkeypatch):
    pytest.importorskip("spacy", reason="spaCy is not installed")
    rows = [
        annotation(1, "A man with a dog looks at the red sky."),
        annotation(1, "A man with a cat looks at the red sky.", ("dog", "cat")),
    ]
    file = desk.write("foilv1.0_test_2017.json", {"annotations": rows})

    def nouns() -> tuple[list[str], str]:
        (item,) = (benchmark := desk.get("foil", file)).items
        caption = item.captions[item.slot.caption]
        found = [caption[w.start : w.end] for w in item.slot.words if w.noun]
        return found, benchmark.card.made["nouns_and_content_words_by"]

    found, by = nouns()
    assert found == ["man", "cat", "sky"] and "spaCy" in by

    def missing() -> None:
        raise BadInput("parsing needs the package 'spacy', which is not installed")

    monkeypatch.setattr("tellapart.benchmark.published.foil.find_pipeline", missing)
    found, by = nouns()
    assert found == ["cat"] and "T2-nouns is asked for few items" in by, (
        "the card says what is missing"
    )


def test_foil_from_valse_keeps_the_votes(desk):
    benchmark = desk.get("foil", desk.write("foil-it.json", {"8": valse(3), "9": valse(1)}))
    assert [item.id for item in benchmark.items] == ["foil:8", "foil:9"]
    assert benchmark.items[1].origin.notes["confirmed"] == "no"
    assert benchmark.items[0].slot.foil == "cat"
    assert "for 1 of the 2" in benchmark.card.verified


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (annotation(1, "A dog.", foil="yes"),
         '"foil" of row 1 of "annotations" in f.json is the text \'yes\''),
        (annotation(1, "A cat.", ("dog", "cat"), target_word=None),
         'row 1 of "annotations" in f.json has no "target_word"'),
        (annotation(1, "A cat.", image_id="x"),
         '"image_id" of row 1 of "annotations" in f.json is the text \'x\''),
    ],
)  # fmt: skip
def test_foil_errors(desk, row, message):
    error = desk.error("foil", desk.write("f.json", {"annotations": [row]}))
    assert first_line(error) == message and "f.json, annotations, row 1" in error


@pytest.mark.parametrize(
    ("foil", "original", "word", "place"),
    [
        ("a baseball ball", "a basebat bat", "ball", (11, 15, False)),
        ("a dog and a cat", "a dog and a dog", "cat", (12, 15, False)),
        ("the cat's cat", "the dog's cat", "cat", (4, 7, False)),
        ("two hot dogs", "two pizzas", "hot dog", (4, 12, True)),
        ("a cat, a cat", "", "cat", None),
        ("a cat", "a dog", "horse", None),
    ],
)
def test_the_place_of_the_foil_word(foil, original, word, place):
    assert find_slot(foil, original, word) == place


# anyone's pairs


def test_pairs_with_columns_of_ones_own(desk):
    text = "photo,text,foil,other\na.png,A dog.,A cat.,b.png\nc.png,Two dogs.,Two cats.,\n"
    file = desk.write("mine.csv", text)
    desk.picture("a.png")
    columns = PairColumns(
        image="photo", caption="text", negative_caption="foil", negative_image="other"
    )
    benchmark = desk.get("pairs", file, columns=columns, keep_order=True)
    square, choice = benchmark.items
    assert (square.id, square.kind) == ("pairs:mine/1", "pair")
    assert square.images == ("a.png", "b.png") and square.true == {(0, 0), (1, 1)}
    assert choice.images == ("c.png",) and choice.true == {(0, 0)}
    assert benchmark.card.made["images"] == {"found": 1, "missing": 2}


def test_pairs_with_ids_and_kinds(desk):
    line = "a.png,A dog.,A cat.,{},Swap Object\n"
    head = "image,caption,negative_caption,id,kind\n"
    (item,) = desk.get("pairs", desk.write("p.csv", head + line.format("x1"))).items
    assert (item.id, item.kind) == ("pairs:x1", "swap-object")
    error = desk.error("pairs", desk.write("p.csv", head + line.format("x") * 2))
    assert first_line(error) == "the id 'pairs:x' occurs twice" and "p.csv, row 2" in error


def test_plain_bison_rows_come_out_as_those_read_one_by_one(desk):
    rows = [bison(caption=" A  dog.\r"), {**bison(true=11), "bison_id": 8, "caption_id": 5}]
    quick = desk.get("bison", desk.write("quick.json", {"data": rows}))
    odd = [{**rows[0], "bison_id": "7"}, rows[1]]  # a number as text is allowed, but unusual
    slow = desk.get("bison", desk.write("slow.json", {"data": odd}))
    assert [(i.id, i.images, i.captions, i.true, i.origin.notes) for i in quick.items] == [
        (i.id, i.images, i.captions, i.true, i.origin.notes) for i in slow.items
    ]
    assert quick.card.made["captions_with_white_space_collapsed"] == 2
    assert list(quick.images) == list(slow.images)
