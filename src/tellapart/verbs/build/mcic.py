"""`build mcic`: an image and five captions, four of them decoys from other images.

Fair sets of options, or algorithm MC-IC as published (Ding et al. 2016, section 3.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadInput, PartDone, UnknownName
from tellapart.mine.mcic import FAIR_SETS, PAPER, WAYS
from tellapart.options import Gather, Help, ShardShare, Workers
from tellapart.types import Progress, silent
from tellapart.verbs.build import (
    BuildOptions,
    CorpusArgument,
    OutArgument,
    builder_card,
    builder_verb,
    source_corpus,
)

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.mine.captions import MinedCaptions
    from tellapart.mine.mcic.decoys import DecoyMine
    from tellapart.mine.mcic.items import McicSplit
    from tellapart.mine.mcic.score import ChosenDecoys, Guards
    from tellapart.mine.mcic.tuning import TunedMining, Tuning
    from tellapart.types import Ints32
    from tellapart.work.stages import StagedCrew

CHOICES = ("auto", *WAYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class McicOptions(BuildOptions):
    """The ways to build MCIC, and their settings.

    With `way` "fair-sets", five similar captions of five images share one set of options (see
    `mine/mcic/fair_sets.py`); with "paper", each caption gets its own decoys. "auto" means fair
    sets, unless `without` disables guards, which only the paper's way allows.

    `vectors` "auto" means tf-idf up to 50,000 captions, where it ranks siblings better, and
    paragraph vectors beyond that or if there is a grid to search. `dimensions`, `epochs` and
    `weights` with several values form a grid (see `mine/mcic/tuning.py`); `without` names guards
    to disable (see `Guards` in `mine/mcic/score.py`).
    """

    way: Annotated[
        str,
        Help(
            "fair-sets: five images share one set of options; paper: decoys for each "
            "caption; auto: fair-sets, or paper if --without is given.",
            flag="--options",
        ),
    ] = "auto"
    vectors: Annotated[
        str,
        Help(
            "paragraphs (trained here), tf-idf, sentences:NAME, a .npy or .parquet file with one "
            "vector per caption, or a file of word vectors; auto: tf-idf, or paragraphs "
            "if gensim is installed and there are 50,000 captions."
        ),
    ] = "auto"
    dimensions: Annotated[
        tuple[int, ...], Help("Dimensions of paragraph vectors; several values form a grid. [256]")
    ] = ()
    epochs: Annotated[
        tuple[int, ...], Help("Training epochs; several values form a grid. [as needed]")
    ] = ()
    weights: Annotated[
        tuple[float, ...],
        Help("Weight of the cosine in Score; several values form a grid. [0.3]", flag="--lambda"),
    ] = ()
    tune: Annotated[bool, Help("Search default grids for settings that are not given.")] = False
    sample: Annotated[int, Help("Maximum number of captions to tune on.")] = 10_000
    neighbours: Annotated[int, Help("N: decoys come from this many nearest neighbours.")] = 500
    decoys: Annotated[int, Help("Decoys per item.")] = 4
    max_bleu: Annotated[float, Help("L: decoys have a BLEU below this.", alias="--limit")] = 0.5
    smoothing: Annotated[
        str, Help("Smoothing of BLEU: exp, add-one, floor, epsilon, coco, none.")
    ] = "exp"
    search: Annotated[str, Help("Neighbour search: auto, exact or approximate.")] = "auto"
    split: Annotated[str, Help("Splits that share no images, such as train:0.8,test:0.2.")] = ""
    doubt: Annotated[
        float,
        Help(
            "Highest accepted probability that all captions of the image would omit what a decoy "
            "says if it were true."
        ),
    ] = 0.1
    least_near: Annotated[
        float,
        Help("Fair sets: minimum mean Score of a set, as a share of what the paper's way reaches."),
    ] = 0.6
    without: Annotated[
        tuple[str, ...],
        Help(
            "Guards to disable, as in the published procedure: length, shuffle, same-words, doubt, "
            "distinct, own-split, or all."
        ),
    ] = ()
    negative: Annotated[
        int, Help("Training: negative samples per word; 0 for hierarchical softmax.")
    ] = 5
    fast_training: Annotated[bool, Help("Train on all cores; not reproducible.")] = False
    workers: Workers = ""
    shard: ShardShare = ""
    gather: Gather = False

    @property
    def fair(self) -> bool:
        """Whether fair sets are built."""
        return self.way == FAIR_SETS or (self.way == "auto" and not self.without)

    def guards(self) -> Guards:
        """The active guards."""
        from tellapart.mine.mcic.fair_sets import LIKELY
        from tellapart.mine.mcic.score import Guards

        likely = LIKELY if self.fair else 1.0
        return Guards(doubt=self.doubt, likely=likely).without(self.without)

    def tuning(self) -> Tuning:
        """The grids to search."""
        from tellapart.mine.mcic.tuning import GRID, Tuning

        named = {name: getattr(self, name) for name in ("dimensions", "epochs", "weights")}
        grids = {name: values for name, values in named.items() if values}
        return replace(GRID if self.tune else Tuning(), sample=self.sample, **grids)

    def check(self) -> None:
        """Raise for invalid values."""
        from tellapart.text.caption_metrics.bleu import smoothing_of

        if self.way not in CHOICES:
            raise UnknownName("way to build mcic", self.way, CHOICES)
        if self.fair and self.without:
            raise BadInput(
                f"fair sets need the guards {', '.join(self.without)}",
                allowed="--without with --options paper; --doubt 1 to disable the doubt guard",
            )
        if self.fair and self.items is not None and self.items <= self.decoys:
            raise BadInput(
                f"items: {self.items}; a fair set has {self.decoys + 1} items",
                allowed=f"{self.decoys + 1} or more, or --options paper",
            )
        if self.least_near < 0:
            raise BadInput(f"least near: {self.least_near}", allowed="0 or more")
        smoothing_of(self.smoothing)
        self.guards().check()
        tuning = self.tuning()
        numbers = {
            "neighbours": (self.neighbours,),
            "decoys": (self.decoys,),
            "dimensions": tuning.dimensions,
            "epochs": tuning.epochs or (1,),
            "sample": (self.sample,),
        }
        for name, values in numbers.items():
            if min(values) < 1:
                raise BadInput(f"{name}: {', '.join(map(str, values))}", allowed="1 or more")
        if self.decoys > self.neighbours:
            raise BadInput(
                f"{self.decoys} decoys cannot come from {self.neighbours} neighbours",
                allowed="at least as many neighbours as decoys",
            )
        for name, shares in {"lambda": tuning.weights, "L": (self.max_bleu,)}.items():
            if not all(0 <= share <= 1 for share in shares):
                raise BadInput(f"{name}: {', '.join(map(str, shares))}", allowed="0 to 1")


def mcic(
    corpus: CorpusArgument,
    out: OutArgument,
    options: McicOptions = McicOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Benchmark:
    """An image and five captions, four of them decoys from other images."""
    from tellapart.work.stages import staged_crew

    options.check()
    with staged_crew(Path(out), options.workers, options.shard, options.gather) as crew:
        return _built(source_corpus(corpus, out, options), Path(out), options, crew, progress)


def _built(
    source: Corpus,
    out: Path,
    options: McicOptions,
    crew: StagedCrew | None,
    progress: Progress,
) -> Benchmark:
    from tellapart.benchmark.benchmark import load_benchmark
    from tellapart.files import whole_folder
    from tellapart.mine.captions import MinedCaptions
    from tellapart.mine.mcic.items import write_splits

    captions = MinedCaptions.of(source)
    if len(captions.images) < 2:
        raise BadInput(
            f"{options.name or 'mcic'} has no items: {source.name} has captions of only one "
            "image, and decoys must come from others",
            allowed="captions of several images",
        )
    tuned = _tuned(captions, options, progress)
    splits = list(_splits(captions, tuned, source, options, crew, progress))
    how = {
        "options": WAYS[FAIR_SETS if options.fair else PAPER],
        **tuned.for_card(),
        "guards": asdict(options.guards()),
        "splits": options.split,
    }
    items = [one.item for split in splits for one in split.items]
    card = builder_card("mcic", source, options, how, items=items)
    with whole_folder(out, overwrite=options.overwrite) as partial:
        write_splits(splits, card, tuned.trials, source, partial, copy_images=options.copy_images)
    return load_benchmark(out)


def _tuned(captions: MinedCaptions, options: McicOptions, progress: Progress) -> TunedMining:
    from tellapart.mine.mcic.score import DecoyChoice
    from tellapart.mine.mcic.tuning import Tuner
    from tellapart.mine.neighbours.nearest import Search
    from tellapart.text.gensim_vectors import ParagraphOptions

    choice = DecoyChoice(
        options.neighbours, options.decoys, options.max_bleu, smoothing=options.smoothing
    )
    training = ParagraphOptions(
        negative=options.negative, fast=options.fast_training, seed=options.seed
    )
    search = Search(options.search)
    tuner = Tuner(captions, options.tuning(), choice, training, search, progress)
    return tuner.tuned(options.vectors)


def _splits(
    captions: MinedCaptions,
    tuned: TunedMining,
    corpus: Corpus,
    options: McicOptions,
    crew: StagedCrew | None,
    progress: Progress,
) -> Iterator[McicSplit]:
    """The items of each split, or of the whole corpus."""
    import numpy as np

    from tellapart.mine.informativeness import StemAgreement
    from tellapart.mine.mcic.decoys import DecoyMine
    from tellapart.mine.mcic.items import McicSplit
    from tellapart.mine.neighbours.nearest import Search
    from tellapart.mine.verifier import Verifier

    verifier, guards = Verifier(corpus, options.verifier), options.guards()
    parts: list[PartDone] = []
    stems = StemAgreement.of(captions)
    for name, places in captions.splits(options.split, options.seed).items():
        pool, vectors, targets = captions, tuned.vectors, places
        if guards.own_split and len(places) < len(captions):
            pool, vectors = captions.only(places), vectors.only(places)
            targets = np.arange(len(places), dtype=np.int32)
        mine = DecoyMine(
            pool, vectors, stems, tuned.choice, guards, Search(options.search), verifier,
            options.seed, crew,
        )  # fmt: skip
        choose = _fair_decoys if options.fair else _nearest_decoys
        try:
            asked, chosen, found = choose(mine, targets, name, options, progress)
        except PartDone as part:  # this split's share; the other splits have shares, too
            parts.append(part)
            continue
        facts = {
            **found,
            "search": mine.neighbours.method,
            "recall": round(mine.neighbours.recall(tuned.choice.neighbours), 4),
            "true_captions_let_through": round(mine.true_captions_let_through, 4),
        }
        yield McicSplit(
            name, pool, asked, chosen, guards, corpus.name, options.seed, options.items,
            len(targets if options.fair else asked), facts,
        )  # fmt: skip
    if parts:
        raise PartDone.of(parts)


Decoys = tuple["Ints32", "ChosenDecoys", dict[str, Any]]
"""Target captions, the decoys of each, and facts about them."""


def _nearest_decoys(
    mine: DecoyMine, targets: Ints32, split: str, options: McicOptions, progress: Progress
) -> Decoys:
    """For each caption, the decoys with the highest Score."""
    from tellapart import seeds

    if options.items is not None:
        targets = seeds.rng(options.seed, "mcic", "targets", split).permutation(targets)
    chosen = mine.decoys(targets, progress, options.items)
    return targets[: len(chosen.captions)], chosen, {}


def _fair_decoys(
    mine: DecoyMine, targets: Ints32, split: str, options: McicOptions, progress: Progress
) -> Decoys:
    """Sets of similar captions, each with the others as its decoys."""
    from tellapart.mine.mcic.fair_sets import FairSets

    sets = FairSets(mine, options.least_near)
    most = None if options.items is None else options.items // (options.decoys + 1)
    asked, chosen = sets.chosen(most, progress)
    if not len(asked):
        what, size = options.name or "mcic", options.decoys + 1
        where = f" of the split {split}" if split else ""
        raise BadInput(
            f"{what} has no items: no {size} captions{where} of different images are similar and "
            "each false of the others' images",
            allowed="a corpus with several images of each sort",
            todo="use a larger corpus, or looser options (--least-near, --max-bleu, --doubt)",
        )
    return asked, chosen, {"paper_score": round(sets.paper_score, 4)}


def _tables(made: Mapping[str, Any]) -> Iterator[str]:
    """The tuning trials, the paper's Table 1 and more."""
    from tellapart.mine.mcic.tuning import trial_table
    from tellapart.mine.statistics import mcic_table

    if made.get("tuned"):
        yield trial_table(made["tuned"])
    if made.get("statistics"):
        yield mcic_table(made["statistics"])


VERB = builder_verb(
    mcic,
    "tellapart build mcic captions.json my-mcic --images val2014 "
    "--split train:0.8,dev:0.1,test:0.1",
    _tables,
)
