"""BLEU, ROUGE-L, CIDEr and CIDEr-D as caption metrics: counted here, without Java."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.errors import TellapartError
from tellapart.text.caption_metrics.metric import Floats, Marks, Material
from tellapart.text.overlap.bleu import BleuCounts
from tellapart.text.overlap.cider import cider, cider_d
from tellapart.text.overlap.rouge import rouge_l

NGRAMS_AT_ONCE = 20_000
COCO = "coco"
"""The smoothing of the COCO scripts."""


@dataclass(frozen=True, slots=True)
class BleuMetric:
    """BLEU-1 to BLEU-n with a smoothing (see `smoothing.py`), with or without brevity penalty."""

    n: int = 4
    smoothing: str = COCO
    brevity: bool = True

    cites = "Papineni et al. 2002, BLEU"
    scale = 100.0
    at_once = NGRAMS_AT_ONCE

    @property
    def name(self) -> str:
        """With the options that are not those of the COCO scripts."""
        told = [f"smoothing={self.smoothing}"] if self.smoothing != COCO else []
        told += [] if self.brevity else ["brevity=false"]
        return f"BLEU-{self.n}" + (f"?{'&'.join(sorted(told))}" if told else "")

    @property
    def about(self) -> str:
        """One line."""
        words = "words" if self.n == 1 else f"n-grams of up to {self.n} words"
        return f"precision of {words}, counted over all captions together"

    def lacking(self) -> TellapartError | None:
        """Nothing."""
        return None

    def marks(self, material: Material) -> Marks:
        """Of sentences one by one; overall from sums of counts, which is no mean of sentences."""
        counts = BleuCounts.of(material.sets, self.n)
        features = np.concatenate([counts.matched, counts.totals, counts.closest[:, None]], axis=1)
        return Marks(self._scores(counts), features.astype(float), self._overall)

    def _scores(self, counts: BleuCounts) -> Floats:
        return np.asarray(counts.scores(self.smoothing, brevity=self.brevity)[self.n - 1])

    def _overall(self, totals: Floats) -> Floats:
        rows = np.rint(totals).astype(np.int64).reshape(-1, 2 * self.n + 1)
        counts = BleuCounts(rows[:, : self.n], rows[:, self.n : -1], rows[:, -1])
        return self._scores(counts).reshape(totals.shape[:-1])


@dataclass(frozen=True, slots=True)
class RougeL:
    """ROUGE-L."""

    name = "ROUGE-L"
    about = "longest common subsequence with a reference"
    cites = "Lin 2004, ROUGE"
    scale = 100.0
    at_once = NGRAMS_AT_ONCE

    def lacking(self) -> TellapartError | None:
        """Nothing."""
        return None

    def marks(self, material: Material) -> Marks:
        """Overall the mean over captions."""
        return Marks.averaged(rouge_l(material.sets).sentences)


@dataclass(frozen=True, slots=True)
class CiderMetric:
    """CIDEr with or without D; rarity of n-grams comes from the material's frequencies."""

    clipped: bool = True

    cites = "Vedantam et al. 2015, CIDEr"
    scale = 100.0
    at_once = NGRAMS_AT_ONCE

    @property
    def name(self) -> str:
        """CIDEr-D is what the COCO scripts call CIDEr."""
        return "CIDEr-D" if self.clipped else "CIDEr"

    @property
    def about(self) -> str:
        """One line."""
        if self.clipped:
            return "rare n-grams shared with the references (the COCO scripts' CIDEr)"
        return "rare n-grams shared with the references, as first published"

    def lacking(self) -> TellapartError | None:
        """Nothing."""
        return None

    def marks(self, material: Material) -> Marks:
        """Overall the mean over captions; resampling leaves the frequencies as they are."""
        judge = cider_d if self.clipped else cider
        return Marks.averaged(judge(material.sets, material.frequencies).sentences)


BLEU_1, BLEU_2, BLEU_3, BLEU_4 = (BleuMetric(n) for n in (1, 2, 3, 4))
ROUGE_L = RougeL()
CIDER, CIDER_D = CiderMetric(clipped=False), CiderMetric()
