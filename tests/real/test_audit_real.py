"""The audit on published benchmarks: the figures of the known pitfalls come out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tellapart.attack.attack import Attackers, attack_benchmark
from tellapart.attack.statistics import CaptionSource
from tellapart.audits.findings import Finding, foil_rules, overlap, structure
from tellapart.audits.guesses import guessable
from tellapart.audits.options import AuditOptions
from tellapart.benchmark.published.options import GetOptions
from tellapart.verbs.benchmarks.audit import audit
from tellapart.verbs.benchmarks.get import get

QUICK = AuditOptions(ngrams=False, resamples=50)
Look = Callable[..., dict[str, Finding]]


@pytest.fixture(params=["alone", pytest.param("audit", marks=pytest.mark.campaign)])
def findings(request: pytest.FixtureRequest) -> Look:
    """What is odd about items, alone or as the audit finds it, which attacks them first."""

    def look(benchmark, corpus=None, overlap_with=None):
        if request.param == "audit":
            whole = audit(benchmark, corpus=corpus, overlap_with=overlap_with, options=QUICK)
            return {one.name: one for one in whole.structure}
        found = structure(benchmark)
        found += [] if corpus is None else foil_rules(benchmark, corpus, {})
        found += [] if overlap_with is None else overlap(benchmark, overlap_with)
        return {one.name: one for one in found}

    return look


@pytest.fixture(scope="module", params=["cues", pytest.param("all", marks=pytest.mark.campaign)])
def sugarcrepe_audit(request, sugarcrepe):
    """What single cues tell, or as the audit has it, with attackers that are trained."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "cues":
            patch.setattr("tellapart.audits.audit._attack", lambda *_given: None)
        return audit(sugarcrepe, options=QUICK)


@pytest.fixture(scope="module")
def mcic(real_data, tmp_path_factory):
    file = real_data / "mcic/mc_mscoco_dev.txt.gz"
    out = tmp_path_factory.mktemp("audit") / "mcic"
    return get("mcic", [file], out, GetOptions(keep_order=True))


def test_pitfall_4_sugarcrepe_is_guessed_by_stop_and_length(sugarcrepe_audit):
    guess = sugarcrepe_audit.guess("without a final stop, else fewer characters")
    figures = (guess.wrong, guess.estimate.value, guess.right)
    assert [round(100 * one, 1) for one in figures] == [69.2, 75.0, 80.8]
    assert guess.estimate.n == 7_511
    kinds = ("add-object", "add-attribute")
    added = [sugarcrepe_audit.guess("fewer characters", kind=kind).estimate for kind in kinds]
    share = sum(one.value * one.n for one in added) / sum(one.n for one in added)
    assert round(100 * share, 1) == 99.1
    assert sugarcrepe_audit.strongest()[0].estimate.value > 0.8
    if sugarcrepe_audit.attack is not None:
        assert sugarcrepe_audit.attack.overall.value == pytest.approx(0.888, abs=0.005)


@pytest.mark.campaign
def test_pitfall_4_what_is_guessable_stands_beside_every_score(sugarcrepe):
    found = guessable(sugarcrepe)
    assert found.of("accuracy").estimate.value == pytest.approx(0.888, abs=0.005)
    assert found.of("accuracy").fair
    assert found.of("accuracy", "add-object").estimate.value > 0.99


def test_pitfall_5_sugarcrepe_has_final_stops_on_one_side(sugarcrepe_audit):
    assert sugarcrepe_audit.finding("final stop, wrong only").count == 1_384
    assert sugarcrepe_audit.finding("final stop, right only").count == 0
    assert sugarcrepe_audit.finding("white space, right only").count == 1_074


def test_pitfall_9_sugarcrepe_has_six_duplicates(sugarcrepe_audit):
    assert sugarcrepe_audit.finding("duplicates").count == 6


def test_pitfalls_7_and_8_mcic_is_sorted_and_has_true_decoys(mcic, val2014, findings):
    found = findings(mcic, overlap_with=val2014)
    in_order = found["sorted options"]
    assert in_order.count == in_order.of == 9_999
    shares = [round(100 * found[f"caption place {k}"].count / 9_999, 1) for k in range(5)]
    assert shares == [16.7, 18.8, 20.3, 22.7, 21.6]
    assert found["same words"].count == 53
    # The files are all called train2014; by its id every third image is of val2014.
    assert (found["overlap by id"].count, found["overlap by id"].of) == (701, 2_384)


def test_pitfall_7_the_importer_takes_the_order_away(real_data, findings, tmp_path):
    shuffled = get("mcic", [real_data / "mcic/mc_mscoco_dev.txt.gz"], tmp_path / "mcic")
    found = findings(shuffled)
    assert found["sorted options"].count < 150
    assert max(found[f"caption place {k}"].count for k in range(5)) < 2_150


def test_foil_breaks_its_own_rules(real_data, val2014, findings, tmp_path):
    file = real_data / "foil/valse_foil_it.json"
    foil = get("foil", [file], tmp_path / "foil", GetOptions(keep_all=True))
    found = findings(foil, corpus=val2014)
    assert (found["target in one caption"].count, len(foil)) == (96, 1_000)
    assert found["foil is shown"].count == 116
    assert found["unverified"].count == 57


def test_bison_says_nothing_without_the_images(coco_bison, val2014):
    found = audit(coco_bison, overlap_with=val2014, options=QUICK)
    assert not [guess for guess in found.guesses if guess.sees == "caption"]
    assert found.finding("overlap by id").count == 38_680
    assert found.guess("the smaller file").estimate.n == 734
    assert abs(found.guess("the image at place 0").estimate.value - 0.5) < 0.01
    assert guessable(coco_bison).of("accuracy").estimate.value == 0.5


@pytest.mark.campaign
@pytest.mark.parametrize(("name", "least"), [("foil", 0.86), ("sugarcrepe", 0.83), ("mcic", 0.63)])
def test_attackers_find_what_published_captions_give_away(
    name, least, real_data, sugarcrepe, mcic, val2014, tmp_path
):
    if name == "foil":
        found = get("foil", [real_data / "foil/valse_foil_it.json"], tmp_path / "foil")
    else:
        found = {"sugarcrepe": sugarcrepe, "mcic": mcic}[name]
    attack = attack_benchmark(found, CaptionSource.of_corpus(val2014), Attackers(resamples=50))
    assert attack is not None and attack.overall.value >= least
