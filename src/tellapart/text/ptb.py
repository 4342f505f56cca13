"""Tokens of captions as the Stanford PTB tokenizer gives them to the COCO scripts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tellapart.errors import BadInput

_TOKEN = re.compile(
    r"[a-z0-9]+(?:[-&/.][a-z0-9]+)*(?=n't)|n't|'(?:s|m|d|ll|re|ve)\b"
    r"|[a-z0-9]+(?:[-&/.,'][a-z0-9]+)*|[^\s\w]|\S"
)
_DROPPED = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";",
                      "-lrb-", "-rrb-", "-lcb-", "-rcb-", '"', "(", ")"])  # fmt: skip


def ptb_tokenise(captions: Sequence[str]) -> list[str]:
    """The tokens of each caption with single spaces between.

    >>> ptb_tokenise(["A dog's ball, on the grass."])
    ["a dog 's ball on the grass"]
    """
    found = []
    for k, caption in enumerate(captions):
        if not isinstance(caption, str):
            raise BadInput(f"caption {k} is no text but {type(caption).__name__}")
        tokens = _TOKEN.findall(caption.lower())
        found.append(" ".join(token for token in tokens if token not in _DROPPED))
    return found
