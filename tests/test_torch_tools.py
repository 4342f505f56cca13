"""torchvision that does not fit torch: mended once, with one warning, and left alone otherwise."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed")

BROKEN = """
import importlib, importlib.machinery, importlib.util, sys, types, warnings
import torch

class Finder:
    '''Stands in for a torchvision whose operators are missing: register_fake needs them.'''
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "torchvision" else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        BODY
        module.__version__ = "0.0"

sys.meta_path.insert(0, Finder())
from tellapart.torch_tools import mend_torchvision
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    results = [mend_torchvision(), mend_torchvision()]
import torchvision
print(results, [str(w.message)[:15] for w in caught if "does not match" in str(w.message)])
"""
MISSING = """
        for name in ("nms", "qnms"):
            torch.library.register_fake(f"torchvision::{name}", lambda *a: None)
"""


def run(body: str) -> subprocess.CompletedProcess[str]:
    code = BROKEN.replace("BODY", body.strip() or "pass")
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )


def test_missing_operators_are_declared_once_with_one_warning():
    done = run(MISSING)
    assert done.stdout.strip() == "[True, False] ['torchvision 0.0']", done.stderr


def test_a_torchvision_that_fits_is_left_alone():
    done = run("")
    assert done.stdout.strip() == "[False, False] []", done.stderr


def test_other_errors_of_torchvision_are_not_hidden():
    done = run("raise RuntimeError('something else')")
    assert "something else" in done.stderr and done.returncode
