"""The COCO scripts' own tokenizer and scorers; tests that need them are skipped without them."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import shutil
from collections.abc import Sequence

import numpy as np
import pytest

needs_scripts = pytest.mark.skipif(
    importlib.util.find_spec("pycocoevalcap") is None, reason="pycocoevalcap is not installed"
)
needs_java = pytest.mark.skipif(
    importlib.util.find_spec("pycocoevalcap") is None or shutil.which("java") is None,
    reason="pycocoevalcap or Java is not installed",
)


def java_tokens(captions: Sequence[str]) -> list[str]:
    """What the COCO scripts make of captions, in one call."""
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    with contextlib.redirect_stderr(io.StringIO()):
        found = PTBTokenizer().tokenize({0: [{"caption": caption} for caption in captions]})
    return list(found.get(0, []))


Scored = tuple[float, np.ndarray]


def _given(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[dict, dict]:
    return (
        {k: list(some) for k, some in enumerate(references)},
        {k: [candidate] for k, candidate in enumerate(candidates)},
    )


def coco_bleu(
    candidates: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[list[float], np.ndarray]:
    """BLEU-1 to 4 of the corpus and [4, candidates] of sentences."""
    from pycocoevalcap.bleu.bleu import Bleu

    corpus, sentences = Bleu(4).compute_score(*_given(candidates, references), verbose=0)
    return corpus, np.array(sentences)


def coco_cider(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Scored:
    """What the scripts call CIDEr, which is CIDEr-D."""
    from pycocoevalcap.cider.cider import Cider

    return Cider().compute_score(*_given(candidates, references))


def coco_rouge(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Scored:
    """ROUGE-L."""
    from pycocoevalcap.rouge.rouge import Rouge

    return Rouge().compute_score(*_given(candidates, references))
