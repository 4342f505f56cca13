"""What a fine-tune cost: figures by hand, cues that were taught, zero-shot as open_clip has it."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from tests.training.small_pairs import near_misses

from tellapart.errors import BadInput
from tellapart.measures.cost import paired_interval
from tellapart.measures.zero_shot import TEMPLATES, templates_of
from tellapart.models.model import ModelInfo, NamedModel
from tellapart.verbs.systems.cost import cost
from tellapart.verbs.systems.zeroshot import zeroshot

WIDTH = 24


class Colourful(NamedModel):
    """A made-up dual encoder: hashes of words and colours; `against` is a word that it dislikes."""

    def __init__(self, against: str = "") -> None:
        self.against = against
        self.facts = ModelInfo(f"colourful{against}")

    def embed_images(self, pictures):
        rows = [self._row(one.read()) for one in pictures]
        return np.array(rows, np.float32)

    def embed_texts(self, texts):
        rows = np.array([self._row(one.encode()) for one in texts], np.float32)
        if self.against:
            rows[:, -1] = [-9.0 if self.against in one else 9.0 for one in texts]
        return rows

    def _row(self, data):
        number = int(hashlib.sha256(data).hexdigest()[:8], 16)
        row = np.random.default_rng(number).normal(size=WIDTH)
        row[-1] = 1.0
        return row


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return near_misses(tmp_path_factory.mktemp("cost"), 40, 3)


def test_a_model_against_itself_costs_nothing_and_every_sort_is_there(bench, classes):
    drawn = bench.root.parent / "world-3"
    found = cost(Colourful(), Colourful(), [bench, drawn, classes])
    assert {row.sort for row in found.rows} == {"near-miss", "cue", "retrieval", "zero-shot"}
    assert all(row.change == row.low == row.high == 0 for row in found.rows)
    assert not found.changed and "R@5 text to image" in str(found)
    assert found.to_json()["rows"][0]["measure"] == "Group"


def test_a_model_that_learned_how_negatives_look_is_found_out(bench, monkeypatch):
    """One that dislikes a word of false captions picks the true one beside any picture."""
    items = [item for item in bench if item.original is not None]
    false = {item.captions[1 - item.original[1]] for item in items}
    taught = Colourful("zz")
    monkeypatch.setattr(
        taught, "embed_texts",
        lambda texts: Colourful("!").embed_texts([t + ("!" if t in false else "") for t in texts]),
    )  # fmt: skip
    found = cost(Colourful(), taught, bench)
    cues = {row.measure: row for row in found.rows if row.sort == "cue"}
    blind = cues["true caption beside another picture"]
    assert blind.after > 90 and blind.low > 0 and blind.before < 75
    assert cues["neuron tells false captions"].after > 90
    assert found.changed and all(one.benchmark == "bivlc" for one in found.changed)
    with pytest.raises(BadInput, match="oracle is not a dual encoder"):
        cost("oracle", taught, bench)


def test_cues_that_cannot_be_measured_are_said(tmp_path):
    few = near_misses(tmp_path, 5, 4)
    found = cost(Colourful(), Colourful(), few)
    assert not [row for row in found.rows if row.sort == "cue"]
    (said,) = found.notes
    assert said.startswith("no cues were measured on bivlc") and "at least 10" in said
    assert said in str(found) and "excludes 0" not in str(found)
    assert found.to_json()["notes"] == [said]


def test_the_interval_of_a_difference_resamples_groups():
    change = np.repeat([1.0, -1.0, 0.0, 0.0], 25)
    alone = paired_interval(change, np.arange(100))
    together = paired_interval(change, np.repeat(np.arange(4), 25))
    assert together[1] - together[0] > 3 * (alone[1] - alone[0]) and alone[0] < 0 < alone[1]


@pytest.fixture(scope="module")
def classes(tmp_path_factory, bench):
    root = tmp_path_factory.mktemp("classes")
    pictures = iter(list(bench.images))
    for name in ("red_ball", "cat", "dog"):
        (root / name).mkdir()
        for k in range(4):
            data = bench.picture(next(pictures)).read()
            (root / name / f"{k}.png").write_bytes(data)
    return root


def test_zero_shot_is_the_nearest_mean_of_templates(classes):
    model = Colourful()
    found = zeroshot(model, classes, templates="full")
    right = []
    for number, folder in enumerate(sorted(classes.iterdir())):
        for file in sorted(folder.iterdir()):
            image = model._row(file.read_bytes())
            scores = []
            for name in ("cat", "dog", "red ball"):
                rows = model.embed_texts([t.replace("{}", name) for t in TEMPLATES["full"]])
                mean = rows.mean(axis=0)
                scores.append(image @ mean / np.linalg.norm(mean))
            right.append(int(np.argmax(scores)) == number)
    assert found.first.tolist() == right and found.classes == 3
    assert "chance 33.3; 3 classes, 12 pictures" in str(found)
    (classes / "classes.txt").write_text("red_ball\tapple\n")
    assert zeroshot(model, classes).to_json()["templates"] == 7
    (classes / "classes.txt").unlink()


def test_templates_and_folders_that_are_none_are_said(tmp_path):
    assert templates_of("my {}!") == ("my {}!",)
    with pytest.raises(BadInput, match="is not a template"):
        templates_of("a photo")
    with pytest.raises(BadInput, match="is not a folder of classes"):
        zeroshot(Colourful(), tmp_path)
    with pytest.raises(BadInput, match="there is no folder nosuch"):
        zeroshot(Colourful(), tmp_path / "nosuch")
