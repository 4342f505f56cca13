"""Decoys of all captions: neighbours, BLEU and choice, block by block.

What a block gave is kept, so that a job which was stopped goes on with the next one; no more than a
block of neighbours is ever in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property, partial

import numpy as np

from tellapart import seeds
from tellapart.mine.building import Verifier
from tellapart.mine.captions import Captions, Ints, numbered
from tellapart.mine.mcic.options import McicOptions
from tellapart.mine.mcic.score import Candidates, Choice, Chosen, choose
from tellapart.mine.mcic.telling import Said, Vocabulary
from tellapart.mine.mcic.vectors import CaptionVectors
from tellapart.mine.neighbours.nearest import Neighbours
from tellapart.store.arrays import ArrayShelf
from tellapart.text.caption_metrics.pair_bleu import PairBleu
from tellapart.text.caption_metrics.sentences import Sentences

BLOCK = 8192
"""Captions whose decoys are kept together."""
Progress = Callable[[int, int], None]


def pair_bleu(captions: Captions, choice: Choice) -> PairBleu:
    """BLEU of Equation 1 between captions: up to 4-grams, brevity penalty 1.

    N-grams longer than the decoy do not count, else short captions would never be too alike.
    """
    sentences = Sentences.of([" ".join(words) for words in captions.words])
    return PairBleu(sentences, n=4, smoothing=choice.smoothing, effective_order=True)


@dataclass(frozen=True, eq=False)
class Mine:
    """Where decoys come from: captions with their vectors, and how they are chosen.

    With a verifier a decoy is also false of the image, and a caption that is false has none.
    """

    captions: Captions
    vectors: CaptionVectors
    vocabulary: Vocabulary
    own: McicOptions
    verifier: Verifier
    seed: int

    @cached_property
    def neighbours(self) -> Neighbours:
        """Captions of other images (with the guard `distinct`, of other texts) can be decoys."""
        exclude = [self.captions.image_of]
        if self.own.guards.distinct:
            exclude.append(numbered(self.captions.texts))
        return Neighbours(self.vectors.vectors, exclude, self.own.search)

    def decoys(self, targets: Ints, progress: Progress, enough: int | None = None) -> Chosen:
        """The decoys of target captions, row by row.

        Once `enough` of them have all of their decoys the others are left out.
        """
        size = BLOCK if enough is None else min(BLOCK, 2 * enough)
        kept = None if self.verifier.name else self._kept(targets, size)
        blocks: list[Chosen] = []
        for start in range(0, len(targets), size):
            if enough is not None and sum(map(complete, blocks)) >= enough:
                break
            part = targets[start : start + size]
            found = kept.read(f"from-{start}") if kept else None
            if found is not None:
                blocks.append(Chosen(**found))
            else:
                blocks.append(self._block(part, partial(_shifted, progress, start, len(targets))))
                if kept:
                    kept.write(f"from-{start}", **blocks[-1]._asdict())
            progress(start + len(part), len(targets))
        return joined(blocks) if enough is None else first_complete(joined(blocks), enough)

    def _kept(self, targets: Ints, size: int) -> ArrayShelf:
        captions = self.captions
        return ArrayShelf.on(
            "decoys",
            self.vectors.sha256,
            hashlib.sha256(self._said.vocabulary.agreement.tobytes()).hexdigest(),
            seeds.digest(captions.texts, captions.image_of.tolist(), targets.tolist(), size),
            asdict(self.own.choice),
            asdict(self.own.guards),
            self.neighbours.method,
            self.seed,
        )

    def _block(self, targets: Ints, progress: Callable[[int], None]) -> Chosen:
        most = min(self.own.choice.neighbours, max(1, len(self.captions) - 1))
        parts = []
        for near in self.neighbours.nearest(most, targets):
            mine = targets[near.rows]
            bleus = self._bleu.scores_against(mine, np.maximum(near.indices, 0))
            longer = self._longer[mine]
            parts.append(
                self._chosen(Candidates(mine, longer, near.indices, near.similarities, bleus))
            )
            progress(near.rows.stop)
        return joined(parts)

    def _chosen(self, near: Candidates) -> Chosen:
        """The decoys; what the verifier calls true is taken out until it calls nothing true."""
        captions = near.captions.copy()
        for row, target in enumerate(near.targets.tolist()):
            if not self.verifier.may_fit(self._image(target), self.captions.texts[target]):
                captions[row] = -1
        while True:
            near = near._replace(captions=captions)
            chosen = choose(near, self._said, self.own.choice, self.own.guards)
            true = self._true_ones(near.targets, chosen)
            if not true:
                return chosen
            for row, caption in true:
                captions[row, captions[row] == caption] = -1

    def _true_ones(self, targets: Ints, chosen: Chosen) -> list[tuple[int, int]]:
        """Decoys (row and caption) that the verifier calls true of the target's image."""
        if not self.verifier.name:
            return []
        return [
            (row, k)
            for row, target in enumerate(targets.tolist())
            for k in chosen.captions[row].tolist()
            if k >= 0
            and not self.verifier.may_be_false(self._image(target), self.captions.texts[k])
        ]

    def _image(self, caption: int) -> str:
        return self.captions.images[int(self.captions.image_of[caption])]

    @cached_property
    def _longer(self) -> Ints:
        """How many decoys of each caption are to be longer than it, -1 for as it comes."""
        if not self.own.guards.length:
            return np.full(len(self.captions), -1, np.int32)
        lot = seeds.rng(self.seed, "mcic", "longer")
        return lot.integers(self.own.choice.decoys + 1, size=len(self.captions), dtype=np.int32)

    @cached_property
    def _bleu(self) -> PairBleu:
        return pair_bleu(self.captions, self.own.choice)

    @property
    def true_captions_let_through(self) -> float:
        """The share of captions that would pass the guard `doubt` as decoys of their own image."""
        return self._said.true_ones_let_through(self.own.guards.doubt)

    @cached_property
    def _said(self) -> Said:
        return Said.of(self.captions, self.vocabulary)


def _shifted(progress: Progress, start: int, total: int, done: int) -> None:
    progress(start + done, total)


def complete(chosen: Chosen) -> int:
    """How many captions have all of their decoys."""
    return int((chosen.captions >= 0).all(axis=1).sum())


def first_complete(chosen: Chosen, enough: int) -> Chosen:
    """The rows up to the one with which enough captions have all of their decoys."""
    found = np.cumsum((chosen.captions >= 0).all(axis=1))
    rows = int(np.searchsorted(found, enough)) + 1
    return Chosen._make(column[:rows] for column in chosen)


def joined(parts: list[Chosen]) -> Chosen:
    """Decoys of several lists of captions, one behind another."""
    return Chosen._make(np.concatenate(columns) for columns in zip(*parts, strict=True))
