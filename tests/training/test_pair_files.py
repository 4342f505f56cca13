"""Training pairs in the forms of other trainers: what is written is what is read again."""

from __future__ import annotations

import csv
import io
import json
import tarfile

import pytest
from PIL import Image as Pillow
from tests.training.small_pairs import near_misses

from tellapart.errors import BadInput, UnknownName
from tellapart.training.tuning.pairs import joined_pairs, make_pairs, open_pairs
from tellapart.verbs.benchmarks.export import export
from tellapart.verbs.build import build
from tellapart.verbs.build.negatives import NegativesOptions


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return near_misses(tmp_path_factory.mktemp("pairs"), 12)


@pytest.fixture(scope="module")
def written(bench, tmp_path_factory):
    out = tmp_path_factory.mktemp("export") / "out"
    forms = ("csv", "webdataset", "huggingface")
    return export(bench, out, purpose="training", form=forms, held_out=0.25)


def told(pairs):
    """What pairs say, whatever their pictures are called: texts, kinds, origins, pixels."""
    return sorted(
        (title, false, kind, origin, *(pairs.pictures[one].read() for one in (image, other)))
        for image, title, false, other, kind, origin in pairs.rows.iter_rows()
    )


def test_every_form_is_read_as_the_pairs_that_were_written(bench, written):
    forms = ["{}.csv", "shards/{}-000000.tar", "data/{}-00000-of-00001.parquet"]
    own = open_pairs(bench)
    for form in forms:
        parts = [open_pairs(written / form.format(name)) for name in ("train", "validation")]
        assert [len(part) for part in parts] == [9, 3]
        assert told(joined_pairs(parts)) == told(own)
        seen = [{part.pictures[one].read() for one in part.images} for part in parts]
        assert not seen[0] & seen[1]
    assert told(open_pairs(written / "shards")) == told(own)  # all shards of a folder
    assert told(open_pairs(written / "shards" / "train-*.tar")) != told(own)


def test_a_trainer_finds_the_columns_members_and_features_it_expects(written):
    rows = list(csv.DictReader((written / "train.csv").read_text().splitlines()))
    assert {"filepath", "title", "neg_title", "neg_filepath"} <= set(rows[0])
    shown = (written / rows[0]["filepath"]).read_bytes()
    assert Pillow.open(io.BytesIO(shown)).size[0] > 0
    with tarfile.open(written / "shards" / "train-000000.tar") as archive:
        names = [name for name in archive.getnames() if name.startswith("00000000.")]
        assert names == ["00000000.png", "00000000.txt", "00000000.neg.txt",
                         "00000000.neg.png", "00000000.json"]  # fmt: skip
        data = archive.extractfile("00000000.neg.png")
        assert Pillow.open(io.BytesIO(data.read())).size[0] > 0
    card = json.loads((written / "pairs.json").read_text())
    assert card["split"] == "by picture" and card["about"]["made"]
    assert "license: " in (written / "README.md").read_text()


@pytest.mark.parametrize("text", ["", "[]", '{"about": 3}', "\x00", '{"about": '])
def test_what_stands_beside_a_table_is_read_with_care(tmp_path, text):
    (tmp_path / "a.csv").write_text("filepath,title\na.jpg,A dog.\n")
    (tmp_path / "pairs.json").write_text(text)
    with pytest.raises(BadInput, match=r"pairs\.json"):
        open_pairs(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("caption", "kind", "said"),
    [(["a"], "k", r"title of row 2 in a is \['a'\]"), ("a dog", "\ud800", "kind of row 2 in a is"),
     (None, "k", "a caption of image 1 in a is empty")],
)  # fmt: skip
def test_what_is_no_text_is_named_by_its_row(caption, kind, said):
    rows = [("0", "A dog.", None, None, "k", "o"), ("1", caption, None, None, kind, "o")]
    with pytest.raises(BadInput, match=said):
        make_pairs("a", rows, {})


@pytest.mark.parametrize("facts", ["[]", "{", "3"])
def test_facts_of_a_sample_that_are_none_are_said(tmp_path, facts):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, data in (("0.jpg", b"x"), ("0.txt", b"A dog."), ("0.json", facts.encode())):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    with pytest.raises(BadInput, match="the sample 0"):
        open_pairs(tmp_path / "a.tar")


def test_datasets_reads_the_pictures_and_both_splits(written, tmp_path):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    found = datasets.load_dataset(str(written), cache_dir=str(tmp_path))
    assert {name: len(part) for name, part in found.items()} == {"train": 9, "validation": 3}
    row = found["train"][0]
    assert row["image"].size == row["negative_image"].size and row["negative_caption"]


def test_what_is_no_form_or_no_shard_is_said(bench, written, tmp_path):
    with pytest.raises(UnknownName, match="format of training pairs"):
        export(bench, tmp_path / "out", purpose="training", form=("tsv",))
    with pytest.raises(UnknownName, match="purpose"):
        export(bench, tmp_path / "out", purpose="test")
    with pytest.raises(BadInput, match="--form webdataset is for training pairs"):
        export(bench, tmp_path / "out", form=("webdataset",))
    whole = (written / "shards" / "train-000000.tar").read_bytes()
    (tmp_path / "half.tar").write_bytes(b"nonsense" + whole[:2_000])
    with pytest.raises(BadInput, match=r"half.tar is not a complete shard"):
        open_pairs(tmp_path / "half.tar")
    (tmp_path / "bad.csv").write_text("filepath,title\na.png,\n")
    with pytest.raises(BadInput, match="row 1 has no title"):
        open_pairs(tmp_path / "bad.csv")


def test_negatives_of_two_splits_share_no_image_and_lists_are_kept_to(bench, tmp_path):
    pytest.importorskip("spacy", reason="spacy is not installed")
    drawn = bench.root.parent / "world-1"
    made = {}
    for split in ("train", "validation"):
        told = NegativesOptions(unfiltered=True, split=split, held_out=0.4)
        made[split] = build("negatives", drawn, tmp_path / split, told)
    seen = {name: {i for item in one for i in item.images} for name, one in made.items()}
    assert all(seen.values()) and not seen["train"] & seen["validation"]
    some = sorted(seen["train"])[:2]
    (tmp_path / "ids.txt").write_text("\n".join(some) + "\n")
    told = NegativesOptions(unfiltered=True, ids=(tmp_path / "ids.txt",))
    listed = build("negatives", drawn, tmp_path / "listed", told)
    assert {i for item in listed for i in item.images} == set(some)
    with pytest.raises(UnknownName, match="split"):
        build("negatives", drawn, tmp_path / "x", NegativesOptions(split="test"))
