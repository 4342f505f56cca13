"""FOIL: pairs, mentions, rules, the hardest, items; slow obvious versions beside the fast ones."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tellapart.cli.main import app
from tellapart.corpus.categories import coco_categories, read_categories
from tellapart.corpus.corpus import Corpus, make_corpus
from tellapart.errors import BadInput, TellapartError, UnknownName
from tellapart.mine.foil.foils import make_foils, pairs_for, read_pairs, split_pairs
from tellapart.mine.foil.hardest import by_hardness, by_model, language_scores, seeing_captioner
from tellapart.mine.foil.mentions import WORD
from tellapart.models.model import ModelInfo
from tellapart.text.ngram_model import END, START, UNKNOWN, NGramModel, Trigrams
from tellapart.text.spacy_pipeline import find_pipeline
from tellapart.verbs.build.foil import FoilOptions
from tellapart.verbs.build.foil import foil as build

WITHOUT_PARSER = FoilOptions(unfiltered=True, split="none", parser="none")


@pytest.fixture(scope="module")
def parser():
    """The name of the small English pipeline, where it is installed."""
    try:
        find_pipeline()
    except TellapartError as error:
        pytest.skip(str(error))
    return "en_core_web_sm"


def corpus_of(captions: dict[str, list[str]], objects: dict[str, list[str]] | None = None):
    """A corpus in memory; the pictures do not exist."""
    objects = {image: [] for image in captions} if objects is None else objects
    images = [{"id": i, "uri": f"{i}.jpg", "objects": objects.get(i)} for i in captions]
    texts = [
        {"id": f"{image}-{k}", "image": image, "text": text}
        for image, texts in captions.items()
        for k, text in enumerate(texts)
    ]
    return make_corpus("small", Path(), images, texts)


def triples(foils) -> set[tuple[str, str, str]]:
    """Image, target and foil of all candidates."""
    names, images = foils.table.names, foils.images
    return {
        (images[int(foils.image_of[c])], names[int(t)].word, names[int(f)].word)
        for c, t, f in zip(foils.caption, foils.target, foils.foil, strict=True)
    }


def written(foils) -> list[str]:
    return [foils.written(row).text for row in range(len(foils))]


# --- step 1: words and pairs


def test_coco_gives_the_papers_words_and_pairs():
    table = coco_categories()
    pairs = table.pairs()
    assert len(table.names) == 73 and len(pairs) == len(set(pairs)) == 472
    assert Counter(n.supercategory for n in table.names) == {
        "outdoor": 2, "food": 9, "indoor": 6, "appliance": 5, "sports": 10, "animal": 10,
        "vehicle": 8, "furniture": 5, "accessory": 5, "electronic": 6, "kitchen": 7,
    }  # fmt: skip
    category = {name.word: name.category for name in table.names}
    named = {word: c for word, c in category.items() if word != c}
    assert named == {
        "hydrant": "fire hydrant", "drier": "hair drier", "ball": "sports ball",
        "bat": "baseball bat", "glove": "baseball glove", "racket": "tennis racket",
        "table": "dining table", "phone": "cell phone", "glass": "wine glass",
    }  # fmt: skip
    assert ("bicycle", "car") in pairs and ("bicycle", "dog") not in pairs


def test_long_names_hold_their_word():
    for name in coco_categories().names:
        for phrase in name.long:
            assert name.word in phrase.split(), phrase


def table_file(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_any_table_of_words_will_do(tmp_path):
    rows = [
        {"word": "Mug", "category": "cup", "supercategory": "ware", "synonyms": ["beaker"]},
        {"word": "pan", "category": "frying pan", "supercategory": "ware", "long": "frying pan"},
        {"word": "fern", "category": "fern", "supercategory": "plant"},
    ]
    text = "\n".join(json.dumps(row) for row in rows)
    table = read_categories(table_file(tmp_path, text, "t.jsonl"))
    assert table.pairs() == [("mug", "pan"), ("pan", "mug")]
    assert table.names[0].synonyms == ("beaker",) and table.names[1].long == ("frying pan",)
    csv = "word,category,supercategory,synonyms\na,x,s,b;c\nd,y,s,\n"
    assert read_categories(table_file(tmp_path, csv)).names[0].synonyms == ("b", "c")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word,category\na,x\n", "no column called 'supercategory'"),
        ("word,category,supercategory\na,x,s\na,y,s\n", "'a' occurs twice"),
        ("word,category,supercategory\na b,x,s\n", "more than one word"),
        ("word,category,supercategory\na,,s\nb,y,s\n", "the column 'category' is empty"),
        ("word,category,supercategory\na,x,s\nb,y,t\n", "no two words"),
        ("word,category,supercategory\na,x,s\nb,x,s\n", "no two words"),
        ("word,category,supercategory,long\na,x,s,red b\nc,y,s,\n", "does not contain the word"),
    ],
)
def test_a_bad_table_says_what_is_wrong(tmp_path, text, message):
    with pytest.raises(TellapartError, match=message):
        read_categories(table_file(tmp_path, text))


# --- step 2: the split


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_split_256_to_216_and_as_near_as_can_be_in_each_supercategory(seed):
    table = coco_categories()
    split = split_pairs(table, seed)
    assert Counter(split.values()) == {"train": 256, "test": 216}
    assert list(split) and set(split) == set(table.pairs())
    for sort in table.supercategories:
        of = {name.word for name in table.names if name.supercategory == sort}
        mine = [part for (target, _), part in split.items() if target in of]
        assert abs(mine.count("train") - len(mine) * 256 / 472) < 1
    assert split == split_pairs(table, seed) != split_pairs(table, seed + 1)


def test_train_and_test_share_no_pair_and_none_takes_all():
    table = coco_categories()
    train, test = (pairs_for(table, "paper", part, 3).used for part in ("train", "test"))
    assert not train & test and train | test == pairs_for(table, "none", "test", 3).used
    matrix = pairs_for(table, "paper", "test", 3).matrix(table)
    assert matrix.sum() == 216 and not matrix.diagonal().any()
    with pytest.raises(UnknownName, match="no part of the pairs called 'dev'"):
        pairs_for(table, "paper", "dev", 3)


def test_a_list_of_pairs_takes_the_place_of_the_split(tmp_path):
    table = coco_categories()
    file = table_file(tmp_path, "target,foil,split\ndog,cat,test\ncat,dog,train\ncow,dog,\n")
    assert pairs_for(table, str(file), "test", 0).used == {("dog", "cat"), ("cow", "dog")}
    assert pairs_for(table, str(file), "train", 0).used == {("cat", "dog"), ("cow", "dog")}
    bad = table_file(tmp_path, "target,foil\ndog,bus\n", "bad.csv")
    with pytest.raises(BadInput, match="dog::bus is not a pair"):
        read_pairs(bad, table.pairs())
    worse = table_file(tmp_path, "target,foil,split\ndog,cat,dev\n", "worse.csv")
    with pytest.raises(BadInput, match="split 'dev'"):
        read_pairs(worse, table.pairs())
    with pytest.raises(BadInput, match="is in both parts"):
        text = "target,foil,split\ndog,cat,test\ndog,cat,train\n"
        read_pairs(table_file(tmp_path, text, "both.csv"), table.pairs())


# --- step 3: salience and absence

WORDS = ["dog", "cat", "dogs", "sheep", "table", "bus", "orange", "red", "a", "on", "the", "Cup"]

CAPTION = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)


@given(
    st.lists(
        st.tuples(
            st.lists(CAPTION, min_size=1, max_size=4),
            st.sets(st.sampled_from(["dog", "cat", "cow", "dining table", "bus", "cup", "bowl"])),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_the_papers_rules_are_those_of_an_obvious_loop(drawn):
    captions = {f"i{k}": [" ".join(c) for c in texts] for k, (texts, _) in enumerate(drawn)}
    objects = {f"i{k}": ["broccoli", *shown] for k, (_, shown) in enumerate(drawn)}
    options = replace(WITHOUT_PARSER, plain=True)
    foils = make_foils(corpus_of(captions, objects), options, 0)
    table = coco_categories()
    expected = []
    for image, texts in captions.items():
        for text in texts:
            for target, foil in table.pairs():
                often = sum(target in t.lower().split() for t in texts) > 1
                absent = table.names[table.place[foil]].category not in objects[image]
                if often and absent:
                    split = text.split()
                    for k, word in enumerate(split):
                        if word.lower() == target:
                            put = foil.capitalize() if word[0].isupper() else foil
                            expected.append(" ".join([*split[:k], put, *split[k + 1 :]]))
    assert sorted(written(foils)) == sorted(expected)


def test_a_target_must_be_in_more_than_one_caption():
    texts = {"i": ["A dog and a cat.", "Two dogs.", "A cat and another cat."]}
    assert {t for _, t, _ in triples(make_foils(corpus_of(texts), WITHOUT_PARSER, 0))} == {
        "dog", "cat",
    }  # fmt: skip
    plain = replace(WITHOUT_PARSER, plain=True)  # there is only one "dog", and "dogs" is another
    assert {t for _, t, _ in triples(make_foils(corpus_of(texts), plain, 0))} == {"cat"}
    one = replace(WITHOUT_PARSER, mentions=1)
    assert make_foils(corpus_of({"i": ["A bus."]}), one, 0).foil.size == 7


def test_a_foil_is_neither_among_the_objects_nor_in_any_caption():
    texts = {"i": ["A dog.", "A dog with a kitten.", "Some cattle."]}
    objects = {"i": ["dog", "sheep"]}
    foils = {f for *_, f in triples(make_foils(corpus_of(texts, objects), WITHOUT_PARSER, 0))}
    assert foils == {"bird", "horse", "elephant", "bear", "zebra", "giraffe"}
    plain = replace(WITHOUT_PARSER, plain=True)  # the paper asks the objects alone
    foils = {f for *_, f in triples(make_foils(corpus_of(texts, objects), plain, 0))}
    assert foils == {"bird", "horse", "elephant", "bear", "zebra", "giraffe", "cat", "cow"}


def test_long_names_are_replaced_whole_and_plural_and_article_stay_right():
    texts = {
        "a": ["A fire hydrant.", "Two fire hydrants on a street."],
        "b": ["AN APPLE IS HERE", "An apple and an orange-red ball."],
        "c": ["Her wine glasses.", "A wine glass."],
        "d": ["A sheep eats.", "Two sheep eat.", "Sheep."],
        "e": ["A man on skis rides."] * 2,
    }
    pairs = {
        "skis": "snowboard",
        "hydrant": "bench",
        "apple": "banana",
        "glass": "knife",
        "sheep": "cow",
    }
    foils = make_foils(corpus_of(texts), WITHOUT_PARSER, 0)
    made = {}
    for row in range(len(foils)):
        target = foils.table.names[int(foils.target[row])].word
        if foils.table.names[int(foils.foil[row])].word == pairs[target]:
            put = foils.written(row)
            made[foils.words.texts[int(foils.caption[row])]] = put.text
            assert put.text[put.start : put.end].lower() in written_forms(pairs[target])
    assert made == {
        "A fire hydrant.": "A bench.",
        "Two fire hydrants on a street.": "Two benches on a street.",
        "AN APPLE IS HERE": "A BANANA IS HERE",
        "An apple and an orange-red ball.": "A banana and an orange-red ball.",
        "Her wine glasses.": "Her knives.",
        "A wine glass.": "A knife.",
        "A sheep eats.": "A cow eats.",
        "Two sheep eat.": "Two cows eat.",
        "Sheep.": "Cows.",
        "A man on skis rides.": "A man on snowboards rides.",
    }


def written_forms(word: str) -> set[str]:
    return {"bench": {"bench", "benches"}, "knife": {"knife", "knives"}, "cow": {"cow", "cows"},
            "banana": {"banana"}, "snowboard": {"snowboards"}}[word]  # fmt: skip


def test_a_foil_is_put_as_people_write_it():
    texts = {f"i{k}": ["A man with a cell phone.", "A cell phone."] for k in range(3)}
    texts["tv"] = ["A small TV.", "The TV.", "A red TV."]
    foils = make_foils(corpus_of(texts), WITHOUT_PARSER, 0)
    assert "A man with a TV." in written(foils) and "A small cell phone." in written(foils)
    assert any(form == "pair of scissors" for form, _ in foils.forms)


def test_names_that_mean_something_else_are_no_mentions():
    texts = {"i": ["A hot dog.", "Hot dogs and a cable car.", "A teddy bear.", "His glasses."] * 2}
    with pytest.raises(BadInput, match="no caption has a word"):
        build(corpus_of(texts), Path("never"), WITHOUT_PARSER)


def test_names_of_other_objects_are_no_mentions(tmp_path):
    file = table_file(tmp_path, "word,category,supercategory\ndog,dog,x\nsnake,snake,x\n")
    texts = {"i": ["A sausage dog.", "One sausage dog."], "j": ["A dog.", "The dog."]}
    own = replace(WITHOUT_PARSER, categories=file)
    foils = make_foils(corpus_of(texts, {"i": ["sausage dog"], "j": ["dog"]}), own, 0)
    assert triples(foils) == {("j", "dog", "snake")}


@pytest.mark.parametrize(
    ("caption", "mentioned"),
    [
        ("A dog runs on the grass.", {"dog"}),
        ("An orange cat lies on a bed.", {"cat", "bed"}),
        ("An orange and white cat.", {"cat"}),
        ("A man eats an orange.", {"orange"}),
        ("Apples and oranges in a bowl.", {"apple", "orange", "bowl"}),
        ("A train station with a bus stop.", set()),
        ("A man in a suit and tie.", {"tie"}),
        ("A man is trying to tie his shoes.", set()),
        ("A person uses a remote control.", {"remote"}),
        ("A house in a remote area.", set()),
        ("A zebra standing in the grass.", {"zebra"}),
        ("A woman with an oven mitt.", set()),
        ("A red fire hydrant in front of a house.", {"hydrant"}),
    ],
)
def test_the_parse_finds_nouns_that_head_their_phrase(parser, caption, mentioned):
    options = FoilOptions(unfiltered=True, split="none", parser=parser, mentions=1)
    foils = make_foils(corpus_of({"i": [caption]}), options, 0)
    assert {foils.table.names[int(n)].word for n in foils.mentions.name} == mentioned


def test_what_stands_before_a_word_must_go_with_the_foil(parser):
    texts = {
        "a": ["A coffee table in a room.", "A big coffee table.", "A red table.", "It is red."],
        "b": ["A cup of tea.", "A cup of coffee on a plate."],
        "c": ["A bottle of wine.", "A bottle of red wine."],
        "d": ["A red bus.", "A red apple.", "A red fork."],
    }
    foils = make_foils(
        corpus_of(texts), FoilOptions(unfiltered=True, split="none", parser=parser), 0
    )
    made = written(foils)
    assert not [text for text in made if text.startswith(("A coffee ", "A big coffee "))]
    assert {"A red chair.", "A red bed."} <= set(made)  # red goes with all sorts of things
    assert {text for text in made if text.endswith(" of tea.")} == {"A bottle of tea."}


def test_captions_that_others_doubt_are_not_used_but_plainly(parser):
    texts = {"i": ["Two dogs on a bed.", "A brown dog on a bed.", "A dog."]}
    options = FoilOptions(unfiltered=True, split="none", parser=parser)
    used = {
        plain: {foils.source(row)[1] for row in range(len(foils))}
        for plain in (False, True)
        for foils in [make_foils(corpus_of(texts), replace(options, plain=plain), 0)]
    }
    assert used == {False: {"A dog."}, True: {"A brown dog on a bed.", "A dog.", texts["i"][0]}}


def test_nobody_knows_the_objects(tmp_path):
    corpus = corpus_of({"i": ["A dog.", "The dog."]}, {})
    with pytest.raises(BadInput, match=r"image i of .* has no list of objects") as caught:
        make_foils(corpus, WITHOUT_PARSER, 0)
    assert "--absence captions" in caught.value.todo
    made = build(corpus, tmp_path / "b", replace(WITHOUT_PARSER, absence="captions"))
    assert "nobody says what else it shows" in made.card.made["foil"]


def test_objects_under_other_names_are_an_error():
    corpus = corpus_of({"i": ["A dog."] * 2}, {"i": ["Hund"]})
    with pytest.raises(BadInput, match="none of the objects of small is a category"):
        make_foils(corpus, WITHOUT_PARSER, 0)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"mentions": 0}, "mentions: 0"),
        ({"absence": "guess"}, "no evidence of absence called 'guess'"),
        ({"per": "word"}, "no unit to keep a foil for called 'word'"),
        ({"plain": True, "absence": "captions"}, "does not use captions"),
        ({"hardest": "no-such-model"}, "no model called 'no-such-model'"),
        ({"parser": "no_such_pipeline"}, "'no_such_pipeline' is not installed"),
        ({"split": "no-such-file.csv"}, "no file no-such-file.csv"),
        ({"categories": Path("no-such-file.csv")}, "no file no-such-file.csv"),
    ],
)
def test_what_cannot_be_meant_is_a_clear_error(tmp_path, own, message):
    corpus = corpus_of({"i": ["A dog.", "The dog."]})
    options = replace(WITHOUT_PARSER, **own)
    with pytest.raises(TellapartError, match=message):
        build(corpus, tmp_path / "out", options)
    assert not (tmp_path / "out").exists()


def test_nothing_to_replace_says_at_which_step(tmp_path):
    options = WITHOUT_PARSER
    with pytest.raises(BadInput, match="is in 2 captions of one image"):
        build(corpus_of({"i": ["A dog."]}), tmp_path / "o", options)
    everything = sorted({name.category for name in coco_categories().names})
    with pytest.raises(BadInput, match="no foil is absent"):
        build(corpus_of({"i": ["A dog."] * 2}, {"i": everything}), tmp_path / "o", options)


# --- step 4: the hardest


@given(st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=6), st.data())
def test_trigrams_are_the_n_gram_model_on_numbers(texts, data):
    slow = NGramModel([[str(w) for w in text] for text in texts], order=3)
    starts = np.cumsum([0, *map(len, texts)])
    fast = Trigrams(np.array([w for text in texts for w in text], np.int64), starts)
    shown = {START: "<s>", END: "</s>", UNKNOWN: "?", **{w: str(w) for w in range(5)}}
    drawn = st.sampled_from([*range(5), END, UNKNOWN])
    history = st.sampled_from([*range(5), START, UNKNOWN])
    windows = data.draw(st.lists(st.tuples(history, history, drawn), min_size=1, max_size=8))
    expected = [math.log(slow._probability(shown[w], (shown[u], shown[v]))) for u, v, w in windows]
    assert fast.log_probabilities(np.array(windows)) == pytest.approx(expected)


def test_scores_of_windows_are_those_of_whole_captions():
    texts = {
        "a": ["An apple and a banana.", "A red apple in a bowl.", "two apples"],
        "b": ["A man with a cell phone", "A cell phone and an old TV.", "The TV"],
        "c": ["Dog.", "dog", "A dog sees another dog there", "One sheep", "The sheep run"],
    }
    foils = make_foils(corpus_of(texts), WITHOUT_PARSER, 0)
    cut = [[m.group().lower() for m in WORD.finditer(t)] for ts in texts.values() for t in ts]
    slow = NGramModel(cut, order=3)

    def whole(text):
        return slow.log_probability([m.group().lower() for m in WORD.finditer(text)])

    assert len(foils) > 50
    originals = [foils.words.texts[int(c)] for c in foils.caption]
    pairs = zip(written(foils), originals, strict=True)
    expected = [whole(foil) - whole(original) for foil, original in pairs]
    assert language_scores(foils) == pytest.approx(expected)


class Prefers:
    """A pair scorer that likes one word."""

    def __init__(self, word: str) -> None:
        self.facts = ModelInfo(f"prefers {word}")
        self.word = word

    def score_pairs(self, pictures, texts):
        return np.array([float(self.word in text) for text in texts])


def test_the_hardest_foil_is_the_one_that_the_model_likes_most(world):
    foils = make_foils(world, FoilOptions(unfiltered=True, split="none"), 0)
    with by_model(foils, Prefers("umbrella")) as score:
        kept = [rows.tolist() for rows in by_hardness(foils, score, "caption", 0)]
    assert sorted(row for rows in kept for row in rows) == list(range(len(foils)))
    texts, captions = written(foils), foils.caption.tolist()
    for rows in kept:
        assert len({captions[row] for row in rows}) == 1
        liked = ["umbrella" in texts[row] for row in rows]
        assert liked == sorted(liked, reverse=True)
    assert 5 < sum("umbrella" in texts[rows[0]] for rows in kept) < len(kept)


def test_a_word_that_the_captioner_does_not_know_never_makes_a_foil_the_hardest(world):
    """Unknown words that are skipped make a caption likelier than any other."""
    foils = make_foils(world, FoilOptions(unfiltered=True, split="none"), 0)
    model = Prefers("umbrella")
    model.unknown_words = lambda texts: [[t] if "umbrella" in t else [] for t in texts]
    with by_model(foils, model) as score:
        kept = [rows.tolist() for rows in by_hardness(foils, score, "caption", 0)]
    words = [one.text[one.start : one.end] for one in map(foils.written, range(len(foils)))]
    unknown = ["umbrella" in word for word in words]
    known = [rows for rows in kept if not all(unknown[row] for row in rows)]
    assert sum(unknown[row] for rows in known for row in rows) > 5
    assert not any(unknown[rows[0]] for rows in known)


def test_a_trained_neuraltalk_under_the_home_picks_the_hardest_by_default(
    world, tmp_path, monkeypatch
):
    monkeypatch.setenv("TELLAPART_HOME", str(tmp_path))
    method = FoilOptions(unfiltered=True)
    assert seeing_captioner(world) is None
    assert method.resolved(world=False, seeing=None).hardest == "language"
    (tmp_path / "neuraltalk").mkdir()
    (tmp_path / "neuraltalk" / "system.json").write_text("{}")
    found = seeing_captioner(world)
    assert found == f"trained:{tmp_path / 'neuraltalk'}"
    assert method.resolved(world=False, seeing=found).hardest == found
    assert replace(method, hardest="random").resolved(world=False, seeing=found).hardest == "random"
    blind = corpus_of({"1": ["a dog", "the dog"]})  # its pictures do not exist
    assert seeing_captioner(blind) is None


def test_models_are_asked_only_for_what_is_kept(world, tmp_path, monkeypatch):
    asked = []
    model = Prefers("cat")
    monkeypatch.setattr(
        "tellapart.mine.foil.hardest.load",
        lambda name: SimpleNamespace(
            facts=model.facts,
            score_pairs=lambda pictures, texts: (
                asked.extend(texts) or model.score_pairs(pictures, texts)
            ),
        ),
    )
    own = FoilOptions(unfiltered=True, hardest="mine", split="none", per="caption")
    made = build(world, tmp_path / "f", replace(own, items=3))
    assert len(made.items) == 3 and 3 <= len(asked) < 200


@pytest.mark.parametrize("model", ["storybook", "blind", "chance-chooser"])
def test_a_model_that_gives_no_probability_is_refused(world, tmp_path, model):
    options = FoilOptions(unfiltered=True, hardest=model)
    with pytest.raises(BadInput, match="does not score how probable a caption is"):
        build(world, tmp_path / "f", options)


def test_the_card_says_who_chose(world, tmp_path):
    for hardest, said in (("oracle", "oracle"), ("random", "at random"), ("language", "trigram")):
        own = FoilOptions(unfiltered=True, hardest=hardest, split="none")
        made = build(world, tmp_path / hardest, replace(own, items=5))
        assert said in made.card.made["hardest"] and len(made.items) == 5


# --- items


@pytest.fixture(scope="module")
def small() -> Corpus:
    """Two images whose captions have words of five categories."""
    return corpus_of(
        {
            "a": ["Someone with a cell phone.", "A cell phone on a table.", "A phone and a dog."],
            "b": ["A dog on a couch.", "A dog on the big couch.", "A dog sleeps."],
        },
        {"a": ["cell phone", "dining table"], "b": ["dog", "couch", "chair"]},
    )


def test_items_ask_t1_t2_and_t3(small, parser, tmp_path):
    made = build(small, tmp_path / "f", FoilOptions(unfiltered=True, split="none"))
    assert Counter(item.images[0] for item in made.items) == {"a": 3, "b": 3}
    for item in made.items:
        slot = item.slot
        foil, original = item.captions[slot.caption], item.captions[1 - slot.caption]
        assert original in small.texts_by_image[item.images[0]] and foil != original
        assert foil[slot.start : slot.end] == slot.foil
        assert (0, slot.caption) not in item.true and item.original in item.true
        assert [w for w in slot.words if w.start == slot.start] == [
            w for w in slot.words if w.start < slot.end and w.end > slot.start
        ]  # the foil is one word among the others, however long
        assert all(foil[w.start : w.end].strip() for w in slot.words)
        assert slot.target in slot.candidates
        assert item.origin.notes["target"] == slot.target
    chair = next(i for i in made.items if i.images == ("b",))
    assert "chair" not in chair.slot.candidates  # it is there: it might be true
    assert made.card.made["by_supercategory"]["animal"]["kept"] + (
        made.card.made["by_supercategory"]["furniture"]["kept"]
    ) == sum(i.kind in ("animal", "furniture") for i in made.items)


def test_content_words_move_with_what_was_replaced(parser, tmp_path):
    texts = {"i": ["An apple lies under a small tree.", "An apple.", "The apple."]}
    own = FoilOptions(unfiltered=True, split="none", parser=parser)
    made = build(corpus_of(texts, {"i": ["orange"]}), tmp_path / "f", own)
    item = next(i for i in made.items if any("tree" in c for c in i.captions))
    foil, slot = item.captions[item.slot.caption], item.slot
    assert foil.startswith("A ")  # the article is shorter, too
    stand = [foil[w.start : w.end] for w in slot.words]
    assert stand == [slot.foil, "lies", "small", "tree"]


def test_chance_levels_are_those_of_the_questions(small, parser, tmp_path):
    made = build(small, tmp_path / "f", FoilOptions(unfiltered=True, split="none"))
    nouns = [sum(w.noun for w in item.slot.words) for item in made.items]
    chance = made.card.made["chance"]
    asked = [1 / n for n in nouns if n > 1]
    assert chance["T2-nouns"] == pytest.approx(100 * sum(asked) / len(asked), abs=0.01)
    sizes = [len(item.slot.candidates) for item in made.items]
    assert chance["T3"] == pytest.approx(100 * sum(1 / s for s in sizes) / len(sizes), abs=0.01)


def test_plain_replacement_is_the_papers(small, parser, tmp_path):
    texts = {"i": ["An orange and white cat.", "The orange cat.", "Two cats."]}
    own = FoilOptions(unfiltered=True, split="none", plain=True)
    made = build(corpus_of(texts), tmp_path / "f", own)
    captions = {item.captions[item.slot.caption] for item in made.items}
    assert len(captions) == 2 and all(" cats" not in caption for caption in captions)
    assert {len(item.slot.candidates) for item in made.items} == {73}
    assert "plain" in made.card.made["words"]


def test_the_same_command_gives_the_same_items_and_another_seed_others(world, tmp_path):
    first, again, other = (
        build(world, tmp_path / str(k), FoilOptions(seed=seed)) for k, seed in enumerate((4, 4, 5))
    )
    assert first.sha256 == again.sha256 != other.sha256
    assert {item.origin.notes["split"] for item in first.items} == {"test"}


def test_items_of_train_and_test_share_no_pair(world, tmp_path):
    used = [
        {
            (i.origin.notes["target"], i.origin.notes["foil"])
            for i in build(world, tmp_path / part, FoilOptions(part=part, per="caption")).items
        }
        for part in ("train", "test")
    ]
    assert used[0] and used[1] and not used[0] & used[1]


def test_equal_captions_of_an_image_make_one_item(tmp_path):
    corpus = corpus_of({"i": ["A dog.", "A dog."]})
    made = build(corpus, tmp_path / "f", WITHOUT_PARSER)
    assert len(made.items) == 1


def test_the_command_prints_counts_and_chance(world, tmp_path):
    run = CliRunner().invoke(app, ["build", "foil", str(world.root), str(tmp_path / "f")])
    assert run.exit_code == 0, run.output
    assert "supercategory" in run.output and "chance of" in run.output
    again = CliRunner().invoke(
        app, ["build", "foil", str(world.root), str(tmp_path / "g"), "--split", "none", "--json"]
    )
    card = json.loads(again.stdout)
    assert card["made"]["pairs"] > 200 and card["made"]["split"] == "none"
    bad = CliRunner().invoke(
        app, ["build", "foil", str(world.root), str(tmp_path / "h"), "--part", "dev"]
    )
    assert bad.exit_code != 0 and not (tmp_path / "h").exists()
