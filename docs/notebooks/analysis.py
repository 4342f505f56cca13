"""Analysis of a run: outcomes as a table, by any column. Open with: marimo edit analysis.py."""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import tempfile
    from pathlib import Path

    import marimo as mo
    import polars as pl

    import tellapart as ta

    place = Path(tempfile.mkdtemp(prefix="tellapart-"))
    return mo, pl, place, ta


@app.cell
def _(mo):
    mo.md(
        """
        # Analysis of a run
        One row for each question: was it right, was it a tie, and the item's own columns.
        Everything else is a group-by. Replace `runs` with your own folder of runs.
        """
    )


@app.cell
def _(place, ta):
    world = ta.world(place / "world", scenes=80, part="test")
    test = ta.build("foil", world, place / "test", ta.BuildOptions(verifier="oracle"))
    runs = ta.evaluate(["storybook", "blind"], on=test, out=place / "runs")
    outcomes = ta.outcomes(runs)
    outcomes
    return outcomes, runs


@app.cell
def _(outcomes, pl):
    shares = (
        outcomes.filter(pl.col("question").str.starts_with("caption"))
        .group_by("model", "supercategory")
        .agg(pl.col("share").mean().alias("right"), pl.len().alias("n"))
        .sort("model", "right")
    )
    shares
    return (shares,)


@app.cell
def _(mo):
    mo.md("""The same with intervals, and a sentence that you can quote in a paper:""")


@app.cell
def _(runs, ta):
    by = ta.analyse("by", runs, ta.ByOptions(by="supercategory", measure="accuracy"))
    by
    return (by,)


@app.cell
def _(by):
    by.sentences


if __name__ == "__main__":
    app.run()
