"""The files of a source: given directly, found in folders, or downloaded once.

Downloads can be resumed, are checked by their hash, and appear completely or not at all.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tellapart.errors import BadInput, TellapartError
from tellapart.files import suffix
from tellapart.store.cache import SIZE_GB, default_folder, make_room, mark_used
from tellapart.types import Progress, silent

if TYPE_CHECKING:
    from tellapart.benchmark.published.importer import Importer

CHUNK = 1 << 18
TIMEOUT = 30.0
HUB = "hf:"


class DownloadFailed(TellapartError):
    """A file that could not be downloaded, or is not the published one."""


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """The address of a file published by its authors, and its hash."""

    url: str
    sha256: str

    @property
    def name(self) -> str:
        """The file's name."""
        return self.url.rpartition("/")[2]


def fetch(source: PublishedFile, progress: Progress = silent) -> Path:
    """The file, from the cache or from its address.

    An unfinished download is kept beside it as `NAME.part`, which the next call resumes.
    """
    downloads = default_folder() / "downloads"
    path = downloads / source.sha256[:16] / source.name
    if path.is_file() and file_sha256(path) == source.sha256:
        mark_used(path.parent)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    if not (partial.is_file() and file_sha256(partial) == source.sha256):
        _receive(source, partial, progress)
    seen = file_sha256(partial)
    if seen != source.sha256:
        partial.unlink()
        raise DownloadFailed(
            f"{source.name} is not the file that was published before",
            where=source.url,
            allowed=f"sha256 {source.sha256}, this one has {seen}",
            todo="try again; if the error persists, the authors have changed the file: "
            "download it by hand, check what is new, and give it with --from",
        )
    os.replace(partial, path)
    mark_used(path.parent)
    # Never evict downloads here: the importer may need several of them together.
    make_room(downloads.parent, int(SIZE_GB * 1e9), spare=(downloads,))
    return path


def _receive(source: PublishedFile, partial: Path, progress: Progress) -> None:
    """Download the missing rest of a partial file."""
    begin = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(source.url, headers={"User-Agent": "tellapart"})
    if begin:
        request.add_header("Range", f"bytes={begin}-")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as reply:
            if reply.status != http.client.PARTIAL_CONTENT:
                begin = 0  # the server sends the whole file again
            length = reply.headers.get("Content-Length")
            total = begin + int(length) if length else 0
            with partial.open("ab" if begin else "wb") as out:
                done = begin
                while chunk := reply.read(CHUNK):
                    out.write(chunk)
                    done += len(chunk)
                    progress(source.name, done, total)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            partial.unlink()  # it was longer than the file: start over
            return _receive(source, partial, progress)
        gone = error.code in (http.client.NOT_FOUND, http.client.GONE)
        raise DownloadFailed(
            f"{source.name} is no longer at its address"
            if gone
            else f"the server refuses to send {source.name}",
            where=f"{source.url} answers {error.code} {error.reason}",
            todo="download the file by hand and give it with --from",
        ) from None
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise DownloadFailed(
            f"{source.name} cannot be downloaded: {reason}",
            where=source.url,
            todo="check the network and run the command again, or download the file by hand "
            "and give it with --from",
        ) from None
    if done < total:
        raise DownloadFailed(
            f"the download of {source.name} stopped after {done:,} of {total:,} bytes",
            where=source.url,
            todo="run the command again to resume the download",
        )
    return None


def file_sha256(path: Path) -> str:
    """The hash of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hub_files(name: str, endings: Sequence[str] = ("parquet",)) -> list[Path]:
    """The Parquet files of a dataset, such as `hf:imirandam/BiVLC`; kept in `HF_HOME`.

    `hf:NAME@COMMIT` gives those of a fixed commit. If a source has no Parquet files, its files with
    the importer's first ending are used (SugarCrepe++: JSON). Terms of use (Winoground) must have
    been accepted on the hub; `HF_HUB_OFFLINE` is respected.
    """
    repository, _, revision = name.removeprefix(HUB).partition("@")
    ending = "parquet" if "parquet" in endings else endings[0]
    by_hand = f"download its .{ending} files and give them with --from (see {_page(repository)})"
    try:
        hub = import_module("huggingface_hub")
    except ImportError:
        raise TellapartError(
            f"{name} is on the Hugging Face hub, which needs the package huggingface_hub",
            where=_page(repository),
            todo=f"pip install huggingface_hub; or {by_hand}",
        ) from None
    try:
        wanted = {"allow_patterns": f"*.{ending}", **({"revision": revision} if revision else {})}
        folder = Path(hub.snapshot_download(repository, repo_type="dataset", **wanted))
    except Exception as error:  # the hub has many error types, and they change
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise TellapartError(
            f"{name} cannot be fetched: {reason}", where=_page(repository), todo=by_hand
        ) from None
    files = sorted(folder.rglob(f"*.{ending}"))
    if not files:
        what = "Parquet" if ending == "parquet" else f".{ending}"
        raise TellapartError(f"{name} has no {what} files", where=_page(repository), todo=by_hand)
    return files


def _page(repository: str) -> str:
    return f"https://huggingface.co/datasets/{repository}"


def _fitting_below(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """The readable files in all subfolders, except hidden ones."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and suffix(path) in endings
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def source_files(
    importer: Importer, given: Sequence[Path | str], progress: Progress = silent
) -> list[Path]:
    """The files to read: given directly, in folders, on the hub, or downloaded."""
    if not given and importer.sources:
        return [fetch(source, progress) for source in importer.sources]
    endings = ", ".join(f".{ending}" for ending in importer.endings)
    if not given:
        raise BadInput(
            f"no files were given for {importer.name}",
            allowed=f"{endings}, each also with .gz",
            todo="give them with --from" + (f"; they are at {importer.page}" * bool(importer.page)),
        )
    files: list[Path] = []
    for one in given:
        if str(one).startswith(HUB):
            files += hub_files(str(one), importer.endings)
        elif Path(one).is_dir():
            inside = sorted(p for p in Path(one).iterdir() if p.is_file())
            fitting = [path for path in inside if suffix(path) in importer.endings]
            # Hugging Face keeps a dataset's tables in a folder inside.
            fitting = fitting or _fitting_below(Path(one), importer.endings)
            if not fitting:
                raise BadInput(
                    f"{Path(one).name} contains no files of {importer.name}",
                    where=str(one),
                    allowed=endings,
                    todo="write it with the dataset's to_parquet(FILE): .arrow files are "
                    "the internal "
                    "format of `datasets`" * any(Path(one).rglob("*.arrow")),
                )
            files += fitting
        elif not Path(one).exists():
            raise BadInput(
                f"there is no file or folder {one}",
                allowed=f"{endings}, each also with .gz, or a folder of them",
                todo="check the path after --from",
            )
        else:
            files.append(Path(one))
    return files
