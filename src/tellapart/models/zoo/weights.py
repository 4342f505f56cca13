"""Weights in files: safetensors, never pickles."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from tellapart.errors import BadInput
from tellapart.files import whole_file


def save_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write named tensors whole."""
    from safetensors.torch import save_file

    copies = {name: one.detach().cpu().contiguous().clone() for name, one in tensors.items()}
    with whole_file(path) as partial:
        save_file(copies, partial)


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read what `save_tensors` wrote."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise BadInput(
            f"{path.name} is not a complete file of weights: {error}",
            where=str(path),
            allowed="a safetensors file that tellapart wrote",
            todo="delete the folder and train again",
        ) from None
