"""`build bison` beside an obvious version of it, and on corpora that are odd."""

from __future__ import annotations

import json
import math
import random
from collections import Counter

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import tellapart as ta
from tellapart.benchmark.benchmark import card_json
from tellapart.cli.main import app
from tellapart.errors import BadInput, UnknownName
from tellapart.mine import informativeness
from tellapart.mine.captions import MinedCaptions
from tellapart.mine.informativeness import Informativeness
from tellapart.models.names import load
from tellapart.text.english import plural
from tellapart.text.tokens import FUNCTION_WORDS, tokens
from tellapart.verbs.benchmarks.show import show
from tellapart.verbs.build.bison import VERB, BisonOptions

THINGS = "dog cat horse dogs bus sofa couch kite man woman boy tree".split()
REST = "a the on near with red big sits runs beautiful grass street beach".split()


def corpus_file(folder, rows, name="captions.csv"):
    path = folder / name
    table = pl.DataFrame(rows, schema=["image", "caption"], orient="row")
    table.write_csv(path)
    return ta.read_corpus(path)  # read here: there are no pictures


def random_rows(images, per_image, seed):
    """Images of two or three things, captions of some of them; some images are alike."""
    rng = random.Random(seed)
    rows = []
    for image in range(images):
        shown = rng.sample(THINGS, 3)
        for _ in range(rng.randint(1, per_image)):
            words = rng.sample(shown, 2) + rng.choices(REST, k=3)
            rng.shuffle(words)
            rows.append((f"{image}.jpg", " ".join(words)))
    rows += [(f"copy of {image}", text) for image, text in rows if image in ("0.jpg", "1.jpg")]
    return rows


def word_file(folder, seed=0):
    """Vectors of small whole numbers, so that similarities tie; one word has none."""
    rng = random.Random(seed)
    words = [word for word in THINGS + REST if word != "kite"]
    path = folder / "words.txt"
    lines = (f"{word} {' '.join(str(rng.randint(-1, 2)) for _ in range(4))}" for word in words)
    path.write_text("\n".join(lines) + "\n")
    return path


def obvious_pairs(rows, vectors, neighbours, directions):
    """Nearest images by the mean vector of all words of all captions, one by one."""
    captions = {}
    for image, text in rows:
        captions.setdefault(image, []).append(text)
    means = {}
    for image, texts in captions.items():
        known = [vectors[w] for text in texts for w in tokens(text) if w in vectors]
        mean = np.mean(known, axis=0) if known else np.zeros(4)
        if np.linalg.norm(mean):
            means[image] = mean / np.linalg.norm(mean)
    pairs = []
    for target, mean in means.items():
        others = [d for d in means if sorted(captions[d]) != sorted(captions[target])]
        order = list(means)
        others.sort(key=lambda d: (-round(float(mean @ means[d]), 6), order.index(d)))
        for decoy in others[:neighbours]:
            pairs.append((target, decoy))
            if directions == "both":
                pairs.append((decoy, target))
    return captions, list(dict.fromkeys(pairs))


def obvious_telling(captions):
    """The score of a caption against a decoy, written out."""
    known = {w for texts in captions.values() for t in texts for w in tokens(t)} - FUNCTION_WORDS
    single = {plural(word): word for word in sorted(known)}

    def content(text):
        return {single.get(w, w) for w in tokens(text) if w not in FUNCTION_WORDS}

    again, others, together = Counter(), Counter(), Counter()
    for texts in captions.values():
        for i, one in enumerate(texts):
            for v in content(one):
                others[v] += len(texts) - 1
                for j, two in enumerate(texts):
                    if i != j:
                        again[v] += v in content(two)
                        together.update((v, w) for w in content(two))
    mean = sum(again.values()) / sum(others.values()) if sum(others.values()) else 0.4

    def score(caption, target, decoy):
        total = 0.0
        of_decoy = set().union(*map(content, captions[decoy]))
        for w in content(caption):
            rate = (again[w] + 5 * mean) / (others[w] + 5)
            n = sum(w in content(t) for t in captions[target]) - 1
            q = (n + 4 * rate) / (len(captions[target]) - 1 + 4)
            beside = max(((together[v, w]) / (others[v] + 5) for v in of_decoy), default=0.0)
            m = sum(w in content(t) for t in captions[decoy])
            p = (m + 4 * beside) / (len(captions[decoy]) + 4)
            total += max(0.0, math.log((q + 0.01) / (p + 0.01)))
        return round(total, 9)

    return score


