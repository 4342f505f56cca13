"""What each benchmark asks, in one sentence for a newcomer, with the paper that it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.benchmark.benchmark import Benchmark


@dataclass(frozen=True, slots=True)
class Family:
    """A sort of test: what it is called, what it asks, and who thought of it."""

    name: str
    asks: str
    paper: str


BISON = Family(
    "BISON",
    "Two similar pictures and one caption: which picture does the caption fit?",
    "Hu, Misra & van der Maaten 2019, Evaluating Text-to-Image Matching using Binary Image "
    "Selection (BISON)",
)
FOIL = Family(
    "FOIL",
    "A picture and a caption in which one word may have been exchanged for a wrong one: is the "
    "caption true (T1), which word is wrong (T2), and which word would mend it (T3)?",
    "Shekhar et al. 2017, FOIL it! Find One mismatch between Image and Language caption",
)
MCIC = Family(
    "MCIC",
    "One picture and several captions, most of them written for similar pictures: which one fits?",
    "Ding et al. 2016, Understanding Image and Text Simultaneously: a Dual Vision-Language "
    "Machine Comprehension Task",
)
PAIR = Family(
    "caption pairs",
    "One picture and two captions that differ in a detail: which one fits?",
    "Hsieh et al. 2023, SugarCrepe: Fixing Hackable Benchmarks for Vision-Language "
    "Compositionality",
)
BIVLC = Family(
    "BiVLC",
    "Two pictures and two captions that differ in a detail: does each picture get its own "
    "caption (I2T), does each caption get its own picture (T2I), and both at once (Group)?",
    "Miranda et al. 2024, BiVLC: Extending Vision-Language Compositionality Evaluation with "
    "Text-to-Image Retrieval",
)
OTHER = Family("a grid test", "Pictures and captions: which of them belong together?", "")


def family(benchmark: Benchmark) -> Family:
    """The sort of test, read off the measures and the shape of the items, never off the name."""
    measures = set(benchmark.card.measures)
    if any(name[:2] in ("T1", "T3") or name.startswith("T2-") for name in measures):
        return FOIL
    if measures & {"I2T", "T2I", "Group"}:
        return BIVLC
    shapes = {(len(item.images), len(item.captions)) for item in benchmark.items}
    if all(captions == 1 for _, captions in shapes):
        return BISON
    if all(images == 1 for images, _ in shapes):
        return PAIR if shapes == {(1, 2)} else MCIC
    return BIVLC if shapes == {(2, 2)} else OTHER
