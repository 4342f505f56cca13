"""Kernels: compiled late, kept, and run in threads."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import caching

import tellapart
from tellapart.text._numba import in_threads

SOURCE = Path(tellapart.__file__).parent


def test_threads_do_every_part_once_and_pass_errors_on():
    done = np.zeros(10_001, int)

    def work(begin: int, end: int) -> None:
        done[begin:end] += 1

    in_threads(work, len(done), least=1)
    assert np.all(done == 1)
    in_threads(work, 0)
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda begin, end: 1 // 0, 10_000, least=1)


def test_kernels_use_only_kernels_and_constants_of_their_own_file():
    # what numba keeps of a kernel is not made anew when a file changes that it merely calls into
    files = [file for file in SOURCE.rglob("*.py") if "@kernel" in file.read_text()]
    assert len(files) >= 5
    for file in files:
        tree = ast.parse(file.read_text())
        imported = {
            name.asname or name.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tellapart")
            for name in node.names
        } - {"Array", "kernel"}
        for function in tree.body:
            if isinstance(function, ast.FunctionDef) and function.decorator_list:
                used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
                assert not used & imported, (file.name, function.name, used & imported)


def test_a_kernel_is_compiled_when_it_is_called_and_numba_imported_no_earlier():
    code = (
        "import sys\n"
        "from tellapart.text.caption_metrics.sentences import Sentences, intern_words\n"
        "import tellapart.text.caption_metrics.bleu\n"
        "assert 'numba' not in sys.modules\n"
        "print(Sentences.of(['a b a']).ids.tolist(), len(intern_words(np.zeros(1, np.uint8), 1)))\n"
        "assert 'numba' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import numpy as np\n" + code],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "[0, 1, 0] 4", done.stderr


def test_a_kernel_of_another_file_is_compiled_with_those_that_it_calls():
    code = (
        "import numpy as np\n"
        "from tellapart.text.caption_metrics.pair_bleu import PairBleu\n"
        "from tellapart.text.caption_metrics.sentences import Sentences\n"
        "bleu = PairBleu(Sentences.of(['a b', 'a c']), n=1)\n"
        "print(bleu.scores_against(np.array([0]), np.array([[1]])).tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[[0.5]]", done.stderr


def test_kernels_of_another_file_are_compiled_with_the_others_of_that_file():
    # `PairBleu` calls a kernel of its own file first, then one of bleu.py that calls others there
    code = (
        "import numpy as np\n"
        "from tellapart.text.caption_metrics.pair_bleu import PairBleu, Sentences\n"
        "pairs = PairBleu(Sentences.of(['a b c', 'a b d']), n=2)\n"
        "print(pairs.scores(np.array([0]), np.array([0])).tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.stdout.strip() == "[1.0]", done.stderr


def test_kernels_run_where_nothing_may_be_kept(tmp_path):
    # a copy of numba's rule: no folder that it may write to
    code = (
        "from numba.core import caching\n"
        "for one in list(caching.CacheImpl._locator_classes):\n"
        "    one.from_function = classmethod(lambda *_: None)\n"
        "from tellapart.text.caption_metrics.sentences import Sentences\n"
        "print(Sentences.of(['a b a']).ids.tolist())\n"
    )
    assert caching.CacheImpl._locator_classes
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "[0, 1, 0]", done.stderr