def asked_of(benchmark):
    found = []
    for item in benchmark.items:
        ((place, _),) = item.true
        found.append((item.images[place], item.images[1 - place], item.captions[0]))
    return found


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("per_image", "neighbours", "directions"), [(3, 1, "both"), (1, 2, "one"), (4, 3, "both")]
)
def test_items_are_those_of_the_obvious_version_ties_included(
    tmp_path, monkeypatch, per_image, neighbours, directions, compiled
):
    if compiled:
        monkeypatch.setattr(informativeness, "LARGE", 0)
    rows = random_rows(40, per_image, seed=per_image)
    words = word_file(tmp_path)
    vectors = {
        line.split()[0]: np.array(line.split()[1:], float)
        for line in words.read_text().splitlines()
    }
    captions, pairs = obvious_pairs(rows, vectors, neighbours, directions)
    score = obvious_telling(captions)
    expected = []
    for target, decoy in pairs:
        texts = captions[target]
        best = max(range(len(texts)), key=lambda k: (score(texts[k], target, decoy), -k))
        if score(texts[best], target, decoy) >= 2.5:
            expected.append((target, decoy, texts[best]))
    own = BisonOptions(
        vectors=str(words), neighbours=neighbours, directions=directions, least_telling=2.5,
        parser="none",
    )  # fmt: skip
    made = ta.build("bison", corpus_file(tmp_path, rows), tmp_path / "b", own)
    assert len(expected) > 20
    assert asked_of(made) == expected
    assert made.card.made["pairs"] == len(pairs)
    assert made.card.made["pairs_that_no_caption_tells_apart"] == len(pairs) - len(expected)


def test_idle_words_and_synonyms_tell_little_and_what_everyone_says_tells_much(tmp_path):
    rows = []
    for k in range(30):
        rows += [(f"sofa{k}", "a beautiful sofa"), (f"sofa{k}", "a couch"), (f"sofa{k}", "a sofa")]
        rows += [(f"dog{k}", "a dog"), (f"dog{k}", "a dog here"), (f"dog{k}", "some dog, lovely")]
    captions = MinedCaptions.of(corpus_file(tmp_path, rows))
    images = {image: k for k, image in enumerate(captions.images)}
    told = Informativeness(captions)
    pair = np.array([[images["sofa0"]], [images["sofa1"]], [images["dog0"]]], np.int32)
    _, (alike,) = told.scores(pair[0], pair[1])
    _, (other,) = told.scores(pair[0], pair[2])
    _, (dog,) = told.scores(pair[2], pair[0])
    assert alike.max() < 0.5 < 3.5 < other.max() < 8
    assert dog[0] > 3.5 and dog[2] - dog[0] < dog[0]


def test_the_verifier_lets_only_captions_through_that_are_true_of_the_target_alone(world, tmp_path):
    made = ta.build("bison", world, tmp_path / "b", ta.BuildOptions(verifier="oracle", items=20))
    oracle = load("oracle")
    assert len(made.items) == 20 and made.card.verified == "by the model oracle"
    for target, decoy, caption in asked_of(made):
        pictures = [world.picture(target), world.picture(decoy)]
        assert oracle.score_pairs(pictures, [caption] * 2).tolist() == [1.0, 0.0]


def test_pairs_are_asked_both_ways_or_one(world, tmp_path):
    def build(directions):
        options = BisonOptions(directions=directions, verifier="oracle")
        return asked_of(ta.build("bison", world, tmp_path / directions, options))

    both, one = build("both"), build("one")
    assert len({(t, d) for t, d, _ in both}) == len(both) > len(one)
    turned = {(d, t) for t, d, _ in both} & {(t, d) for t, d, _ in both}
    assert len(turned) > 0.5 * len(both)
    assert len({t for t, _, _ in one}) == len(one)


def test_pairs_for_a_study(world, tmp_path):
    own = BisonOptions(for_study=True)
    made = ta.build("bison", world, tmp_path / "pairs", own)
    table = pl.read_parquet(tmp_path / "pairs" / "pairs.parquet")
    card = json.loads((tmp_path / "pairs" / "pairs.json").read_text())
    assert card["schema"] == "tellapart-pairs-1" and card["pairs"] == table.height
    assert made.card.verified == "" and len(made.items) == table.height
    known = dict(world.captions.select("id", "text").iter_rows())
    for row in table.iter_rows(named=True):
        assert row["target"] != row["decoy"]
        assert [known[name] for name in row["caption_ids"]] == row["captions"]
        assert set(row["captions"]) == set(world.texts_by_image[row["target"]])
    assert table["pair"].n_unique() == table.height
    assert "bison" in VERB.text(made)


def test_the_command_prints_the_card_as_json(world, tmp_path):
    arguments = ["build", "bison", str(world.root), str(tmp_path / "b"), "--verifier", "oracle"]
    arguments += ["--directions", "one", "--neighbours", "2", "--items", "8", "--json"]
    result = CliRunner().invoke(app, arguments)
    card = json.loads(result.stdout)
    assert card["counts"]["items"] == 8 and card["made"]["directions"] == "one"
    assert card["made"]["statistics"]["benchmark"]["examples"] == 8


def test_a_stopped_job_goes_on_from_what_it_had(tmp_path, monkeypatch):
    from tellapart.mine.neighbours.nearest import Neighbours

    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))
    path = corpus_file(tmp_path, random_rows(30, 3, seed=5))
    options = BisonOptions(vectors="fasttext", least_telling=1, parser="none")
    first = ta.build("bison", path, tmp_path / "a", options)
    monkeypatch.setattr("tellapart.mine.vectors.train_word_vectors", None)
    monkeypatch.setattr(Neighbours, "nearest", None)
    again = ta.build("bison", path, tmp_path / "b", options)
    assert again.sha256 == first.sha256
    assert card_json(again) == card_json(first)


