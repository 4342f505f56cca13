"""Listing models."""

from __future__ import annotations

import subprocess
import sys

LISTING = """
import sys
from tellapart import registry
told = {name: registry.models.describe(name) for name in registry.models.names()}
heavy = {"torch", "transformers", "open_clip", "httpx", "onnxruntime"} & set(sys.modules)
assert not heavy, heavy
for name in ("open_clip", "hf", "vqascore", "chat", "onnx", "python"):
    assert f"{name}:" in told[name], (name, told[name])
"""


def test_listing_models_explains_each_with_an_example_and_imports_nothing_heavy():
    done = subprocess.run(
        [sys.executable, "-c", LISTING], capture_output=True, text=True, timeout=60, check=False
    )
    assert not done.returncode, done.stderr
