"""Text-only models: the same numbers as the library's own call, one text at a time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import benchmark_of, grid_item
from tests.models.small import CAPTIONS, bert_tokenizer, causal_folder, library, one_thread, wide

import tellapart as ta
from tellapart.errors import BadInput, TellapartError
from tellapart.models.language import TextScorer, Vera, cola, vera
from tellapart.models.model import PairScorer
from tellapart.models.names import load
from tellapart.score.encoder import score_texts
from tellapart.verbs.runs.measure import measure

transformers = library("transformers")
import torch  # noqa: E402

TEXTS = [*CAPTIONS, "a" * 200, "the mat the mat the mat", ""]


@pytest.fixture(scope="module", autouse=True)
def quick():
    with one_thread():
        yield


@pytest.fixture(scope="module")
def causal(tmp_path_factory) -> Path:
    return causal_folder(transformers, tmp_path_factory.mktemp("lm") / "causal")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory) -> Path:
    return classifier_folder(tmp_path_factory.mktemp("lm") / "classifier", labels=2)


def classifier_folder(folder: Path, labels: int) -> Path:
    tokenizer = bert_tokenizer(transformers, folder)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=48, max_position_embeddings=160, num_labels=labels,
    )  # fmt: skip
    wide(transformers.BertForSequenceClassification(config), 0.3).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def direct(folder: Path, text: str) -> list[float]:
    """The log-probability of each token by the library's own loss, without a batch."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = [tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False).input_ids[:47]]
    if len(ids) == 1:
        return []
    row = torch.tensor([ids])
    with torch.no_grad():
        loss = model(input_ids=row, labels=row).loss
    return [-float(loss)] * (len(ids) - 1)


def test_a_causal_model_gives_the_librarys_mean_and_sum(causal):
    mean, total = load(f"hf:{causal}?head=lm"), load(f"hf:{causal}?head=lm&reduce=sum")
    assert isinstance(mean, TextScorer) and isinstance(mean, PairScorer)
    each = [direct(causal, text) for text in TEXTS]
    expected = [np.mean(one) if one else 0.0 for one in each]
    assert mean.score_texts(TEXTS) == pytest.approx(expected, abs=2e-5)
    assert total.score_texts(TEXTS) == pytest.approx([sum(one) for one in each], abs=1e-3)
    assert mean.facts.weights == total.facts.weights
    assert load(total.facts.name).facts == total.facts and "reduce=sum" in total.facts.name


def test_company_in_a_batch_changes_nothing(causal, classifier):
    for name in (f"hf:{causal}?head=lm", f"hf:{classifier}?head=classifier"):
        model = load(name)
        alone = np.concatenate([model.score_texts([text]) for text in TEXTS])
        assert model.score_texts(TEXTS * 12) == pytest.approx(np.tile(alone, 12), abs=1e-5)
        assert model.score_texts([]).shape == (0,)


def test_a_classifier_gives_the_librarys_probability_of_the_label(classifier, tmp_path):
    pipeline = transformers.pipeline("text-classification", model=str(classifier), top_k=None)
    found = pipeline(TEXTS[:5])
    asked = {"": "LABEL_1", "&label=LABEL_1": "LABEL_1", "&label=LABEL_0": "LABEL_0"}
    for told, label in asked.items():
        model = load(f"hf:{classifier}?head=classifier{told}")
        expected = [next(s["score"] for s in one if s["label"] == label) for one in found]
        assert model.score_texts(TEXTS[:5]) == pytest.approx(expected, abs=1e-5)
    single = load(f"hf:{classifier_folder(tmp_path / 'one', labels=1)}?head=classifier")
    with torch.no_grad():
        logits = single.model(**single.tokenizer("a cat", return_tensors="pt")).logits
    assert single.score_texts(["a cat"]) == pytest.approx([float(logits.sigmoid())], abs=1e-6)


def test_cola_is_the_second_label_of_its_classifier(classifier):
    model = cola(name=str(classifier))
    assert model.score_texts(TEXTS) == pytest.approx(
        load(f"hf:{classifier}?head=classifier&label=LABEL_1").score_texts(TEXTS)
    )
    assert model.facts.name == f"cola?name={classifier}"
    with pytest.raises(BadInput, match="has no label 'good'") as caught:
        load(f"hf:{classifier}?head=classifier&label=good")
    assert "LABEL_0, LABEL_1" in str(caught.value)