def test_statistics_stand_beside_the_corpus_s_own(tmp_path):
    rows = random_rows(30, 3, seed=2)
    options = BisonOptions(least_telling=1, parser="auto")
    made = ta.build("bison", corpus_file(tmp_path, rows), tmp_path / "b", options)
    told = made.card.made["statistics"]
    assert told["benchmark"]["examples"] == len(made.items)
    assert told["benchmark"]["unique_images"] == len(made.images)
    assert told["benchmark"]["unique_captions"] == len({i.captions[0] for i in made.items})
    assert told["corpus"]["examples"] == len(rows)
    assert told["corpus"]["lengths"] == {"5": 1.0} and told["corpus"]["words_in_a_caption"] == 5
    for shares in (told["parts_of_speech"]["benchmark"], told["parts_of_speech"]["corpus"]):
        assert sum(shares.values()) == pytest.approx(1, abs=0.01) and shares["NOUN"] > 0.3
    printed = VERB.text(made)
    assert "unique captions" in printed and "NOUN" in printed


def test_without_a_parser_the_statistics_say_so(tmp_path, monkeypatch):
    def missing(model):
        raise BadInput("parsing needs the package 'spacy', which is not installed")

    monkeypatch.setattr("tellapart.mine.statistics.find_pipeline", missing)
    made = ta.build("bison", corpus_file(tmp_path, random_rows(9, 2, seed=1)), tmp_path / "b")
    assert "not counted (parsing needs the package 'spacy'" in VERB.text(made)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([("a.jpg", "A dog."), ("a.jpg", "A cat.")], "captions of only one image"),
        ([(f"{k}.jpg", "A dog on the grass.") for k in range(10_000)], "same captions"),
        ([("a.jpg", "!!!"), ("b.jpg", "...")], "have no words with vectors"),
        (
            [("a.jpg", "A big dog."), ("b.jpg", "The big dog.")],
            "no caption tells the images of any of the 2 pairs apart",
        ),
    ],
)
def test_a_corpus_without_pairs_ends_in_a_clear_reason(tmp_path, rows, reason):
    with pytest.raises(BadInput, match=f"bison has no items: .*{reason}"):
        ta.build("bison", corpus_file(tmp_path, rows), tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_ten_thousand_equal_captions_among_others_end(tmp_path):
    rows = [(f"{k}.jpg", "A dog on the grass.") for k in range(10_000)]
    rows += [(f"cat{k}.jpg", f"A cat on the {thing}.") for k, thing in enumerate(THINGS)]
    options = BisonOptions(directions="one", parser="none")
    made = ta.build("bison", corpus_file(tmp_path, rows), tmp_path / "b", options)
    assert all(set(item.images) & {f"cat{k}.jpg" for k in range(12)} for item in made.items)
    assert len(made.items) > 9_000


@pytest.mark.parametrize(
    "captions",
    [
        ("一只猫坐在桌子上", "一只狗坐在草地上", "一辆红色的公共汽车"),
        ("قطة على الطاولة", "كلب على العشب", "حافلة حمراء في الشارع"),
        ("แมวนั่งบนโต๊ะ", "สุนัขนั่งบนหญ้า", "รถบัสสีแดง"),
    ],
)
def test_captions_in_another_script_become_items(tmp_path, captions):
    rows = [(f"{k}.jpg", caption) for k, caption in enumerate(captions)]
    made = ta.build("bison", corpus_file(tmp_path, rows), tmp_path / "b")
    assert len(made.items) >= 3
    assert "not English" in made.card.made["statistics"]["parts_of_speech"]["not_counted"]


def test_copies_of_one_picture_are_no_pair(world, tmp_path):
    from dataclasses import replace

    copied = world.images.with_columns(sha256=pl.lit("same"))
    with pytest.raises(BadInput, match="bison has no items"):
        ta.build("bison", replace(world, images=copied), tmp_path / "b")


@pytest.mark.parametrize(
    ("own", "error", "message"),
    [
        (BisonOptions(vectors="nowhere.vec"), BadInput, "nowhere.vec names no vectors"),
        (BisonOptions(neighbours=0), BadInput, "neighbours: 0"),
        (BisonOptions(directions="three"), UnknownName, "no way to ask a pair called 'three'"),
    ],
)
def test_options_that_cannot_be_meant(world, tmp_path, own, error, message):
    with pytest.raises(error, match=message):
        ta.build("bison", world, tmp_path / "b", own)


@pytest.mark.parametrize("vectors", ["tf-idf", "fasttext", "paragraphs"])
def test_every_sort_of_vectors_gives_items_and_stands_in_the_card(tmp_path, vectors):
    options = BisonOptions(vectors=vectors, least_telling=1, parser="none")
    path = corpus_file(tmp_path, random_rows(30, 3, seed=4))
    made = ta.build("bison", path, tmp_path / "b", options)
    assert len(made.items) > 10 and "items" in str(show(made))
    assert {"tf-idf": "tf-idf", "fasttext": "fastText", "paragraphs": "PV-DBOW"}[vectors] in (
        made.card.made["vectors"]
    )
