"""Work in shards: the same bytes whoever did which part, and whoever died."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.work.odd_numbers import Numbers
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli.main import app
from tellapart.errors import BadInput, PartDone, TellapartError
from tellapart.work.crew import Crew, InThisProcess, ShardJob
from tellapart.work.folder import ShardFolder, work_status
from tellapart.work.launchers import crew_of, launcher_of
from tellapart.work.local import Local
from tellapart.work.on_ray import check_answers
from tellapart.work.shard import TRIES, Shard, ShardFailed

ROOT = Path(__file__).parents[2]
FAST = ta.EvaluateOptions(batch_size=4, use_cache=False)


def files_in(folder: Path) -> dict[str, bytes]:
    """What a folder holds, without timings."""
    every = (path for path in folder.rglob("*") if path.is_file())
    kept = (path for path in every if path.name != "timings.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in kept}


@pytest.fixture(autouse=True)
def _workers_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def numbers(folder: Path, odd: str = "") -> ShardJob:
    """Seven shards of different sizes."""
    shards = [Shard(f"some/{k}.txt", k, k) for k in range(1, 8)]
    return ShardJob("numbers", "lines", Numbers(folder, odd), shards)


def done_by(crew: Crew, place: Path, odd: str = "") -> dict[str, bytes]:
    """The files that a crew makes of the numbers."""
    (place / "mark").touch()
    seen: list[tuple[str, int, int]] = []
    kept = ShardFolder(place / "shards")
    crew.do(kept, numbers(place, odd), lambda *told: seen.append(told))
    assert seen[-1] == ("lines", 28, 28) and [n for _, n, _ in seen] == sorted(
        n for _, n, _ in seen
    )
    assert sum(one["number"] for one in kept.notes(numbers(place).shards)) == 28
    return files_in(kept.folder)


@pytest.mark.parametrize("odd", ["", "dies", "fails"])
def test_workers_make_what_one_process_makes_also_where_one_of_them_dies_or_fails(tmp_path, odd):
    for name in ("one", "many"):
        (tmp_path / name).mkdir()
    alone = done_by(Crew(InThisProcess()), tmp_path / "one")
    many = done_by(Crew(Local(2)), tmp_path / "many", odd)
    assert many == alone and len(alone) == 15
    opened = list((tmp_path / "many").glob("opened-*"))
    assert 1 <= len(opened) <= 3, "a worker opens its task once, not for each shard"


@pytest.mark.parametrize("odd", ["dies"])
def test_jobs_of_slurm_make_the_same_and_what_a_job_lost_is_handed_in_again(
    tmp_path, monkeypatch, odd
):
    """By submitit's local executor: real processes and its files, without a cluster."""
    pytest.importorskip("submitit", reason="submitit is not installed")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr("tellapart.work.on_slurm.LOOK_SECONDS", 0.05)
    monkeypatch.setattr("submitit.core.core.Job._results_timeout_s", 0.5)  # of a job that died
    for name in ("one", "many"):
        (tmp_path / name).mkdir()
    alone = done_by(Crew(InThisProcess()), tmp_path / "one")
    many = done_by(Crew(launcher_of("slurm:2?cluster=local")), tmp_path / "many", odd)
    assert {name: data for name, data in many.items() if not name.startswith("jobs/")} == alone


