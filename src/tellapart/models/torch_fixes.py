"""Makes torchvision importable where its compiled operators do not fit the installed torch.

A torchvision built for another torch cannot load its operators and then stops at import with
`operator torchvision::nms does not exist`; everything that imports it (open_clip, transformers)
stops too, though none of it needs those operators. Declaring the missing names is enough.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from typing import Any

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_declared: list[Any] = []
"""The declarations; torch takes them back when the object that made them is gone."""


def mend_torchvision() -> bool:
    """Declare the operators that torchvision misses; True where that was needed just now.

    Does nothing where torchvision is absent or fits. Warns once.
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
    _declare()
    for name in [m for m in sys.modules if m.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    torchvision = importlib.import_module("torchvision")
    warnings.warn(
        f"torchvision {torchvision.__version__} does not fit the installed torch; its compiled "
        "operators (detection) will not work, image transforms do. To be rid of this warning, "
        "install the torchvision that belongs to this torch",
        RuntimeWarning,
        stacklevel=2,
    )
    return True


def _declare() -> None:
    library = importlib.import_module("torch.library").Library("torchvision", "DEF")
    for schema in SCHEMAS:
        library.define(schema)
    _declared.append(library)
