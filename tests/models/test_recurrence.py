"""The quick GRU equals torch's: what it says at every word, and every gradient."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.models.small import one_thread  # noqa: E402
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence  # noqa: E402

from tellapart.models.zoo.recurrence import TOGETHER, Steps, unrolled  # noqa: E402

PLACES, WIDTH, OUT = 9, 6, 5


def slow(cells, inputs, lengths, first):
    packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    states, _ = cells(packed, first)
    return pad_packed_sequence(states, batch_first=True, total_length=inputs.shape[1])[0]


def quick(cells, inputs, lengths, first):
    steps = Steps.of(lengths, inputs.shape[1])
    return steps.spread(unrolled(cells, steps.taken(inputs), steps, first), inputs.shape[1])


def gradients(how, count, *, low=False):
    """The states and the gradients of inputs, first states and weights, by one of both ways."""
    torch.manual_seed(count)
    cells = torch.nn.GRU(WIDTH, OUT, 2, batch_first=True)
    inputs = torch.randn(count, PLACES, WIDTH, requires_grad=True)
    first = torch.randn(2, count, OUT, requires_grad=True)
    lengths = torch.randint(1, PLACES, (count,))
    wanted = torch.randn(count, PLACES, OUT)
    with torch.autocast("cpu", torch.bfloat16, enabled=low):
        states = how(cells, inputs, lengths, first).float()
    (states * wanted).sum().backward()
    named = {"inputs": inputs, "first": first, **dict(cells.named_parameters())}
    return {"states": states.detach(), **{name: one.grad for name, one in named.items()}}


@pytest.mark.parametrize("count", [1, 7, TOGETHER, 2 * TOGETHER + 5])
def test_states_and_gradients_are_those_of_torch(count):
    with one_thread():
        one, other = (gradients(how, count) for how in (slow, quick))
    for name, expected in one.items():
        torch.testing.assert_close(other[name], expected, rtol=1e-4, atol=1e-5, msg=name)


def test_in_16_bits_it_is_as_near_as_torch_is():
    with one_thread():
        exact = gradients(slow, 70)
        apart = [
            {name: (found[name] - exact[name]).norm() / exact[name].norm() for name in exact}
            for found in (gradients(how, 70, low=True) for how in (slow, quick))
        ]
    for name in exact:
        assert 0 < apart[1][name] < 0.02, name
        assert apart[1][name] < 2 * apart[0][name], name


def test_a_step_is_filled_up_with_captions_that_have_ended_and_nothing_comes_from_them():
    lengths = torch.tensor([2] * 40 + [4] * 3)
    steps = Steps.of(lengths, 6)
    assert steps.sizes == [43, 43, TOGETHER, TOGETHER]
    assert int(steps.real.sum()) == int(lengths.sum())
    rows = torch.arange(1.0, 43 * 6 + 1).reshape(43, 6, 1)
    back = steps.spread(steps.taken(rows), 6)
    there = torch.arange(6) < lengths[:, None]
    assert torch.equal(back, rows * there[..., None])
