"""Object stores and web servers: what a command reads is fetched, what it writes is sent.

Every address has a place on this disk (`addresses.py`). Before a verb runs, what lies at the
addresses it was given is fetched to their places, pictures aside, which are read one by one when
they are needed; then the verb works on this disk as always, and what it has written whole is sent.
An object store has no rename, so a folder's card is sent last, and taken away first where a folder
is replaced: what has no card is not there. Names that begin with a dot, such as unfinished work,
stay on this disk.

A store that does not answer is waited for (`TELLAPART_PATIENCE` seconds, 60 unless set). What could
not be sent stays at its place, and is sent with the next command that names its address.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from tellapart.addresses import HOME, address_in, address_of, home, place_of
from tellapart.errors import BadInput, TellapartError, need

log = logging.getLogger(__name__)
T = TypeVar("T")

CARDS = ("benchmark.json", "corpus.json", "run.json", "features.json", "pairs.json", "system.json",
         "neighbours.json")  # fmt: skip
"""Files that say that a folder is whole."""
SENDING = ".sending"
"""The name of an empty file that is in a store as long as a folder is sent there."""
PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
WEB = ("http", "https")
KNOWN = (*CARDS, "items.parquet", "images.parquet", "captions.parquet", "scores.parquet",
         "answers.parquet", "timings.json", "data/test.parquet")  # fmt: skip
"""What a folder on a web server may hold: such servers do not list their files."""
AT_A_TIME = 64
PAUSES = (0.5, 1.0, 2.0, 5.0)
"""Seconds between attempts; the last one is repeated."""


class StoreGone(TellapartError):
    """An object store or a server that does not answer."""


# What a verb is given


def at_places(function: Callable[..., T]) -> Callable[..., T]:
    """The function, with places of addresses among its arguments instead of the addresses."""

    @wraps(function)
    def call(*given: Any, **named: Any) -> T:
        if not any(map(_names_address, (*given, *named.values()))):
            return function(*given, **named)
        bound = inspect.signature(function).bind(*given, **named)
        bound.arguments.update(placed_arguments(function, bound.arguments))
        return function(*bound.args, **bound.kwargs)

    return call


def placed_arguments(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name, with what lies at addresses among them fetched to their places."""
    if not any(map(_names_address, given.values())):
        return dict(given)
    takes, module = inspect.signature(function).parameters, inspect.getmodule(function)
    placed = {}
    for name, value in given.items():
        annotation = takes[name].annotation if name in takes else ""
        said = f"{annotation} {getattr(module, str(annotation), '')!r}"
        placed[name] = _placed(value, name, "Path" in said)
    return placed


def _names_address(value: Any) -> bool:
    if is_dataclass(value) and not isinstance(value, type):
        return any(_names_address(getattr(value, one.name, None)) for one in fields(value))
    if isinstance(value, list | tuple):
        return any(map(_names_address, value))
    return address_in(value) is not None


def _placed(value: Any, name: str, path: bool) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_placed(one, name, path) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            one.name: _placed(getattr(value, one.name), one.name, "Path" in str(one.type))
            for one in fields(value)
            if _names_address(getattr(value, one.name, None)) and one.init
        }
        return replace(value, **changed) if changed else value
    address = address_in(value)
    # A text that no path may stand in is an address of something else, such as a chat server.
    if address is None or (not path and address.startswith(WEB)):
        return value
    place = place_of(address)
    if name == "images":  # a folder of pictures, which may be very many, is not listed
        place.mkdir(parents=True, exist_ok=True)
    else:
        fetch(place)
    return place


# Stores


def _store(address: str) -> Any:
    fsspec = need("fsspec", "remote", f"an address such as {address}")
    scheme = address.partition("://")[0]
    try:
        return fsspec.filesystem(scheme, skip_instance_cache=False)
    except (ImportError, ValueError) as error:
        raise TellapartError(
            f"addresses that begin with {scheme}:// need a package that is not installed: {error}",
            todo="pip install 'tellapart[remote]' (s3, http), or gcsfs, adlfs, huggingface_hub",
        ) from error


def patience() -> float:
    """For how many seconds a store that does not answer is asked again."""
    text = os.environ.get("TELLAPART_PATIENCE", "60")
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"TELLAPART_PATIENCE is {text!r}", allowed="seconds") from None


