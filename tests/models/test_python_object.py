"""`python`: one's own model by name, from the current folder."""

from __future__ import annotations

import hashlib
import sys

import pytest

from tellapart.errors import BadInput
from tellapart.models.model import PairScorer
from tellapart.models.names import load

SOURCE = '''
import numpy as np
from tellapart.models.model import ModelInfo


class Longest:
    """Likes long captions."""

    def __init__(self, sign=1):
        self.facts = ModelInfo("longest", {"sign": sign})
        self.sign = sign

    def score_pairs(self, pictures, texts):
        return np.array([self.sign * len(text) for text in texts], float)


class Sealed:
    __slots__ = ()
    facts = ModelInfo("sealed", weights="abc")

    def score_pairs(self, pictures, texts):
        return np.zeros(len(texts))


class Needy(Longest):
    def __init__(self, path):
        super().__init__()


def shortest():
    return Longest(-1)


ready = Longest()
number = 3
'''


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "my_own_models.py").write_text(SOURCE)
    (tmp_path / "my_broken_models.py").write_text("import no_such_package_here\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("my_own_models", "my_broken_models"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


@pytest.mark.parametrize(("name", "sign"), [("Longest", 1), ("shortest", -1), ("ready", 1)])
def test_a_class_a_function_and_an_object_all_work(name, sign, folder):
    model = load(f"python:my_own_models:{name}")
    assert isinstance(model, PairScorer)
    assert list(model.score_pairs([], ["a", "abc"])) == [sign, 3 * sign]
    assert model.facts.name == f"python:my_own_models:{name}"
    assert model.facts.options == {"sign": sign}
    assert model.facts.weights == hashlib.sha256(SOURCE.encode()).hexdigest()
    assert load(model.facts.name).facts == model.facts


def test_a_model_that_cannot_be_renamed_speaks_for_itself():
    assert load("python:my_own_models:Sealed").facts.name == "sealed"


def test_local_files_do_not_hide_installed_packages(folder):
    (folder / "polars.py").write_text("raise SystemExit")
    load("python:my_own_models:ready")
    assert sys.path[-1] == str(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("python:my_own_models", "does not name an object"),
        ("python:no_such_module:x", "the module 'no_such_module' does not exist"),
        ("python:my_broken_models:x", "needs 'no_such_package_here', which is not installed"),
        ("python:my_own_models:longest", "has no 'longest'"),
        ("python:my_own_models:number", "is not a model but int"),
        ("python:my_own_models:Needy", "cannot be called without arguments"),
    ],
)
def test_mistakes_are_explained(text, message):
    with pytest.raises(BadInput, match=message):
        load(text)
