"""Fair sets of MCIC: near captions, each true once, none true of another image of its set."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mine.test_mcic import (
    ANIMALS,
    PLACES,
    SEED,
    captions_of,
    corpus_of,
    slow_agreement,
    slow_bleu,
    slow_cosine,
    slow_refuses,
    slow_score,
)

import tellapart as ta
from tellapart.errors import BadInput
from tellapart.mine.informativeness import Silence, StemAgreement
from tellapart.mine.mcic import option_graph
from tellapart.mine.mcic.decoys import DecoyMine
from tellapart.mine.mcic.option_graph import OptionGraph
from tellapart.mine.mcic.score import DecoyChoice, Guards, may_be_decoys
from tellapart.mine.neighbours.nearest import Search
from tellapart.mine.vectors import MinedVectors
from tellapart.mine.verifier import Verifier
from tellapart.text.tokens import tokens
from tellapart.verbs.build.mcic import McicOptions

ACTS = "sleeps runs eats waits stands".split()


def park(captions=2):
    """Images of an animal that does something somewhere, the animals and places in all pairs."""
    things = [(a, p, ACTS[k % 5]) for k, (a, p) in enumerate(product(ANIMALS[:8], PLACES))]
    rows = []
    for k, (animal, place, act) in enumerate(things):
        says = [
            f"A {animal} {act} on the {place} today.",
            f"On a {place} we can see how one {animal} {act}.",
        ]
        rows += [(f"i{k}", text) for text in says[:captions]]
    return rows


def fair(rows, tmp_path, name="out", **own):
    options = McicOptions(**{"vectors": "tf-idf", "max_bleu": 0.9, "doubt": 0.5, **own})
    return ta.build("mcic", corpus_of(rows, tmp_path), tmp_path / name, options)


def sets_of(made):
    """The items by the set of their options."""
    found: dict[frozenset[str], list] = {}
    for item in made.items:
        found.setdefault(frozenset(item.captions), []).append(item)
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return fair(park(), tmp_path_factory.mktemp("park"))


def test_by_default_every_caption_of_a_set_is_the_truth_once(made):
    sets = sets_of(made)
    assert len(made.items) == 5 * len(sets) >= 30
    for options, items in sets.items():
        truths = Counter(item.captions[place] for item in items for _, place in item.true)
        assert truths == Counter(options) and len(options) == 5
    images = Counter(item.images[0] for item in made.items)
    assert set(images.values()) == {1}, "an image in two sets would tie them together"
    assert made.card.made["options"].startswith("sets of similar captions")


def test_a_set_is_a_group_of_its_own_for_statistics_and_folds(made):
    for items in sets_of(made).values():
        assert len({item.group for item in items}) == 1
    assert len({item.group for item in made.items}) == len(made.items) // 5
    assert ta.validate(made, look=False).good


def test_every_decoy_passes_the_guards_of_every_image_of_its_set(made):
    rows = park()
    agreement = slow_agreement(rows)
    for options, items in sets_of(made).items():
        for item, text in product(items, options):
            own = {t for i, t in rows if i == item.images[0]}
            assert text in own or not slow_refuses(
                rows, item.images[0], text, Guards(doubt=0.5), agreement
            )


def test_the_table_has_every_decoy_with_its_score_and_the_card_both_means(made, tmp_path):
    table = pl.read_parquet(made.root / "decoys.parquet")
    assert table.height == 4 * len(made.items)
    told = made.card.made["statistics"]["all"]
    assert told["score"] == pytest.approx(table["score"].mean(), abs=1e-4)
    texts = {f"c{k}": text for k, (_, text) in enumerate(park())}
    for row in table.head(40).iter_rows(named=True):
        item = made.items.by_id[row["item"]]
        bleu = slow_bleu(tokens(texts[row["caption"]]), tokens(texts[item.origin.source_id]))
        assert row["bleu"] == pytest.approx(bleu) and item.captions[row["place"]].strip()
        assert row["score"] == pytest.approx(0.3 * row["cosine"] + 0.7 * bleu)
    paper = fair(park(), tmp_path, way="paper").card.made["statistics"]["all"]
    assert told["paper_score"] == pytest.approx(paper["score"], abs=1e-4)
    assert told["score"] >= 0.8 * told["paper_score"]
    assert told["items_per_caption"] == pytest.approx(len(made.items) / len(park()), abs=1e-4)
    assert told["left_out"] == len(park()) - len(made.items) and told["central"] == 0.2


def test_sets_are_of_near_captions_and_not_of_what_is_left_over(tmp_path):
    """Five families of five, one caption an image: each is a set, whatever comes first."""
    families = [
        "A {} {} sits near the open gate of our yard", "Two {} {} toys were left under that bed",
        "Some {} {} cups with hot tea stand here", "My {} {} kite flies over tall trees",
        "Red or {} {} paint covers every wall inside",
    ]  # fmt: skip
    colours, kinds = "green blue white black pink".split(), "old new big small odd".split()
    rows = [
        (f"i{f}{k}", form.format(colours[k], kinds[(k + f) % 5]))
        for k, f in product(range(5), range(5))
        for form in [families[f]]
    ]
    made = fair(rows, tmp_path, max_bleu=1.0)
    assert len(made.items) == 25
    for items in sets_of(made).values():
        assert len({item.images[0][1] for item in items}) == 1
    with pytest.raises(BadInput, match="mcic has no items"):
        fair(rows, tmp_path, "high", max_bleu=1.0, least_near=3.0)


def test_pitfall_8_what_goes_without_saying_makes_no_decoy_false():
    """A tennis player may be a man, where captions of players often say so."""
    rows = [("t", "player hits"), ("t", "player runs"), ("t", "player serves")]
    for k in range(20):
        said = "man" if k % 3 else "player"
        rows += [(f"t{k}", f"{said} hits"), (f"t{k}", f"{said} runs"), (f"t{k}", "player there")]
        rows += [(f"c{k}", "cat sleeps"), (f"c{k}", "cat purrs"), (f"c{k}", "cat here")]
    captions = captions_of(rows)
    silence = Silence.of(captions, StemAgreement.of(captions))
    asked = [captions.texts.index(text) for text in ("man hits", "cat sleeps")]
    may = [
        may_be_decoys(np.array(asked, np.int32), np.zeros(2, np.int32), one, Guards(doubt=0.5))
        for one in (silence, silence.with_likely(0.3))
    ]
    assert [one.tolist() for one in may] == [[True, True], [False, True]]
    before, after = (s.mentions.of_images for s in (silence, silence.with_likely(0.3)))
    times = after.times[: after.starts[1]]
    assert 0 in times and times[times > 0].tolist() == before.times[: before.starts[1]].tolist()


def mine_of(rows, vectors, choice, guards):
    captions = captions_of(rows)
    given = MinedVectors(np.asarray(vectors, np.float32), {"vectors": "given"})
    stems, verifier = StemAgreement.of(captions), Verifier(None, "")
    return DecoyMine(captions, given, stems, choice, guards, Search("exact"), verifier, SEED)


def slow_edges(rows, vectors, choice, guards):
    """Score above 0 and no guard against it both ways; the mean of both Scores."""
    agreement, edges = slow_agreement(rows), {}
    for a, b in combinations(range(len(rows)), 2):
        (image, text), (other_image, other) = rows[a], rows[b]
        cosine = slow_cosine(vectors[a], vectors[b])
        both = [
            slow_score(cosine, slow_bleu(tokens(x), tokens(y)), choice)
            for x, y in ((text, other), (other, text))
        ]
        refused = [
            slow_refuses(rows, i, t, guards, agreement)
            for i, t in ((image, other), (other_image, text))
        ]
        if image != other_image and text != other and min(both) > 0 and not any(refused):
            edges[a, b] = sum(both) / 2
    return edges


words = "a a dog cats cat bird on the grass runs".split()
text = st.lists(st.sampled_from(words), min_size=1, max_size=6).map(" ".join)
signs = st.lists(st.sampled_from([-1.0, 1.0, 2.0]), min_size=4, max_size=4)
caption = st.tuples(st.sampled_from("vwxyz"), text, signs)


@given(st.lists(caption, min_size=3, max_size=14), st.sampled_from([0.1, 0.9]))
def test_the_graph_joins_what_the_obvious_version_joins(given_rows, doubt):
    rows, vectors = [(i, t) for i, t, _ in given_rows], [v for _, _, v in given_rows]
    choice, guards = DecoyChoice(20, decoys=2), Guards(doubt=doubt, distinct=False)
    graph = OptionGraph.of(mine_of(rows, vectors, choice, guards))
    expected = slow_edges(rows, vectors, choice, guards)
    found = {
        (one, int(other)): float(graph.scores[k])
        for one in range(len(rows))
        for k in range(graph.starts[one], graph.starts[one + 1])
        for other in [graph.partners[k]]
    }
    # Without the guard `distinct` equal texts may stand together; Score makes them 0 (BLEU 1).
    assert set(found) == set(expected) | {(b, a) for a, b in expected}
    for (a, b), weight in found.items():
        assert weight == pytest.approx(expected[min(a, b), max(a, b)], abs=1e-5)


def test_the_set_of_a_caption_is_whole_free_and_its_mean_that_of_its_edges():
    rows = park()[:40]
    vectors = np.random.default_rng(2).normal(size=(len(rows), 6))
    mine = mine_of(rows, vectors, DecoyChoice(limit=0.9), Guards(doubt=0.5))
    graph = OptionGraph.of(mine)
    edges = slow_edges(rows, vectors, mine.choice, mine.guards)
    taken = np.zeros(len(mine.captions.images), bool)
    taken[:3] = True
    every = np.arange(len(rows), dtype=np.int32)
    sets, means = graph.best_sets(every, 5, taken)
    assert (means > 0).sum() > 20 and (means[:6] == -1).all()
    for members, mean in zip(sets[means > 0].tolist(), means[means > 0], strict=True):
        assert not taken[mine.captions.image_of[members]].any()
        weights = [edges[min(pair), max(pair)] for pair in combinations(members, 2)]
        assert mean == pytest.approx(np.mean(weights), abs=1e-5)
    few = OptionGraph(graph.image_of, graph.starts, graph.partners, graph.scores.copy())
    few.leave_out(int(sets[-1][1]))
    few.part(int(sets[-1][0]), int(sets[-1][2]))
    again, _ = few.best_sets(every[-1:], 5, taken)
    assert sets[-1][1] not in again[0] and not {*sets[-1][[0, 2]]} <= {*again[0]}


def test_small_lists_of_partners_give_the_same_kind_of_sets(tmp_path, monkeypatch):
    """What is cut off a list is far away; a caption may still be on the other's list."""
    monkeypatch.setattr(option_graph, "PARTNERS", 12)
    few = fair(park(), tmp_path)
    told = few.card.made["statistics"]["all"]
    assert len(few.items) >= 20 and told["score"] >= 0.8 * told["paper_score"]


