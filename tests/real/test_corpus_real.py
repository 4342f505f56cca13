"""The readers on COCO and Flickr8k."""

from __future__ import annotations

from tellapart.corpus.reader import ReadOptions, read_corpus


def test_coco_val2014_is_read_whole_with_its_objects(real_data):
    options = ReadOptions(objects=real_data / "coco/objects_val2014.json.gz")
    corpus = read_corpus(real_data / "coco/captions_val2014.json.gz", options)
    assert (corpus.images.height, corpus.captions.height) == (40_504, 202_654)
    assert corpus.images["objects"].null_count() == 0
    assert corpus.objects("74") == {"bicycle", "dog", "person"}
    assert len(corpus.texts_by_image["74"]) >= 5


def test_coco_val2017_opens_a_picture_from_its_folder(real_data):
    options = ReadOptions(
        images=real_data / "coco/images", objects=real_data / "coco/boxes_val2017.json.gz"
    )
    corpus = read_corpus(real_data / "coco/captions_val2017.json.gz", options)
    assert (corpus.images.height, corpus.captions.height) == (5_000, 25_014)
    assert min(corpus.picture("139").open().size) == 224
    assert 5_000 - corpus.images["objects"].null_count() <= 4_461


def test_flickr8k_is_read_whole_and_opens_a_picture(real_data):
    corpus = read_corpus(real_data / "flickr8k/captions.token.txt")
    assert (corpus.images.height, corpus.captions.height) == (4_000, 20_000)
    assert min(corpus.picture(corpus.images["id"][0]).open().size) == 224
