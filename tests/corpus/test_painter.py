"""Worlds drawn with cut-out pictures."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageDraw

import tellapart as ta
from tellapart.corpus.world.painter import SpritePainter, sprite_name
from tellapart.errors import BadInput
from tellapart.verbs.runs.measure import measure

STAMPS = Path("/usr/share/tuxpaint/stamps")


@pytest.fixture
def cut_outs(tmp_path):
    """Eight shapes with transparency, some with a text beside."""
    folder = tmp_path / "cut-outs"
    for group, names in {
        "animal": ["owl", "fox", "yak", "emu"],
        "tool": ["saw", "axe", "hoe", "jar"],
    }.items():
        (folder / group).mkdir(parents=True)
        for k, name in enumerate(names):
            picture = Image.new("RGBA", (60, 40 + 20 * k), (0, 0, 0, 0))
            ImageDraw.Draw(picture).ellipse((10, 5, 50, 35 + 20 * k), fill=(40 * k, 90, 200, 255))
            picture.save(folder / group / f"{name}_{k}.png")
    (folder / "animal" / "owl_0.txt").write_text("A small owl.\nfr=Un hibou.\n", encoding="utf-8")
    return folder


def test_cut_outs_are_named_by_text_or_file_and_grouped_by_folder(cut_outs):
    painter = SpritePainter(cut_outs)
    assert set(painter.categories) == {"owl", "fox", "yak", "emu", "saw", "axe", "hoe", "jar"}
    assert painter.categories["saw"].supercategory == "tool"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A wombat.", "wombat"),
        ("A red kangaroo.", "kangaroo"),
        ("A sliced orange.", ""),
        ("Some grapes.", ""),
        ("A pepper grinder.", ""),
    ],
)
def test_only_plain_names_of_one_word_are_taken(tmp_path, text, name):
    (tmp_path / "x.png").touch()
    (tmp_path / "x.txt").write_text(text)
    assert sprite_name(tmp_path / "x.png") == name


def test_all_four_benchmarks_work_on_cut_outs(cut_outs, tmp_path):
    corpus = ta.world(tmp_path / "world", scenes=30, sprites=cut_outs)
    assert not any("red" in text.split() for text in corpus.captions["text"])
    for what in ("bison", "foil", "mcic", "bivlc"):
        verifier = "" if what == "bivlc" else "oracle"
        bench = ta.build(what, corpus, tmp_path / what, ta.BuildOptions(verifier=verifier))
        (run,) = ta.evaluate("oracle", bench, tmp_path / "runs")
        assert all(row.value == 1.0 for row in measure(run).rows), what


def test_a_folder_without_cut_outs_is_refused(tmp_path):
    with pytest.raises(BadInput, match="has 0 cut-outs with a usable name"):
        ta.world(tmp_path / "w", scenes=3, sprites=tmp_path)
    with pytest.raises(BadInput, match="there is no folder"):
        ta.world(tmp_path / "w", scenes=3, sprites=tmp_path / "nowhere")


@pytest.mark.skipif(not STAMPS.exists(), reason="Debian's tuxpaint-stamps-default is not installed")
def test_tuxpaint_stamps_make_a_world(tmp_path):
    corpus = ta.world(tmp_path / "world", scenes=12, sprites=STAMPS)
    assert len(SpritePainter(STAMPS).categories) > 150
    assert corpus.picture("000000").open().size == (224, 224)
