"""How the towers of `storybook` become ONNX files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.models.zoo.towers import Towers
from tellapart.training.examples import SIDE

OPSET = 17
FEW = 256
"""Tensors with fewer numbers than this keep their 32 bits."""


def export(towers: Towers, folder: Path) -> None:
    """Write `image.onnx` and `text.onnx`, with weights of 16 bits that runtimes widen."""
    towers.eval()
    pixels = torch.zeros(2, SIDE, SIDE, 3, dtype=torch.uint8)
    words = torch.ones(2, 7, dtype=torch.long)
    _export(towers.image, pixels, "pixels", {0: "n"}, folder / "image.onnx")
    _export(towers.text, words, "words", {0: "n", 1: "length"}, folder / "text.onnx")


def _export(tower: nn.Module, shown: Tensor, name: str, free: dict[int, str], path: Path) -> None:
    with warnings.catch_warnings():
        # The older exporter, on purpose: the newer one needs one more package for the same graph.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            tower,
            (shown,),
            str(path),
            input_names=[name],
            output_names=["rows"],
            dynamic_axes={name: free, "rows": {0: "n"}},
            opset_version=OPSET,
            dynamo=False,
        )
    halve(path)


def halve(path: Path) -> None:
    """Store large tensors as float16, each behind a cast: half the size, the same arithmetic."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load(path)
    graph = model.graph
    casts = []
    for tensor in graph.initializer:
        numbers = numpy_helper.to_array(tensor)
        if tensor.data_type != TensorProto.FLOAT or numbers.size < FEW:
            continue
        name, stored = tensor.name, f"{tensor.name}.16"
        tensor.CopyFrom(numpy_helper.from_array(numbers.astype(np.float16), stored))
        casts.append(helper.make_node("Cast", [stored], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    for node in graph.node:
        node.doc_string = ""
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString(deterministic=True))
