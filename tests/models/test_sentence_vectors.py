"""Sentence vectors by a small local model, and what is said where there is none."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tellapart.errors import BadInput, TellapartError
from tellapart.models.sentence_vectors import SentenceModel
from tellapart.score.encoder import open_encoder
from tellapart.torch_tools import mend_torchvision

pytestmark = pytest.mark.filterwarnings("ignore")


def test_without_sentence_transformers_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(TellapartError, match="sentence_transformers") as caught:
        SentenceModel("some-model").embed_texts(["a dog"])
    assert "tellapart[sentences]" in caught.value.todo


def small_sentence_model(folder, seed=0):
    """A transformer with random weights, saved as sentence-transformers does."""
    mend_torchvision()
    library = pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "cat", "bus"]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=32,
    )  # fmt: skip
    transformers.set_seed(seed)
    transformers.BertModel(config).save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    library.SentenceTransformer(str(folder), device="cpu").save(str(folder / "model"))
    return folder / "model"


def test_sentence_vectors_of_a_local_model(tmp_path):
    model = small_sentence_model(tmp_path / "parts")
    seen = []
    texts = ["a dog", "a cat", "a dog"]
    with open_encoder(
        SentenceModel(str(model)), progress=lambda *done: seen.append(done)
    ) as encoder:
        made = encoder.embed_texts(texts)
    assert made.shape == (3, 16) and made.dtype == np.float32 and seen == [("texts", 2, 2)]
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    assert np.allclose(made[0], made[2], atol=1e-6) and not np.allclose(made[0], made[1], atol=0.01)


def test_a_sentence_model_that_is_not_there_is_named(tmp_path):
    mend_torchvision()
    pytest.importorskip("sentence_transformers")
    with pytest.raises(BadInput, match="cannot be loaded"):
        SentenceModel(str(tmp_path / "none")).embed_texts(["a dog"])


def test_pitfall_21_other_weights_under_the_same_name_have_another_fingerprint(tmp_path):
    prints = []
    for number, seed in enumerate((0, 0, 1)):
        model = small_sentence_model(tmp_path / str(number), seed)
        (tmp_path / "model").unlink(missing_ok=True)
        (tmp_path / "model").symlink_to(model)
        prints.append(SentenceModel(str(tmp_path / "model")).fingerprint)
    assert prints[0] == prints[1] != prints[2]
