"""Do the intervals of analyses have the stated coverage? Of 100, 95 should contain the truth.

The truth is planted: effects and random effects of a regression, shares of groups, the order of
systems, ratings by image, retrieval errors that people call right, the foil's position, captions
that are better where answers are right, runs with common luck; and none of these effects. A
statistic passes with 88 or more of 100 (by chance, fewer happen in about one campaign of 100, and
intervals of a likelihood are approximate).

    python -P soak/analyses.py --seeds 100

With R and its package lme4 (Debian: r-cran-lme4) the regression is also fitted by `glmer`, and with
statsmodels by its Bayesian mixed model, whose variational intervals are narrower than they should
be; without these packages, that part is left out.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import kendalltau, norm

from tellapart.analyses.rankings import RankingOptions, analyse_rankings
from tellapart.analyses.recall_errors import RecallErrorOptions, analyse_recall_errors
from tellapart.benchmark.benchmark import Card, make_benchmark
from tellapart.items import Image, Item, Origin
from tellapart.score.run import Run, RunCard, answers_frame, scores_frame
from tellapart.stats.agreement import cohen_kappa
from tellapart.stats.mixed_logit import MixedLogit, fit_mixed_logit
from tellapart.stats.rank_correlation import rank_correlations
from tellapart.stats.roc import auc
from tellapart.stats.shrinkage import shrunk_shares
from tellapart.study.questions.question import JudgedTask, Judgement, Matter
from tellapart.study.ratings import mean_rating
from tellapart.types import Floats, Ints

ENOUGH = 0.88
EFFECTS = (0.3, -0.5, 0.0, 0.25)
SPREADS = (0.7, 0.4)
Held = dict[str, list[bool]]


def planted(seed: int, rows: int = 900, pairs: int = 40) -> tuple[Floats, Floats, list[Ints]]:
    """Right or wrong; facts: two of the pair (one without effect), one of the row; factors."""
    rng = np.random.default_rng(seed)
    pair = np.unique(rng.integers(pairs, size=rows), return_inverse=True)[1]
    category = np.unique(rng.integers(8, size=pairs)[pair], return_inverse=True)[1]
    of_pair = rng.normal(size=(pairs, 2))[pair]
    facts = np.column_stack([np.ones(rows), of_pair, rng.normal(size=rows)])
    logit = facts @ np.array(EFFECTS)
    for codes, spread in zip((pair, category), SPREADS, strict=True):
        logit = logit + rng.normal(size=int(codes.max()) + 1)[codes] * spread
    right = (rng.random(rows) < 1 / (1 + np.exp(-logit))).astype(float)
    return right, facts, [pair, category]


def regression(seed: int) -> Held:
    """The three slopes (one is 0) and the two spreads."""
    fit = fit_mixed_logit(*planted(seed))
    slopes = zip(fit.terms[1:], EFFECTS[1:], strict=True)
    spreads = zip(fit.spreads, SPREADS, strict=True)
    return {
        "regression, effects": [one.low <= truth <= one.high for one, truth in slopes],
        "regression, spreads": [one.low <= truth <= one.high for one, truth in spreads],
    }


def groups(seed: int) -> Held:
    """Shares of thirty groups of 1 to 60 items, drawn towards their mean."""
    rng = np.random.default_rng(seed)
    truth = rng.beta(4, 3, size=30)
    asked = rng.integers(1, 60, size=30).astype(float)
    found = shrunk_shares(rng.binomial(asked.astype(int), truth).astype(float), asked)
    held = (found.low <= truth) & (truth <= found.high)
    return {"by, shrunk shares": held.tolist()}


def ranked_runs(seed: int, items: int = 400) -> tuple[list[Run], list[Run], float]:
    """Six systems on two benchmarks that rank them alike but for two, and the true tau."""
    first = np.array([0.55, 0.6, 0.65, 0.7, 0.75, 0.8])
    second = first[[0, 2, 1, 3, 5, 4]]
    rng = np.random.default_rng(seed)
    made = [_runs(f"bench{k}", shares, items, rng) for k, shares in enumerate((first, second))]
    return made[0], made[1], 11 / 15


def _runs(name: str, shares: Floats, items: int, rng: np.random.Generator) -> list[Run]:
    every = [
        Item.imported(name, str(k), images=(f"{name}{k}",), captions=("a", "b"),
                      true=frozenset({(0, 0)}), kind="x", origin=Origin("soak"))
        for k in range(items)
    ]  # fmt: skip
    images = [Image(f"{name}{k}", f"{k}.png") for k in range(items)]
    bench = make_benchmark(Card(name, measures=("accuracy",)), Path(), every, images)
    runs = []
    for s, share in enumerate(shares):
        right = rng.random(items) < share
        rows = [(f"{name}:{k}", 0, j, "", float((j == 0) == right[k]))
                for k in range(items) for j in (0, 1)]  # fmt: skip
        card = RunCard(f"system{s}", "scorer", bench.name, bench.sha256)
        runs.append(Run(card, bench, scores_frame(rows), answers_frame([])))
    return runs


def rankings(seed: int) -> Held:
    """Kendall's tau of two benchmarks' orders of six systems."""
    first, second, truth = ranked_runs(seed)
    row = (
        analyse_rankings([*first, *second], RankingOptions(resamples=500))
        .table("rankings")
        .row(0, named=True)
    )
    return {"rankings, tau": [row["low"] - 1e-9 <= truth <= row["high"] + 1e-9]}


def rated(seed: int) -> Held:
    """The mean of ratings of captions, several of which share an image."""
    rng = np.random.default_rng(seed)
    images = rng.normal(size=60)
    tasks, clusters = [], []
    for k, level in enumerate(np.repeat(images, rng.integers(1, 5, size=60))):
        given = np.clip(np.round(3 + 0.8 * level + rng.normal(size=3)), 1, 5).astype(int)
        said = tuple(Judgement(str(p), str(one), None, ()) for p, one in enumerate(given))
        tasks.append(JudgedTask(k, None, "rate", "rate-detail", Matter(str(k), "x", (), ("a",)),
                                "closed", True, None, said))  # fmt: skip
        clusters.append(int(np.searchsorted(np.sort(images), level)))
    found = mean_rating("rate", tasks, np.array(clusters))
    assert found is not None
    draws = np.random.default_rng(1).normal(size=(400_000, 2)) @ np.array([0.8, 1.0])
    truth = float(np.clip(np.round(3 + draws), 1, 5).mean())
    return {"ratings, mean": [found.low <= truth <= found.high]}


def recall(seed: int) -> Held:
    """Recall@1 of 300 queries with 60% found; people take half of the errors for right."""
    rng = np.random.default_rng(seed)
    found = rng.random(300) < 0.6
    fine = rng.random(300) < 0.5
    rows = [
        (f"t2i-{k}", "text to image", f"i{k}", "a", 1 if found[k] else 2, "i0", "a")
        for k in range(300)
    ]
    names = ["query", "direction", "image", "caption", "rank", "found_image", "found_caption"]
    with tempfile.TemporaryDirectory() as folder:
        queries, judged = Path(folder) / "q.csv", Path(folder) / "j.csv"
        pl.DataFrame(rows, schema=names, orient="row").write_csv(queries)
        said = [(f"query:t2i-{k}", "yes" if fine[k] else "no") for k in range(300) if not found[k]]
        pl.DataFrame(said, schema=["item", "choice"], orient="row").write_csv(judged)
        row = analyse_recall_errors(
            queries, RecallErrorOptions(judgements=judged, resamples=500)
        ).table("recall")
    low, high = row["low"][1], row["high"][1]
    return {"recall-errors, corrected": [low <= 0.8 <= high]}


def shared_noise(rng: np.random.Generator, rows: int, groups: int) -> tuple[Ints, Floats]:
    """The group of each row, and normal noise of which a part is the group's own."""
    group = rng.integers(groups, size=rows)
    noise = 0.6 * rng.normal(size=groups)[group] + 0.8 * rng.normal(size=rows)
    return np.unique(group, return_inverse=True)[1], noise


