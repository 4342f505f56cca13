"""Tables as LaTeX."""

from __future__ import annotations

from tellapart.reports.score_tables import (
    RowKind,
    ScoreTable,
    TableCell,
    TableColumn,
    TableRow,
    to_latex,
)
from tellapart.text.table_text import escape


def test_every_special_character_is_escaped():
    assert escape(r"a\b{c}$&#%_~^<>|") == (
        r"a\textbackslash{}b\{c\}\$\&\#\%\_\textasciitilde{}\textasciicircum{}"
        r"\textless{}\textgreater{}\textbar{}"
    )


def test_line_breaks_and_controls_cannot_end_a_row():
    assert escape("a\nb\u2028c\x07d") == "a b c d"


def test_a_table_is_booktabs_with_the_best_in_bold():
    table = ScoreTable(
        "t",
        "50% & more",
        (TableColumn("T2-nouns"), TableColumn("a_b")),
        (
            TableRow(
                RowKind.MODEL,
                "m_1",
                "3 of 5 items",
                (TableCell("71.3", "66.1", "76.9", best=True), None),
            ),
            TableRow(
                RowKind.TEXT_ONLY,
                "blind",
                "",
                (TableCell("50.0", "50.0", "50.0"), TableCell("1.0", "0.0", "2.0")),
            ),
            TableRow(RowKind.CHANCE, "chance", "", (TableCell("38.2–38.9"), TableCell("1.9"))),
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
