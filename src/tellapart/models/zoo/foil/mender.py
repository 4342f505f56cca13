"""Which word corrects a caption: a linear softmax over target words, on the joint vector.

FOIL's T3 (Shekhar et al. 2017, section 4.1) applies "the linear regression method over all the
target words" to systems that were trained on T1. Ours: multinomial logistic regression with a small
L2 penalty on the frozen joint vector of image and caption, the foil word masked as unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from tellapart import seeds
from tellapart.models.zoo.weights import load_tensors, save_tensors

MENDER = "mender.safetensors"
STEPS = 200
"""The most steps of L-BFGS."""
NEVER = -1e6
"""The score of a word that was not a target in training."""


@dataclass(frozen=True, eq=False)
class LinearMender:
    """Weights (words, width) and biases (words,) of target words; `fits` is the training accuracy.

    A joint vector's score for a word is the log-probability of the word.
    """

    words: tuple[str, ...]
    weight: Tensor
    bias: Tensor
    fits: float = 0.0

    def scores(self, vectors: Tensor, words: list[str]) -> Tensor:
        """The log-probability of words[k] by vector k."""
        place = {word: k for k, word in enumerate(self.words)}
        logs = functional.linear(vectors.double(), self.weight, self.bias).log_softmax(-1)
        column = torch.tensor([place.get(word, -1) for word in words], device=logs.device)
        chosen = logs.gather(1, column.clamp(min=0)[:, None]).squeeze(1)
        return chosen.masked_fill(column < 0, NEVER)

    @property
    def fingerprint(self) -> str:
        """The hash of the words and their weights."""
        weights = [one.numpy().tobytes().hex() for one in (self.weight, self.bias)]
        return seeds.digest("mender", self.words, weights)

    def save(self, path: Path) -> None:
        """Write the weights; the words are on the system's card."""
        save_tensors(path, {"weight": self.weight, "bias": self.bias})


def load_mender(path: Path, words: tuple[str, ...]) -> LinearMender:
    """Read what `save` wrote."""
    tensors = load_tensors(path)
    return LinearMender(words, tensors["weight"], tensors["bias"])


def fit_mender(
    vectors: Tensor, targets: Tensor, words: tuple[str, ...], penalty: float
) -> LinearMender:
    """Fit the linear softmax from vectors (n, width) to targets (n,), by L-BFGS."""
    rows = vectors.double()
    weight = torch.zeros(len(words), rows.shape[1], dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(len(words), dtype=torch.float64, requires_grad=True)
    solver = torch.optim.LBFGS([weight, bias], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        solver.zero_grad()
        error = functional.cross_entropy(functional.linear(rows, weight, bias), targets)
        error = error + penalty * weight.square().sum()
        error.backward()  # type: ignore[no-untyped-call]
        return error

    with torch.enable_grad():
        solver.step(loss)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        said = functional.linear(rows, weight, bias).argmax(1)
    fits = float((said == targets).double().mean())
    return LinearMender(words, weight.detach(), bias.detach(), fits)
