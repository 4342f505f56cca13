"""Decoys of all captions: neighbours, BLEU and choice, block by block.

What a block gave is kept, so that a job which was stopped goes on with the next one; no more than a
block of neighbours is ever in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import islice

import numpy as np

from tellapart.mine.building import Verifier
from tellapart.mine.mcic.captions import Captions, Ints, numbered
from tellapart.mine.mcic.keeping import Kept
from tellapart.mine.mcic.options import McicOptions
from tellapart.mine.mcic.score import Candidates, Choice, Chosen, at, choose
from tellapart.mine.mcic.telling import Said, Vocabulary
from tellapart.mine.mcic.vectors import CaptionVectors
from tellapart.mine.neighbours.nearest import Neighbours
from tellapart.seeds import digest
from tellapart.text.pair_bleu import PairBleu
from tellapart.text.sentences import Sentences

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
        return joined(blocks)

    def _kept(self, targets: Ints, size: int) -> Kept:
        captions = self.captions
        return Kept.on(
            "decoys",
            self.vectors.sha256,
            hashlib.sha256(self._said.vocabulary.agreement.tobytes()).hexdigest(),
            digest(captions.texts, captions.image_of.tolist(), targets.tolist(), size),
            asdict(self.own.choice),
            asdict(self.own.guards),
            self.neighbours.method,
            self.own.search.seed,
        )

    def _block(self, targets: Ints, progress: Callable[[int], None]) -> Chosen:
        most = min(self.own.choice.neighbours, max(1, len(self.captions) - 1))
        every = replace(self.own.choice, decoys=most)
        parts = []
        for near in self.neighbours.nearest(most, targets):
            mine = targets[near.rows]
            bleus = self._bleu.scores_against(mine, np.maximum(near.indices, 0))
            candidates = Candidates(mine, near.indices, near.similarities, bleus)
            if self.verifier.name:
                ranked = choose(candidates, self._said, every, self.own.guards)
                parts.append(self._verified(mine, ranked))
            else:
                parts.append(choose(candidates, self._said, self.own.choice, self.own.guards))
            progress(near.rows.stop)
        return joined(parts)

    def _verified(self, targets: Ints, ranked: Chosen) -> Chosen:
        """The first decoys that the verifier does not call true of the image."""
        places = np.full((len(targets), self.own.choice.decoys), -1, np.int32)
        for row, target in enumerate(targets.tolist()):
            image = self.captions.images[self.captions.image_of[target]]
            if not self.verifier.may_fit(image, self.captions.texts[target]):
                continue
            fit = (
                place
                for place, k in enumerate(ranked.captions[row].tolist())
                if k >= 0 and self.verifier.may_be_false(image, self.captions.texts[k])
            )
            first = list(islice(fit, self.own.choice.decoys))
            places[row, : len(first)] = first
        return at(places, ranked)

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


def joined(parts: list[Chosen]) -> Chosen:
    """Decoys of several lists of captions, one behind another."""
    return Chosen(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
