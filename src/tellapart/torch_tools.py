"""Shared code of PyTorch adapters: device, dtype, fingerprint, rows in float32."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart.errors import BadInput, need
from tellapart.types import Floats32

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "bfloat16", "float16")
SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_declared: list[Any] = []
"""Keeps the declarations alive; torch removes them when their object is deleted."""


def torch_library(name: str) -> Any:
    """Import a library built on torch, after repairing torchvision if necessary."""
    need("torch", "models")
    mend_torchvision()
    return need(name, "models")


def device_of(wanted: str) -> str:
    """The device to run on; `auto` is a GPU if there is one."""
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
    """The dtype of weights and towers; similarities are always float32."""
    import torch

    if name not in DTYPES:
        raise BadInput(f"dtype={name} is not a dtype", allowed=", ".join(DTYPES))
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def fingerprint(module: Any) -> str:
    """The sha256 of the names, dtypes, shapes and bytes of a module's weights, sorted by name."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data if flat.numel() else b"")
    return digest.hexdigest()


def unit_rows(features: torch.Tensor) -> Floats32:
    """Rows of unit length, normalised in float32 whatever the towers' dtype (pitfall 3)."""
    import torch

    unit = torch.nn.functional.normalize(features.float(), dim=-1)
    return np.asarray(unit.cpu().numpy(), np.float32)


def chunks(length: int, size: int) -> Iterator[range]:
    """The indices 0 to length - 1, `size` at a time.

    >>> list(chunks(5, 2))
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    for start in range(0, length, size):
        yield range(start, min(start + size, length))


def mend_torchvision() -> bool:
    """Make torchvision importable if its compiled operators do not match the installed torch.

    A torchvision built for another torch cannot load its operators and fails at import with
    `operator torchvision::nms does not exist`; everything that imports it (open_clip, transformers)
    fails, too, although it does not need those operators. Declaring the missing names is enough.
    Returns True and warns if that was necessary just now.
    """
    if "torchvision" in sys.modules or importlib.util.find_spec("torchvision") is None:
        return False
    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if "operator torchvision::" not in str(error) or _declared:
            raise
    else:
        return False
    library = importlib.import_module("torch.library").Library("torchvision", "DEF")
    for schema in SCHEMAS:
        library.define(schema)
    _declared.append(library)
    for name in [m for m in sys.modules if m.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    torchvision = importlib.import_module("torchvision")
    warnings.warn(
        f"torchvision {torchvision.__version__} does not match the installed torch; its compiled "
        "operators (detection) will not work, but image transforms will. To remove this warning, "
        "install the torchvision version for this torch",
        RuntimeWarning,
        stacklevel=2,
    )
    return True