def _asked(action: Callable[[], T], address: str, todo: str = "") -> T:
    """What a store answers; one that does not is asked again for a while."""
    until, tries = time.monotonic() + patience(), 0
    while True:
        try:
            return action()
        except (FileNotFoundError, TellapartError):
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".strip().splitlines()[0]
            if isinstance(error, PermissionError) or "Credentials" in type(error).__name__:
                raise BadInput(
                    f"{address.partition('://')[0]} does not let us in: {reason}",
                    where=address,
                    todo="set the store's own variables, such as AWS_ACCESS_KEY_ID",
                ) from error
            pause = PAUSES[min(tries, len(PAUSES) - 1)]
            tries += 1
            if time.monotonic() + pause > until:
                raise StoreGone(
                    f"the store does not answer: {reason}",
                    where=address,
                    todo=todo or "when it is back, give the same command again",
                ) from error
            if tries == 1:
                log.info("%s does not answer (%s); asking again", address, reason)
            time.sleep(pause)


@dataclass(frozen=True, slots=True)
class Listed:
    """A file in a store: its address, and a mark that changes with its content."""

    address: str
    mark: str

    @property
    def is_picture(self) -> bool:
        """Whether it is read when it is looked at, and not before."""
        return self.address.lower().endswith(PICTURES)


def _listed(address: str) -> list[Listed]:
    """The file at an address, or all files below it."""
    scheme = address.partition("://")[0]
    store = _store(address)
    if scheme in WEB:
        return _listed_on_web(address)

    def find() -> Mapping[str, Mapping[str, Any]]:
        store.invalidate_cache()
        try:
            found: Mapping[str, Mapping[str, Any]] = store.find(
                address, withdirs=False, detail=True
            )
        except FileNotFoundError:
            return {}
        return found

    found = _asked(find, address)
    files = [Listed(f"{scheme}://{name.lstrip('/')}", _mark(info)) for name, info in found.items()]
    return [one for one in files if not one.address.endswith("/")]


def _listed_on_web(address: str) -> list[Listed]:
    store = _store(address)
    whole = os.path.splitext(address.rpartition("/")[2])[1] != ""  # noqa: PTH122
    names = [address] if whole else [f"{address}/{name}" for name in KNOWN]
    found = []
    for name in names:

        def ask(name: str = name) -> Mapping[str, Any] | None:
            try:
                info: Mapping[str, Any] = store.info(name)
            except FileNotFoundError:
                return None
            return info

        info = _asked(ask, name)
        if info is not None:
            found.append(Listed(name, _mark(info)))
    return found


def _mark(info: Mapping[str, Any]) -> str:
    """What a store says of a file's content; empty where that is not enough to rely on."""
    for key in ("ETag", "etag", "md5Hash", "content_md5", "blob_id", "oid"):
        if info.get(key):
            return f"{info[key]} {info.get('size')}"
    return ""


# Reading


def fetch(path: Path) -> None:
    """Bring the place of an address up to date: a file, or a folder without its pictures."""
    address = address_of(path)
    if address is None:
        return
    send_what_waits(path)
    listed = _listed(address)
    there = {place_of(one.address): one for one in listed}
    for old in [path] if path.is_file() else list(_own_files(path)):
        if old not in there:
            old.unlink()
            _mark_file(old).unlink(missing_ok=True)
    if path.is_file() and path not in there:
        path.unlink()
    for place, one in there.items():
        if not one.is_picture and (place.name == SENDING or not place.name.startswith(".")):
            _fetch_file(place, one)
    if listed and path not in there:
        path.mkdir(parents=True, exist_ok=True)  # all it holds may be pictures


def _own_files(folder: Path) -> Iterator[Path]:
    """The files below a folder, but none that is only this machine's."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(where) / name for name in sorted(names) if not name.startswith("."))


def _fetch_file(place: Path, one: Listed) -> None:
    mark = _mark_file(place)
    if one.mark and place.is_file() and mark.is_file() and mark.read_text("utf-8") == one.mark:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        _asked(lambda: _store(one.address).get_file(one.address, str(partial)), one.address)
        os.replace(partial, place)
    except FileNotFoundError:  # it went while we looked
        place.unlink(missing_ok=True)
        return
    finally:
        partial.unlink(missing_ok=True)
    _write_mark(place, one.mark)


def _mark_file(place: Path) -> Path:
    inside = place.absolute().relative_to(home())
    return home().with_name(f"{HOME}-marks") / inside.with_name(f"{inside.name}.mark")


def _write_mark(place: Path, mark: str) -> None:
    file = _mark_file(place)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(mark, "utf-8")


def ensure(path: Path) -> None:
    """Fetch one file that is about to be read, unless it is at its place."""
    address = address_of(path)
    if address is None or path.exists() or path.name.startswith("."):
        return
    for one in _listed(address):
        _fetch_file(place_of(one.address), one)


def read(address: str, first: int | None = None, end: int | None = None) -> bytes:
    """A file's bytes, or some of them, straight from its store."""
    store = _store(address)
    data: bytes = _asked(lambda: store.cat_file(address, start=first, end=end), address)
    return data


def is_there(address: str) -> bool:
    """Whether there is a file at an address."""
    store = _store(address)
    return bool(_asked(lambda: store.isfile(address), address))


