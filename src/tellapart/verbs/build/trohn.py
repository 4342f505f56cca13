"""`build trohn-text`, `build trohn-img`: training sets with hard negative texts and images.

Miranda et al. 2024, sections 5.1 and 5.2, as named pipelines: a YAML file has the settings of each
step; a killed pipeline resumes at its last step, and each step says how many items were left. The
result is a benchmark with `train` and `validation` inside, split by image (the paper split by
caption, so an image could be in both).
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadInput, UnknownName
from tellapart.options import Help
from tellapart.types import Progress, silent
from tellapart.verbs import open_benchmark
from tellapart.verbs.build import BuildOptions, CorpusArgument, OutArgument, builder_verb

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark, Card
    from tellapart.items import Item
    from tellapart.makers.candidates import Candidates

TRAIN, VALIDATION = "train", "validation"
KNOWN = {
    "trohn-text": {"by": str, "details": str, "per_caption": int, "validation": float},
    "trohn-img": {
        "plausibility": str, "grammar": str, "keep": float, "combine": str, "similar": float,
        "bins_a_side": int, "within": str, "scale": str, "folds": int, "maker": str,
        "validation": float,
    },
}  # fmt: skip
"""The settings of each pipeline, and their types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrohnOptions(BuildOptions):
    """A file of settings, and changes to single ones."""

    settings: Annotated[
        Path | None, Help("YAML file with settings (default: the paper's, as far as known).")
    ] = None
    put: Annotated[
        tuple[str, ...],
        Help("Change a setting, such as maker=world:; may be repeated.", flag="--set", repeat=True),
    ] = ()


