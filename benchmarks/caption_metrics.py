"""The speed of caption metrics against pycocoevalcap, aac-metrics and sacrebleu, and in evaluate.

Token strings go in and scores come out: numbering words is counted, compiling is not. There are
20,000 candidates with five references each: with TELLAPART_REAL_DATA the first five captions of
COCO val2014 images, and the candidate is a caption of the next image; otherwise five captions of
scenes of the built-in world, and the candidate is the sixth. Ours and theirs run in turns and the
best of each counts, because other work on the machine slows either. A peer that is not installed
counts as 0. With `--bison` and TELLAPART_REAL_DATA (with bison/ and coco/), also runs BISON's
section 5.1 on all 54,253 examples. The last line is JSON:

ratio_corpus          pycocoevalcap's seconds for the three metrics over ours
ratio_aac             the same for aac-metrics
ratio_tokenise        seconds of a call of the Java tokenizer on 200,000 captions over ours
ratio_tokenise_5000   the same on 5,000 captions
ratio_pair_bleu       seconds per pair of sacrebleu.sentence_bleu over ours, with preparation
rewards_per_s         CIDEr-D of captions against prepared references
exponent              growth of our processor time for the three metrics with the number of captions
max_difference        between our scores and pycocoevalcap's, or sacrebleu's for pairs
meteor_lines_per_s    METEOR's program, with lines sent without waiting for answers
ratio_meteor          the seconds of pycocoevalcap, which asks line by line, over ours
evaluate_s            --bison: BLEU-4, CIDEr-D and ROUGE-L together, everything included; also
                      their accuracies in percent, ties halved

    python benchmarks/caption_metrics.py [--bison]
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import tellapart as ta
from tellapart import seeds
from tellapart.text.caption_metrics.bleu import bleu
from tellapart.text.caption_metrics.cider import CiderReward, cider_d
from tellapart.text.caption_metrics.meteor import METEOR
from tellapart.text.caption_metrics.metric import Material
from tellapart.text.caption_metrics.pair_bleu import PairBleu
from tellapart.text.caption_metrics.references import ReferenceSets
from tellapart.text.caption_metrics.rouge import rouge_l
from tellapart.text.caption_metrics.sentences import Sentences
from tellapart.text.ptb import ptb_tokenise
from tellapart.torch_tools import torch_library

CANDIDATES, REFERENCES = 20_000, 5
TO_TOKENISE = 200_000
SENTENCES, PAIRS, PAIRS_OF_SACREBLEU = 10_000, 1_000_000, 2_000
REWARDS = 50_000
ROUNDS, OWN_ROUNDS = 2, 7
SIZES = (2_500, 5_000, 10_000, 20_000)
METEOR_LINES, METEOR_ROUNDS = 3_000, 5
PREDICTORS = ("BLEU-4", "CIDEr-D", "ROUGE-L")

Sets = tuple[list[str], list[list[str]]]


def raw_captions() -> list[list[str]]:
    """Captions of images of val2014 or of scenes, five or more of each."""
    data = os.environ.get("TELLAPART_REAL_DATA")
    if data:
        with gzip.open(Path(data) / "coco" / "captions_val2014.json.gz") as file:
            rows = json.load(file)["annotations"]
        by_image: dict[int, list[str]] = defaultdict(list)
        for row in rows:
            by_image[row["image_id"]].append(row["caption"])
        return list(by_image.values())
    from tellapart.corpus.world.painter import StorybookPainter
    from tellapart.corpus.world.world import captions, random_scenes

    scenes = random_scenes(CANDIDATES, 0, StorybookPainter())
    return [captions(scene, seeds.rng(0, str(k)), 6) for k, scene in enumerate(scenes)]


def sets_of(tokens: list[list[str]]) -> Sets:
    """Candidates and references of the first `CANDIDATES` images."""
    images = tokens[:CANDIDATES]
    if os.environ.get("TELLAPART_REAL_DATA"):
        candidates = [tokens[(k + 1) % len(tokens)][0] for k in range(len(images))]
    else:
        candidates = [some[-1] for some in images]
    return candidates, [some[:REFERENCES] for some in images]


Clock = Callable[[], float]


def timed(work: Callable[[], Any], clock: Clock = time.perf_counter) -> tuple[float, Any]:
    """Seconds that something takes, and what comes of it."""
    started = clock()
    found = work()
    return clock() - started, found


def best_in_turns(
    *works: Callable[[], Any], rounds: int = ROUNDS, clock: Clock = time.perf_counter
) -> list[tuple[float, Any]]:
    """The best seconds of each, all in turns, and what comes of it."""
    times = [[timed(work, clock) for work in works] for _ in range(rounds)]
    return [min(column, key=lambda one: one[0]) for column in zip(*times, strict=True)]


Scored = dict[str, np.ndarray]


def ours(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Scored:
    """The three metrics of sentences and, last, of the corpus."""
    sets = ReferenceSets.of(candidates, references)
    found, cider, rouge = bleu(sets, smoothing="coco"), cider_d(sets), rouge_l(sets)
    return {
        "bleu": np.column_stack([found.sentences, found.corpus]),
        "cider_d": np.append(cider.sentences, cider.corpus),
        "rouge_l": np.append(rouge.sentences, rouge.corpus),
    }


def pycocoevalcap(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Scored:
    """The same from the COCO scripts."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    given = dict(enumerate(references)), {k: [text] for k, text in enumerate(candidates)}
    whole, parts = Bleu(4).compute_score(*given, verbose=0)
    cider, rouge = Cider().compute_score(*given), Rouge().compute_score(*given)
    return {
        "bleu": np.column_stack([np.array(parts), whole]),
        "cider_d": np.append(cider[1], cider[0]),
        "rouge_l": np.append(rouge[1], rouge[0]),
    }


