"""The nouns are short where a person prints them, and tables where a notebook shows them."""

from __future__ import annotations

import pytest

import tellapart as ta


@pytest.fixture(scope="module")
def nouns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("nouns")
    corpus = ta.world(folder / "world", scenes=30)
    bison = ta.build("bison", corpus, folder / "bison", ta.BisonOptions(verifier="oracle"))
    runs = ta.evaluate(["chance", "constant", "chance-chooser"], bison, folder / "runs")
    return {
        "corpus": corpus,
        "benchmark": bison,
        "items": bison.items,
        "run": runs[0],
        "answers": runs[2],
        "scores": ta.measure(runs),
        "comparison": ta.compare(runs, resamples=50),
    }


@pytest.mark.parametrize(
    "name", ["corpus", "benchmark", "items", "run", "answers", "scores", "comparison"]
)
def test_a_noun_is_one_short_line(nouns: dict[str, object], name: str) -> None:
    printed = repr(nouns[name])
    assert printed.startswith("<") and len(printed) < 120 and "\n" not in printed


@pytest.mark.parametrize("name", ["corpus", "benchmark", "run", "answers", "scores", "comparison"])
def test_a_notebook_shows_a_table(nouns: dict[str, object], name: str) -> None:
    shown = nouns[name]._repr_html_()  # type: ignore[attr-defined]
    assert "<table" in shown and len(shown) < 100_000


@pytest.mark.parametrize("name", ["corpus", "benchmark", "items", "scores", "comparison"])
def test_a_noun_has_a_length_and_gives_out_its_parts(nouns: dict[str, object], name: str) -> None:
    noun = nouns[name]
    assert len(list(noun)) == len(noun) > 0  # type: ignore[call-overload, arg-type]