def test_a_number_of_items_takes_the_nearest_sets_whole(made, tmp_path):
    few = fair(park(), tmp_path, items=12)
    assert len(few.items) == 10 and all(len(items) == 5 for items in sets_of(few).values())
    means = [one.card.made["statistics"]["all"]["score"] for one in (few, made)]
    assert means[0] >= means[1]


def test_splits_have_sets_of_their_own_and_sizes_follow_the_decoys(tmp_path):
    made = fair(park(), tmp_path, split="a:0.5,b:0.5", decoys=2)
    parts = [ta.load_benchmark(tmp_path / "out" / name) for name in "ab"]
    assert not set(parts[0].images) & set(parts[1].images)
    for part in (*parts, made):
        assert part.items and {len(items) for items in sets_of(part).values()} == {3}


def test_leaving_guards_out_means_the_papers_way(tmp_path):
    paper = fair(park(), tmp_path, without=("doubt",))
    assert paper.card.made["options"].startswith("for each caption")
    assert len(paper.items) > 0.9 * len(park())


def test_the_same_command_gives_the_same_sets_and_another_seed_another_order(made, tmp_path):
    again = fair(park(), tmp_path)
    assert again.sha256 == made.sha256
    other = fair(park(), tmp_path, "other", seed=1)
    assert set(sets_of(other)) == set(sets_of(made))
    assert [i.captions for i in other.items] != [i.captions for i in made.items]


