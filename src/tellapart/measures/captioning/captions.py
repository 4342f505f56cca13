"""What systems wrote of images, judged against what people wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import read_corpus
from tellapart.errors import BadInput
from tellapart.measures.captioning.fewer import with_fewer
from tellapart.measures.captioning.judging import Drawn, Progress, Table, judge, pairs_of, scores_of
from tellapart.measures.captioning.matching import Judged, bring_together
from tellapart.measures.captioning.options import GIVEN, JUDGED, CaptionOptions, Chosen, choose
from tellapart.measures.captioning.results import CaptionScores
from tellapart.measures.captioning.systems import Written, read_written
from tellapart.store.cache import default_folder
from tellapart.text.caption_metrics.metric import Material, Texts
from tellapart.text.caption_metrics.references import DocumentFrequencies

Results = Path | str | Written


def judge_captions(
    results: Results | Sequence[Results],
    references: Corpus | Path | str,
    options: CaptionOptions = CaptionOptions(),  # noqa: B008 (frozen)
    progress: Progress = lambda label, done, total: None,
) -> CaptionScores:
    """Judge one system's captions, or several systems side by side.

    `results` are COCO results files or tables with an image and a caption in each row;
    `references` any corpus that can be read. Systems are judged on the images that all of them
    answered and that have references; what is left out is among the remarks.
    """
    options.check()
    chosen = choose(options.metrics)
    systems = _systems(results, options)
    if not isinstance(references, Corpus):
        references = read_corpus(references, options.reading)
    judged = bring_together(
        systems, references, skip_bad=options.skip_bad, every=options.every_image
    )
    texts = Texts(options.cache or default_folder())
    frequencies = _frequencies(options, references, texts)
    materials = [Material(own, judged.references, frequencies, texts) for own in judged.captions]
    metrics = chosen.metrics
    table = judge(materials, metrics, progress)
    fewer = with_fewer(judged.systems, materials, metrics, options.fewer, progress)
    drawn = Drawn.of(table, options.effort)
    skipped = (f"references: left out: {what}" for what in references.skipped[:5])
    return CaptionScores(
        tuple(scores_of(judged, metrics, drawn)),
        tuple(pairs_of(judged, metrics, drawn, options.effort)),
        tuple(fewer),
        _per_image(judged, chosen, table),
        (*judged.remarks, *skipped, *chosen.left_out),
        tuple(_methods(judged, chosen, options)),
    )


def _systems(results: Results | Sequence[Results], options: CaptionOptions) -> list[Written]:
    given = [results] if isinstance(results, Results) else list(results)
    if not given:
        raise BadInput("no results were given", allowed="one file or more")
    return [
        one
        if isinstance(one, Written)
        else read_written(one, options.columns, skip_bad=options.skip_bad)
        for one in given
    ]


def _frequencies(
    options: CaptionOptions, references: Corpus, texts: Texts
) -> DocumentFrequencies | None:
    """Where CIDEr's weights come from; None for the references of the images that are judged."""
    if options.frequencies == JUDGED:
        return None
    corpus = references
    if options.frequencies != GIVEN:
        corpus = read_corpus(options.frequencies, options.reading)
    return DocumentFrequencies.of([texts.tokens(own) for own in corpus.texts_by_image.values()])


def _per_image(judged: Judged, chosen: Chosen, table: Table) -> pl.DataFrame:
    """One row an image and system: what was written, and its score by each metric."""
    frames = []
    for s, system in enumerate(judged.systems):
        frame = pl.DataFrame(
            {"system": system, "image": judged.images, "caption": judged.captions[s]}
        )
        columns = {m.name: table[k][s].each for k, m in enumerate(chosen.metrics)}
        frames.append(frame.with_columns(**{n: pl.Series(each) for n, each in columns.items()}))
    return pl.concat(frames)


def _methods(judged: Judged, chosen: Chosen, options: CaptionOptions) -> list[str]:
    """How the numbers were got, in words."""
    effort = options.effort
    images = len(judged.images)
    said = [f"scores are times 100; {images:,} image{'' if images == 1 else 's'}"]
    if images > 1:
        said.append(
            f"interval: bootstrap over images, {effort.resamples:,} resamples; of BLEU and METEOR "
            "the counts are resampled, CIDEr keeps its document frequencies"
        )
    if len(judged.systems) > 1 and images > 1:
        said.append(
            "test: the systems' captions swapped on random images (approximate randomization), "
            f"{effort.permutations:,} times; interval of A - B: paired bootstrap"
        )
    if any(metric.name.startswith("CIDEr") for metric in chosen.metrics):
        source = {JUDGED: "the references of these images", GIVEN: "all references given"}
        where = source.get(options.frequencies, options.frequencies)
        said.append(f"CIDEr's document frequencies: of {where}")
    if options.fewer.used:
        said.append(
            f"fewer references: random ones, {options.fewer.repeats} draws, mean ± standard "
            "deviation; below it the share of the score with all"
        )
    return said