def placed(rng: np.random.Generator, rows: int, effect: float) -> tuple[Floats, Floats, Ints]:
    """Right or wrong by the foil's place (1 to 10), in groups of rows that share their luck."""
    group, noise = shared_noise(rng, rows, max(2, rows // 4))
    place = rng.integers(1, 11, size=rows).astype(float)
    right = (effect * (place - 5.5) + noise > 0).astype(float)
    return right, place, group


def position(seed: int) -> Held:
    """Tau-b of right answers with a place that has an effect, and with one that has none."""
    held: Held = {}
    for name, effect in (("position, no effect", 0.0), ("position, an effect", 0.15)):
        rng = np.random.default_rng(seed)
        right, place, group = placed(rng, 600, effect)
        tau = rank_correlations(right, place, group, rng).tau_b
        assert tau.low is not None and tau.high is not None
        held[name] = [tau.low <= _tau(effect) <= tau.high]
    return held


@cache
def _tau(effect: float) -> float:
    """The tau-b of a very large sample."""
    if effect == 0:
        return 0.0
    right, place, _ = placed(np.random.default_rng(10**6), 60_000, effect)
    return float(kendalltau(right, place).statistic)


def captioned(seed: int) -> Held:
    """The AUC of scores that are 0.5 higher where answers are right, and of ones that are not."""
    held: Held = {}
    for name, gap in (("scores, no difference", 0.0), ("scores, a difference", 0.5)):
        rng = np.random.default_rng(seed)
        group, noise = shared_noise(rng, 500, 150)
        right = rng.random(500) < 0.7
        scores = noise + gap * right
        _, interval = auc(scores[right], scores[~right], group[right], group[~right])
        held[name] = [interval.low <= norm.cdf(gap / np.sqrt(2)) <= interval.high]
    return held


def agreed(seed: int) -> Held:
    """Cohen's kappa of two runs that are right 70% of the time, alone or with common luck."""
    held: Held = {}
    for name, common in (("agreement, independent", 0.0), ("agreement, common luck", 0.4)):
        rng = np.random.default_rng(seed)
        one = rng.random(400) < 0.7
        other = np.where(rng.random(400) < common, one, rng.random(400) < 0.7)
        both = np.column_stack([one, other]).astype(np.int64)
        found = cohen_kappa(both, np.arange(400), rng, 500)
        held[name] = [found.low <= common <= found.high]
    return held


CAMPAIGNS: tuple[Callable[[int], Held], ...] = (
    regression, groups, rankings, rated, recall, position, captioned, agreed,
)  # fmt: skip


def coverage(campaign: Callable[[int], Held], seeds: range) -> dict[str, float]:
    """The share of intervals that hold the truth, by statistic."""
    held: Held = {}
    for seed in seeds:
        for name, hits in campaign(seed).items():
            held.setdefault(name, []).extend(hits)
    return {name: float(np.mean(hits)) for name, hits in held.items()}


GLMER = """
suppressMessages(library(lme4))
d <- read.csv("{table}")
m <- glmer(y ~ x1 + x2 + x3 + (1|pair) + (1|category), data=d, family=binomial)
cat(fixef(m), as.data.frame(VarCorr(m))$sdcor[match(c("pair", "category"),
    as.data.frame(VarCorr(m))$grp)])
"""


def by_lme4(right: Floats, facts: Floats, factors: list[Ints]) -> list[float] | None:
    """The effects and the two spreads by glmer; None where there is no R with lme4."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "d.csv"
        columns = {"y": right.astype(int), **{f"x{k}": facts[:, k] for k in (1, 2, 3)}}
        pl.DataFrame({**columns, "pair": factors[0], "category": factors[1]}).write_csv(table)
        done = subprocess.run(["Rscript", "-e", GLMER.format(table=table)], capture_output=True,
                              text=True, check=False)  # fmt: skip
    return [float(one) for one in done.stdout.split()] if done.returncode == 0 else None


def ours(fit: MixedLogit) -> list[float]:
    """The same numbers of our fit."""
    return [one.value for one in fit.terms] + [one.value for one in fit.spreads]


def variational_width(right: Floats, facts: Floats, factors: list[Ints]) -> float:
    """How wide statsmodels' variational intervals of the pairs' facts are beside ours."""
    from scipy.sparse import csr_matrix
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

    rows = np.arange(len(right))
    levels = [int(codes.max()) + 1 for codes in factors]
    columns = np.concatenate([factors[0], levels[0] + factors[1]])
    random = csr_matrix((np.ones(2 * len(right)), (np.tile(rows, 2), columns)))
    ident = np.repeat([0, 1], levels)
    model = BinomialBayesMixedGLM(right, facts, random, ident)
    fitted = model.fit_vb()
    own = fit_mixed_logit(right, facts, factors)
    return float(np.mean([fitted.fe_sd[k] / own.terms[k].error for k in (1, 2)]))


def main() -> None:
    """Run every campaign; the exit code says whether all passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    given = parser.parse_args()
    failed = False
    for campaign in CAMPAIGNS:
        for name, share in coverage(campaign, range(given.seeds)).items():
            failed |= share < ENOUGH
            print(f"{name}: {100 * share:.1f}% of intervals hold the truth", flush=True)
    for seed in range(3):
        simulated = planted(seed)
        theirs = by_lme4(*simulated)
        if theirs is None:
            print("lme4 is not there: left out")
            break
        apart = np.abs(np.array(theirs) - np.array(ours(fit_mixed_logit(*simulated)))).max()
        failed |= apart > 0.02
        print(f"seed {seed}: at most {apart:.4f} from glmer of lme4")
    width = np.mean([variational_width(*planted(seed)) for seed in range(3)])
    print(f"variational errors of facts of pairs are {100 * width:.0f}% of ours")
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
