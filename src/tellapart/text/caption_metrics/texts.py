"""What metrics read off texts, each text once: its tokens, and its scene graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tellapart.text.caption_metrics.scene_graphs import SceneTuple, scene_tuples
from tellapart.text.ptb.tokenise import ptb_tokenise


class Texts:
    """Remembers what it has read; `cache` is the folder under which parses are kept, if any."""

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._tokens: dict[str, str] = {}
        self._graphs: dict[str, frozenset[SceneTuple]] = {}

    def tokens(self, texts: Sequence[str]) -> list[str]:
        """The Penn Treebank tokens of each text, with spaces between.

        >>> Texts().tokens(["A dog's ball.", "A cat"])
        ["a dog 's ball", 'a cat']
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._tokens]
        self._tokens.update(zip(new, ptb_tokenise(new), strict=True))
        return [self._tokens[text] for text in texts]

    def graphs(self, texts: Sequence[str]) -> list[frozenset[SceneTuple]]:
        """The scene graph of each text (needs a spaCy pipeline)."""
        from tellapart.text.parsing.parse import parse

        new = [text for text in dict.fromkeys(texts) if text not in self._graphs]
        parses = parse(new, cache=self._cache) if new else ()
        self._graphs.update(zip(new, map(scene_tuples, parses), strict=True))
        return [self._graphs[text] for text in texts]
