"""What the adapters of PyTorch models share: device, dtype, fingerprint, rows in float32."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart.errors import BadInput
from tellapart.models.model import Floats
from tellapart.models.needing import need
from tellapart.models.torch_fixes import mend_torchvision

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "bfloat16", "float16")


def torch_library(name: str) -> Any:
    """A library built on torch, with torchvision mended first where it must be."""
    need("torch", "models")
    mend_torchvision()
    return need(name, "models")


def device_of(wanted: str) -> str:
    """The device to run on; `auto` is a graphics card where there is one."""
    import torch

    if wanted != "auto":
        try:
            torch.empty(0, device=wanted)
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            raise BadInput(
                f"device={wanted} cannot be used: {str(error).splitlines()[0]}",
                allowed="auto, cpu, cuda, cuda:1, mps",
            ) from None
        return wanted
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def dtype_of(name: str) -> torch.dtype:
    """The dtype that weights are held and towers computed in; similarities are always float32."""
    import torch

    if name not in DTYPES:
        raise BadInput(f"dtype={name} is not a dtype", allowed=", ".join(DTYPES))
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def fingerprint(module: Any) -> str:
    """The sha256 over the names, dtypes, shapes and bytes of a module's weights, sorted by name."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data if flat.numel() else b"")
    return digest.hexdigest()


def unit_rows(features: torch.Tensor) -> Floats:
    """Rows of unit length, normalised in float32 whatever the towers computed in (pitfall 3)."""
    import torch

    unit = torch.nn.functional.normalize(features.float(), dim=-1)
    return np.asarray(unit.cpu().numpy(), np.float32)


def chunks(length: int, size: int) -> Iterator[range]:
    """The places 0 to length - 1, `size` at a time.

    >>> list(chunks(5, 2))
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    for start in range(0, length, size):
        yield range(start, min(start + size, length))


def put_back(rows: Sequence[Floats], order: Sequence[int]) -> Floats:
    """Blocks of rows that were computed in another order, joined and in their own order again."""
    if not rows:
        return np.empty((0, 0), np.float32)
    joined = np.concatenate(rows)
    placed = np.empty_like(joined)
    placed[np.asarray(order)] = joined
    return placed
