"""Decoys of all captions: neighbours, BLEU and choice, block by block.

The results of a block are cached, so that an interrupted job resumes with the next one; only one
block of neighbours is ever in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property

import numpy as np

from tellapart import seeds
from tellapart.mine.captions import MinedCaptions
from tellapart.mine.informativeness import Silence, StemAgreement
from tellapart.mine.mcic.score import ChosenDecoys, DecoyCandidates, DecoyChoice, Guards, choose
from tellapart.mine.neighbours.approximate import KnownLists
from tellapart.mine.neighbours.nearest import Neighbours, Search
from tellapart.mine.vectors import MinedVectors
from tellapart.mine.verifier import Verifier
from tellapart.store.arrays import ArrayShelf, arrays_bytes
from tellapart.text.caption_metrics.pair_bleu import PairBleu
from tellapart.text.caption_metrics.sentences import Sentences
from tellapart.types import Ints32, Progress, silent
from tellapart.work.crew import ShardJob
from tellapart.work.shard import Shard, ShardResult
from tellapart.work.stages import StagedCrew

BLOCK = 8192
"""How many captions' decoys are cached together."""
MINING = "decoys"


def pair_bleu(captions: MinedCaptions, choice: DecoyChoice) -> PairBleu:
    """BLEU of Equation 1 between captions: up to 4-grams, brevity penalty 1.

    N-grams longer than the decoy do not count; otherwise short captions would never be too similar.
    """
    sentences = Sentences.of([" ".join(words) for words in captions.words])
    return PairBleu(sentences, n=4, smoothing=choice.smoothing, effective_order=True)


