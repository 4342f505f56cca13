"""The report as a whole: one file, safe, the same every time, whole whatever is missing."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

import tellapart as ta
from tellapart.benchmark.benchmark import Card, make_benchmark, save_benchmark
from tellapart.errors import BadInput, UnknownName
from tellapart.items import Image, Item, Origin
from tellapart.reports.options import ReportOptions
from tellapart.reports.page import safe_json
from tellapart.verbs.runs.evaluate import EvaluateOptions
from tellapart.verbs.runs.report import report

EVIL = "</script><img src=x onerror=alert(1)> <b>x</b>{{7*7}} \u2028&"


@pytest.fixture(scope="session")
def page(made):
    return report(made.root / "runs", made.root / "page.html").read_text("utf-8")


def test_the_page_names_no_other_address(page):
    addresses = set(re.findall(r"[a-z]+://[^\s\"'<>)]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)
    assert "default-src 'none'; img-src data:;" in page


def test_the_page_says_all_it_must(made, page):
    for words in (
        f"3 models were tested on 4 benchmarks with {made.items} items in total.",
        "Hu, Misra &amp; van der Maaten 2019",
        "Shekhar et al. 2017",
        "Ding et al. 2016",
        "Miranda et al. 2024",
        f"All {made.items} items are in this page.",
        "No run of the text-only model was given for this benchmark, so it was run for this",
        "blind, ties halved",
        "Nothing was skipped and every question has an answer.",
        "tellapart-canary-",
        "by the model oracle",
    ):
        assert words in page, words


def test_the_same_runs_give_the_same_bytes(made, page):
    again = report(made.root / "runs", made.root / "again.html")
    assert again.read_text("utf-8") == page


def test_runs_may_be_runs_paths_or_a_list(made):
    one = made.on("bison")[0]
    options = ReportOptions(gallery=2)
    texts = {
        report(given, made.root / "one.html", options).read_text("utf-8")
        for given in (one, [one], one.folder, str(one.folder), [str(one.folder)])
    }
    assert len(texts) == 1


def test_markup_in_data_is_text(tmp_path):
    items = [
        Item.built("x", images=("a", "b"), captions=(EVIL,), true=frozenset({(0, 0)}), kind=EVIL,
                   origin=Origin(EVIL, EVIL, EVIL, 0, {EVIL: EVIL}))
    ]  # fmt: skip
    card = Card(EVIL, about=EVIL, licence=EVIL, citation=EVIL, made={EVIL: EVIL}, skipped=(EVIL,))
    images = [Image("a", "gone.png"), Image("b", EVIL)]
    benchmark = save_benchmark(make_benchmark(card, tmp_path, items, images), tmp_path / "bench")
    (run,) = ta.evaluate("chance", benchmark, tmp_path / "runs")
    run = replace(run, card=replace(run.card, model=EVIL, weights=EVIL))
    options = ReportOptions(title=EVIL, charts=tmp_path / "charts", latex=tmp_path / "latex")
    text = report(run, tmp_path / "page.html", options).read_text("utf-8")
    assert "<img src=x" not in text
    assert "<b>x</b>" not in text
    assert "{{7*7}}" in text
    assert "49 " not in text.split("<main")[1].split("</h1>")[0]
    assert text.count("</script>") == text.count("<script") == 2


def test_json_inside_a_script_cannot_end_it():
    assert safe_json(EVIL).isascii()
    assert not set(safe_json(EVIL)) & set("<>&\u2028\u2029")


def test_missing_pictures_show_a_placeholder(made, tmp_path):
    benchmark = made.on("bison")[0].benchmark
    images = {
        key: replace(image, uri="gone/" + image.uri) for key, image in benchmark.images.items()
    }
    run = replace(made.on("bison")[0], benchmark=replace(benchmark, images=images))
    text = report(run, tmp_path / "page.html").read_text("utf-8")
    assert text.count('class="absent"') == 2 * len(benchmark.items)
    assert "is missing" in text
    assert 'id="album">[]<' in text


def test_no_gallery_no_album(made, tmp_path):
    text = report(made.on("mcic"), tmp_path / "p.html", ReportOptions(gallery=0)).read_text("utf-8")
    assert 'id="gallery"' not in text
    assert "data:image" not in text


def test_a_part_is_said_to_be_a_part(made, tmp_path):
    runs = [*made.on("bison"), *made.on("foil")]
    items = len(runs[0].benchmark) + len(runs[-1].benchmark)
    text = report(runs, tmp_path / "p.html", ReportOptions(gallery=20)).read_text("utf-8")
    assert f"20 of {items} items are in this page" in text
    assert text.count('<article class="card"') == 20


def test_partial_runs_and_failures_are_listed(made, tmp_path):
    benchmark = made.on("bison")[0].benchmark
    (run,) = ta.evaluate("chance", benchmark, tmp_path / "runs", EvaluateOptions(limit=5))
    from tellapart.score.run import Failure

    gone = tuple(Failure(f"item-{k}", "0,0", "it broke") for k in range(60))
    text = report(replace(run, failures=gone), tmp_path / "p.html").read_text("utf-8")
    assert "60 in total, the first 50 are listed" in text
    assert text.count("it broke") == 50


def test_progress_reaches_its_total_once(made, tmp_path):
    seen = []
    progress = lambda phase, done, total: seen.append((done, total))  # noqa: E731
    runs = [*made.on("bison"), *made.on("foil")]
    report(runs, tmp_path / "p.html", ReportOptions(gallery=10), progress)
    total = 2 * (3 + 1) + 10
    assert seen == [(k + 1, total) for k in range(total)]


def test_bad_input_is_named(made, tmp_path):
    with pytest.raises(UnknownName, match="rule for ties"):
        report(made.runs, tmp_path / "p.html", ReportOptions(ties="maybe"))
    with pytest.raises(BadInput, match="gallery of -1"):
        report(made.runs, tmp_path / "p.html", ReportOptions(gallery=-1))
    with pytest.raises(BadInput, match="no runs to report on"):
        report([], tmp_path / "p.html")
    assert not (tmp_path / "p.html").exists()


def test_runs_that_cannot_be_read_stop_or_are_listed(made, tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "run.json").write_text("{", encoding="utf-8")
    given = [made.on("bison")[0], tmp_path / "bad"]
    with pytest.raises(BadInput, match="not JSON"):
        report(given, tmp_path / "p.html")
    text = report(given, tmp_path / "p.html", ReportOptions(skip_bad=True, gallery=1)).read_text()
    assert "run.json is not JSON" in text


def test_two_versions_of_a_benchmark_are_kept_apart(made, tmp_path):
    run = made.on("bison")[0]
    half = replace(run.benchmark, items=run.benchmark.items[:12])
    ids = [item.id for item in half.items]
    other = replace(run, benchmark=half, scores=run.scores.filter(run.scores["item"].is_in(ids)))
    text = report([run, other], tmp_path / "p.html", ReportOptions(gallery=4)).read_text("utf-8")
    assert f"bison ({run.benchmark.sha256[:8]})" in text
    assert f"bison ({half.sha256[:8]})" in text


def test_latex_and_charts_go_where_they_are_asked(made, tmp_path):
    options = ReportOptions(gallery=0, charts=tmp_path / "c", latex=tmp_path / "l")
    report(made.on("bivlc"), tmp_path / "p.html", options)
    assert (tmp_path / "c" / "bivlc-Group-by-kind.svg").exists()
    assert "Tneg2I" in (tmp_path / "l" / "bivlc.tex").read_text("utf-8")


def test_the_page_opens_with_one_chart_the_table_and_three_items(page):
    summary = page.split('id="summary"')[1].split('id="results"')[0]
    order = [summary.index(part) for part in (
        'class="chart"', 'aria-label="Table: models by benchmarks"', 'class="trio"',
        'class="findings"', "How to read the numbers")]  # fmt: skip
    assert order == sorted(order)
    assert summary.count("<svg") == 1
    for title in ("All models are right", "All models are wrong", "The models are divided"):
        assert summary.count(f"<h2>{title}</h2>") == 1
    trio = summary.split('class="trio"')[1].split('class="findings"')[0]
    assert trio.count('<article class="showcase"') == 3 and trio.count("data-picture") >= 3


def test_words_are_few_and_come_after_the_chart_and_the_pictures(page):
    def words(part: str) -> list[str]:
        return re.sub(r"<[^>]+>", " ", part).split()

    summary = page.split('id="summary"')[1].split('id="results"')[0]
    assert len(words(summary.split('class="overview"')[0])) < 30
    assert len(words(summary.split('class="trio"')[1].split("<article")[0])) < 5
    found = re.findall('<article class="finding".*?</article>', summary, re.DOTALL)
    assert found and max(len(words(one)) for one in found) < 140


def test_the_three_items_came_out_as_they_are_called(made):
    from tellapart.reports.gallery import make_gallery
    from tellapart.reports.results import StepCounter, measure_runs
    from tellapart.reports.showcase import showcase
    from tellapart.types import silent

    steps = StepCounter(0, silent)
    benchmarks = measure_runs(made.runs, "wrong", False, steps)
    shown = make_gallery(benchmarks, [[] for _ in benchmarks], steps, showcase(benchmarks)).opening
    codes = {title: "".join(row.verdict for row in card.card.rows[:-1]) for title, card in shown}
    assert codes["All models are right"] == "rrr"
    assert codes["All models are wrong"] == "www"
    assert {"r", "w"} <= set(codes["The models are divided"])
    assert len({card.benchmark for _, card in shown}) == 3


def test_lines_stand_apart_and_are_never_the_highest(made, tmp_path):
    bison = made.on("bison")
    card = bison[0].card
    never = [replace(r, card=replace(r.card, model=name)) for r, name in
             ((bison[0], "constant"), (bison[0], "chance?seed=7"))]  # fmt: skip
    text = report([*bison[1:], *never], tmp_path / "p.html", ReportOptions(gallery=4)).read_text()
    assert card.model not in text  # the good answers belong to lines here
    assert text.count("never looks, ties halved") == 2
    summary = text.split('class="findings"')[1].split('id="results"')[0]
    assert "2 models were tested" in text and "has the highest accuracy" in summary
    for line in ("constant", "chance?seed=7"):
        assert f'<b class="model">{line}</b> has the highest' not in summary
    pairs = text.split("Are the differences real?")[1].split("</table>")[0]
    assert "constant" not in pairs and "chance" not in pairs


def test_the_page_and_compare_give_a_pair_the_same_name_and_p(made, tmp_path):
    runs = made.on("mcic")
    text = report(runs, tmp_path / "p.html", ReportOptions(gallery=0)).read_text("utf-8")
    table = text.split("Are the differences real?")[1].split("</table>")[0]
    for pair in ta.compare(runs, measures=["accuracy"]).pairs:
        row = next(r for r in table.split("<tr") if pair.first in r and pair.second in r)
        told = f"{pair.p_holm:.4f}" if pair.p_holm >= 0.0001 else "< 0.0001"
        assert f"<td>{told}</td>" in row


def test_a_report_of_lines_alone_says_so(made, tmp_path):
    (run,) = ta.evaluate("chance", made.on("bison")[0].benchmark, tmp_path / "runs")
    text = report(run, tmp_path / "p.html", ReportOptions(gallery=2)).read_text("utf-8")
    assert "No model that looks was run" in text and "highest accuracy" not in text


def test_a_trained_system_brings_its_curves(tmp_path, benchmarks, monkeypatch):
    from tellapart.reports.curves import training_curves

    rows = [
        {"epoch": 1, "step": 5, "loss": 2.0, "rate": 0.1},
        {"epoch": 1, "step": 5, "rsum": 20.0},
        {"epoch": 2, "step": 5, "loss": 1.0, "rate": 0.1},
        {"epoch": 2, "step": 5, "rsum": 30.0},
    ]
    folder = tmp_path / "scan <b>"
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "system.json").write_text(json.dumps({"trained": {"measure": "rsum"}}))
    (run,) = ta.evaluate("chance", on=benchmarks["bison"], out=tmp_path / "runs")
    named = replace(run, card=replace(run.card, model=f"trained:{folder}"))
    (curves,) = training_curves([named, named])
    assert curves.losses == ((1.0, 2.0), (2.0, 1.0)) and curves.measured[-1] == (2.0, 30.0)
    assert "from 2 to 1" in curves.words and "after epoch 2, with 30" in curves.words
    page = ta.report([named], tmp_path / "page.html").read_text()
    assert "<h3>Training</h3>" in page and "scan &lt;b&gt;" in page and "scan <b>" not in page
    (folder / "metrics.jsonl").write_text("damaged")
    assert training_curves([named]) == ()
    assert "<h3>Training</h3>" not in ta.report([run], tmp_path / "page.html").read_text()
