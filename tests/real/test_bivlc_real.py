"""BiVLC's Tables 3 and 6 and its figures on SugarCrepe, from the authors' tables as they are."""

from __future__ import annotations

import pytest

import tellapart as ta
from tellapart.errors import BadInput
from tellapart.verbs.runs.measure import measure

MODELS = ("ViT-B-32", "CLIP_COCO")
TABLE_3 = {
    "ViT-B-32": {"I2T": 75.83, "T2I": 52.40, "Group": 49.06,
                 "Ipos2T": 84.32, "Ineg2T": 89.50, "Tpos2I": 69.21, "Tneg2I": 82.82},
    "CLIP_COCO": {"I2T": 82.75, "T2I": 63.89, "Group": 60.96,
                  "Ipos2T": 89.06, "Ineg2T": 91.75, "Tpos2I": 72.79, "Tneg2I": 90.86},
}  # fmt: skip
SUGARCREPE = {"ViT-B-32": 76.56, "CLIP_COCO": 84.66}
TABLE_6 = {  # I2T, T2I, Group by what was edited
    "ViT-B-32": {"replace": (82.09, 60.36, 57.27), "swap": (46.52, 16.16, 13.65),
                 "add": (70.32, 44.63, 39.58)},
    "CLIP_COCO": {"replace": (87.99, 72.42, 69.94), "swap": (51.53, 25.07, 20.89),
                  "add": (83.16, 55.58, 51.58)},
}  # fmt: skip


@pytest.fixture(scope="module")
def bivlc(real_data, tmp_path_factory):
    """The items, which the table of outcomes holds beside them, and a run of each model."""
    out = tmp_path_factory.mktemp("bivlc")
    source = real_data / "bivlc"
    bench = ta.get("bivlc", source / "BiVLC_ViT-B-32.csv.gz", out / "bivlc")
    return {
        model: ta.import_scores(
            bench, source / f"BiVLC_{model}.csv.gz", name=model, out=out / model, scored_cells=True
        )
        for model in MODELS
    }


@pytest.mark.parametrize("model", MODELS)
def test_table_3(bivlc, model):
    found = {row.measure: round(100 * row.value, 2)
             for row in measure(bivlc[model]).rows if row.kind == "micro"}  # fmt: skip
    assert found == TABLE_3[model]


@pytest.mark.parametrize("model", MODELS)
def test_table_6(bivlc, model):
    names = ("I2T", "T2I", "Group")
    scores = measure(bivlc[model], measures=names, by="family")
    for edit, figures in TABLE_6[model].items():
        found = [round(100 * scores.value(measure=name, kind=edit), 2) for name in names]
        assert tuple(found) == figures


@pytest.mark.parametrize("model", MODELS)
def test_sugarcrepe_of_the_same_models(real_data, tmp_path, model):
    table = real_data / "bivlc" / f"SUGARCREPE_CORRECT_{model}.csv.gz"
    bench = ta.get("sugarcrepe", table, tmp_path / "sc")
    assert len(bench.items) == 7_512
    run = ta.import_scores(bench, table, name=model, out=tmp_path / "run", scored_cells=True)
    assert round(100 * measure(run).rows[0].value, 2) == SUGARCREPE[model]


def test_a_row_that_sugarcrepe_does_not_have_is_named(real_data, sugarcrepe, tmp_path):
    table = real_data / "bivlc" / "SUGARCREPE_CORRECT_CLIP_COCO.csv.gz"
    with pytest.raises(BadInput, match="A West 32nd sign under a Korea Way") as caught:
        ta.import_scores(sugarcrepe, table, name="x", out=tmp_path / "x")
    assert "row 6709" in caught.value.where
    run = ta.import_scores(sugarcrepe, table, name="x", out=tmp_path / "x", skip_bad=True)
    assert run.size == 7_511 and run.card.notes["skipped_rows"] == 1