def names_below(folder: Path) -> list[str] | None:
    """The paths of all files at an address, pictures too; None for a folder on this disk."""
    address = address_of(folder)
    if address is None:
        return None
    names = (one.address.removeprefix(f"{address}/") for one in _listed(address))
    return sorted(one for one in names if not any(p.startswith(".") for p in one.split("/")))


# Writing


def promise(path: Path) -> None:
    """Note that a file or folder is about to be written that goes to an address.

    Whoever is killed before it is sent leaves it to the next command.
    """
    address = address_of(path)
    if address is not None and not _is_own(path):
        waits = _waiting(address)
        waits.parent.mkdir(parents=True, exist_ok=True)
        waits.write_text(address, "utf-8")


def _is_own(path: Path) -> bool:
    """Whether a place is only this machine's: unfinished work."""
    return any(part.startswith(".") for part in path.absolute().relative_to(home()).parts)


def send(path: Path) -> None:
    """Send a file or folder that was written whole to the address whose place it is."""
    address = address_of(path)
    if address is None or _is_own(path):
        return
    if address.startswith(WEB):
        raise BadInput(
            "a web server can be read from, not written to",
            where=address,
            allowed="an object store such as s3://bucket/folder, or a folder",
        )
    promise(path)
    todo = f"when it is back: tellapart work send {address} (all of it is kept: {path})"
    _send_now(path, address, todo)
    _waiting(address).unlink(missing_ok=True)


def _send_now(path: Path, address: str, todo: str) -> None:
    whole = path.is_file()
    ours = [path] if whole else list(_own_files(path))
    last = [one for one in ours if one.name in CARDS and one != path]
    others = [one for one in ours if one not in set(last)]
    sent = {f"{address}/{one.relative_to(path).as_posix()}" if one != path else address: one
            for one in others + last}  # fmt: skip
    before = {one.address for one in _listed(address)}
    cards = [name for name in before if name.rpartition("/")[2] in CARDS]
    sending = f"{address}/{SENDING}"
    if not whole:
        _written(lambda: _store(address).pipe_file(sending, b""), sending, todo)
        _take_away(cards, address, todo)
    names = list(sent)
    for start in range(0, len(others), AT_A_TIME):
        _put(
            {name: sent[name] for name in names[start : min(start + AT_A_TIME, len(others))]}, todo
        )
    for name in names[len(others) :]:
        _put({name: sent[name]}, todo)
    gone = set() if whole else {*(before - set(sent) - set(cards)), sending}
    _take_away(gone, address, todo)
    if not whole:
        (path / SENDING).unlink(missing_ok=True)
    for one in _listed(address):
        place = sent.get(one.address)
        if place is not None and one.is_picture and place != path:
            place.unlink()  # pictures are read from where they are
        elif place is not None:
            _write_mark(place, one.mark)


def _put(files: Mapping[str, Path], todo: str) -> None:
    """Send some files; each is there whole or not at all."""
    first = next(iter(files))
    store = _store(first)
    _written(lambda: store.put([str(one) for one in files.values()], list(files)), first, todo)


def _written(action: Callable[[], Any], address: str, todo: str) -> None:
    try:
        _asked(action, address, todo)
    except FileNotFoundError as error:
        raise BadInput(
            f"there is no {address.split('/')[2]} to write to",
            where=address,
            allowed="a bucket that exists",
            todo=f"make it; {todo}",
        ) from error


def _take_away(names: Collection[str], address: str, todo: str) -> None:
    if names:
        store = _store(address)
        _asked(lambda: store.rm(sorted(names)), address, todo)


def _waiting(address: str) -> Path:
    name = hashlib.sha256(address.encode()).hexdigest()[:32]
    return home().with_name(f"{HOME}-unsent") / name


def unsent(path: Path | None = None) -> list[Path]:
    """Places of what could not be sent: all of them, or those at, below or above a path."""
    folder = home().with_name(f"{HOME}-unsent")
    places = [place_of(file.read_text("utf-8")) for file in sorted(folder.glob("*"))]
    related = [p for p in places if path is None or p == path or path in p.parents]
    return [p for p in places if p in related or (path is not None and p in path.parents)]


def send_what_waits(path: Path | None = None) -> list[str]:
    """Send what an earlier command could not send; the addresses."""
    sent = []
    for place in unsent(path):
        address = str(address_of(place))
        if place.exists():
            send(place)
            log.info("sent what an earlier command could not send: %s", address)
            sent.append(address)
        else:
            _waiting(address).unlink(missing_ok=True)
    return sent


def is_half(folder: Path) -> bool:
    """Whether somebody was stopped while sending this folder."""
    return address_of(folder) is not None and (folder / SENDING).exists()
