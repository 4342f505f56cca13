"""Your own model: a class with one method. Open with: marimo edit own_model.py."""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import tempfile
    from pathlib import Path

    import marimo as mo
    import numpy as np

    import tellapart as ta
    from tellapart.models.model import ModelInfo

    place = Path(tempfile.mkdtemp(prefix="tellapart-"))
    return ModelInfo, mo, np, place, ta


@app.cell
def _(mo):
    mo.md(
        """
        # Your own model
        A scorer gives a number to each pair of a picture and a text. This one knows three colours
        and looks for those that the caption names.
        """
    )


@app.cell
def _(ModelInfo, np):
    COLOURS = {"red": (220, 50, 40), "green": (60, 160, 70), "blue": (50, 90, 200)}

    class Colours:
        """Scores a caption by how much of the picture has the colours it names."""

        def __init__(self):
            self.facts = ModelInfo("colours")

        def score_pairs(self, pictures, texts):
            return np.array([self.fit(p, t) for p, t in zip(pictures, texts, strict=True)])

        def fit(self, picture, text):
            pixels = np.asarray(picture.open().convert("RGB").resize((48, 48)), dtype=float)
            named = [colour for name, colour in COLOURS.items() if name in text.lower()]
            near = [np.linalg.norm(pixels - colour, axis=-1) < 80 for colour in named]
            return float(np.mean([one.mean() for one in near])) if near else 0.0

    return (Colours,)


@app.cell
def _(Colours, place, ta):
    world = ta.world(place / "world", scenes=60, part="test")
    test = ta.build("bivlc", world, place / "test")
    runs = ta.evaluate([Colours(), "storybook", "chance"], on=test, out=place / "runs")
    scores = ta.measure(runs, ties="half")
    scores
    return runs, scores


@app.cell
def _(mo):
    mo.md(
        """
        It ties often: many captions name none of its colours. `ties` counts how often, and
        under the papers' rule (`ties="wrong"`) those answers count as wrong.
        """
    )


@app.cell
def _(runs, ta):
    strict = ta.measure(runs)
    strict
    return (strict,)


if __name__ == "__main__":
    app.run()
