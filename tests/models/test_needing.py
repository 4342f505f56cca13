"""Optional packages: named when they are missed, and never imported to list models."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tellapart.errors import TellapartError
from tellapart.models.needing import need

LISTING = """
import sys
from tellapart import registry
told = {name: registry.models.describe(name) for name in registry.models.names()}
heavy = {"torch", "transformers", "open_clip", "httpx", "onnxruntime"} & set(sys.modules)
assert not heavy, heavy
for name in ("open_clip", "hf", "vqascore", "chat", "onnx", "python"):
    assert f"{name}:" in told[name], (name, told[name])
"""


def test_a_missing_package_says_which_extra_brings_it():
    with pytest.raises(TellapartError, match="needs the package 'no_such_package'") as caught:
        need("no_such_package", "chat")
    assert caught.value.todo == "pip install 'tellapart[chat]'"


def test_listing_models_explains_each_with_an_example_and_imports_nothing_heavy():
    done = subprocess.run(
        [sys.executable, "-c", LISTING], capture_output=True, text=True, timeout=60, check=False
    )
    assert not done.returncode, done.stderr
