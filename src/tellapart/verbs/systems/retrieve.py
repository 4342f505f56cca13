"""The verb `retrieve`: images found by their captions, and captions by their images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.measures.options import RetrievalOptions
from tellapart.options import Help
from tellapart.types import Progress, silent
from tellapart.verbs import Verb, open_corpus, skipped_notes

if TYPE_CHECKING:
    from tellapart.corpus.corpus import Corpus
    from tellapart.measures.retrieval import Retrieval


def retrieve(
    model: Annotated[Any, Help("A model string; see: tellapart list models.")],
    on: Annotated[
        Corpus | Path | str, Help("A corpus: a folder, COCO JSON, CSV, ...", flag="--on")
    ],
    options: RetrievalOptions = RetrievalOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Retrieval:
    """Find images by their captions and captions by their images: recall@1/5/10, ranks."""
    from tellapart.files import check_table_name, write_table
    from tellapart.measures.retrieval import rank_corpus
    from tellapart.models.names import load
    from tellapart.score.job import model_id
    from tellapart.score.shards import EncodingCrew
    from tellapart.store.cache import default_folder
    from tellapart.work.stages import staged_crew

    if options.per_query is not None:
        check_table_name(options.per_query)
    corpus = open_corpus(on, options.reading)
    ready = load(model) if isinstance(model, str) else model
    place = (options.work or default_folder() / "retrieve") / f"{corpus.name}-{model_id(ready)}"
    with staged_crew(
        place, options.workers, options.shard, options.gather, earlier=("images",)
    ) as staged:
        crew = None
        if staged is not None:
            crew = EncodingCrew(staged, model, options.cache_folder, options.cache_gb)
        found = rank_corpus(ready, corpus, options, progress, crew)
    if options.per_query is not None and found.queries is not None:
        write_table(options.per_query, found.queries)
    return found


VERB = Verb(
    retrieve,
    example="tellapart retrieve storybook --on my-world --sizes 100,1000",
    notes=lambda retrieval: skipped_notes(retrieval.unread + retrieval.skipped),
    resumes=True,
)
