"""The verb `refine`: of many negatives those that two text-only scores cannot tell from the truth.

Miranda et al. 2024, BiVLC, section 5.2, steps 1 to 3, after Hsieh et al. 2023, SugarCrepe: the best
35% of each kind by plausibility and grammar, without duplicates and malformed ones, then as many
whose original is ahead as whose negative is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart import registry
from tellapart.errors import BadInput
from tellapart.options import Cache, Help, Overwrite, Seed, UseCache
from tellapart.types import Progress, silent
from tellapart.verbs import OutFolder, Verb, open_benchmark

if TYPE_CHECKING:
    import polars as pl

    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.mine.refinement import Refinement, RefineRecipe

TABLE = "refinement.parquet"
"""Every negative with its scores and what became of it; can be refined again as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineOptions:
    """How to refine.

    `plausibility` and `grammar` are models (strings such as `vera`, `cola`, `blind`,
    `hf:NAME?head=lm`, or objects) or folders of runs; a table of scores needs none. `cache` None
    means `TELLAPART_CACHE`, else `~/.cache/tellapart`.
    """

    plausibility: Annotated[
        Any, Help("What gives the first score: vera, blind, hf:NAME?head=lm, a run, ...")
    ] = ""
    grammar: Annotated[
        Any, Help("What gives the second: cola, hf:NAME?head=classifier, a run, ...")
    ] = ""
    keep: Annotated[float, Help("The share of each kind that is chosen.")] = 0.35
    bins: Annotated[int, Help("Bins of the gaps by each score, from -1 to 1.")] = 50
    scale: Annotated[str, Help("rank, or given where scores are already probabilities.")] = "rank"
    folds: Annotated[
        int, Help("Images are held out in this many parts; 1: exact, nothing held out.")
    ] = 10
    seed: Seed = 0
    name: Annotated[str, Help("The new benchmark's name.")] = ""
    batch_size: Annotated[int, Help("How many captions a model gets at a time.")] = 64
    cache: Cache = None
    use_cache: UseCache = True
    overwrite: Overwrite = False

    @property
    def recipe(self) -> RefineRecipe:
        """What the steps of refining need of them."""
        from tellapart.mine.refinement import RefineRecipe

        return RefineRecipe(self.keep, self.bins, self.scale, self.folds, self.seed)


def refine(
    source: Annotated[
        Benchmark | Path | str,
        Help("A benchmark's folder or name, or a table of scored negatives.", metavar="BENCH"),
    ],
    out: OutFolder,
    options: RefineOptions = RefineOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Refinement:
    """Keep the negatives that two text-only scores cannot tell from the truth.

    The best of each kind by both scores, without duplicates and malformed ones; then as many
    whose original is ahead as whose negative is, in every cell of a grid of gaps.

    In Python: OUT becomes a benchmark with the items that are kept (of a table, a folder without
    one). Beside it `refinement.parquet` says of every negative what became of it,
    `refinement.json` is what is returned.
    """
    from tellapart.benchmark.benchmark import Benchmark, make_benchmark, write_benchmark
    from tellapart.files import TABLE_KINDS, suffix, whole_folder
    from tellapart.mine.negative_scores import SCORES, Scoring, name_of, score_table, scored
    from tellapart.mine.refinement import refined, report
    from tellapart.store.cache import default_folder

    options.recipe.check()
    if not isinstance(source, Benchmark) and suffix(Path(source)) in TABLE_KINDS:
        return _refine_table(Path(source), Path(out), options)
    whole = open_benchmark(source)
    models = (options.plausibility, options.grammar)
    _check_models(models)
    cache = (options.cache or default_folder()) if options.use_cache else None
    table = score_table(whole, models, Scoring(options.batch_size, cache, progress))
    names = dict(zip(SCORES, map(name_of, models), strict=True))
    done = refined(scored(table, whole.root), options.recipe)
    outcomes, summary = done.table(), report(done, whole.name, names)
    kept = set(outcomes["id"].filter(done.kept))
    items = [item for item in whole.items if item.id in kept]
    made = {**whole.card.made, "refined_of": whole.sha256, "refined": summary.to_json()}
    card = replace(whole.card, name=options.name or f"{whole.name}-refined", made=made)
    part = make_benchmark(card, whole.root, items, whole.images)
    with whole_folder(Path(out), overwrite=options.overwrite) as partial:
        write_benchmark(part, partial)
        _write(partial, outcomes, summary)
    return summary


def _refine_table(path: Path, out: Path, options: RefineOptions) -> Refinement:
    from tellapart.files import read_table, whole_folder
    from tellapart.mine.negative_scores import SCORES, scored
    from tellapart.mine.refinement import refined, report

    done = refined(scored(read_table(path), path), options.recipe)
    summary = report(done, path.name, dict.fromkeys(SCORES, path.name))
    with whole_folder(out, overwrite=options.overwrite) as partial:
        _write(partial, done.table(), summary)
    return summary


def _write(folder: Path, table: pl.DataFrame, report: Refinement) -> None:
    from tellapart.files import write_json, write_parquet

    write_parquet(folder / TABLE, table)
    write_json(folder / "refinement.json", report.to_json())


def _check_models(models: tuple[Any, ...]) -> None:
    """Raise for what cannot give scores, before the other one has been asked for hours."""
    from tellapart.mine.negative_scores import SCORES, is_run
    from tellapart.models.names import ModelName

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


VERB = Verb(
    refine,
    example="tellapart refine my-negatives refined --plausibility vera --grammar cola",
    text=lambda report, given: f"{report}\n->  {given.out}",
    json=lambda report, given: {"out": str(given.out), **report.to_json()},
    resumes=True,
)
