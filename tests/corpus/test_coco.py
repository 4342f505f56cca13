"""COCO captions and the files that say which objects an image shows."""

from __future__ import annotations

import pytest

from tellapart.corpus.reader import ReadOptions, read_corpus
from tellapart.errors import BadImage


def coco(**changes):
    return {
        "info": {"year": 2014},
        "images": [
            {"id": 42, "file_name": "COCO_val2014_000000000042.jpg", "width": 640, "height": 480},
            {"id": 7, "file_name": "COCO_val2014_000000000007.jpg"},
            {"id": 9, "file_name": "COCO_val2014_000000000009.jpg", "width": 0},
        ],
        "annotations": [
            {"id": 3, "image_id": 7, "caption": "A dog."},
            {"id": 1, "image_id": 42, "caption": "A cat."},
            {"id": 2, "image_id": 7, "caption": "One dog."},
        ],
        **changes,
    }


def with_annotation(row):
    return coco(annotations=[*coco()["annotations"], row])


@pytest.mark.parametrize("name", ["val.json", "val.json.gz"])
def test_ids_order_and_sizes_are_kept(put, texts, name):
    corpus = read_corpus(put(name, coco()))
    assert corpus.name == "val"
    assert corpus.images["id"].to_list() == ["42", "7", "9"]
    assert texts(corpus) == [("3", "7", "A dog."), ("1", "42", "A cat."), ("2", "7", "One dog.")]
    assert corpus.images["width"].to_list() == [640, None, None]
    assert corpus.images["height"].to_list() == [480, None, None]
    assert corpus.objects("7") is None


@pytest.mark.parametrize(
    "file",
    [
        "COCO_val2014_000000000007.jpg",
        "000000000007.jpg",
        "COCO_train2014_000000000007.jpg",
        "val2014/COCO_val2014_000000000007.jpg",
        "val2017/000000000007.jpg",
    ],
)
def test_pictures_are_found_under_their_usual_names(put, jpeg, tmp_path, file):
    put(f"images/{file}", jpeg)
    corpus = read_corpus(put("val.json", coco()), ReadOptions(images=tmp_path / "images"))
    assert corpus.image("7").uri == file
    assert corpus.picture("7").open().size == (8, 6)
    assert corpus.image("42").uri == "COCO_val2014_000000000042.jpg"


def test_a_file_name_with_a_folder_is_found_with_and_without_it(put, jpeg, tmp_path):
    images = [{"id": 1, "file_name": "val/a.jpg"}, {"id": 2, "file_name": "val/b.jpg"}]
    path = put(
        "val.json",
        coco(
            images=images,
            annotations=[
                {"id": 1, "image_id": 1, "caption": "A dog."},
            ],
        ),
    )
    put("images/a.jpg", jpeg), put("images/val/a.jpg", jpeg), put("images/b.jpg", jpeg)
    corpus = read_corpus(path, ReadOptions(images=tmp_path / "images"))
    assert corpus.images["uri"].to_list() == ["val/a.jpg", "b.jpg"]


def test_without_a_folder_of_images_pictures_lie_beside_the_file(put, jpeg):
    put("COCO_val2014_000000000007.jpg", jpeg)
    assert read_corpus(put("val.json", coco())).picture("7").open().size == (8, 6)


def test_a_missing_picture_is_an_error_only_when_it_is_opened(put, tmp_path):
    corpus = read_corpus(put("val.json", coco()), ReadOptions(images=tmp_path))
    with pytest.raises(BadImage) as caught:
        corpus.picture("7").open()
    assert caught.value.what == "the file of image 7 is missing"
    assert str(tmp_path / "COCO_val2014_000000000007.jpg") in caught.value.where
    assert "--images" in caught.value.todo