def test_slurm_without_a_cluster_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    pytest.importorskip("submitit", reason="submitit is not installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TellapartError, match="cannot hand in jobs here") as caught:
        done_by(Crew(launcher_of("slurm:2")), tmp_path)
    assert "--workers local:N" in str(caught.value)


def test_a_shard_that_fails_again_and_again_is_named_and_all_others_are_done(tmp_path):
    with pytest.raises(ShardFailed, match=rf"some/3.txt failed {TRIES} times.*three again"):
        done_by(Crew(Local(1)), tmp_path, "always")
    (job,) = work_status(tmp_path).jobs
    assert job.missing == ("some/3.txt",) and (job.done, job.shards) == (6, 7)
    assert (job.units_done, job.units) == (25, 28)


def test_a_mistake_in_the_input_is_told_at_once_with_all_its_parts(tmp_path):
    with pytest.raises(BadInput, match="three is no number") as caught:
        done_by(Crew(Local(1)), tmp_path, "input")
    assert caught.value.todo == "take another"


@pytest.mark.parametrize(
    "words", [("local:0", "", False), ("lokal:2", "", False), ("", "3/3", False), ("", "x", False),
              ("local:2", "0/2", False), ("", "0/2", True), ("slurm:x", "", False)]
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(words):
    with pytest.raises(BadInput):
        crew_of(*words)


@pytest.mark.parametrize("port", ["", "99999"], ids=["closed", "no-port"])
def test_a_ray_cluster_that_is_not_there_is_named_at_once(port):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{port or closed.getsockname()[1]}"
        with pytest.raises(TellapartError, match=f"no Ray cluster answers at {address}") as caught:
            check_answers(address)
    assert "ray status" in caught.value.todo
    check_answers("auto")  # Ray finds that one itself


NOT_ASKED_FOR = """
import sys, tellapart as ta
from tellapart.errors import TellapartError
bison, out = sys.argv[1:]
sys.modules["ray"] = sys.modules["submitit"] = None
def run(name, **given):
    ta.evaluate("chance", on=bison, out=f"{out}/{name}", options=ta.EvaluateOptions(**given))
if __name__ == "__main__":  # workers read this, too
    run("plain")
    print(*(name for name in sys.modules if name.startswith("tellapart.work.")))
    run("workers", workers="local:1")
    print(*(name for name in ("torch", "transformers", "faiss") if name in sys.modules))
    for workers in ("ray", "slurm:2"):
        try:
            run("other", workers=workers)
        except TellapartError as error:
            print(error.todo)
"""


def test_without_the_extras_nothing_changes_and_what_they_need_is_named(benchmarks, tmp_path):
    (tmp_path / "run.py").write_text(NOT_ASKED_FOR, encoding="utf-8")
    words = [sys.executable, tmp_path / "run.py", benchmarks["bison"].root, tmp_path]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=True)
    launchers, heavy, ray, slurm = done.stdout.splitlines()
    assert not {"on_ray", "on_slurm", "local"} & {name[15:] for name in launchers.split()}
    assert heavy == "" and "tellapart[ray]" in ray and "tellapart[slurm]" in slurm
    assert files_in(tmp_path / "plain") == files_in(tmp_path / "workers")


def shares(run: Callable[[ta.EvaluateOptions | Any], Any], options: Any, order: list[int]) -> None:
    """All shares of a verb's work, in some order."""
    for k in order:
        with pytest.raises(PartDone):
            run(replace(options, shard=f"{k}/{len(order)}"))


@pytest.mark.parametrize("models", [["storybook"], ["blind", "chance"]], ids=str)
def test_runs_are_the_same_by_workers_by_shares_in_any_order_and_by_one(
    benchmarks, tmp_path, models
):
    both = [benchmarks["bison"], benchmarks["bivlc"]]

    def run(options: ta.EvaluateOptions, out: str) -> list[ta.Run]:
        return ta.evaluate(models, on=both, out=tmp_path / out, options=options)

    run(FAST, "alone")
    alone = files_in(tmp_path / "alone")
    run(replace(FAST, workers="local:2"), "workers")
    assert files_in(tmp_path / "workers") == alone
    shares(lambda options: run(options, "shares"), FAST, [2, 0, 1])
    run(replace(FAST, gather=True), "shares")
    assert files_in(tmp_path / "shares") == alone, "nothing is left of the work either"


def test_a_share_that_is_missing_is_named_and_nothing_is_written(benchmarks, tmp_path):
    out = tmp_path / "runs"
    with pytest.raises(PartDone) as part:
        ta.evaluate(
            "storybook", on=benchmarks["bison"], out=out, options=replace(FAST, shard="0/2")
        )
    assert 0 < part.value.done < part.value.total
    with pytest.raises(BadInput, match="shards are missing"):
        ta.evaluate(
            "storybook", on=benchmarks["bison"], out=out, options=replace(FAST, gather=True)
        )
    assert not list(out.glob("*/*/run.json"))
    (job,) = ta.work_status(out).jobs
    assert (job.done, job.shards) == (part.value.done, part.value.total) and "storybook" in str(job)


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "tellapart.cli.main", *map(str, words)]


