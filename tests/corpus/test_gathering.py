"""Corpora put together, and parts of them."""

from __future__ import annotations

import pytest

from tellapart.benchmark.benchmark import load_benchmark
from tellapart.corpus.native import load_corpus
from tellapart.errors import BadInput
from tellapart.verbs.build import BuildOptions, build
from tellapart.verbs.corpus import CorpusOptions, gather_corpus
from tellapart.verbs.world import world


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return world(tmp_path_factory.mktemp("gather") / "world", scenes=12, seed=1)


def test_two_corpora_become_one_whose_pictures_are_found(drawn, tmp_path):
    tokens = tmp_path / "flickr" / "captions.token.txt"
    (tokens.parent / "images").mkdir(parents=True)
    drawn.picture("000003").open().save(tokens.parent / "images" / "a.jpg")
    tokens.write_text("a.jpg#0\tA dog.\na.jpg#1\tThe dog.\nb.jpg#0\tNo picture here.\n")
    both = gather_corpus([drawn, tokens], tmp_path / "both")
    assert len(both) == 14 and both.name == "both"
    assert both.texts_by_image["a.jpg"] == ["A dog.", "The dog."]
    assert both.picture("a.jpg").open().size == drawn.picture("000003").open().size
    assert both.picture("000005").stored_sha256() == drawn.picture("000005").stored_sha256()
    there = gather_corpus([both], tmp_path / "there", CorpusOptions(with_images=True))
    assert len(there) == 13 and "b.jpg" not in there.texts_by_image
    assert there.picture("000005").stored_sha256() == drawn.picture("000005").stored_sha256()
    with pytest.raises(BadInput, match="the image id '000000' occurs twice"):
        gather_corpus([drawn, drawn], tmp_path / "twice")


def test_parts_are_listed_left_out_or_drawn(drawn, tmp_path):
    (tmp_path / "ids.txt").write_text("000001\n\n000004 \n000007\n")
    listed = CorpusOptions(ids=(tmp_path / "ids.txt",))
    few = gather_corpus([drawn], tmp_path / "few", listed)
    assert few.images["id"].to_list() == ["000001", "000004", "000007"]
    bench = build("bison", few, tmp_path / "bison", BuildOptions(verifier="oracle"))
    used = set(load_benchmark(bench.root).images)
    rest = gather_corpus(
        [drawn], tmp_path / "rest", CorpusOptions(without=(bench.root, tmp_path / "few"))
    )
    assert set(rest.images["id"]) == set(drawn.images["id"]) - {"000001", "000004", "000007"}
    assert used <= {"000001", "000004", "000007"}
    some = gather_corpus([drawn], tmp_path / "some", CorpusOptions(limit=5))
    again = gather_corpus([drawn], tmp_path / "again", CorpusOptions(limit=5))
    assert len(some) == 5 and some.images["id"].to_list() == again.images["id"].to_list()
    assert load_corpus(some.root).captions.height == 25


def test_what_cannot_be_is_said(drawn, tmp_path):
    (tmp_path / "ids.txt").write_text("000001\nnobody\nnothing\n")
    with pytest.raises(BadInput, match=r"no corpus has an image 'nobody' \(and 1 more\)"):
        gather_corpus([drawn], tmp_path / "out", CorpusOptions(ids=(tmp_path / "ids.txt",)))
    with pytest.raises(BadInput, match="13 images cannot be drawn from 12"):
        gather_corpus([drawn], tmp_path / "out", CorpusOptions(limit=13))
    with pytest.raises(BadInput, match="has no captions"):
        gather_corpus([drawn], tmp_path / "out", CorpusOptions(without=(drawn.root,)))
    assert not (tmp_path / "out").exists()
