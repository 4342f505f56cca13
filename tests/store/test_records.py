"""Records, rows and arrays of the cache, byte by byte: what is whole is read, nothing else."""

from __future__ import annotations

import errno
import hashlib
import os
import struct
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from tellapart.errors import BadInput, DiskFull
from tellapart.store import arrays as arrays_module
from tellapart.store import records as records_module
from tellapart.store import rows as rows_module
from tellapart.store.arrays import (
    ArraySegments,
    ArrayShelf,
    arrays_bytes,
    read_arrays,
    write_arrays,
)
from tellapart.store.cache import SIZE_GB, make_room, mark_used, unwritable
from tellapart.store.records import (
    Journal,
    RecordPlace,
    RecordWriter,
    body,
    bury,
    cut,
    places,
    record,
)
from tellapart.store.rows import Damaged, RowStore, Shelf


def keys(*pairs: tuple[int, int]) -> np.ndarray:
    return np.array(pairs, np.uint64).reshape(-1, 2)


def rows(*values: float) -> np.ndarray:
    return np.array(values, np.float32)[:, None] * np.ones((1, 3), np.float32)


def read(folder: Path, *pairs: tuple[int, int]) -> list[float | None]:
    """The first number of each row that a new store finds."""
    store = RowStore(folder)
    try:
        return [None if row is None else float(row[0]) for row in store.read(keys(*pairs))]
    finally:
        store.close()


def test_a_record_is_a_mark_a_length_a_checksum_and_its_body(tmp_path):
    path = tmp_path / "new" / "a.segment"
    writer = RecordWriter(path)
    assert writer.size == 0 and not path.exists()
    place = writer.append(b"ab", memoryview(b"cde"))
    again = writer.append(b"")
    summed = hashlib.blake2b(b"abcde", digest_size=16).digest()
    data = b"TAr1" + struct.pack("<Q", 5) + summed + b"abcde"
    assert path.read_bytes()[: len(data)] == data == b"".join(record(b"ab", b"cde"))
    assert place == RecordPlace(28, 5, summed) and again.start == len(data) + 28
    assert writer.size == len(data) + 28
    writer.close()
    assert writer.size == 0
    with path.open("rb") as file:
        assert list(places(file)) == [place, again]
        assert body(file, place) == b"abcde" and body(file, again) == b""
        assert body(file, RecordPlace(28, 4, summed)) is None


def test_a_writer_goes_on_at_the_end_of_a_file_that_is_there(tmp_path):
    path = tmp_path / "a.segment"
    for text in (b"one", b"two"):
        writer = RecordWriter(path)
        writer.append(text)
        writer.close()
    with path.open("rb") as file:
        assert [body(file, place) for place in places(file)] == [b"one", b"two"]


def test_torn_dead_and_damaged_records_are_passed_over(tmp_path):
    path, (one, two) = tmp_path / "a.segment", (b"".join(record(b"1")), b"".join(record(b"22")))
    for torn in (1, 27, 28, 29):  # a part of a head, a head, a head and a part of its body
        path.write_bytes(one + two[:torn])
        with path.open("rb") as file:
            assert [place.length for place in places(file)] == [1]
    path.write_bytes(one + two)
    with path.open("rb") as file:
        (first, second) = places(file)
    bury(path, first)
    assert path.read_bytes() == b"TArX" + one[4:] + two
    with path.open("rb") as file:
        assert list(places(file)) == [second]
    path.write_bytes(one + b"rubbish" * 5)
    with path.open("rb") as file:
        (kept, damaged) = places(file)
    assert damaged == len(one)
    cut(path, damaged)
    assert path.read_bytes() == one
    bury(tmp_path / "gone", kept)
    cut(tmp_path / "gone", 0)  # neither minds a file that is not there


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    writer = RecordWriter(tmp_path / "a.segment")
    writer.append(b"whole")
    before = writer.path.read_bytes()
    real, code = records_module.write_all, errno.ENOSPC

    def full(file, data):
        real(file, bytes(data)[:3])
        raise OSError(code, "no")

    monkeypatch.setattr(records_module, "write_all", full)
    with pytest.raises(DiskFull):
        writer.append(b"more")
    assert writer.path.read_bytes() == before
    code = errno.EIO
    with pytest.raises(OSError, match="no") as caught:
        writer.append(b"more")
    assert not isinstance(caught.value, DiskFull) and writer.path.read_bytes() == before
    monkeypatch.setattr(records_module, "write_all", real)
    place = writer.append(b"then")
    writer.close()
    with writer.path.open("rb") as file:
        assert body(file, place) == b"then", "it is where it is said to be"


