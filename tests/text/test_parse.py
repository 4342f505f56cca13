"""Parsing: what spaCy says, once, whole and in order."""

from __future__ import annotations

import json
from dataclasses import fields

import numpy as np
import pytest

from tellapart.errors import BadInput, TellapartError
from tellapart.text import parse as parsing
from tellapart.text import spacy_pipeline
from tellapart.text.content_words import content_words
from tellapart.text.parse import parse
from tellapart.text.parses import CODED
from tellapart.text.spacy_pipeline import ParseWorker, find_pipeline, load_pipeline

TEXTS = [
    "A man rides two brown horses near a fire hydrant.",
    "Cats, dogs and an old man's hat.",
    "  Two   spaces,\na line break \t and a tab. ",
    "Ein Café mit naïven Gästen – 🙂 in 東京!",
    "A man rides two brown horses near a fire hydrant.",
    ".",
    " ",
    "it's a zero\0byte",
    "The sheep are standing on the hill, which is green.",
]


@pytest.fixture(autouse=True, scope="module")
def pipeline():
    """The small English pipeline, where it is installed."""
    try:
        return find_pipeline()
    except TellapartError as error:
        pytest.skip(str(error))


def same(one, other):
    for field in fields(one):
        left, right = getattr(one, field.name), getattr(other, field.name)
        assert np.array_equal(left, right), field.name


def test_tokens_are_those_of_spacy_itself(pipeline):
    nlp = load_pipeline(pipeline.source)
    for text, parsed in zip(TEXTS, parse(TEXTS), strict=True):
        doc = nlp(text)
        chunks = {t.i: chunk.root.i for chunk in doc.noun_chunks for t in chunk}
        expected = [
            (t.i, t.text, t.lemma_, t.pos_, t.tag_, t.dep_, t.head.i, t.idx, t.idx + len(t.text),
             chunks.get(t.i, -1))
            for t in doc
        ]  # fmt: skip
        assert [tuple(token) for token in parsed] == expected
        assert parsed.text == text


def test_views_lead_from_token_to_token():
    parses = parse(TEXTS)
    first = parses[0]
    rides = next(t for t in first if t.text == "rides")
    assert [t.text for t in first.children(rides.place) if t.pos == "NOUN"] == ["man", "horses"]
    horses = next(t for t in first if t.text == "horses")
    assert first.head(horses.place) == rides
    assert [t.text for t in first.subtree(horses.place)][:3] == ["two", "brown", "horses"]
    assert parses[-1].text == TEXTS[-1]
    assert [p.text for p in parses[2:4]] == TEXTS[2:4] and len(parses) == len(TEXTS)
    nouns = parses.has("pos", "NOUN", "PROPN")
    assert int(nouns.sum()) == sum(t.pos in ("NOUN", "PROPN") for p in parses for t in p)
    with pytest.raises(IndexError):
        parses[len(TEXTS)]


def test_no_text_at_all_is_no_error():
    assert len(parse([])) == 0 and list(parse([])) == []
    assert list(parse([""])[0]) == []


def counted(monkeypatch):
    """What goes to spaCy from now on."""
    asked = []
    whole = parsing.parse_columns
    monkeypatch.setattr(
        parsing, "parse_columns", lambda source, texts: asked.extend(texts) or whole(source, texts)
    )
    return asked


def test_every_distinct_text_is_parsed_once_and_found_again(tmp_path, monkeypatch):
    asked = counted(monkeypatch)
    first = parse(TEXTS[:5], cache=tmp_path)
    assert asked == list(dict.fromkeys(TEXTS[:5]))
    asked.clear()
    more = parse(TEXTS[::-1], cache=tmp_path)
    assert sorted(asked) == sorted(set(TEXTS[5:]) - set(TEXTS[:5]))
    asked.clear()
    again = parse(TEXTS[:5], cache=tmp_path)
    assert asked == []
    same(first.columns, again.columns)
    same(more.columns, parse(TEXTS[::-1]).columns)  # nor does it matter what was there before
    for table in CODED.values():
        known = getattr(more.columns, table)
        assert list(known) == sorted(known)


