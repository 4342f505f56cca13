"""torchvision that does not fit torch: mended once, with one warning, and left alone otherwise."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed")

BROKEN = """
import importlib.machinery, json, os, sys, traceback, warnings
import torch

class Finder:
    '''Stands in for a torchvision whose operators are missing: register_fake needs them.'''
    def __init__(self, body):
        self.body = body
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "torchvision" else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(self.body)
        module.__version__ = "0.0"

def mended(body):
    sys.meta_path.insert(0, Finder(body))
    from tellapart.torch_tools import mend_torchvision
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = [mend_torchvision(), mend_torchvision()]
    import torchvision
    print(results, [str(w.message)[:15] for w in caught if "does not match" in str(w.message)])

for body in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        try:
            mended(body)
        except Exception as error:
            print(error)
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""
MISSING = """
for name in ("nms", "qnms"):
    torch.library.register_fake(f"torchvision::{name}", lambda *a: None)
"""


def test_what_is_missing_is_declared_once_what_fits_left_alone_and_errors_are_shown():
    """Three processes, forked from one that has imported torch: that takes the longest."""
    bodies = [MISSING, "pass", "raise RuntimeError('something else')"]
    done = subprocess.run(
        [sys.executable, "-c", BROKEN, json.dumps(bodies)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "[True, False] ['torchvision 0.0']", "[False, False] []", "something else",
    ], done.stderr  # fmt: skip