def test_everything_is_written_though_the_system_takes_a_little_at_a_time():
    class Slow:
        data = b""

        def write(self, view):
            self.data += bytes(view[:2])
            return min(2, len(view))

    file = Slow()
    records_module.write_all(file, memoryview(np.arange(3, dtype=np.uint16)))
    assert file.data == np.arange(3, dtype=np.uint16).tobytes()


def test_a_journal_keeps_what_is_whole_and_the_last_answer(tmp_path):
    first = Journal(tmp_path)
    first.add({"a": 1, "b": 1})
    first.add({"b": 2})
    first.close()
    (path,) = tmp_path.glob("*.segment")
    whole = path.read_bytes()
    path.write_bytes(whole + b"x" * 40)
    assert Journal(tmp_path).known == {"a": 1, "b": 2}
    assert path.read_bytes() == whole, "what is damaged is taken away"
    path.write_bytes(whole[:30] + b"?" + whole[31:])
    assert Journal(tmp_path).known == {"b": 2}


def test_of_equal_keys_the_last_row_counts_and_both_halves_of_a_key_do(tmp_path):
    for name, value in (("1", 1.0), ("2", 2.0)):
        store = RowStore(tmp_path)
        store.add(keys((5, 1), (5 + int(name), 1)), rows(value, 10 * value))
        store.close()
        (new,) = (p for p in tmp_path.glob("*.segment") if not p.name.startswith("kept"))
        new.rename(tmp_path / f"kept{name}.segment")
    assert read(tmp_path, (5, 1), (6, 1), (7, 1), (5, 2), (4, 1), (8, 1)) == [
        2.0, 10.0, 20.0, None, None, None,
    ]  # fmt: skip
    assert len(RowStore(tmp_path)) == 4
    store = RowStore(tmp_path / "empty")
    assert store.read(keys((1, 1))) == [None] and store.read(keys()) == [] and len(store) == 0
    store.add(keys(), rows())
    store.close()
    assert not (tmp_path / "empty").exists()


def test_a_row_is_exactly_that_of_its_key(tmp_path):
    values = np.arange(20, dtype=np.float32).reshape(5, 4)
    store = RowStore(tmp_path)
    store.add(keys(*((9 - k, k) for k in range(5))), values)
    store.close()
    store = RowStore(tmp_path)
    found = store.read(keys(*((9 - k, k) for k in (3, 0, 4))))
    store.close()
    assert [row.tolist() for row in found] == values[[3, 0, 4]].tolist()
    assert found[0].dtype == np.float32


def test_rows_of_another_type_or_length_are_not_read(tmp_path):
    store = RowStore(tmp_path, "<f8")
    store.add(keys((1, 1)), np.ones((1, 3)))
    store.close()
    assert read(tmp_path, (1, 1)) == [None]
    head = struct.pack("<III", 1, 3, 4)
    (tmp_path / "b.segment").write_bytes(b"".join(record(head, bytes(16), bytes(11))))
    (tmp_path / "c.segment").write_bytes(b"".join(record(head[:11])))
    assert read(tmp_path, (0, 0)) == [None]
    (tmp_path / "d.segment").write_bytes(b"".join(record(head, bytes(16), bytes(12))))
    assert read(tmp_path, (0, 0)) == [0.0]


