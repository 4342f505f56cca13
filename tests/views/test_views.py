"""Views without a browser: what is found, filtered, compared, kept, given out and refused."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.conftest import benchmark_of, grid_item, run_of

pytest.importorskip("fastapi", reason="the extra 'view' is not installed")
from fastapi.testclient import TestClient

import tellapart as ta
from tellapart.benchmark.benchmark import Benchmark, save_benchmark
from tellapart.errors import BadInput, TellapartError, UnknownName
from tellapart.measures.comparison import compare_runs
from tellapart.measures.measure import was_asked
from tellapart.reports.picks import RANKS, verdicts
from tellapart.score.run import Run, save_run
from tellapart.verbs.runs.view import address_of, make_viewer, notebook_origins
from tellapart.views.app import cookie_name, make_app
from tellapart.views.cards import item_rows, whole_item
from tellapart.views.figure import figure_zip
from tellapart.views.library import Loader, sheets_of
from tellapart.views.query import Query, selected
from tellapart.views.sheet import Sheet
from tellapart.views.summary import paired, summary
from tellapart.views.viewer import LIST

URL = "http://127.0.0.1:8123"


def made() -> Benchmark:
    """Three items of one image and two captions; the second is true of a and c, the first of b."""
    true = {"a": {(0, 1)}, "b": {(0, 0)}, "c": {(0, 1)}}
    return benchmark_of([grid_item(name, 1, 2, cells) for name, cells in true.items()])


def runs_of(benchmark: Benchmark) -> list[Run]:
    first = run_of(benchmark, {"a": [[0.1, 0.4]], "b": [[0.1, 0.9]], "c": [[0.5, 0.5]]})
    second = run_of(benchmark, {"a": [[0.4, 0.1]], "b": [[0.9, 0.1]], "c": [[0.2, 0.3]]})
    return [replace(first, card=replace(first.card, model="one", asks=("caption",))),
            replace(second, card=replace(second.card, model="two", asks=("caption",)))]  # fmt: skip


@pytest.fixture(scope="module")
def sheet() -> Sheet:
    (made_sheet,) = sheets_of(runs_of(made()), [])
    return made_sheet


def found(sheet: Sheet, query: str) -> str:
    """The items of a query, as letters in its order."""
    rows = selected(Query.at(f"items?{query}"), sheet)
    return "".join(sheet.item(int(row)).id[-1] for row in rows)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", "abc"), ("a=one&ao=r", "a"), ("a=one&ao=w", "b"), ("a=one&ao=t", "c"),
        ("a=one&ao=r&b=two&bo=w", "a"), ("a=one&ao=wt&b=two&bo=r", "bc"), ("q=of+b", "b"),
        ("a=one&sort=margin", "bca"), ("a=one&sort=margin-high", "acb"),
        ("a=one&sort=close", "cab"), ("a=two&sort=margin", "acb"), ("q=%22caption+1%22", "abc"),
        ("sort=wrong", "abc"), ("a=one&b=two&sort=gap", "bca"), ("q=test%3Aa", "a"),
        ("q=1&in=changed", "abc"), ("q=caption&in=changed", ""), ("q=CAPTION", "abc"),
        ("fact.kind=replace-object", "abc"), ("starred=1", ""),
    ],
)  # fmt: skip
def test_what_a_query_finds_and_in_which_order(sheet: Sheet, query: str, wanted: str) -> None:
    if query.startswith("fact.") and "kind" not in sheet.facts:
        pytest.skip("all items are of one kind, which is no filter")
    assert found(sheet, query) == wanted


@pytest.mark.parametrize(
    ("query", "error"),
    [("sort=best", UnknownName), ("ao=x&a=one", BadInput), ("a=three&ao=r", UnknownName),
     ("fact.colour=red", UnknownName), ("q=" + "x" * 600, BadInput), ("in=titles", UnknownName)],
)  # fmt: skip
def test_a_query_that_means_nothing_says_what_would(sheet: Sheet, query: str, error: type) -> None:
    with pytest.raises(error):
        found(sheet, query)


def test_ranks_margins_and_worth_are_those_of_measures(sheet: Sheet) -> None:
    for k, one in enumerate(sheet.contestants):
        states = verdicts(one.run, sheet.measures[0])
        assert [RANKS[rank] for rank in sheet.ranks[:, k]] == list(states.values())
        assert was_asked(one.run, sheet.measures[0].asks) in (True, False)
        (row,) = ta.measure(one.run).only(kind="micro")
        value, units = sheet.worth
        assert value[:, k].sum() / units[:, k].sum() == pytest.approx(row.value)
    assert sheet.margins[:, 0] == pytest.approx([0.3, -0.8, 0.0], abs=1e-6)


def test_pairs_are_counted_and_differ_as_compare_says(benchmarks, tmp_path: Path) -> None:
    runs = ta.evaluate(["oracle?error=0.3", "storybook"], benchmarks["bison"], tmp_path / "runs")
    (sheet,) = sheets_of(runs, [])
    every = np.arange(len(sheet))
    ours = paired(sheet, every, 0, 1)
    (theirs,) = compare_runs(runs).only(kind="micro").pairs
    assert ours["difference"] == pytest.approx(theirs.difference)
    assert (ours["only_a"], ours["only_b"]) == (theirs.won, theirs.lost)
    assert abs(ours["low"] - theirs.low) < 0.05 and abs(ours["high"] - theirs.high) < 0.05
    told = summary(sheet, every, "caption_length")
    (row,) = ta.measure(runs[0]).only(kind="micro")
    assert told["runs"][0]["value"] == pytest.approx(row.value)
    assert abs(told["runs"][0]["low"] - row.low) < 0.05
    assert sum(value["n"] for value in told["values"]) == len(sheet)
    for k, bars in enumerate(told["margins"]):
        wrong = sum(bars["counts"][: bars["zero"]])
        assert wrong == (sheet.margins[:, k] < 0).sum()
        assert sum(bars["counts"]) + bars["ties"] == len(sheet)


def test_two_versions_stand_side_by_side_on_what_they_share() -> None:
    old = made()
    items = [grid_item("a", 1, 2, {(0, 1)}), grid_item("b", 1, 2, {(0, 1)}),
             grid_item("d", 1, 2, {(0, 0)})]  # fmt: skip
    new = benchmark_of(items)
    (first, second) = runs_of(old)
    later = run_of(new, {"a": [[0.4, 0.1]], "b": [[0.1, 0.9]], "d": [[0.9, 0.1]]})
    sheets = {sheet.benchmark.sha256: sheet for sheet in sheets_of([first, second, later], [])}
    sheet = sheets[old.sha256]
    assert len({one.label for one in sheets.values()}) == 2
    (fact,) = [name for name in sheet.facts if name.startswith("in ")]
    assert [sheet.facts[fact].names[k] for k in sheet.facts[fact].code] == [
        "the same", "changed", "not there",
    ]  # fmt: skip
    across = paired(sheet, np.arange(3), 0, 2)
    assert (across["n"], across["only_a"], across["only_b"]) == (1, 1, 0)


def write(root: Path) -> Path:
    """A benchmark with two runs in a folder, and a run of another version beside them."""
    benchmark = save_benchmark(made(), root / "bench")
    for run in runs_of(benchmark):
        save_run(run, root / "runs" / run.model)
    other = save_benchmark(benchmark_of([grid_item("z", 1, 2, {(0, 0)})]), root / "other")
    lost = run_of(other, {"z": [[1.0, 0.0]]})
    save_run(lost, root / "runs" / "lost")
    card = json.loads((root / "runs" / "lost" / "run.json").read_text())
    card["benchmark_folder"] = "../../bench"
    (root / "runs" / "lost" / "run.json").write_text(json.dumps(card))
    return root


def test_what_cannot_be_read_is_said_and_the_rest_is_shown(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "runs" / "torn").mkdir()
    (tmp_path / "runs" / "torn" / "run.json").write_text("{")
    library = Loader([tmp_path]).load()
    assert [len(sheet.contestants) for sheet in library.sheets] == [2, 0]
    assert len(library.problems) == 2
    assert any("another version" in problem for problem in library.problems)
    with pytest.raises(BadInput, match="nothing to show"):
        make_viewer([_empty(tmp_path)], ta.ViewOptions())
    with pytest.raises(TellapartError):
        Loader([tmp_path / "no such"]).load()
    with pytest.raises(BadInput, match="is a file"):
        Loader([tmp_path / "bench" / "benchmark.json"]).load()


def _empty(root: Path) -> Path:
    (root / "empty").mkdir(exist_ok=True)
    return root / "empty"


def test_of_a_folder_of_two_gigabytes_only_names_and_first_letters_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path)
    (tmp_path / "pictures").mkdir()
    for name in ("1.jpg", "2.png", "all.json"):
        with (tmp_path / "pictures" / name).open("wb") as file:
            file.truncate(2**30)  # holes, which cost no room on a disk, and time when they are read
    monkeypatch.setattr("tellapart.corpus.reader.read_bytes", None)
    monkeypatch.setattr("tellapart.views.library.read_json", _small)
    assert [len(sheet.contestants) for sheet in Loader([tmp_path]).load().sheets] == [2, 0]


def _small(path: Path) -> object:
    assert path.stat().st_size < 10**6
    return json.loads(path.read_text())


def test_a_new_run_and_a_changed_one_are_noticed(tmp_path: Path) -> None:
    root = write(tmp_path)
    viewer = make_viewer([root / "runs"], ta.ViewOptions())
    assert not viewer.loader.changed()
    run = replace(runs_of(made())[0], benchmark=viewer.library.sheets[0].benchmark)
    save_run(replace(run, card=replace(run.card, model="three")), root / "runs" / "three")
    assert viewer.look() == 2
    assert [one.label for one in viewer.library.sheets[0].contestants] == ["one", "three", "two"]


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    viewer = make_viewer([write(tmp_path) / "runs"], ta.ViewOptions(out=tmp_path))
    opened = TestClient(make_app(viewer, URL), base_url=URL)
    opened.viewer, opened.root = viewer, tmp_path  # type: ignore[attr-defined]
    return opened


def join(client: TestClient) -> None:
    answer = client.post("/api/join", json={"key": client.viewer.key}, headers={"X-Tellapart": "1"})
    assert answer.status_code == 200


def test_who_has_no_session_gets_the_empty_page_alone(client: TestClient) -> None:
    assert client.get("/").status_code == 200
    for path in ("/api/view", "/api/items", f"/pictures/{'0' * 12}-0-480.webp", "/api/items.csv"):
        assert client.get(path).status_code == 401, path
    wrong = client.post("/api/join", json={"key": "x" * 32}, headers={"X-Tellapart": "1"})
    assert wrong.status_code == 401
    join(client)
    assert client.get("/api/view").status_code == 200
    cookie = client.cookies.jar
    assert {one.name for one in cookie} == {cookie_name(URL)}


def test_other_names_other_sites_and_other_files_are_refused(client: TestClient) -> None:
    join(client)
    assert client.get("/api/view", headers={"Host": "evil.example:8123"}).status_code == 421
    assert client.get("/api/view", headers={"Host": "localhost:8123"}).status_code == 200
    mark = {"sheet": "hand-made", "place": 0, "star": True, "note": ""}
    assert client.post("/api/marks", json=mark).status_code == 403
    evil = {"X-Tellapart": "1", "Origin": "http://evil.example"}
    assert client.post("/api/marks", json=mark, headers=evil).status_code == 403
    short = client.viewer.library.sheets[0].short
    absent = [f"{short}-99-480.webp", f"{short}-0-481.webp", "..%2f..%2fetc%2fpasswd", "x"]
    for path in ("/static/../app.py", *(f"/pictures/{name}" for name in absent)):
        assert client.get(path).status_code in (404, 422), path
    headers = client.get("/").headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    framed = TestClient(make_app(client.viewer, URL, ["http://localhost:8888"]), base_url=URL)
    policy = framed.get("/").headers["content-security-policy"]
    assert policy.endswith("frame-ancestors http://localhost:8888")
    assert "x-frame-options" not in framed.get("/").headers


def test_marks_are_kept_and_bad_ones_refused(client: TestClient) -> None:
    join(client)
    say = {"X-Tellapart": "1"}
    mark = {"sheet": "hand-made", "place": 1, "star": True, "note": "look"}
    assert client.post("/api/marks", json=mark, headers=say).json() == {
        "star": True, "note": "look",
    }  # fmt: skip
    assert client.get("/api/items?starred=1").json()["total"] == 1
    again = make_viewer([client.root / "runs"], ta.ViewOptions())
    assert again.marks.noted("hand-made") == {"test:b"}
    assert client.post("/api/marks", json={**mark, "place": 9}, headers=say).status_code == 404
    (client.root / "runs" / "view-marks.json").write_text('{"schema": "other"}')
    with pytest.raises(BadInput, match="is not a file of marks"):
        make_viewer([client.root / "runs"], ta.ViewOptions())


def test_what_is_made_stays_in_its_folder(client: TestClient) -> None:
    join(client)
    say = {"X-Tellapart": "1"}
    for name in ("../up", "a/b", ".hidden", ""):
        answer = client.post("/api/make/subset", json={"name": name}, headers=say)
        assert answer.status_code == 422, name
    done = client.post("/api/make/subset?a=one&ao=r", json={"name": "part"}, headers=say)
    assert done.status_code == 200
    assert len(ta.load_benchmark(client.root / "part")) == 1
    again = client.post("/api/make/subset", json={"name": "part"}, headers=say)
    assert again.status_code == 422, "nothing is replaced"
    none = client.post("/api/make/subset?q=zzz", json={"name": "none"}, headers=say)
    assert none.status_code == 422 and not (client.root / "none").exists()


def test_a_picture_that_is_missing_or_broken_is_no_picture(client: TestClient) -> None:
    join(client)
    (card,) = client.get("/api/items?limit=1").json()["cards"]
    assert "is missing" in card["shots"][0]["thumbnail"]["problem"]
    benchmark = client.viewer.library.sheets[0].benchmark
    picture = benchmark.picture("a-i0")
    picture.path.parent.mkdir(parents=True, exist_ok=True)
    picture.path.write_bytes(b"no picture at all")
    try:
        place = benchmark.images.place_of("a-i0")
        short = client.viewer.library.sheets[0].short
        answer = client.get(f"/pictures/{short}-{place}-{LIST}.webp")
        assert answer.status_code == 404
    finally:
        picture.path.unlink()


def test_tables_figures_and_one_item_say_what_is_there(benchmarks, tmp_path: Path) -> None:
    runs = ta.evaluate(["oracle?error=0.3", "storybook"], benchmarks["foil"], tmp_path / "runs")
    asked = ta.evaluate(["chance-chooser"], benchmarks["foil"], tmp_path / "runs")
    (sheet,) = sheets_of([*runs, *asked], [])
    rows = np.arange(3)
    table = item_rows(sheet, rows)
    assert table["id"].to_list() == sheet.benchmark.items.ids[:3].to_list()
    assert {"oracle?error=0.3", "storybook margin", "caption 1"} <= set(table.columns)
    with zipfile.ZipFile(io.BytesIO(figure_zip(sheet, rows))) as packed:
        names = packed.namelist()
        tex = packed.read("figure.tex").decode()
        assert packed.read("figure.png").startswith(b"\x89PNG")
    assert {"figure.png", "figure.pdf", "figure.tex", "figure-images/1-A.jpg"} <= set(names)
    assert tex.count(r"\begin{minipage}") == 3
    with pytest.raises(BadInput, match="a figure of"):
        figure_zip(sheet, np.arange(30))
    whole = whole_item(sheet, 0, str)
    item = sheet.item(0)
    scores = runs[1].scores.filter((pl.col("item") == item.id) & (pl.col("edit") == ""))
    assert np.ravel(whole["grids"][1]["cells"]) == pytest.approx(scores["score"].to_list())
    assert whole["grids"][1]["edits"], "FOIL's words have scores of their own"
    assert {one["label"] for one in whole["replies"]} == {asked[0].model}


def test_addresses_and_origins() -> None:
    assert address_of(URL, "k", "#items?q=a") == f"{URL}/#key=k&items?q=a"
    assert address_of(URL, "k", "") == f"{URL}/#key=k"
    assert all(one.startswith("http://") for one in notebook_origins())