def trohn_text(
    corpus: CorpusArgument,
    out: OutArgument,
    options: TrohnOptions = TrohnOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Benchmark:
    """Hard negative texts to train on: one of each kind for every caption, split by image."""
    from tellapart._version import __version__
    from tellapart.benchmark.benchmark import load_benchmark
    from tellapart.files import resumable_folder
    from tellapart.mine.hard_images import by_kind
    from tellapart.seeds import digest
    from tellapart.verbs.build import source_corpus
    from tellapart.verbs.build.negatives import NegativesOptions, negatives

    settings = read_settings("trohn-text", options)
    source = source_corpus(corpus, out, options)
    job = digest(
        "trohn-text", __version__, settings, source.name, source.captions.height, options.seed
    )
    with resumable_folder(Path(out), job, overwrite=options.overwrite) as partial:
        if not (partial / "negatives" / "benchmark.json").is_file():
            method = {name: settings[name] for name in ("by", "details", "per_caption")}
            wanted = NegativesOptions(
                **method, unfiltered=True, items=options.items, seed=options.seed
            )
            negatives(source, partial / "negatives", wanted, progress)
        made = load_benchmark(partial / "negatives")
        kinds = sorted(made.card.made["kinds"])
        steps = {
            "captions": dict.fromkeys(kinds, source.captions.height),
            "well-formed negatives": by_kind(item.kind for item in made.items),
        }
        _write(made, list(made.items), partial, settings, steps, "trohn-text", options)
    return load_benchmark(out)


def trohn_img(
    corpus: Annotated[
        Path | str, Help("A benchmark of negatives, such as the output of build trohn-text.")
    ],
    out: OutArgument,
    options: TrohnOptions = TrohnOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Benchmark:
    """Hard negative images to train on: the best negative texts, refined, each with an image."""
    from tellapart._version import __version__
    from tellapart.benchmark.benchmark import load_benchmark
    from tellapart.files import check_free, resumable_folder
    from tellapart.makers.candidates import REFUSED, make_candidates
    from tellapart.makers.maker import load_maker
    from tellapart.mine.hard_images import by_kind, hard_captions, sample_captions
    from tellapart.seeds import digest
    from tellapart.verbs.benchmarks.refine import refine

    settings = read_settings("trohn-img", options)
    check_free(Path(out), overwrite=options.overwrite)
    whole = open_benchmark(corpus)
    maker = load_maker(settings["maker"])
    job = digest("trohn-img", __version__, settings, whole.sha256, options.items, options.seed)
    with resumable_folder(Path(out), job, overwrite=options.overwrite) as partial:
        if not (partial / "refined" / "benchmark.json").is_file():
            refine(whole, partial / "refined", _refine_options(settings, options), progress)
        refined = load_benchmark(partial / "refined")
        hard = sample_captions(list(hard_captions(refined, ())), options.items, options.seed)
        wanted = {one: one.requests(1, options.seed, refined.picture(one.image))[0] for one in hard}
        made = make_candidates(maker, list(wanted.values()), partial, progress)
        items = [
            _square(one.image, request.key, (one.caption, one.negative), one.kind, one.id, options)
            for one, request in wanted.items()
            if request.key in made.images
        ]
        steps = {
            "negatives": by_kind(item.kind for item in whole.items),
            "refined": by_kind(item.kind for item in refined.items),
            "with an image": by_kind(item.kind for item in items),
        }
        both = _with_images(refined, made)
        settings = {**settings, "maker": maker.facts.to_json()}
        _take_away(partial / REFUSED)
        _write(both, items, partial, settings, steps, "trohn-img", options)
    return load_benchmark(out)


def _refine_options(settings: Mapping[str, Any], options: TrohnOptions) -> Any:
    from tellapart.verbs.benchmarks.refine import TWO_SCORES, RefineOptions

    names = (
        "plausibility", "grammar", "keep", "combine", "similar", "bins_a_side", "within", "scale",
        "folds",
    )  # fmt: skip
    return RefineOptions(
        way=TWO_SCORES, seed=options.seed, **{name: settings[name] for name in names}
    )


def _square(
    image: str, made: str, captions: tuple[str, str], kind: str, source: str, options: TrohnOptions
) -> Item:
    """An item whose two pairs are assumed to be true: nobody checked them."""
    from tellapart import seeds
    from tellapart.items import Grid, Item, Origin, drawn_order

    rng = seeds.rng(options.seed, "trohn", image, made)
    grid = Grid.square((image, made), captions, drawn_order(rng), drawn_order(rng))
    origin = Origin("tellapart build trohn-img", "", source, options.seed)
    return Item.built("trohn", grid, kind=kind, origin=origin)


def _with_images(refined: Benchmark, made: Candidates) -> Benchmark:
    """The refined benchmark plus the generated pictures, with paths relative to its folder."""
    from tellapart.benchmark.images import ImageTable

    beside = [replace(image, uri=f"../{image.uri}") for image in made.images.values()]
    images = ImageTable.of([*refined.images.values(), *beside])
    return replace(refined, images=images)


def _take_away(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _write(
    source: Benchmark,
    items: Sequence[Item],
    folder: Path,
    settings: Mapping[str, Any],
    steps: Mapping[str, Mapping[str, int]],
    name: str,
    options: TrohnOptions,
) -> None:
    """Write the whole benchmark, and its two parts split by image."""
    from tellapart.benchmark.benchmark import make_benchmark, write_benchmark

    validation = float(settings["validation"])
    card = _card(source, settings, steps, name, options)
    whole = make_benchmark(card, source.root, items, source.images)
    write_benchmark(whole, folder)
    held_out = _held_out([item.group for item in whole.items], validation, options.seed)
    for part in (TRAIN, VALIDATION):
        chosen = [item for item in whole.items if (item.group in held_out) == (part == VALIDATION)]
        if not chosen:
            raise BadInput(
                f"no items are left for {part}",
                allowed="a share of images between 0 and 1 for validation, and enough of them",
            )
        own = make_benchmark(replace(card, name=f"{card.name}-{part}"), source.root, chosen,
                             source.images)  # fmt: skip
        (folder / part).mkdir(exist_ok=True)
        write_benchmark(own, folder / part)


def _held_out(groups: Sequence[str], share: float, seed: int) -> set[str]:
    """Groups of items that share images, drawn until the share of items is reached."""
    from collections import Counter

    from tellapart import seeds

    sizes = Counter(groups)
    order = sorted(sizes, key=lambda group: seeds.unit(seed, "trohn", "split", group))
    taken: set[str] = set()
    number = 0
    for group in order:
        if number >= share * len(groups):
            break
        taken.add(group)
        number += sizes[group]
    return taken


def _card(
    source: Benchmark,
    settings: Mapping[str, Any],
    steps: Mapping[str, Mapping[str, int]],
    name: str,
    options: TrohnOptions,
) -> Card:
    from tellapart.benchmark.benchmark import Card
    from tellapart.verbs.build.bivlc import CITATION, MEASURES

    return Card(
        name=options.name or name,
        about=f"{name}: hard negatives to train on, from {source.name}; not verified",
        measures=MEASURES if name == "trohn-img" else ("accuracy",),
        made={
            "by": f"tellapart build {name}",
            "from": source.name,
            "settings": dict(settings),
            "steps": {step: dict(counts) for step, counts in steps.items()},
            "split": "by groups of items that share images",
            "seed": options.seed,
        },
        licence=source.card.licence,
        citation=CITATION,
    )


def read_settings(name: str, options: TrohnOptions) -> dict[str, Any]:
    """The pipeline's default settings, changed by a file and by single options."""
    import yaml

    file = resources.files("tellapart.mine.recipes").joinpath(f"{name}.yaml")
    settings = dict(yaml.safe_load(file.read_text(encoding="utf-8")))
    for key, value, where in _changes(options):
        if key not in KNOWN[name]:
            error = UnknownName("setting", key, KNOWN[name])
            error.where = where
            raise error
        kind = KNOWN[name][key]
        try:
            settings[key] = kind(value)
        except (TypeError, ValueError, OverflowError):
            raise BadInput(
                f"{key}: {reprlib.repr(value)}", where=where, allowed=f"such as {settings[key]!r}"
            ) from None
    if not 0 < settings["validation"] < 1:
        raise BadInput(f"validation: {settings['validation']}", allowed="a share between 0 and 1")
    return settings


def _changes(options: TrohnOptions) -> Iterator[tuple[str, Any, str]]:
    from tellapart.yaml_files import read_yaml

    if options.settings is not None:
        where = str(options.settings)
        found = read_yaml(options.settings)
        if not isinstance(found, dict):
            raise BadInput(f"{where} contains no settings", where=where, allowed="name: value")
        yield from ((str(key), value, where) for key, value in found.items())
    for one in options.put:
        key, equals, value = one.partition("=")
        if not equals:
            raise BadInput(f"--set {one}", allowed="--set NAME=VALUE")
        yield key, value, f"--set {one}"


def _tables(made: Mapping[str, Any]) -> list[str]:
    from tellapart.verbs.build.bivlc import steps_table

    return steps_table(made)


TEXT = builder_verb(trohn_text, "tellapart build trohn-text captions.json trohn-text", _tables)
IMG = builder_verb(
    trohn_img, "tellapart build trohn-img trohn-text trohn-img --set maker=world:", _tables
)