def test_a_damaged_row_is_none_with_one_warning_and_is_not_found_again(tmp_path):
    for value in (1.0, 2.0):
        store = RowStore(tmp_path)
        store.add(keys((int(value), 0)), rows(value))
        store.close()
    for path in tmp_path.glob("*.segment"):
        data = path.read_bytes()
        path.write_bytes(data[:-1] + b"!")
    store = RowStore(tmp_path)
    with pytest.warns(Damaged, match="it is removed and computed again") as told:
        assert store.read(keys((1, 0), (2, 0))) == [None, None]
    assert len(told) == 1
    assert store.read(keys((1, 0))) == [None]
    store.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(tmp_path, (1, 0)) == [None] and len(RowStore(tmp_path)) == 0


def test_the_end_of_a_damaged_file_is_taken_away_and_its_start_is_read(tmp_path):
    store = RowStore(tmp_path)
    store.add(keys((1, 0)), rows(1.0))
    store.close()
    (path,) = tmp_path.glob("*.segment")
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(28))
    with pytest.warns(Damaged, match=path.name):
        assert read(tmp_path, (1, 0)) == [1.0]
    assert path.read_bytes() == whole


def test_only_so_many_records_are_kept_in_memory_and_the_oldest_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(rows_module, "KEPT", 2)
    store = RowStore(tmp_path)
    for k in range(4):
        store.add(keys((k, 0)), rows(k))
    store.close()
    store = RowStore(tmp_path)
    for k, held in ((0, [0]), (1, [0, 1]), (0, [1, 0]), (2, [0, 2]), (3, [2, 3])):
        assert store.read(keys((k, 0)))[0][0] == k
        assert list(store._checked) == held
    store.close()


def test_a_new_segment_begins_where_one_is_full_and_reading_marks_it_used(tmp_path, monkeypatch):
    monkeypatch.setattr(rows_module, "SEGMENT", 200)
    store = RowStore(tmp_path)
    for k in range(5):  # a record of one row of three numbers has 28 + 12 + 16 + 12 = 68 bytes
        store.add(keys((k, 0)), rows(k))
    store.close()
    sizes = [path.stat().st_size for path in sorted(tmp_path.glob("*.segment"))]
    assert sizes == [204, 136]
    for path in tmp_path.glob("*.segment"):
        os.utime(path, (1, 1))
    assert read(tmp_path, (4, 0)) == [4.0]
    used = [path.stat().st_mtime > 1 for path in sorted(tmp_path.glob("*.segment"))]
    assert used == [False, True]


def test_a_segment_that_went_away_is_no_error(tmp_path):
    store = RowStore(tmp_path)
    store.add(keys((1, 0)), rows(1.0))
    store.close()
    store = RowStore(tmp_path)
    next(tmp_path.glob("*.segment")).unlink()
    assert store.read(keys((1, 0))) == [None]
    store.close()


def test_a_shelf_has_a_store_for_each_kind_and_eight_gigabytes(tmp_path):
    shelf = Shelf.open(tmp_path, "f" * 40, {"name": "m"}, 0.5)
    assert shelf.folder == tmp_path / "scores" / ("f" * 32)
    assert (shelf.root, shelf.limit) == (tmp_path, 500_000_000)
    assert shelf.store("texts") is shelf.store("texts") is not shelf.store("images")
    assert [shelf.store(kind).dtype.itemsize for kind in ("images", "texts", "pairs")] == [4, 4, 8]
    assert shelf.store("pairs").folder == shelf.folder / "pairs"
    shelf.close()
    assert SIZE_GB == 8 and Shelf(tmp_path).limit == 8_000_000_000
    about = (shelf.folder / "about.json").read_text()
    Shelf.open(tmp_path, "f" * 40, {"name": "other"}, 0.5)
    assert (shelf.folder / "about.json").read_text() == about
    for size in (0, -1.0):
        with pytest.raises(BadInput, match="holds nothing"):
            Shelf.open(tmp_path, "f", {}, size)
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="the cache cannot be written") as caught:
        Shelf.open(tmp_path / "file", "f", {}, 1)
    assert "--no-cache" in str(caught.value.todo)


