"""The task of dual encoders: matching pictures with captions, with hard negatives.

Every loss uses one grid of cosines. Plain InfoNCE: N images by N captions. Negative texts: N by 2N,
where only captions choose images. Negative texts and images: 2N by 2N. Batches that do not fit in
memory are encoded in chunks whose activations are computed again in the backward pass (gradient
caching, Gao et al. 2021), so that memory is that of a chunk while the loss covers the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput, UnknownName
from tellapart.measures.scores import asks_of, measure_runs
from tellapart.models.tuned import TunedEncoder
from tellapart.models.zoo.pixel_encoder import PixelEncoder, Read
from tellapart.score.engine import Settings, run_model
from tellapart.training.losses import info_nce, max_margin, own_cells
from tellapart.training.task import LOSSES, Task
from tellapart.training.tuning.pair_batches import PairBatch, PairSet, share_of
from tellapart.training.tuning.pairs import NEGATIVES

FROZEN = ("", "image", "text")
IN_BATCH = ("accuracy", "i2t", "t2i")
"""The figures of validation within batches: the mean of both directions, and each."""
STATISTICS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


@dataclass(frozen=True, slots=True)
class TuningConfig:
    """Which weights are trained: all, one tower (`freeze` names the other), or LoRA's additions.

    `lora_rank` 0 is no LoRA; `lora_scale` is its alpha over its rank (Hu et al. 2022).
    """

    freeze: str = ""
    lora_rank: int = 0
    lora_scale: float = 1.0
    lora_dropout: float = 0.0


@dataclass(frozen=True, slots=True)
class ContrastSettings:
    """The loss, the negatives, and how a batch is processed.

    `loss` is info-nce (with the model's own scale), hardest or sum (max-margin). `chunk` inputs are
    encoded at a time (0: all together). With `statistics`, batch normalisation learns its
    statistics from the batches, as training from scratch requires; otherwise those of the start are
    kept. `best_by` names the validation figure that selects the weights: accuracy (in-batch, both
    directions), or BENCH:MEASURE of a watched benchmark. Prepared pictures are kept in memory up to
    `keep_gb`.
    """

    loss: str = "info-nce"
    negatives: str = "none"
    margin: float = 0.2
    chunk: int = 0
    statistics: bool = False
    best_by: str = "accuracy"
    keep_gb: float = 1.0

    def check(self) -> None:
        """Raise if a setting makes no sense."""
        if self.loss not in LOSSES:
            raise UnknownName("loss", self.loss, LOSSES)
        if self.negatives not in NEGATIVES:
            raise UnknownName("sort of negatives", self.negatives, NEGATIVES)
        if self.chunk and self.statistics:
            raise BadInput(
                "batch normalisation cannot learn its statistics from chunks of a batch",
                allowed="chunk=0 or statistics=false",
            )


class ContrastTask(Task):
    """Matches pictures with captions; the best weights by in-batch accuracy or near misses."""

    Settings = ContrastSettings
    splits_batches: ClassVar[bool] = True

    def __init__(
        self,
        system: PixelEncoder,
        settings: ContrastSettings,
        data: PairSet,
        *,
        batch: int,
        watched: Sequence[Benchmark] = (),
    ) -> None:
        super().__init__(system, settings, data)
        self.measure, self.batch, self.watched = settings.best_by, batch, tuple(watched)
        self.share = data.share

    def train(self, mode: bool = True) -> ContrastTask:
        """Batch normalisation keeps its statistics, unless it should learn them."""
        super().train(mode)
        if not self.settings.statistics:
            for module in self.modules():
                if isinstance(module, STATISTICS):
                    module.eval()
        return self

    def forward(self, batch: PairBatch, epoch: int) -> Tensor:
        """The loss over the whole batch, of which this process has a part."""
        encoder: PixelEncoder = self.system
        images = self._encoded(encoder.encode_images, (batch.pixels,))
        texts = self._encoded(lambda *read: encoder.encode_texts(read), batch.texts)
        images = gathered(images, batch.images, *self.share)
        texts = gathered(texts, batch.captions, *self.share)
        with torch.autocast(images.device.type, enabled=False):  # cosines in full precision
            grid = images @ texts.T
            if self.settings.loss == "info-nce":
                return info_nce(grid, batch.owner, encoder.scale())
            hardest = self.settings.loss == "hardest"
            # The scale is unused here, but distributed torch needs a gradient for every weight.
            unused = 0.0 * encoder.log_scale()
            return max_margin(grid, batch.owner, self.settings.margin, hardest=hardest) + unused

    def _encoded(self, encode: Callable[..., Tensor], inputs: Read) -> Tensor:
        """Unit rows, all together or in chunks that are computed again in the backward pass."""
        size = self.settings.chunk or len(inputs[0])
        rows = []
        for start in range(0, len(inputs[0]), size):
            part = tuple(one[start : start + size] for one in inputs)
            if self.settings.chunk and torch.is_grad_enabled():
                rows.append(checkpoint(encode, *part, use_reentrant=False))
            else:
                rows.append(encode(*part))
        return functional.normalize(torch.cat(rows).float(), dim=-1)

    def validate(self, data: PairSet) -> dict[str, float]:
        """In-batch accuracy in percent, mean over batches, and the watched benchmarks' measures."""
        device = next(self.system.parameters()).device
        ways: dict[str, list[float]] = {"i2t": [], "t2i": []}
        for batch in data.batches(self.batch):
            here = batch.to(device)
            images = self._encoded(self.system.encode_images, (here.pixels,))
            read = self._encoded(lambda *one: self.system.encode_texts(one), here.texts)
            for way, share in in_batch(images @ read.T, here.owner).items():
                ways[way].append(100 * share)
        figures = {way: sum(shares) / len(shares) for way, shares in ways.items()}
        figures = {"accuracy": sum(figures.values()) / 2, **figures}
        for bench in self.watched:
            figures |= watch(TunedEncoder.live(self.system, str(device)), bench)
        if self.measure not in figures:
            raise UnknownName("figure to choose by", self.measure, figures)
        return figures


def in_batch(grid: Tensor, owner: Tensor) -> dict[str, float]:
    """The share of true cells that beat all others in their row, and in their column."""
    m = len(owner)
    right = grid[owner, torch.arange(m, device=grid.device)]
    others = grid.masked_fill(own_cells(grid, owner), float("-inf"))
    return {
        "i2t": float((right > others.amax(dim=1)[owner]).double().mean()),
        "t2i": float((right > others[:, :m].amax(dim=0)).double().mean()),
    }


def watch(model: Any, bench: Benchmark) -> dict[str, float]:
    """A benchmark's measures in percent, as NAME:MEASURE."""
    run = run_model(model, bench, Settings(asks_of(bench.card.measures)))
    scores = measure_runs([run], resamples=2)
    return {f"{bench.name}:{row.measure}": 100 * row.value for row in scores if row.kind == "micro"}


class _GatheredRows(torch.autograd.Function):
    """Rows of all processes; the backward pass sums the gradients of this process's rows."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, number: int, rank: int, count: int) -> Tensor:
        ctx.place = share_of(number, rank, count)
        most = -(-number // count)
        padded = functional.pad(rows, (0, 0, 0, most - len(rows)))
        everyone = [torch.empty_like(padded) for _ in range(count)]
        torch.distributed.all_gather(everyone, padded)
        parts = [share_of(number, k, count) for k in range(count)]
        kept = [one[: p.stop - p.start] for one, p in zip(everyone, parts, strict=True)]
        return torch.cat(kept)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        total = grads[0].contiguous().clone()
        torch.distributed.all_reduce(total)
        return total[ctx.place], None, None, None


def gathered(rows: Tensor, number: int, rank: int, count: int) -> Tensor:
    """The rows of all processes, with gradients.

    Every process computes the loss of the whole batch. The gradients are averaged afterwards, so
    each process multiplies those of its own rows by the number of processes; the average is then
    the gradient that a single process would have.
    """
    if count == 1:
        return rows
    found: Tensor = _GatheredRows.apply(rows, number, rank, count)  # type: ignore[no-untyped-call]
    return found
