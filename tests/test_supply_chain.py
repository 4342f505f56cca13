"""What is trusted: nothing that others write is run, and importing the package calls nobody."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import tellapart
from tellapart.benchmark.published.download import PublishedFile
from tellapart.registry import importers

SOURCE = Path(tellapart.__file__).parent
RUNS_CODE = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
EVALUATES = {"eval", "exec", "compile", "__import__"}
SAFE_ONLY = {  # what runs code of a file unless it is told not to
    ("np", "load"): ("allow_pickle", False),
    ("numpy", "load"): ("allow_pickle", False),
    ("torch", "load"): ("weights_only", True),
}
NEVER = {("yaml", "load"), ("yaml", "unsafe_load"), ("yaml", "full_load"), ("os", "system")}


def called(node: ast.Call) -> tuple[str, ...]:
    """What is called, as (module, name) or (name,)."""
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        return node.func.value.id, node.func.attr
    return (node.func.id,) if isinstance(node.func, ast.Name) else ()


def offences(text: str) -> list[str]:
    """What a module does that could run what others wrote."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module if isinstance(node, ast.ImportFrom) else ""
            names = {module or "", *(alias.name for alias in node.names if not module)}
            found += [f"imports {name}" for name in names if name.partition(".")[0] in RUNS_CODE]
        if not isinstance(node, ast.Call):
            continue
        name, given = called(node), {word.arg: word.value for word in node.keywords}
        if (len(name) == 1 and name[0] in EVALUATES) or name in NEVER:
            found.append(f"calls {'.'.join(name)}")
        option, safe = SAFE_ONLY.get(name, ("", None))
        value = given.get(option)
        if option and not (isinstance(value, ast.Constant) and value.value is safe):
            found.append(f"calls {'.'.join(name)} without {option}={safe}")
        for option in ("shell", "trust_remote_code", "allow_dangerous_deserialization"):
            value = given.get(option)
            if value is not None and not (isinstance(value, ast.Constant) and not value.value):
                found.append(f"{option} is on")
    return found


def test_nothing_that_others_write_is_run():
    every = {path: offences(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
    assert len(every) > 200
    assert {str(path): found for path, found in every.items() if found} == {}


@pytest.mark.parametrize(
    "text",
    ["import pickle", "from pickle import loads", "import joblib.parallel", "eval('1')",
     "exec(text)", "np.load(path)", "np.load(path, allow_pickle=True)", "torch.load(path)",
     "torch.load(path, weights_only=False)", "yaml.load(text)", "f(trust_remote_code=True)",
     "subprocess.run(line, shell=True)", "os.system(line)"],
)  # fmt: skip
def test_the_search_finds_what_it_looks_for(text):
    assert offences(text)


def test_what_looks_alike_is_let_through():
    text = "model.eval()\nnp.load(path, allow_pickle=False)\ntorch.load(p, weights_only=True)\n"
    assert (
        offences(text + "yaml.safe_load(text)\nre.compile('a')\nf(trust_remote_code=False)") == []
    )


IMPORTS = """
import importlib, json, pkgutil, sys
asked = []
SOCKETS = ("socket.connect", "socket.getaddrinfo", "socket.bind", "urllib.Request")
sys.addaudithook(lambda event, arguments: asked.append(event) if event in SOCKETS else None)
import tellapart
names = [m.name for m in pkgutil.walk_packages(tellapart.__path__, "tellapart.")]
for name in names:
    try:
        importlib.import_module(name)
    except (ImportError, tellapart.TellapartError):
        pass  # an extra that is not installed
print(json.dumps({"modules": len(names), "asked": asked}))
"""


def test_importing_every_module_calls_nobody():
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["modules"] > 200 and found["asked"] == []


def test_every_download_is_pinned_by_its_hash():
    sources = [
        source
        for name in importers.names()
        for source in getattr(importers.get(name), "sources", ())
    ]
    assert sources and all(isinstance(one, PublishedFile) for one in sources)
    assert all(len(one.sha256) == 64 and one.url.startswith("https://") for one in sources)
