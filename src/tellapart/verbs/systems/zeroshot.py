"""The verb `zeroshot`: pictures classified by the classes' names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.options import Help
from tellapart.types import Progress, silent
from tellapart.verbs import Verb

if TYPE_CHECKING:
    from tellapart.measures.zero_shot import ZeroShot


def zeroshot(
    model: Annotated[Any, Help("A model string; see: tellapart list models.")],
    on: Annotated[
        Path | str, Help("A folder with a folder of pictures for each class.", flag="--on")
    ],
    *,
    templates: Annotated[
        str,
        Help("Texts around a class's name: one, simple (7), full, a file, or text with {} in it."),
    ] = "simple",
    progress: Progress = silent,
) -> ZeroShot:
    """Classify pictures by the classes' names alone: top-1 and top-5 accuracy."""
    from tellapart.measures.zero_shot import classify, read_classes, templates_of
    from tellapart.models.names import load

    chosen, folder = templates_of(templates), read_classes(Path(on))
    found = load(model) if isinstance(model, str) else model
    return classify(found, folder, chosen, progress)


VERB = Verb(zeroshot, example="tellapart zeroshot open_clip:ViT-B-32/openai --on my-classes")
