"""Tables as LaTeX."""

from __future__ import annotations

from tellapart.reports.latex import to_latex
from tellapart.reports.results import Cell, Column, Row, RowKind, Table
from tellapart.text.latex import escape


def test_every_special_character_is_escaped():
    assert escape(r"a\b{c}$&#%_~^<>|") == (
        r"a\textbackslash{}b\{c\}\$\&\#\%\_\textasciitilde{}\textasciicircum{}"
        r"\textless{}\textgreater{}\textbar{}"
    )


def test_line_breaks_and_controls_cannot_end_a_row():
    assert escape("a\nb\u2028c\x07d") == "a b c d"


def test_a_table_is_booktabs_with_the_best_in_bold():
    table = Table(
        "t",
        "50% & more",
        (Column("T2-nouns"), Column("a_b")),
        (
            Row(
                RowKind.MODEL,
                "m_1",
                "3 of 5 items",
                (Cell("71.3", "66.1", "76.9", best=True), None),
            ),
            Row(
                RowKind.TEXT_ONLY,
                "blind",
                "",
                (Cell("50.0", "50.0", "50.0"), Cell("1.0", "0.0", "2.0")),
            ),
            Row(RowKind.CHANCE, "chance", "", (Cell("38.2–38.9"), Cell("1.9"))),
        ),
    )
    lines = to_latex(table).splitlines()
    assert r"\caption{50\% \& more. Percent, 95\% intervals in brackets.}" in lines
    assert r"\begin{tabular}{lrr}" in lines
    assert r" & T2-nouns & a\_b \\" in lines
    assert r"m\_1 (3 of 5 items) & \textbf{71.3} [66.1, 76.9] & -- \\" in lines
    assert (
        lines[lines.index(r"m\_1 (3 of 5 items) & \textbf{71.3} [66.1, 76.9] & -- \\") + 1]
        == r"\midrule"
    )
    assert r"blind (text-only, ties halved) & 50.0 [50.0, 50.0] & 1.0 [0.0, 2.0] \\" in lines
    assert r"chance & 38.2--38.9 & 1.9 \\" in lines
