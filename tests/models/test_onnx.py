"""`onnx`: pairs of encoders described by a JSON file, against the same thing done by hand."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest
from tests.models.small import CAPTIONS, pictures

from tellapart.errors import BadInput
from tellapart.models.model import DualEncoder
from tellapart.models.names import load
from tellapart.models.onnx import STORYBOOK_FILES, storybook

STORYBOOK = {
    "format": "tellapart-onnx-1",
    "normalise": False,
    "image": {
        "input": "pixels", "size": [112, 112], "resize": "squash", "filter": "box",
        "layout": "NHWC", "dtype": "uint8",
    },
    "text": {"input": "words", "tokenizer": {"kind": "words", "file": "vocabulary.json"}},
}  # fmt: skip


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return pictures(tmp_path_factory.mktemp("pictures"))


@pytest.fixture
def folder(tmp_path):
    for name in STORYBOOK_FILES:
        stored = files("tellapart.models") / "storybook_files" / name
        (tmp_path / name).write_bytes(stored.read_bytes())
    (tmp_path / "model.json").write_text(json.dumps(STORYBOOK))
    return tmp_path


def test_the_shipped_model_as_a_folder_gives_its_own_numbers(folder, seen):
    model, shipped = load(f"onnx:{folder}"), storybook()
    assert isinstance(model, DualEncoder)
    np.testing.assert_allclose(model.embed_images(seen), shipped.embed_images(seen), atol=1e-5)
    np.testing.assert_allclose(
        model.embed_texts(CAPTIONS), shipped.embed_texts(CAPTIONS), atol=1e-5
    )
    assert model.facts.weights and load(model.facts.name).facts == model.facts
    assert model.embed_texts([]).shape[0] == model.embed_images([]).shape[0] == 0


def encoder(path, shape, kind, inputs):
    """A graph that multiplies its flattened input with fixed numbers."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(len(inputs))
    weights = rng.normal(size=(int(np.prod(shape)), 6)).astype(np.float32)
    names = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}
    nodes = [helper.make_node("Cast", [inputs[0]], ["x"], to=TensorProto.FLOAT)]
    if len(inputs) > 1:
        nodes += [
            helper.make_node("Cast", [inputs[1]], ["m"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["x", "m"], ["xm"]),
        ]
    nodes += [
        helper.make_node("Flatten", ["xm" if len(inputs) > 1 else "x"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["rows"]),
    ]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(n, names[kind], ["n", *shape]) for n in inputs],
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", 6])],
        [numpy_helper.from_array(weights, "w")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return weights


def test_floats_marks_and_masks_are_made_as_described(tmp_path, seen):
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    images = encoder(tmp_path / "image.onnx", (3, 16, 20), "float32", ["seen"])
    texts = encoder(tmp_path / "text.onnx", (12,), "int64", ["ids", "mask"])
    words = sorted({w for t in CAPTIONS for w in t.lower().replace(".", " ").split()})
    vocabulary = {w: k for k, w in enumerate(["<pad>", "<unk>", *words])}
    library = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    library.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    library.save(str(tmp_path / "tokenizer.json"))
    told = {
        "format": "tellapart-onnx-1",
        "image": {
            "input": "seen", "output": "rows", "size": [20, 16], "resize": "shortest",
            "filter": "bilinear", "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4],
        },
        "text": {"input": "ids", "mask": "mask", "tokenizer": {"length": 12, "full": True}},
    }  # fmt: skip
    (tmp_path / "model.json").write_text(json.dumps(told))
    model = load(f"onnx:{tmp_path}")
    for row, picture in zip(model.embed_images(seen), seen, strict=True):
        opened = picture.open()
        scale = max(20 / opened.width, 16 / opened.height)
        size = (max(20, round(opened.width * scale)), max(16, round(opened.height * scale)))
        left, top = (size[0] - 20) // 2, (size[1] - 16) // 2
        cut = opened.resize(size, 2).crop((left, top, left + 20, top + 16))
        pixels = (np.asarray(cut, np.float32) / 255 - [0.5, 0.4, 0.3]) / [0.2, 0.3, 0.4]
        by_hand = pixels.transpose(2, 0, 1).reshape(-1) @ images
        np.testing.assert_allclose(row, by_hand / np.linalg.norm(by_hand), atol=1e-5)
    for row, text in zip(model.embed_texts(CAPTIONS), CAPTIONS, strict=True):
        ids = [vocabulary.get(word, 1) for word in text.split()][:12]
        by_hand = np.array(ids + [0] * (12 - len(ids))) @ texts
        np.testing.assert_allclose(row, by_hand / np.linalg.norm(by_hand), atol=1e-5)


def test_pitfall_12_the_preprocessing_is_part_of_the_fingerprint(folder, seen):
    before = load(f"onnx:{folder}")
    told = STORYBOOK | {"image": STORYBOOK["image"] | {"filter": "bilinear"}}
    (folder / "model.json").write_text(json.dumps(told))
    after = load(f"onnx:{folder}")
    assert before.facts.weights == after.facts.weights
    assert before.facts.preprocessing != after.facts.preprocessing
    assert np.abs(before.embed_images(seen) - after.embed_images(seen)).max() > 1e-4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "of another format"),
        ({"image": {"colour": "red"}}, "unknown fields: colour"),
        ({"image": {"filter": "sinc"}}, "'sinc' is not a filter"),
        ({"image": {"file": "gone.onnx"}}, "names gone.onnx, which does not exist"),
        ({"text": {"tokenizer": {"kind": "letters"}}}, "'letters' is not a kind of tokenizer"),
        ({"image": 3}, "image in model.json is not an object"),
    ],
)
def test_mistakes_in_the_description_are_explained(folder, change, message):
    (folder / "model.json").write_text(json.dumps(STORYBOOK | change))
    with pytest.raises(BadInput, match=message):
        load(f"onnx:{folder}")


def test_a_folder_without_a_description_is_explained(tmp_path):
    with pytest.raises(BadInput, match=r"has no model\.json"):
        load(f"onnx:{tmp_path}")


def test_one_thread_where_one_is_wanted_and_the_same_bytes(folder, seen, monkeypatch):
    found = {}
    for told in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", told)
        model = load(f"onnx:{folder}")
        found[told] = model.embed_images(seen)
        threads = {one.get_session_options().intra_op_num_threads for one in sessions(model)}
        assert threads == {int(told)}
    assert found["1"].tobytes() == found["2"].tobytes()


def sessions(model: DualEncoder) -> list:
    return list(model._sessions.values())
