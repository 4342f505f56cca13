"""The verb `refine`: of many negatives those that two text-only scores cannot tell from the truth.

Miranda et al. 2024, BiVLC, section 5.2, steps 1 to 3, after Hsieh et al. 2023, SugarCrepe: the best
35% of each kind by plausibility and grammar, without duplicates and malformed ones, then as many
whose original is ahead as whose negative is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from tellapart import registry
from tellapart.benchmark.benchmark import (
    Benchmark,
    load_benchmark,
    make_benchmark,
    write_benchmark,
)  # fmt: skip
from tellapart.errors import BadInput
from tellapart.mine.negative_scores import (
    SCORES,
    Report,
    ScoredNegatives,
    Scoring,
    is_run,
    name_of,
    score_table,
    scored,
)
from tellapart.mine.refinement import KEPT, Refinement, RefineRecipe, refined, report
from tellapart.models.names import ModelName
from tellapart.score.encoder import BATCH
from tellapart.store.cache import default_folder
from tellapart.tables import (
    TABLE_KINDS,
    read_table,
    suffix,
    whole_folder,
    write_json,
    write_parquet,
)  # fmt: skip

TABLE = "refinement.parquet"
"""Every negative with its scores and what became of it; can be refined again as it is."""


@dataclass(frozen=True, slots=True)
class RefineOptions:
    """How to refine.

    `plausibility` and `grammar` are models (strings such as `vera`, `cola`, `blind`,
    `hf:NAME?head=lm`, or objects) or folders of runs; a table of scores needs none. `cache` None
    means `TELLAPART_CACHE`, else `~/.cache/tellapart`.
    """

    plausibility: Any = ""
    grammar: Any = ""
    recipe: RefineRecipe = field(default_factory=RefineRecipe)
    name: str = ""
    overwrite: bool = False
    batch_size: int = BATCH
    cache: Path | None = None
    use_cache: bool = True


def refine(
    source: Benchmark | Path | str,
    out: Path | str,
    options: RefineOptions = RefineOptions(),  # noqa: B008 (frozen)
    progress: Report = lambda label, done, total: None,
) -> Refinement:
    """Refine a benchmark of original and negative captions, or a table of scored negatives.

    OUT becomes a benchmark with the items that are kept (of a table, a folder without one). Beside
    it `refinement.parquet` says of every negative what became of it, `refinement.json` is what is
    returned.
    """
    options.recipe.check()
    if not isinstance(source, Benchmark) and suffix(Path(source)) in TABLE_KINDS:
        return _refine_table(Path(source), Path(out), options)
    whole = source if isinstance(source, Benchmark) else load_benchmark(source)
    models = (options.plausibility, options.grammar)
    _check_models(models)
    cache = (options.cache or default_folder()) if options.use_cache else None
    table = score_table(whole, models, Scoring(options.batch_size, cache, progress))
    names = dict(zip(SCORES, map(name_of, models), strict=True))
    done = _Done.of(scored(table, whole.root), options.recipe, whole.name, names)
    kept = set(done.table.filter(pl.col("outcome") == KEPT)["id"])
    items = [item for item in whole.items if item.id in kept]
    made = {**whole.card.made, "refined_of": whole.sha256, "refined": done.report.to_json()}
    card = replace(whole.card, name=options.name or f"{whole.name}-refined", made=made)
    part = make_benchmark(card, whole.root, items, whole.images.values())
    with whole_folder(Path(out), overwrite=options.overwrite) as partial:
        write_benchmark(part, partial)
        done.write(partial)
    return done.report


def _refine_table(path: Path, out: Path, options: RefineOptions) -> Refinement:
    table = read_table(path)
    names = dict.fromkeys(SCORES, path.name)
    done = _Done.of(scored(table, path), options.recipe, path.name, names)
    with whole_folder(out, overwrite=options.overwrite) as partial:
        done.write(partial)
    return done.report


@dataclass(frozen=True, slots=True)
class _Done:
    """The table with what became of each negative, and the report."""

    table: pl.DataFrame
    report: Refinement

    @classmethod
    def of(
        cls, scores: ScoredNegatives, recipe: RefineRecipe, name: str, sources: dict[str, str]
    ) -> _Done:
        done = refined(scores, recipe)
        return cls(done.table(), report(done, name, sources))

    def write(self, folder: Path) -> None:
        write_parquet(folder / TABLE, self.table)
        write_json(folder / "refinement.json", self.report.to_json())


def _check_models(models: tuple[Any, ...]) -> None:
    """Raise for what cannot give scores, before the other one has been asked for hours."""
    for name, model in zip(SCORES, models, strict=True):
        if isinstance(model, str) and not model:
            raise BadInput(
                f"nobody says what gives the scores of {name}",
                allowed="vera, cola, blind, hf:NAME?head=lm, hf:NAME?head=classifier, another "
                "model, or the folder of a run",
                todo=f"name it with --{name} ({name}=...)",
            )
        if isinstance(model, str) and not is_run(model):
            registry.models.get(ModelName.parse(model).scheme)
