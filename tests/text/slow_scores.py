"""The metrics in plain Python, written from their definitions: slow and easy to check."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

Sets = Sequence[tuple[str, Sequence[str]]]


def grams(sentence: str, k: int) -> Counter[tuple[str, ...]]:
    words = sentence.split()
    return Counter(tuple(words[i : i + k]) for i in range(len(words) - k + 1))


def matches(candidate: str, references: Sequence[str], k: int) -> int:
    """Clipped matches (Papineni et al. 2002, section 2.1.1)."""
    most: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        most |= grams(reference, k)
    return (grams(candidate, k) & most).total()


def closest_length(candidate: str, references: Sequence[str]) -> int:
    length = len(candidate.split())
    return min((len(r.split()) for r in references), key=lambda other: (abs(other - length), other))


def bleu_of_counts(
    matched: Sequence[int], totals: Sequence[int], lengths: tuple[int, int], *,
    brevity: bool, smoothing: str, effective_order: bool,
) -> float:  # fmt: skip
    """BLEU-n, n being how many counts there are; `lengths` of candidate and reference."""
    length, reference = lengths
    if smoothing == "coco":
        product = math.prod((m + 1e-15) / (t + 1e-9) for m, t in zip(matched, totals, strict=True))
        ratio = (length + 1e-15) / (reference + 1e-9)
        penalty = math.exp(1 - 1 / ratio) if brevity and ratio < 1 else 1
        return penalty * product ** (1 / len(matched))
    if matched[0] == 0:
        return 0.0
    precisions, without = [], 0
    for k, (m, t) in enumerate(zip(matched, totals, strict=True), 1):
        if smoothing == "add-one" and k > 1:
            precisions.append((m + 1) / (t + 1))
        elif effective_order and t == 0:
            break
        elif t == 0:
            precisions.append(0.0)
        elif m == 0:
            without += 1
            replaced = {"none": 0.0, "floor": 0.1, "epsilon": 1e-9, "exp": 0.5**without}[smoothing]
            precisions.append(replaced / t)
        else:
            precisions.append(m / t)
    penalty = math.exp(1 - reference / length) if brevity and length < reference else 1
    return penalty * math.prod(precisions) ** (1 / len(precisions))


def document_frequencies(references: Sequence[Sequence[str]], n: int) -> Counter:
    """In how many lists of references each n-gram is."""
    found: Counter = Counter()
    for some in references:
        found.update({gram for r in some for k in range(1, n + 1) for gram in grams(r, k)})
    return found


def cider(
    candidate: str, references: Sequence[str], frequencies: Counter, documents: int, n: int = 4
) -> float:
    """Vedantam et al. 2015, equations 1 to 3, with w_n = 1 / n; words as they are given."""

    def vector(sentence: str, k: int) -> dict:
        counts = grams(sentence, k)
        return {
            gram: count / counts.total() * math.log(documents / max(1, frequencies[gram]))
            for gram, count in counts.items()
        }

    total = sum(
        _cosine(vector(candidate, k), vector(r, k)) for k in range(1, n + 1) for r in references
    )
    return total / (n * len(references))


def _cosine(left: dict, right: dict) -> float:
    norm = math.hypot(*left.values(), 0.0) * math.hypot(*right.values(), 0.0)
    return sum(w * right.get(gram, 0.0) for gram, w in left.items()) / norm if norm else 0.0


def cider_d(
    candidate: str, references: Sequence[str], frequencies: Counter, documents: int,
    n: int = 4, sigma: float = 6.0,
) -> float:  # fmt: skip
    """The paper's CIDEr-D, with counts for tf and lengths in bigrams as in the COCO scripts."""
    total = 0.0
    for reference in references:
        for k in range(1, n + 1):
            vectors = []
            for sentence in (candidate, reference):
                counts = grams(sentence, k)
                vectors.append({
                    gram: count * math.log(documents / max(1, frequencies[gram]))
                    for gram, count in counts.items()
                })  # fmt: skip
            left, right = vectors
            norm = math.hypot(*left.values(), 0.0) * math.hypot(*right.values(), 0.0)
            shared = sum(
                min(w, right[gram]) * right[gram] for gram, w in left.items() if gram in right
            )
            delta = grams(candidate, 2).total() - grams(reference, 2).total()
            total += math.exp(-(delta**2) / (2 * sigma**2)) * shared / norm if norm else 0.0
    return 10.0 * total / (n * len(references))


def rouge_l(candidate: str, references: Sequence[str], beta: float = 1.2) -> float:
    """Lin 2004, section 2, with the highest precision and recall over references."""
    words = candidate.split()
    precision = recall = 0.0
    for reference in references:
        others = reference.split()
        table = [[0] * (len(others) + 1) for _ in range(len(words) + 1)]
        for i, word in enumerate(words):
            for j, other in enumerate(others):
                table[i + 1][j + 1] = (
                    table[i][j] + 1 if word == other else max(table[i][j + 1], table[i + 1][j])
                )
        shared = table[-1][-1]
        precision = max(precision, shared / len(words) if words else 0.0)
        recall = max(recall, shared / len(others) if others else 0.0)
    both = recall + beta**2 * precision
    return (1 + beta**2) * precision * recall / both if both else 0.0