def test_on_the_world_a_verifier_has_the_last_word(world, tmp_path):
    options = McicOptions(verifier="oracle", doubt=1.0, max_bleu=1.0)
    made = ta.build("mcic", world, tmp_path / "out", options)
    verifier = Verifier(world, "oracle")
    assert len(made.items) >= 30
    for item in made.items:
        for place, text in enumerate(item.captions):
            assert verifier.may_fit(item.images[0], text) == ((0, place) in item.true)
    unverified = ta.build("mcic", world, tmp_path / "any", McicOptions(doubt=1.0, max_bleu=1.0))
    wrong = [
        item
        for item in unverified.items
        for place, text in enumerate(item.captions)
        if verifier.may_fit(item.images[0], text) != ((0, place) in item.true)
    ]
    assert wrong, "the verifier had something to object to"


def test_the_command_prints_both_scores_and_the_yield(tmp_path):
    from typer.testing import CliRunner

    from tellapart.cli.main import app

    path = tmp_path / "captions.csv"
    path.write_text("image,caption\n" + "".join(f"{i},{t}\n" for i, t in park()))
    loose = ["--max-bleu", "0.9", "--doubt", "0.5", "--no-look"]
    given = ["build", "mcic", str(path), str(tmp_path / "out"), *loose]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    for line in (
        "Score of a decoy ",
        "Score of a decoy by the paper's method",
        "items per caption",
    ):
        assert line in done.output
    card = json.loads((tmp_path / "out" / "benchmark.json").read_text())
    assert {"score", "paper_score", "items_per_caption"} <= set(card["made"]["statistics"]["all"])


def test_fair_sets_need_images_enough(tmp_path):
    rows = [row for row in park(1) if row[0] in ("i0", "i8", "i16", "i24")]
    with pytest.raises(BadInput, match="mcic has no items"):
        fair(rows, tmp_path)