def test_a_classifier_with_many_labels_must_be_told_which(tmp_path):
    folder = classifier_folder(tmp_path / "three", labels=3)
    with pytest.raises(BadInput, match="has 3 labels"):
        load(f"hf:{folder}?head=classifier")
    each = [load(f"hf:{folder}?head=classifier&label=LABEL_{k}") for k in range(3)]
    scores = [model.score_texts(TEXTS) for model in each]
    assert sum(scores) == pytest.approx(1.0)


def test_vera_reads_its_head_from_the_last_embeddings(tmp_path):
    model, folder = vera_of(tmp_path / "vera")
    assert isinstance(model, Vera)
    tokenizer, plain = model.tokenizer, transformers.T5EncoderModel.from_pretrained(folder).eval()
    shared = plain.shared.weight.detach()
    for text, score in zip(CAPTIONS, model.score_texts(CAPTIONS), strict=True):
        ids = tokenizer([text], return_tensors="pt").input_ids
        with torch.no_grad():
            last = plain(ids).last_hidden_state[0, -1]
        logit = (last @ shared[32099] + shared[32098, 0]) / shared[32097, 0]
        assert score == pytest.approx(float(logit.sigmoid()), abs=1e-5)


def vera_of(folder: Path) -> tuple[Any, Path]:
    """Vera's form with small weights: the vocabulary must be T5's for the head to be there."""
    bert_tokenizer(transformers, folder).save_pretrained(folder)
    config = transformers.T5Config(
        vocab_size=32128, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2
    )
    model = wide(transformers.T5EncoderModel(config), 0.3)
    with torch.no_grad():
        model.shared.weight[32097, 0] = 1.7
    model.save_pretrained(folder)
    return vera(name=str(folder)), folder


def test_each_text_is_scored_once_and_kept(causal, tmp_path, monkeypatch):
    model = load(f"hf:{causal}?head=lm")
    seen: list[str] = []
    own = type(model).score_texts

    def counted(self: Any, texts: list[str]) -> Any:
        seen.extend(texts)
        return own(self, texts)

    monkeypatch.setattr(type(model), "score_texts", counted)
    told: list[tuple[str, int, int]] = []
    first = score_texts(
        model, TEXTS * 3, cache=tmp_path, batch_size=3, progress=lambda *at: told.append(at)
    )
    assert sorted(seen) == sorted(TEXTS) and told[-1] == ("texts", len(TEXTS), len(TEXTS))
    assert first == pytest.approx(np.tile(own(model, TEXTS), 3), abs=1e-4)
    again = score_texts(load(f"hf:{causal}?head=lm"), [*TEXTS, "two dogs"], cache=tmp_path)
    assert seen[len(TEXTS) :] == ["two dogs"]
    assert (again[:-1] == first[: len(TEXTS)]).all()


def test_pictures_that_do_not_exist_do_not_stop_a_model_that_reads(causal, tmp_path):
    items = [grid_item(str(k), 1, 2, {(0, k % 2)}) for k in range(6)]
    (run,) = ta.evaluate([f"hf:{causal}?head=lm"], benchmark_of(items), tmp_path / "runs")
    assert not run.failures and len(run.scores) == 12
    assert measure(run).rows[0].n == 6


def test_mistakes_are_explained(causal, tmp_path):
    with pytest.raises(BadInput, match="has no effect without head=classifier"):
        load(f"hf:{causal}?head=lm&label=x")
    with pytest.raises(BadInput, match="cannot score"):
        load(f"hf:{causal}")
    with pytest.raises(BadInput, match="the file does not exist"):
        load(f"hf:{tmp_path}/none.gguf?head=lm")
    with pytest.raises(TellapartError, match="no weights for"):
        load(f"hf:{causal}?head=classifier")


def test_a_gguf_file_without_its_packages_names_their_extra(tmp_path, monkeypatch):
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(TellapartError, match="needs the package 'gguf'") as caught:
        load(f"hf:{tmp_path}/a.gguf?head=lm")
    assert caught.value.todo == "pip install 'tellapart[gguf]'"
