"""The verb `audit`: what can be guessed without looking, and what is odd about the items."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.audits.options import AuditOptions
from tellapart.errors import BadInput
from tellapart.options import Help
from tellapart.types import Progress, silent
from tellapart.verbs import BenchmarkSource, Verb, open_benchmark, open_corpus

if TYPE_CHECKING:
    from tellapart.audits.audit import Audit
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus


def audit(
    benchmark: BenchmarkSource,
    *,
    captions_from: Annotated[
        Corpus | Path | str | None,
        Help(
            "Corpus that the attackers learn from (default: true captions of the benchmark's other "
            "images)."
        ),
    ] = None,
    fair_part: Annotated[
        Path | None,
        Help("Also find the part that cannot be guessed, and write its item ids to this file."),
    ] = None,
    corpus: Annotated[
        Corpus | Path | str | None,
        Help("Corpus of captions (and objects) for checking FOIL's own rules."),
    ] = None,
    objects: Annotated[Path | None, Help("File with the objects in each image.")] = None,
    synonyms: Annotated[
        Mapping[str, str] | Path | None, Help("JSON file that maps words to categories.")
    ] = None,
    overlap_with: Annotated[
        Corpus | Benchmark | Path | str | None,
        Help("Corpus or benchmark that should share no images with this one."),
    ] = None,
    options: AuditOptions = AuditOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Audit:
    """Find what can be guessed without looking, and what is odd about the items."""
    from tellapart.audits.audit import audit_benchmark
    from tellapart.audits.findings import open_other, read_synonyms
    from tellapart.corpus.reader import ReadOptions
    from tellapart.files import write_text

    if corpus is None and (objects is not None or synonyms):
        raise BadInput(
            "--objects and --synonyms describe a corpus, but none was given",
            todo="name the corpus with --corpus",
        )
    other = overlap_with
    whole = open_benchmark(benchmark)
    found = audit_benchmark(
        whole,
        options,
        progress,
        corpus=None if corpus is None else open_corpus(corpus, ReadOptions(objects=objects)),
        synonyms=read_synonyms(synonyms) if isinstance(synonyms, Path) else synonyms or {},
        overlap_with=open_other(Path(other)) if isinstance(other, Path | str) else other,
        captions=None if captions_from is None else open_corpus(captions_from),
        with_fair_part=fair_part is not None,
    )
    if fair_part is not None and found.fair_part is not None:
        ids = whole.items.ids[found.fair_part.items]
        write_text(fair_part, "".join(f"{one}\n" for one in ids))
    return found


VERB = Verb(audit, example="tellapart audit my-mcic --overlap-with my-training-set")