def test_without_a_root_nothing_is_removed(tmp_path):
    shelf = Shelf(tmp_path / "scores" / "m", None, 0)
    shelf.store("images").add(keys((1, 0)), rows(1.0))
    shelf.close()
    assert read(tmp_path / "scores" / "m" / "images", (1, 0)) == [1.0]


def test_arrays_are_read_back_and_what_is_damaged_is_absent(tmp_path):
    path = tmp_path / "a.npz"
    assert read_arrays(path) is None
    for compress in (False, True):
        write_arrays(path, {"x": np.zeros(5_000), "y": np.array(["a"])}, compress=compress)
        found = read_arrays(path)
        assert found["x"].shape == (5_000,) and found["y"].tolist() == ["a"]
        assert (path.stat().st_size < 2_000) == compress
    path.write_bytes(path.read_bytes()[:-30])
    assert read_arrays(path) is None
    np.savez(path, x=np.array([{}], object))  # what would have to be unpickled is damage, too
    assert read_arrays(path) is None
    assert arrays_bytes({"x": np.ones(2)}) == arrays_bytes({"x": np.ones(2)})
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="the cache cannot be written"):
        write_arrays(tmp_path / "file" / "a.npz", {})


def test_a_shelf_of_arrays_depends_on_its_parts_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path))
    shelf = ArrayShelf.on("job", 1)
    assert shelf == ArrayShelf.on("job", 1) != ArrayShelf.on("job", 2)
    assert shelf.folder.parent == tmp_path / "mined" and len(shelf.folder.name) == 32
    monkeypatch.setattr(arrays_module, "FORMAT", 2)
    assert ArrayShelf.on("job", 1) != shelf, "another meaning, another folder"
    assert shelf.read("x") is None
    shelf.write("x", a=np.arange(3))
    os.utime(shelf.folder, (1, 1))
    assert shelf.read("x")["a"].tolist() == [0, 1, 2]
    assert shelf.folder.stat().st_mtime > time.time() - 100


def test_segments_of_arrays_tell_the_keys_of_their_texts(tmp_path):
    segments = ArraySegments.open(tmp_path, "parses", "p")
    path = segments.add([b"a" * 16, b"b" * 16], {"begin": np.arange(2)})
    assert segments.add([b"a" * 16, b"b" * 16], {"begin": np.arange(2)}) == path
    assert path.parent == tmp_path / "parses" / "p" and len(path.stem) == 32
    (path.parent / "0.npz").write_bytes(b"damaged")
    assert list(segments.every()) == [(path, [b"a" * 16, b"b" * 16])]
    assert not (path.parent / "0.npz").exists()
    os.utime(path, (1, 1))
    assert segments.read(path)["begin"].tolist() == [0, 1] and path.stat().st_mtime > 1
    path.write_bytes(b"damaged")
    assert segments.read(path) is None and not path.exists()
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="the cache cannot be written"):
        ArraySegments.open(tmp_path / "file", "parses", "p")


def test_room_is_made_to_the_byte_and_a_folder_counts_all_its_files(tmp_path):
    for age, name in enumerate(("old", "new")):
        folder = tmp_path / "mined" / name
        folder.mkdir(parents=True)
        for k in range(2):
            (folder / f"{k}.npz").write_bytes(bytes(50))
        os.utime(folder, (1_000 + age, 1_000 + age))
    make_room(tmp_path, 200)
    assert len(list(tmp_path.rglob("*.npz"))) == 4
    make_room(tmp_path, 199)
    assert [path.name for path in (tmp_path / "mined").iterdir()] == ["new"]
    make_room(tmp_path, 99, spare=[tmp_path / "mined" / "new"])
    make_room(tmp_path, 99, spare=[tmp_path / "mined"])
    assert (tmp_path / "mined" / "new").is_dir()
    mark_used(tmp_path / "nowhere")
    error = unwritable(tmp_path, OSError(errno.EACCES, "not allowed"))
    assert "not allowed" in str(error) and "TELLAPART_CACHE" in str(error)