def test_an_interrupted_parse_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(parsing, "PART", 2)

    def stop(phase, done, total):
        if done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parse(TEXTS, cache=tmp_path, processes=1, progress=stop)
    asked = counted(monkeypatch)
    seen = []
    made = parse(TEXTS, cache=tmp_path, processes=1, progress=lambda *done: seen.append(done))
    assert len(asked) == len(set(TEXTS)) - 4
    assert seen[0] == ("parses", 4, 8) and seen[-1] == ("parses", 8, 8)
    same(made.columns, parse(TEXTS, processes=1).columns)


def test_pitfall_21_a_damaged_part_of_the_cache_is_parsed_anew(tmp_path, monkeypatch):
    good = parse(TEXTS, cache=tmp_path)
    (file,) = tmp_path.rglob("*.npz")
    data = file.read_bytes()
    for broken in (data[: len(data) // 2], b"", data[:200] + b"????" + data[204:]):
        file.write_bytes(broken)
        same(good.columns, parse(TEXTS, cache=tmp_path).columns)
    asked = counted(monkeypatch)
    parse(TEXTS, cache=tmp_path)
    assert asked == []


def test_pitfall_21_another_pipeline_has_a_cache_of_its_own(tmp_path, pipeline):
    parse(TEXTS[:1], cache=tmp_path)
    (folder,) = (tmp_path / "parses").iterdir()
    assert pipeline.fingerprint[:32] in folder.name


def test_several_processes_say_the_same_as_one(monkeypatch):
    monkeypatch.setattr(parsing, "PART", 3)
    done = []
    several = parse(TEXTS, processes=2, progress=lambda phase, d, t: done.append(d))
    same(several.columns, parse(TEXTS, processes=1).columns)
    assert sorted(done) == [0, 3, 6, 8] or done[-1] == 8


def test_a_process_that_ends_is_an_error_and_no_hang():
    worker = ParseWorker("there_is_no_such_pipeline")
    with pytest.raises(TellapartError, match="a parsing process stopped"):
        worker.parse(["A dog."])
    worker.close()


def test_a_missing_pipeline_says_how_to_get_it():
    with pytest.raises(BadInput, match="'en_core_web_xyz' is not installed") as caught:
        parse(["A dog."], model="en_core_web_xyz")
    assert 'pip install "tellapart[text]"' in caught.value.todo
    assert "python -m spacy download en_core_web_xyz" in caught.value.todo


def test_missing_spacy_names_the_extra(monkeypatch):
    def gone(package):
        raise spacy_pipeline.PackageNotFoundError(package)

    monkeypatch.setattr(spacy_pipeline, "version", gone)
    with pytest.raises(TellapartError, match="needs the package 'spacy'") as caught:
        parse(["A dog."])
    assert caught.value.todo == 'pip install "tellapart[text]"'


def test_a_pipeline_without_a_parser_is_refused(tmp_path):
    (tmp_path / "meta.json").write_text(json.dumps({"lang": "en", "pipeline": ["tagger"]}))
    with pytest.raises(BadInput, match="has no parser; it has: tagger"):
        parse(["A dog."], model=str(tmp_path))


def test_too_long_a_text_is_refused_before_anything_is_parsed():
    with pytest.raises(BadInput, match="1,000,001 characters is too long"):
        parse(["A dog.", "x" * 1_000_001])


def test_a_cache_that_cannot_be_written_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="the cache cannot be written"):
        parse(["A dog."], cache=tmp_path / "file")


def test_content_words_are_nouns_verbs_adjectives_and_adverbs(tmp_path):
    caption = "The two old cats were sleeping very quietly on a couch."
    words = content_words(parse([caption], cache=tmp_path)[0])
    stand = [(caption[w.start : w.end], w.noun) for w in words]
    assert stand == [
        ("old", False), ("cats", True), ("sleeping", False), ("very", False), ("quietly", False),
        ("couch", True),
    ]  # fmt: skip
    assert content_words(parse([caption])[0]) == words
    assert "spaCy" in find_pipeline().name
