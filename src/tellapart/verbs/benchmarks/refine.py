"""The verb `refine`: the part of a benchmark that cannot be guessed from the text alone.

The way `fair` removes items until blind attackers are at chance (`attack/fair_items.py`). The way
`two-scores` keeps the negatives that two text-only scores cannot tell from the truth: Miranda et
al. 2024, BiVLC, section 5.2, steps 1 to 3, after Hsieh et al. 2023, SugarCrepe: the best 35% of
each kind by plausibility and grammar, without duplicates and malformed ones, then equally many
whose original scores higher and whose negative does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart import registry
from tellapart.errors import BadInput, UnknownName
from tellapart.options import Cache, Gather, Help, Overwrite, Seed, ShardShare, UseCache, Workers
from tellapart.types import Progress, silent
from tellapart.verbs import OutFolder, Verb, open_benchmark, open_corpus

if TYPE_CHECKING:
    import polars as pl

    from tellapart.attack.fair_items import FairItems
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.mine.refinement import RefinedNegatives, Refinement, RefineRecipe
    from tellapart.work.stages import StagedCrew

FAIR, TWO_SCORES = WAYS = ("fair", "two-scores")
TABLE = "refinement.parquet"
"""Every negative with its scores and outcome; `refine` can read this table again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineOptions:
    """How to refine.

    `plausibility` and `grammar` are models (strings such as `vera`, `cola`, `blind`,
    `hf:NAME?head=lm`, or objects) or folders of runs; a table of scores needs none. `cache` None
    means `TELLAPART_CACHE`, else `~/.cache/tellapart`.
    """

    way: Annotated[
        str,
        Help(
            "fair (attackers are at chance) or two-scores (default: two-scores if scores "
            "are given)."
        ),
    ] = ""
    captions_from: Annotated[
        Any,
        Help("fair: corpus that the attackers learn from (default: the benchmark's own captions)."),
    ] = None
    plausibility: Annotated[
        Any, Help("Source of the first score: vera, blind, hf:NAME?head=lm, a run, ...")
    ] = ""
    grammar: Annotated[
        Any, Help("Source of the second score: cola, hf:NAME?head=classifier, a run, ...")
    ] = ""
    keep: Annotated[float, Help("Share of each kind to select.")] = 0.35
    combine: Annotated[
        str, Help("Select by the mean of both scores (mean), or by each of them separately (both).")
    ] = "mean"
    similar: Annotated[
        float, Help("Drop negatives at least this similar to their original, such as 0.999.")
    ] = 0.0
    bins: Annotated[int, Help("Number of bins for the score gaps, from -1 to 1.")] = 50
    bins_a_side: Annotated[
        int, Help("Bins as SugarCrepe counts them: this many on either side of 0.")
    ] = 0
    within: Annotated[str, Help("Balance the gaps within each kind (kind), or over all kinds.")] = (
        "kind"
    )
    scale: Annotated[str, Help("rank, or given if the scores are already probabilities.")] = "rank"
    folds: Annotated[
        int, Help("Hold images out in this many folds; 1: exact, nothing held out.")
    ] = 10
    seed: Seed = 0
    name: Annotated[str, Help("Name of the new benchmark.")] = ""
    batch_size: Annotated[int, Help("How many captions a model processes at a time.")] = 64
    cache: Cache = None
    use_cache: UseCache = True
    workers: Workers = ""
    shard: ShardShare = ""
    gather: Gather = False
    overwrite: Overwrite = False

    @property
    def chosen_way(self) -> str:
        """The requested way, by name or implied by other options."""
        way = self.way or (TWO_SCORES if self.plausibility or self.grammar else FAIR)
        if way not in WAYS:
            raise UnknownName("way to refine", way, WAYS)
        return way

    @property
    def recipe(self) -> RefineRecipe:
        """The settings of the refinement steps."""
        from tellapart.mine.refinement import RefineRecipe

        bins = 2 * self.bins_a_side or self.bins
        return RefineRecipe(
            self.keep, bins, self.scale, self.folds, self.seed,
            combine=self.combine, within=self.within, similar=self.similar,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refined:
    """How many items were given and kept, and the report of the way used; prints itself."""

    way: str
    given: int
    kept: int
    report: FairItems | Refinement

    def to_json(self) -> dict[str, Any]:
        """For `--json`, the card and `refinement.json`."""
        counts = {"way": self.way, "given": self.given, "kept": self.kept}
        return {**self.report.to_json(), **counts}

    def __str__(self) -> str:
        return str(self.report)


def refine(
    source: Annotated[
        Benchmark | Path | str,
        Help("Folder or name of a benchmark, or a table of scored negatives.", metavar="BENCH"),
    ],
    out: OutFolder,
    options: RefineOptions = RefineOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Refined:
    """Keep the part of a benchmark that cannot be guessed from the text alone.

    Items are removed until attackers that read captions but never look are at chance on the rest.
    Half of the images take no part in the choice and show the attackers' accuracy before and after.

    With two scores (--plausibility, --grammar), the papers' way: the best negatives of each kind by
    both, without duplicates and malformed ones; then, in every cell of a grid of score gaps,
    equally many whose original scores higher and whose negative does.

    In Python: OUT becomes a benchmark with the kept items (for a table, only a folder with the
    results); its `refinement.json` has the returned values. With two scores, `refinement.parquet`
    gives the outcome of every negative.
    """
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.files import TABLE_KINDS, suffix
    from tellapart.work.stages import no_shards, staged_crew

    table_given = not isinstance(source, Benchmark) and suffix(Path(source)) in TABLE_KINDS
    with staged_crew(Path(out), options.workers, options.shard, options.gather) as crew:
        if crew is not None and (table_given or options.chosen_way == FAIR):
            raise no_shards("this way to refine", "two models as --plausibility and --grammar")
        if not table_given and options.chosen_way == FAIR:
            return _refine_fairly(open_benchmark(source), Path(out), options, progress)
        options.recipe.check()
        if not isinstance(source, Benchmark) and suffix(Path(source)) in TABLE_KINDS:
            return _refine_table(Path(source), Path(out), options)
        return _refine_by_models(open_benchmark(source), Path(out), options, crew, progress)


def _refine_by_models(
    whole: Benchmark,
    out: Path,
    options: RefineOptions,
    crew: StagedCrew | None,
    progress: Progress,
) -> Refined:
    """Keep what two text-only models cannot tell from the truth."""
    from tellapart.benchmark.benchmark import make_benchmark, write_benchmark
    from tellapart.files import check_free, whole_folder
    from tellapart.mine.negative_scores import SCORES, Scoring, name_of, score_table, scored
    from tellapart.mine.refinement import refined, report
    from tellapart.store.cache import default_folder

    models = (options.plausibility, options.grammar)
    _check_models(models, shards=crew is not None)
    check_free(out, overwrite=options.overwrite)
    cache = (options.cache or default_folder()) if options.use_cache else None
    table = score_table(whole, models, Scoring(options.batch_size, cache, progress, crew))
    names = dict(zip(SCORES, map(name_of, models), strict=True))
    done = refined(scored(table, whole.root), options.recipe)
    outcomes, summary = done.table(), _two_scores(done, report(done, whole.name, names))
    kept = set(outcomes["id"].filter(done.kept))
    items = [item for item in whole.items if item.id in kept]
    made = {**whole.card.made, "refined_of": whole.sha256, "refined": summary.to_json()}
    card = replace(whole.card, name=options.name or f"{whole.name}-refined", made=made)
    part = make_benchmark(card, whole.root, items, whole.images)
    with whole_folder(out, overwrite=options.overwrite) as partial:
        write_benchmark(part, partial)
        _write(partial, outcomes, summary)
    return summary


def _refine_fairly(
    whole: Benchmark, out: Path, options: RefineOptions, progress: Progress
) -> Refined:
    """Remove items until attackers are at chance."""
    from tellapart.attack.fair_items import fair_part_of
    from tellapart.attack.statistics import CaptionSource
    from tellapart.benchmark.benchmark import make_benchmark, write_benchmark
    from tellapart.files import whole_folder, write_json

    given = options.captions_from
    captions = None if given is None else CaptionSource.of_corpus(open_corpus(given))
    found = fair_part_of(whole, captions, seed=options.seed, progress=progress)
    items = whole.items.rows(found.items)
    summary = Refined(FAIR, len(found.kept), int(found.kept.sum()), found)
    made = {**whole.card.made, "refined_of": whole.sha256, "refined": summary.to_json()}
    card = replace(whole.card, name=options.name or f"{whole.name}-fair", made=made)
    part = make_benchmark(card, whole.root, items, whole.images)
    if found.whole is not None:
        alone = {**found.whole.to_card(), "items_sha256": part.sha256}
        card = replace(part.card, made={**made, "text_alone": alone})
        part = replace(part, card=card)
    with whole_folder(out, overwrite=options.overwrite) as partial:
        write_benchmark(part, partial)
        write_json(partial / "refinement.json", summary.to_json())
    return summary


def _two_scores(done: RefinedNegatives, refinement: Refinement) -> Refined:
    return Refined(TWO_SCORES, len(done.kept), int(done.kept.sum()), refinement)


def _refine_table(path: Path, out: Path, options: RefineOptions) -> Refined:
    from tellapart.files import read_table, whole_folder
    from tellapart.mine.negative_scores import SCORES, scored
    from tellapart.mine.refinement import refined, report

    done = refined(scored(read_table(path), path), options.recipe)
    refinement = report(done, path.name, dict.fromkeys(SCORES, path.name))
    summary = _two_scores(done, refinement)
    with whole_folder(out, overwrite=options.overwrite) as partial:
        _write(partial, done.table(), summary)
    return summary


def _write(folder: Path, table: pl.DataFrame, summary: Refined) -> None:
    from tellapart.files import write_json, write_parquet

    write_parquet(folder / TABLE, table)
    write_json(folder / "refinement.json", summary.to_json())


def _check_models(models: tuple[Any, ...], *, shards: bool) -> None:
    """Raise for a model that cannot score, before the other one has run for hours."""
    from tellapart.mine.negative_scores import SCORES, is_run
    from tellapart.models.names import ModelName
    from tellapart.work.stages import no_shards

    for name, model in zip(SCORES, models, strict=True):
        if isinstance(model, str) and not model:
            raise BadInput(
                f"no source for the scores of {name}",
                allowed="vera, cola, blind, hf:NAME?head=lm, hf:NAME?head=classifier, another "
                "model, or the folder of a run",
                todo=f"name it with --{name} ({name}=...)",
            )
        if isinstance(model, str) and not is_run(model):
            registry.models.get(ModelName.parse(model).scheme)
    if shards and all(map(is_run, models)):
        raise no_shards("reading the scores of runs", "a model for at least one of the scores")


VERB = Verb(
    refine,
    example="tellapart refine sugarcrepe fair",
    text=lambda made, given: f"{made}\n->  {given.out}",
    json=lambda made, given: {"out": str(given.out), **made.to_json()},
    resumes=True,
)