def test_a_truncated_picture_is_an_error_only_when_it_is_opened(put, jpeg):
    put("COCO_val2014_000000000007.jpg", jpeg[: len(jpeg) * 3 // 4])
    corpus = read_corpus(put("val.json", coco()))
    with pytest.raises(BadImage) as caught:
        corpus.picture("7").open()
    assert caught.value.what.startswith("image 7 is broken")
    assert "COCO_val2014_000000000007.jpg" in caught.value.where
    assert "an intact picture file" in caught.value.allowed
    assert "--skip-bad" in caught.value.todo


INSTANCES = {
    "images": [{"id": 42}, {"id": 7}],
    "categories": [{"id": 1, "name": "person"}, {"id": 18, "name": "dog"}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 18},
        {"id": 2, "image_id": 7, "category_id": 1},
        {"id": 3, "image_id": 7, "category_id": 18},
    ],
}
LISTS = {"7": ["person", "dog", "dog"], "42": []}
BOXES = {
    "7": {"objects": [{"category": "person"}, {"category": "dog"}, {"category": "dog"}]},
    "42": {"objects": []},
}


@pytest.mark.parametrize("objects", [INSTANCES, LISTS, BOXES])
@pytest.mark.parametrize("name", ["objects.json", "objects.json.gz"])
def test_objects_are_sorted_distinct_names_and_null_where_nobody_said(put, objects, name):
    options = ReadOptions(objects=put(name, objects))
    corpus = read_corpus(put("val.json", coco()), options)
    assert corpus.images["objects"].to_list() == [[], ["dog", "person"], None]


@pytest.mark.parametrize(
    ("objects", "what"),
    [
        ([], "objects.json contains a list, not an object"),
        ({"7": 3}, "the objects of image 7 in objects.json are not a list of names"),
        ({"7": [3]}, "the objects of image 7 in objects.json are not a list of names"),
        ({"7": {"things": []}}, "the objects of image 7 in objects.json are not a list of names"),
        ({"000000000007": ["dog"]}, "objects.json lists none of the images of val"),
        (coco(), 'objects.json has no "categories"; its keys are: info, images, annotations'),
        ({**INSTANCES, "categories": []}, "the category 18 is not among the categories"),
        (
            {**INSTANCES, "annotations": [{"image_id": 7}]},
            'row 1 of "annotations" has no "category_id"',
        ),
    ],
)
def test_a_bad_objects_file_says_what_is_wrong_with_it(put, fails, objects, what):
    error = fails(put("val.json", coco()), objects=put("objects.json", objects))
    assert error.what == what
    assert "objects.json" in error.where
    assert error.allowed


@pytest.mark.parametrize(
    ("data", "what", "where", "allowed"),
    [
        (
            [],
            "val.json contains a list, not an object",
            "val.json",
            'a JSON object with a list "images"',
        ),
        (
            {"images": []},
            'val.json has no "annotations"; its keys are: images',
            "val.json",
            'a JSON object with a list "annotations"',
        ),
        (
            {"annotations": []},
            'val.json has no "images"; its keys are: annotations',
            "val.json",
            'a JSON object with a list "images"',
        ),
        (
            coco(annotations={}),
            '"annotations" in val.json is an object, not a list',
            "val.json",
            'a JSON object with a list "annotations"',
        ),
        (
            with_annotation("A dog."),
            'row 4 of "annotations" is text, not an object',
            "annotations, row 4",
            'an object with "id", "image_id", "caption"',
        ),
        (
            with_annotation({"id": 5, "image_id": 7}),
            'row 4 of "annotations" has no "caption"',
            "annotations, row 4",
            'an object with "id", "image_id", "caption"',
        ),
        (
            with_annotation({"id": 5, "image_id": [7], "caption": "A dog."}),
            '"image_id" in row 4 of "annotations" is a list',
            "annotations, row 4",
            "a whole number or text",
        ),
        (
            coco(images=[{"id": 7.5, "file_name": "a.jpg"}]),
            '"id" in row 1 of "images" is the number 7.5',
            "images, row 1",
            "a whole number or text",
        ),
        (
            coco(images=[{"id": 7, "file_name": None}]),
            '"file_name" in row 1 of "images" is null',
            "images, row 1",
            "text",
        ),
        (
            coco(images=[{"id": 7, "file_name": "a.jpg", "width": "8"}]),
            '"width" in row 1 of "images" is \'8\'',
            "images, row 1",
            "a number of pixels",
        ),
        (
            coco(images=[*coco()["images"], {"id": 7, "file_name": "a.jpg"}]),
            "the image id '7' occurs twice",
            "images, row 4",
            "one row per image",
        ),
        (
            with_annotation({"id": 3, "image_id": 7, "caption": "A dog."}),
            "the caption id '3' occurs twice",
            "annotations, row 4",
            "every id once",
        ),
        (
            with_annotation({"id": 5, "image_id": 8, "caption": "A dog."}),
            "caption 5 belongs to image 8, which is not in the corpus",
            "annotations, row 4",
            "captions of listed images",
        ),
        (
            with_annotation({"id": 5, "image_id": 7, "caption": " \n"}),
            "caption 5 is empty",
            "annotations, row 4",
            "text",
        ),
        (
            with_annotation({"id": 5, "image_id": 7, "caption": 12}),
            "caption 5 is int (12), not text",
            "annotations, row 4",
            "text",
        ),
        (
            with_annotation({"id": 5, "image_id": 7, "caption": None}),
            "caption 5 is missing",
            "annotations, row 4",
            "text",
        ),
        (
            with_annotation({"id": 5, "image_id": 7, "caption": "A \ud800 dog."}),
            "caption '5' has a character that is not Unicode: 'A \\ud800 dog.'",
            "annotations, row 4",
            "text that UTF-8 can encode",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_row_and_key(put, fails, data, what, where, allowed):
    error = fails(put("val.json", data), format="coco")
    assert error.what.partition(" (and ")[0] == what
    assert "val.json" in error.where
    assert error.where.endswith(where)
    assert error.allowed == allowed


def test_a_file_that_is_cut_short_names_the_place(put, fails):
    error = fails(put("val.json", '{"images": [\n{"id": 1,'))
    assert error.what.startswith("val.json is not JSON")
    assert "line 2, column" in error.where
    assert error.todo == "check that the file is whole"


def test_the_first_of_many_problems_is_shown_and_the_others_counted(put, fails):
    rows = [{"id": n, "image_id": 7, "caption": ""} for n in range(6)]
    error = fails(put("val.json", coco(annotations=rows)))
    assert error.what.startswith("caption 0 is empty (and 5 more: caption 1 is empty;")
    assert "--skip-bad" in error.todo


def test_nothing_left_after_skipping_is_an_error(put, fails):
    rows = [{"id": 1, "image_id": 7, "caption": ""}]
    error = fails(put("val.json", coco(annotations=rows)), skip_bad=True)
    assert error.what == "val has no captions left"
    assert error.allowed == "at least one image with a caption"


@pytest.mark.parametrize("names", [[["dog"]], [{"category": ["dog"]}], [None], ["\ud800"]])
def test_objects_that_are_no_names_are_refused(put, fails, names):
    error = fails(put("val.json", coco()), objects=put("objects.json", {"7": ["dog"], "9": names}))
    assert error.what == "the objects of image 9 in objects.json are not a list of names"
    assert error.where.endswith("objects.json, key 9") and error.allowed


@pytest.mark.parametrize("name", [3, None, "\ud800"])
def test_a_category_without_a_name_is_refused(put, fails, name):
    categories = [{"id": 1, "name": name}]
    data = {"annotations": [{"image_id": 7, "category_id": 1}], "categories": categories}
    error = fails(put("val.json", coco()), objects=put("instances.json", data))
    assert error.what.startswith("the name of a category is ")
    assert error.where.endswith("instances.json, categories, row 1")


def test_an_id_of_five_thousand_digits_is_looked_up_as_a_name(put, tmp_path):
    images = [{"id": "7" * 5_000, "file_name": "a.jpg"}]
    annotations = [{"id": 1, "image_id": "7" * 5_000, "caption": "A dog."}]
    path = put("val.json", coco(images=images, annotations=annotations))
    put("images/b.jpg", b"")
    corpus = read_corpus(path, ReadOptions(images=tmp_path / "images"))
    assert corpus.images["uri"].to_list() == ["a.jpg"]


def test_a_name_that_no_disk_can_hold_is_a_missing_picture(put):
    images = [{"id": 7, "file_name": "a\0.jpg"}, {"id": 42, "file_name": "a" * 5_000}]
    corpus = read_corpus(put("val.json", coco(images=images)))
    for image, reason in (("7", "embedded null byte"), ("42", "File name too long")):
        with pytest.raises(BadImage, match=f"image {image} cannot be read: {reason}"):
            corpus.picture(image).read()