def aac(candidates: list[str], references: list[list[str]]) -> None:
    """The same from aac-metrics, where it is installed."""
    if not find_spec("aac_metrics"):
        return
    from aac_metrics.functional import bleu, cider_d, rouge_l

    bleu(candidates, references)
    cider_d(candidates, references)
    rouge_l(candidates, references)


def corpus_figures(sets: Sets) -> dict[str, float]:
    """The three metrics together, how their time grows, how far scores are from the scripts'."""
    if find_spec("aac_metrics"):
        torch_library("aac_metrics.functional")  # its imports are not counted
    (mine, found), (theirs, expected), (others, _) = best_in_turns(
        lambda: ours(*sets), lambda: pycocoevalcap(*sets), lambda: aac(*sets)
    )
    difference = max(float(np.abs(found[name] - expected[name]).max()) for name in expected)
    parts = [(sets[0][:size], sets[1][:size]) for size in SIZES]
    works = [partial(ours, *part) for part in parts]
    grown = [s for s, _ in best_in_turns(*works, rounds=OWN_ROUNDS, clock=time.process_time)]
    mine = min(mine, best_in_turns(works[-1], rounds=OWN_ROUNDS)[0][0])
    print(f"three metrics: {mine:.3f} s, pycocoevalcap {theirs:.2f} s, aac-metrics {others:.2f} s")
    sizes = zip(SIZES, grown, strict=True)
    print(
        "processor time of ours: "
        + ", ".join(f"{seconds:.3f} s for {size:,}" for size, seconds in sizes)
    )
    return {
        "ours_s": mine,
        "ratio_corpus": theirs / mine,
        "ratio_aac": others / mine if find_spec("aac_metrics") else 0.0,
        "exponent": float(np.polyfit(np.log(SIZES), np.log(grown), 1)[0]),
        "max_difference": difference,
    }


def java(captions: list[str]) -> list[str]:
    """The COCO scripts' tokenizer, a process for each call."""
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    found = PTBTokenizer().tokenize({0: [{"caption": caption} for caption in captions]})
    return list(found[0])


def token_figures(captions: list[str]) -> dict[str, float]:
    """Tokenising many captions and few, beside Java."""
    if shutil.which("java") is None:
        return {"ratio_tokenise": 0.0, "ratio_tokenise_5000": 0.0, "tokens_differ": 0}
    few = captions[:5_000]
    (mine, found), (theirs, expected), (my_few, _), (their_few, _) = best_in_turns(
        lambda: ptb_tokenise(captions),
        lambda: java(captions),
        lambda: ptb_tokenise(few),
        lambda: java(few),
    )
    differ = sum(a != b for a, b in zip(found, expected, strict=True))
    print(f"tokens: {mine:.3f} s, Java {theirs:.2f} s; of 5,000: {my_few:.3f} s, {their_few:.2f} s")
    return {
        "ratio_tokenise": theirs / mine,
        "ratio_tokenise_5000": their_few / my_few,
        "tokens_differ": differ,
    }


