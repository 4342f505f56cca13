"""Layers that several systems share."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tellapart.text.vocabulary import PAD


def word_vectors(words: int, width: int) -> nn.Embedding:
    """Word vectors, initially uniform in +-0.1 ([code] of VSE++)."""
    table = nn.Embedding(words, width, padding_idx=PAD)
    nn.init.uniform_(table.weight, -0.1, 0.1)
    with torch.no_grad():
        table.weight[PAD].zero_()
    return table


def perceptron(inputs: int, hidden: int, outputs: int, dropout: float = 0.0) -> nn.Sequential:
    """Two linear layers with a ReLU between them; only one if `hidden` is 0."""
    if not hidden:
        return nn.Sequential(linear(inputs, outputs))
    return nn.Sequential(
        linear(inputs, hidden), nn.ReLU(), nn.Dropout(dropout), linear(hidden, outputs)
    )


def linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer with Xavier's uniform initialisation (Glorot and Bengio 2010) and bias 0."""
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class Standardised(nn.BatchNorm1d):
    """Vectors, each number centred and scaled to variance 1: batch normalisation without weights.

    Trained systems use the mean over all batches. A batch of one vector has no variance, so it is
    treated as by a trained system.
    """

    def __init__(self, width: int) -> None:
        super().__init__(width, momentum=None, affine=False)

    def forward(self, input: Tensor) -> Tensor:
        """The vectors (n, d), on their new scale."""
        if len(input) > 1:
            scaled: Tensor = super().forward(input)
            return scaled
        return functional.batch_norm(input, self.running_mean, self.running_var, eps=self.eps)


def keep_variance(module: nn.Module) -> None:
    """Initialise all weights so that vectors keep about the variance 1 that word vectors have.

    Linear layers: Xavier's uniform initialisation, biases 0; recurrent ones: `steady_cells`.
    """
    for part in module.modules():
        if isinstance(part, nn.Embedding):
            nn.init.uniform_(part.weight, -(3**0.5), 3**0.5)
            if part.padding_idx is not None:
                with torch.no_grad():
                    part.weight[part.padding_idx].zero_()
        elif isinstance(part, nn.Linear | nn.Conv1d):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        elif isinstance(part, nn.LSTM):
            steady_cells(part)


def steady_cells(cells: nn.RNNBase) -> None:
    """Initialise recurrent layers so that they keep the variance of inputs and states; no biases.

    Inputs: Xavier's uniform initialisation, gate by gate; states: orthogonal matrices (Saxe et al.
    2014).
    """
    for name, weight in cells.named_parameters():
        if name.startswith("bias"):
            nn.init.zeros_(weight)
            continue
        for gate in weight.data.chunk(len(weight) // cells.hidden_size):
            (nn.init.xavier_uniform_ if "_ih_" in name else nn.init.orthogonal_)(gate)


def mean_rows(rows: Tensor, mask: Tensor) -> Tensor:
    """The mean of the real rows, from (n, r, d) and a mask (n, r) to (n, d)."""
    real = mask[..., None].to(rows.dtype)
    return (rows * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)


def unit(rows: Tensor) -> Tensor:
    """Rows of unit length."""
    return functional.normalize(rows, dim=-1)


class BiGRU(nn.Module):
    """A bidirectional GRU whose two directions are averaged ([code] of SCAN and VSE++)."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.cells = nn.GRU(inputs, width, batch_first=True, bidirectional=True)

    def forward(self, rows: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """States (n, longest, width), and the mean of the two directions' last states, (n, width).

        Rows after an end are ignored; their states are zero.
        """
        packed = pack_padded_sequence(rows, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, last = self.cells(packed)
        both, _ = pad_packed_sequence(states, batch_first=True, total_length=rows.shape[1])
        half = both.shape[-1] // 2
        return (both[..., :half] + both[..., half:]) / 2, last.mean(dim=0)
