"""The verb `captions`: systems' captions judged against people's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.errors import BadInput
from tellapart.measures.options import CaptionOptions
from tellapart.options import Help
from tellapart.types import Progress, silent
from tellapart.verbs import TableFlags, Verb, table_text

if TYPE_CHECKING:
    from tellapart.corpus.corpus import Corpus
    from tellapart.measures.captions.judge import Results
    from tellapart.measures.captions.metric_scores import CaptionScores


def captions(
    results: Annotated[
        Results | Sequence[Results],
        Help("COCO results files or tables of images and captions; omit with --judgements."),
    ] = (),
    references: Annotated[
        Corpus | Path | str, Help("Reference captions: any corpus.", flag="--references")
    ] = "",
    options: CaptionOptions = CaptionOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
    *,
    per_image: Annotated[
        Path | None, Help("Write one row per image to this .parquet, .csv or .jsonl.")
    ] = None,
) -> CaptionScores:
    """Judge captions against references: BLEU, ROUGE-L, CIDEr, METEOR and others.

    Several systems are shown side by side, with a paired test for every two. With --judgements:
    how well each metric's scores correlate with people's ratings.

    In Python: systems are judged on the images that all of them answered and that have
    references; the remarks list what is left out.
    """
    from tellapart.files import check_table_name
    from tellapart.measures.captions.judge import judge_captions
    from tellapart.measures.captions.metric_scores import write_per_image

    if references == "":
        raise BadInput("no references were given", todo="name a corpus with --references")
    if per_image is not None:
        check_table_name(per_image)
    scores = judge_captions(results, references, options, progress)
    if per_image is not None:
        write_per_image(scores, per_image)
    return scores


VERB = Verb(
    captions,
    example="tellapart captions mine.json other.json --references captions_val2014.json",
    text=table_text,
    flags=TableFlags,
    resumes=True,
)
