"""Quick start: a drawn world, a test, three models. Open with: marimo edit quick_start.py."""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import tempfile
    from pathlib import Path

    import marimo as mo

    import tellapart as ta

    place = Path(tempfile.mkdtemp(prefix="tellapart-"))
    return mo, place, ta


@app.cell
def _(mo):
    mo.md(
        """
        # Quick start
        Draw a small world, build a test of two pictures and two captions from it, and let three
        models answer. Nothing is downloaded.
        """
    )


@app.cell
def _(place, ta):
    world = ta.world(place / "world", scenes=60, part="test")
    test = ta.build("bivlc", world, place / "test")
    test
    return test, world


@app.cell
def _(mo):
    mo.md("""An item is a grid: its pictures, its captions, and which cells are true.""")


@app.cell
def _(mo, test):
    item = next(one for one in test.items if one.kind == "swap-attribute")
    pictures = [test.picture(name).open().convert("RGB") for name in item.images]
    mo.vstack([mo.hstack(pictures), mo.md("\n\n".join(item.captions)), sorted(item.true)])
    return (item,)


@app.cell
def _(place, ta, test):
    runs = ta.evaluate(["storybook", "blind", "chance"], on=test, out=place / "runs")
    scores = ta.measure(runs, ties="half")
    scores
    return runs, scores


@app.cell
def _(mo):
    mo.md("""Is the small model better than one that never looks, and on which kinds of item?""")


@app.cell
def _(runs, ta):
    comparison = ta.compare(runs, ties="half")
    comparison
    return (comparison,)


@app.cell
def _(runs, ta):
    by_kind = ta.measure(runs, measures=["Group"], ties="half", by_kind=True)
    by_kind
    return (by_kind,)


if __name__ == "__main__":
    app.run()