def pair_figures(tokens: list[str]) -> dict[str, float]:
    """Pairwise BLEU with sacrebleu's defaults for sentences."""
    import sacrebleu

    sentences = tokens[:SENTENCES]
    left, right = seeds.rng(0, "pairs").integers(0, len(sentences), (2, PAIRS))
    rows = left.reshape(-1, 1_000)

    def prepared() -> PairBleu:
        held = Sentences.of(sentences)
        return PairBleu(held, smoothing="exp", brevity=True, effective_order=True)

    def theirs() -> list[float]:
        pairs = zip(left[:PAIRS_OF_SACREBLEU], right[:PAIRS_OF_SACREBLEU], strict=True)
        return [
            sacrebleu.sentence_bleu(sentences[a], [sentences[b]], tokenize="none").score / 100
            for a, b in pairs
        ]

    (mine, found), (by_row, _), (other, expected) = best_in_turns(
        lambda: prepared().scores(left, right),
        lambda: prepared().scores_against(right[: len(rows)], rows),
        theirs,
        rounds=OWN_ROUNDS,
    )
    print(f"pairs: {PAIRS / mine:,.0f} a second, {PAIRS / by_row:,.0f} with a reference for a row")
    return {
        "ratio_pair_bleu": (other / PAIRS_OF_SACREBLEU) / (mine / PAIRS),
        "pairs_per_s": PAIRS / mine,
        "row_pairs_per_s": PAIRS / by_row,
        "max_difference": float(np.abs(found[:PAIRS_OF_SACREBLEU] - expected).max()),
    }


def reward_figures(sets: Sets) -> dict[str, float]:
    """Candidates drawn again and again as rewards, references prepared."""
    reward = CiderReward.of(sets[1])
    drawn = seeds.rng(0, "rewards").integers(0, len(sets[0]), (2, REWARDS))
    captions = [sets[0][k] for k in drawn[0]]
    [(seconds, _)] = best_in_turns(lambda: reward.rewards(captions, drawn[1]), rounds=OWN_ROUNDS)
    return {"rewards_per_s": REWARDS / seconds}


def meteor_figures(sets: Sets) -> dict[str, float]:
    """METEOR's lines a second, and how much faster that is than asking line by line."""
    if METEOR.lacking() is not None:
        return {"meteor_lines_per_s": 0.0, "ratio_meteor": 0.0}
    from pycocoevalcap.meteor.meteor import Meteor as TheirMeteor

    candidates, references = sets[0][:METEOR_LINES], sets[1][:METEOR_LINES]
    material = Material(candidates, references)
    tokens, reference_tokens = material.tokenised
    dicts = dict(enumerate(reference_tokens)), {k: [text] for k, text in enumerate(tokens)}
    theirs = TheirMeteor()
    # Java compiles itself as it goes: the best round counts
    (mine, _), (other, _) = best_in_turns(
        lambda: METEOR.marks(material), lambda: theirs.compute_score(*dicts), rounds=METEOR_ROUNDS
    )
    return {"meteor_lines_per_s": len(candidates) / mine, "ratio_meteor": other / mine}


def bison_figures(data: Path, folder: Path) -> dict[str, float]:
    """All examples by three metrics; importing the benchmark and measuring are not counted."""
    captions = data / "coco" / "captions_val2014.json.gz"
    bison = data / "bison" / "bison_annotations.cocoval2014.json.gz"
    benchmark = ta.get("bison", [bison], folder / "bison")
    begin = time.perf_counter()
    models = [f"reference:{metric}@{captions}" for metric in PREDICTORS]
    runs = ta.evaluate(models, benchmark, folder / "runs")
    figures = {"evaluate_s": time.perf_counter() - begin}
    for metric, run in zip(PREDICTORS, runs, strict=True):
        figures[metric] = 100 * ta.measure(run, ties="half", by_kind=False).rows[0].value
    return figures


def main() -> None:
    """Time all of it, warm."""
    groups = raw_captions()
    flat = [caption for some in groups for caption in some]
    tokens = ptb_tokenise(flat)
    ends = np.cumsum([len(some) for some in groups])
    sets = sets_of([tokens[end - len(some) : end] for end, some in zip(ends, groups, strict=True)])
    small = sets[0][:100], sets[1][:100]
    ours(*small)
    CiderReward.of(small[1]).rewards(small[0], np.arange(100))
    pairs = PairBleu(Sentences.of(small[0]))
    pairs.scores(np.arange(100), np.arange(100))
    pairs.scores_against(np.arange(100), np.arange(100)[:, None])
    with contextlib.redirect_stderr(io.StringIO()):
        figures = corpus_figures(sets) | reward_figures(sets)
        more = pair_figures(tokens)
        figures["max_difference"] = max(figures["max_difference"], more.pop("max_difference"))
        figures |= more | token_figures((flat * 2)[:TO_TOKENISE]) | meteor_figures(sets)
    if "--bison" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            figures |= bison_figures(Path(os.environ["TELLAPART_REAL_DATA"]), Path(folder))
    print(json.dumps({name: float(f"{value:.4g}") for name, value in figures.items()}))


if __name__ == "__main__":
    main()