@dataclass(frozen=True, eq=False)
class DecoyMine:
    """The source of decoys: captions with their vectors, and how decoys are chosen.

    With a verifier, a decoy must also be false of the image, and a false caption gets no decoys.
    """

    captions: MinedCaptions
    vectors: MinedVectors
    stems: StemAgreement
    choice: DecoyChoice
    guards: Guards
    search: Search
    verifier: Verifier
    seed: int
    crew: StagedCrew | None = None

    @cached_property
    def neighbours(self) -> Neighbours:
        """Captions of other images (with the guard `distinct`, of other texts) can be decoys."""
        exclude = [self.captions.image_of]
        if self.guards.distinct:
            exclude.append(self.captions.text_numbers)
        return Neighbours(self.vectors.rows, exclude, self.search)

    def choosing(self, choice: DecoyChoice, guards: Guards) -> DecoyMine:
        """The same captions with another choice and no verifier; prepared data is reused."""
        other = replace(self, choice=choice, guards=guards, verifier=Verifier(None, ""))
        if guards.distinct == self.guards.distinct and choice.smoothing == self.choice.smoothing:
            for name in ("neighbours", "bleu"):
                other.__dict__[name] = getattr(self, name)  # as cached_property does
        return other

    def decoys(
        self, targets: Ints32, progress: Progress = silent, enough: int | None = None
    ) -> ChosenDecoys:
        """The decoys of target captions, row by row.

        Once `enough` of them have all of their decoys, the others are left out.
        """
        size = BLOCK if enough is None else min(BLOCK, 2 * enough)
        blocks: list[ChosenDecoys] = []
        complete = 0
        for block in self.blocks(targets, progress, size):
            blocks.append(block)
            complete += int(block.complete.sum())
            if enough is not None and complete >= enough:
                break
        chosen = joined(blocks)
        if enough is None:
            return chosen
        rows = int(np.searchsorted(np.cumsum(chosen.complete), enough)) + 1
        return ChosenDecoys._make(column[:rows] for column in chosen)

    def blocks(
        self, targets: Ints32, progress: Progress = silent, size: int = 0
    ) -> Iterator[ChosenDecoys]:
        """The decoys of `size` target captions at a time (0: `BLOCK`)."""
        size = size or BLOCK
        kept = None if self.verifier.name else self._shelf(targets, size)
        crew = self.crew if kept else None
        if crew is not None:
            self._in_shards(targets, size, progress)
        for start in range(0, len(targets), size):
            part = targets[start : start + size]
            arrays = kept.read(f"from-{start}") if kept else None
            if crew is not None:
                arrays = crew.read(self._stage(targets, size), f"from-{start}.npz")
            if arrays is not None:
                block = ChosenDecoys(**arrays)
            else:
                block = self.block(part, start, len(targets), progress)
                if kept and crew is None:
                    kept.write(f"from-{start}", **block._asdict())
            progress(MINING, start + len(part), len(targets))
            yield block

    def _in_shards(self, targets: Ints32, size: int, progress: Progress) -> None:
        """Have a crew find the decoys of all targets."""
        assert self.crew is not None
        parts = [(start, targets[start : start + size]) for start in range(0, len(targets), size)]
        shards = [Shard(f"from-{start}.npz", len(part), part) for start, part in parts]
        most = min(self.choice.neighbours, max(1, len(self.captions) - 1))
        search = replace(self.search, method=self.neighbours.method, threads=1)
        task = DecoyTask(replace(self, search=search, crew=None), self.neighbours.known_lists(most))
        job = ShardJob("decoys", "captions", task, shards)
        self.crew.do(self._stage(targets, size), job, progress)

    def _stage(self, targets: Ints32, size: int) -> str:
        return f"{MINING}-{self._shelf(targets, size).folder.name}"

    def _shelf(self, targets: Ints32, size: int) -> ArrayShelf:
        captions = self.captions
        return ArrayShelf.on(
            "decoys",
            self.vectors.sha256,
            hashlib.sha256(self.stems.agreement.tobytes()).hexdigest(),
            seeds.digest(captions.texts, captions.image_of.tolist(), targets.tolist(), size),
            asdict(self.choice),
            asdict(self.guards),
            self.neighbours.method,
            self.seed,
        )

    def block(self, targets: Ints32, start: int, total: int, progress: Progress) -> ChosenDecoys:
        """The decoys of some targets, which follow `start` others."""
        most = min(self.choice.neighbours, max(1, len(self.captions) - 1))
        parts = []
        for near in self.neighbours.nearest(most, targets):
            rows = targets[near.rows]
            bleus = self.bleu.scores_against(rows, np.maximum(near.indices, 0))
            longer = self._longer[rows]
            candidates = DecoyCandidates(rows, longer, near.indices, near.similarities, bleus)
            parts.append(self._chosen(candidates))
            progress(MINING, start + near.rows.stop, total)
        return joined(parts)

    def _chosen(self, near: DecoyCandidates) -> ChosenDecoys:
        """The decoys; those that the verifier calls true are removed until there are none."""
        captions, texts = near.captions.copy(), self.captions.texts
        targets = list(enumerate(near.targets.tolist())) if self.verifier.name else []
        for row, target in targets:
            if not self.verifier.may_fit(self._image(target), texts[target]):
                captions[row] = -1
        while True:
            near = near._replace(captions=captions)
            chosen = choose(near, self.silence, self.choice, self.guards)
            true = [
                (row, decoy)
                for row, target in targets
                for decoy in chosen.captions[row].tolist()
                if decoy >= 0 and not self.verifier.may_be_false(self._image(target), texts[decoy])
            ]
            if not true:
                return chosen
            for row, caption in true:
                captions[row, captions[row] == caption] = -1

    def _image(self, caption: int) -> str:
        return self.captions.images[int(self.captions.image_of[caption])]

    @cached_property
    def _longer(self) -> Ints32:
        """How many decoys of each caption should be longer than it, -1 for any number."""
        if not self.guards.length:
            return np.full(len(self.captions), -1, np.int32)
        lot = seeds.rng(self.seed, "mcic", "longer")
        return lot.integers(self.choice.decoys + 1, size=len(self.captions), dtype=np.int32)

    @cached_property
    def bleu(self) -> PairBleu:
        """BLEU between captions, as in Equation 1."""
        return pair_bleu(self.captions, self.choice)

    @property
    def true_captions_let_through(self) -> float:
        """The share of captions that would pass the guard `doubt` as decoys of their own image."""
        return self.silence.true_captions_let_through(self.guards.doubt)

    @cached_property
    def silence(self) -> Silence:
        """The evidence for the guard `doubt`."""
        silence = Silence.of(self.captions, self.stems)
        plain = self.guards.likely >= 1 or self.guards.doubt >= 1
        return silence if plain else silence.with_likely(self.guards.likely)


@dataclass(frozen=True, slots=True)
class DecoyTask:
    """The task of workers: the decoys of some target captions."""

    mine: DecoyMine
    lists: KnownLists | None

    def open(self) -> Callable[[Ints32], ShardResult]:
        """Prepare the data that all blocks need."""
        mine = self.mine
        mine.__dict__["neighbours"] = replace(mine.neighbours, lists=self.lists)

        def decoys(targets: Ints32) -> ShardResult:
            block = mine.block(targets, 0, len(targets), silent)
            return ShardResult(arrays_bytes(block._asdict()))

        return decoys


def joined(parts: list[ChosenDecoys]) -> ChosenDecoys:
    """Decoys of several lists of captions, concatenated."""
    return ChosenDecoys._make(np.concatenate(columns) for columns in zip(*parts, strict=True))
