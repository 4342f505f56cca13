"""GRU layers over captions of different lengths, quicker to train on a processor than torch's.

Torch also processes real words only. But on a processor its gradient of a layer's weights is a
product for each step, and in 16 bits each step casts the weights again. Here that gradient is one
product over all steps, weights are cast once, and states stay in 32 bits. The weights are those of
a `torch.nn.GRU`, and so are the results, up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

TOGETHER = 32
"""Steps have a multiple of this many captions: in 16 bits, every new size costs time once."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The words of captions, step after step: in each, the longest captions come first.

    `row` and `at` are the caption and the place of each word, `sizes` the words of each step.
    `order` sorts captions by length. Captions that have just ended fill a step up; `real` is false
    for them, and what they give is ignored.
    """

    order: Tensor
    row: Tensor
    at: Tensor
    real: Tensor
    sizes: list[int]

    @classmethod
    def of(cls, lengths: Tensor, longest: int) -> Steps:
        """The steps of captions of these lengths, in rows of `longest` places."""
        order = torch.argsort(lengths, descending=True, stable=True)
        going = lengths[order] > torch.arange(longest, device=lengths.device)[:, None]
        counts = [count for count in going.sum(1).tolist() if count]
        sizes = [min(len(order), -(-count // TOGETHER) * TOGETHER) for count in counts]
        row = torch.cat([order[:size] for size in sizes])
        at = torch.cat([order.new_full((size,), step) for step, size in enumerate(sizes)])
        return cls(order, row, at, at < lengths[row], sizes)

    def taken(self, rows: Tensor) -> Tensor:
        """The vectors of the words, one after the other, from (captions, places, width)."""
        return rows[self.row, self.at]

    def spread(self, vectors: Tensor, places: int) -> Tensor:
        """The opposite: (captions, places, width), zero where there is no word."""
        filled = vectors.new_zeros(len(self.order), places, vectors.shape[1])
        return filled.index_put((self.row, self.at), vectors * self.real[:, None])


def unrolled(cells: nn.GRU, inputs: Tensor, steps: Steps, first: Tensor) -> Tensor:
    """The last layer's states at all words; `first` are (layers, captions, width) before them."""
    states = inputs
    for layer in range(cells.num_layers):
        input_weight, state_weight, input_bias, state_bias = (
            getattr(cells, f"{name}_l{layer}")
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        given = functional.linear(states, input_weight, input_bias)
        begun = first[layer, steps.order]
        states = _Layer.apply(given, begun, state_weight, state_bias, steps.sizes)  # type: ignore[no-untyped-call]
    return states


class _Layer(torch.autograd.Function):
    """One layer, from its inputs times their weights: rows sorted by length, step after step.

    `sizes` says how many rows each step has; a row that ends leaves a smaller step behind. With
    gates r and z (Cho et al. 2014), h' = (1 - z) n + z h, n = tanh(given + r (W h + b)).
    """

    @staticmethod
    def forward(
        ctx: Any, given: Tensor, first: Tensor, weight: Tensor, bias: Tensor, sizes: list[int]
    ) -> Tensor:
        given, state, width = given.float(), first.float(), first.shape[1]
        low = weight.to(_precision(given))
        states, kept = given.new_empty(len(given), width), []
        with torch.autocast(given.device.type, enabled=False):
            for step, out in zip(*_cut(sizes, given, states), strict=True):
                before = state[: len(step)]
                own = functional.linear(before.to(low.dtype), low).float().add_(bias)
                gates = own[:, : 2 * width].add_(step[:, : 2 * width]).sigmoid_()
                reset, keep = gates.chunk(2, 1)
                # tanh(x) = 2 sigmoid(2 x) - 1, which is several times quicker.
                new = torch.addcmul(step[:, 2 * width :], reset, own[:, 2 * width :])
                new = new.mul_(2).sigmoid_().mul_(2).sub_(1)
                state = torch.lerp(new, before, keep, out=out)
                kept += [own, new]
        ctx.save_for_backward(low, first, states, *kept)
        ctx.sizes = sizes
        return states

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        low, first, states, *kept = ctx.saved_tensors
        sizes, width = ctx.sizes, states.shape[1]
        whole = grads[0].contiguous()
        of_given = whole.new_empty(len(whole), 3 * width)
        of_own = torch.empty_like(of_given, dtype=low.dtype)
        carried, before = whole.new_zeros(first.shape), _before(first.float(), states, sizes)
        steps = zip(
            *_cut(sizes, whole, before, of_given, of_own), kept[::2], kept[1::2], strict=True
        )  # fmt: skip
        for gradient, start, given, inner, own, new in reversed(list(steps)):
            reset, keep, said = own.chunk(3, 1)
            state = gradient + carried[: len(gradient)]
            of_new = state * (1 - keep) * (1 - new * new)
            torch.mul(of_new * said, reset * (1 - reset), out=given[:, :width])
            torch.mul(state * (start - new), keep * (1 - keep), out=given[:, width : 2 * width])
            given[:, 2 * width :] = of_new
            inner.copy_(given)
            inner[:, 2 * width :] = of_new * reset
            carried[: len(gradient)] = torch.addcmul((inner @ low).float(), state, keep)
        of_weight = (of_own.T @ before.to(low.dtype)).float()
        return (
            of_given,
            carried.to(first.dtype),
            of_weight,
            of_own.sum(0, dtype=torch.float32),
            None,
        )


def _cut(sizes: list[int], *rows: Tensor) -> list[tuple[Tensor, ...]]:
    """The rows of each step."""
    return [torch.split(one, sizes) for one in rows]


def _before(first: Tensor, states: Tensor, sizes: list[int]) -> Tensor:
    """The state before each row of each step: the first ones, then those of the step before."""
    ends = [first, *_cut(sizes, states)[0]]
    return torch.cat([end[:count] for end, count in zip(ends, sizes, strict=False)])


def _precision(rows: Tensor) -> torch.dtype:
    """The precision of products: that of autocast, if it is on."""
    kind = rows.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.float32
