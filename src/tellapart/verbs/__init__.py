"""Verbs: what the toolkit does, one file each; Python and the command line follow from them.

The table names every verb without importing it, so that `tellapart --help` is quick; a test holds
it to the verbs' own first lines.
"""

from __future__ import annotations

VERBS = {
    "demo": "Draw a world, build four benchmarks, run the built-in models, write a report.",
    "world": "Draw a corpus: pictures of a storybook world with five captions each.",
    "get": "Get a published benchmark from its authors' files.",
    "build": "Build a benchmark from a corpus.",
    "refine": "Keep the negatives that two text-only scores cannot tell from the truth.",
    "show": "Print a benchmark's card and some of its items.",
    "validate": "Check that a benchmark is whole and that its pictures can be read.",
    "subset": "Keep some of a benchmark's items; the card says how they were chosen.",
    "merge": "Put the items of several benchmarks together.",
    "diff": "Say what sets two benchmarks apart, item by item.",
    "export": "Write a benchmark for the Hugging Face hub, with Croissant metadata.",
    "audit": "Find what can be guessed without looking, and what is odd about the items.",
    "evaluate": "Put models through benchmarks.",
    "import": "Make a run from answers that were computed elsewhere.",
    "measure": "Measure runs: score, interval, chance level and ties, overall and by kind.",
    "report": "Write a report: one HTML file that needs nothing else.",
    "compare": "Compare runs, every two on what both cover: is the difference real or noise?",
    "retrieve": "Find images by their captions and captions by their images: recall@1/5/10, ranks.",
    "captions": "Judge captions against references: BLEU, ROUGE-L, CIDEr, METEOR and others.",
    "study": "People: create a study, serve it, see how far it is, export what they said.",
    "list": "List what there is, with a line of explanation each.",
}
"""Every verb with its line of help, in the order of a project."""

BUILDERS = {
    "bison": "A caption and two similar images, of which it describes one.",
    "mcic": "An image and five captions, four of them decoys from other images.",
    "foil": "Captions with one wrong word: is it right, which word is wrong, what should it be?",
    "negatives": "A caption beside one that differs by a detail and is false: seven kinds of hard "
    "negative.",
    "bivlc": "Two images and two captions that differ by a detail, asked both ways.",
}

STUDY = {
    "serve": "Serve a study until you stop it (ctrl-c); people go on where they were.",
    "status": "Say how far a study is.",
    "create": "Set up a study of a benchmark's items, or of pairs.",
    "invite": "Make personal links; each is shown once, so keep what is printed.",
    "people": "List people: how much they judged, how fast, and how well.",
    "person": "Count someone's judgements no more, take that back, end their link, or delete all.",
    "owner": "Show the link to the owner's page, or make a new one in its place.",
    "export": "Write judgements, agreement, human figures, the human run and the verified "
    "benchmark.",
    "plan": "How many judgements are needed: what they give, how many people and hours they take.",
    "simulate": "Let simulated people work through a study by its real HTTP interface, on this "
    "machine.",
}


def module_of(verb: str) -> str:
    """The module of a verb; words of Python have a line below them.

    >>> module_of("import")
    'tellapart.verbs.import_'
    """
    return f"tellapart.verbs.{verb}{'_' if verb in ('import', 'list') else ''}"