def killed_midway(words: list[str], out: Path) -> int:
    """Start a command and kill it with all its workers once it has done something; how much."""
    pattern = ".unfinished/*/*/rows-*/*/*.segment"
    before = len(list(out.glob(pattern)))
    running = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while running.poll() is None and len(list(out.glob(pattern))) <= before:
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert running.returncode == -signal.SIGKILL, "it was killed in the middle"
    return len(list(out.glob(pattern))) - before


def test_shares_in_any_order_give_the_same_though_workers_and_a_share_were_killed(
    benchmarks, tmp_path
):
    bison, out = benchmarks["bison"], tmp_path / "runs"
    options = replace(FAST, batch_size=1)
    ta.evaluate("storybook", on=bison, out=tmp_path / "alone", options=options)
    words = ["evaluate", "storybook", "--on", bison.root, "--no-cache", "--batch-size", 1]
    assert killed_midway(command(*words, "--out", out, "--workers", "local:2"), out)
    assert killed_midway(command(*words, "--out", out, "--shard", "1/3"), out)
    shares(lambda some: ta.evaluate("storybook", on=bison, out=out, options=some), options,
           [2, 1, 0])  # fmt: skip
    ta.evaluate("storybook", on=bison, out=out, options=replace(options, gather=True))
    assert files_in(out) == files_in(tmp_path / "alone")


def test_a_share_prints_what_is_there_and_what_is_next(benchmarks, tmp_path):
    words = ["evaluate", "chance", "--on", benchmarks["bison"].root, "--out", tmp_path / "runs"]
    said = CliRunner().invoke(app, [*map(str, words), "--shard", "0/1", "--json"])
    assert said.exit_code == 0 and "--gather" in json.loads(said.stdout)["todo"]
    said = CliRunner().invoke(app, ["work", "status", str(tmp_path / "runs")])
    assert "chance on bison" in said.stdout and "all are there" in said.stdout


def test_work_is_sought_where_there_is_some(tmp_path):
    with pytest.raises(TellapartError, match="does not exist"):
        ta.work_status(tmp_path / "nowhere")
    assert "no work" in str(ta.work_status(tmp_path))


def test_features_are_the_same_by_workers_and_by_shares_in_any_order(world, tmp_path, monkeypatch):
    monkeypatch.setattr("tellapart.image_features.extract.BLOCK", 16)
    options = ta.FeatureOptions(backbone="pixels")

    def run(options: ta.FeatureOptions, out: str) -> None:
        ta.features(world, tmp_path / out, options)

    run(options, "alone")
    run(replace(options, workers="local:2"), "workers")
    shares(lambda options: run(options, "shares"), options, [1, 2, 0])
    (job,) = ta.work_status(tmp_path / "shares").jobs
    assert (job.done, job.shards, job.units) == (4, 4, 60) and "all are there" in str(job)
    run(replace(options, gather=True), "shares")
    alone = files_in(tmp_path / "alone")
    assert files_in(tmp_path / "workers") == alone == files_in(tmp_path / "shares")
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("what", ["bison", "mcic"])
def test_mining_is_the_same_by_workers_and_by_shares_in_any_order(
    world, tmp_path, monkeypatch, what
):
    monkeypatch.setattr("tellapart.mine.image_pairs.PART", 16)
    monkeypatch.setattr("tellapart.mine.mcic.decoys.BLOCK", 64)
    options: Any = ta.BisonOptions(verifier="oracle") if what == "bison" else ta.McicOptions()

    def run(options: Any, out: str) -> None:
        ta.build(what, world, tmp_path / out, options)

    run(options, "alone")
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "another cache"))
    run(replace(options, workers="local:2"), "workers")
    shares(lambda options: run(options, "shares"), options, [2, 0, 1])
    (job,) = ta.work_status(tmp_path / "shares").jobs
    assert job.done == job.shards >= 4
    run(replace(options, gather=True), "shares")
    alone = files_in(tmp_path / "alone")
    assert files_in(tmp_path / "workers") == alone == files_in(tmp_path / "shares")
    assert not list(tmp_path.glob(".*"))
