"""Category tables: words, their categories and supercategories, for COCO and others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tellapart.corpus.corpus import Corpus
from tellapart.corpus.world.lexicon import BACKGROUNDS
from tellapart.corpus.world.world import painter_of
from tellapart.errors import BadInput
from tellapart.files import read_table, require_columns
from tellapart.text.english import plural

WORLD_NOUNS = ("picture", "drawing", "view", "pair", "grass", "ground", *BACKGROUNDS)
COLUMNS = ("word", "category", "supercategory")
LISTS = {"long": "names of more than one word", "synonyms": "other words"}
"""Optional columns of a table; several entries in one are separated by `;`."""


@dataclass(frozen=True, slots=True)
class CategoryName:
    """A word that names a category; `category` is its name among the objects of images.

    `long` are multi-word names that contain the word (fire hydrant, remote control); `synonyms`
    are words that suggest that the category may be present (bike, cyclist). `one` and `several`
    are the singular and plural to use for a foil, if not the word itself (pair of skis; baseball
    glove, because a plain glove may be another kind).
    """

    word: str
    category: str
    supercategory: str
    long: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    one: str = ""
    several: str = ""

    @property
    def plural(self) -> str:
        """The word in the plural."""
        return plural(self.word)

    @property
    def invariable(self) -> bool:
        """Whether the plural looks like the singular (sheep)."""
        return self.plural == self.word


@dataclass(frozen=True)
class Categories:
    """Words that name categories; only words of the same supercategory replace each other.

    `others` are names that contain a word but mean something else (hot dog). `nouns` are further
    words that count as nouns if there is no parser.
    """

    name: str
    names: tuple[CategoryName, ...]
    others: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()

    @cached_property
    def place(self) -> dict[str, int]:
        """The index of each word among the names."""
        return {name.word: k for k, name in enumerate(self.names)}

    @cached_property
    def supercategories(self) -> tuple[str, ...]:
        """The supercategories, in the table's order."""
        return tuple(dict.fromkeys(name.supercategory for name in self.names))

    def with_objects(self, objects: Iterable[str]) -> Categories:
        """The table, with unknown multi-word names of objects added as names of other things."""
        mine = {phrase for name in self.names for phrase in (name.category, *name.long)}
        long = {object_.lower() for object_ in objects if " " in object_}
        return replace(self, others=tuple(sorted({*self.others, *long} - mine)))

    def pairs(self) -> list[tuple[str, str]]:
        """All pairs of target and foil: two categories of the same supercategory (FOIL, step 1)."""
        return [
            (target.word, foil.word)
            for target in self.names
            for foil in self.names
            if target.supercategory == foil.supercategory and target.category != foil.category
        ]


def categories_for(corpus: Corpus, file: Path | None = None) -> Categories:
    """The table in a file, else the one for the corpus: the built-in world's, or COCO's."""
    if file is not None:
        return read_categories(file)
    if corpus.about.get("world"):
        return _world(corpus)
    return coco_categories()


def coco_categories() -> Categories:
    """COCO's 73 one-word names, as in FOIL (Shekhar et al. 2017, section 3, step 1)."""
    names = []
    for supercategory, lines in COCO.items():
        for line in lines:
            named, _, synonyms = line.partition(":")
            first, *long = (part.strip() for part in named.split(","))
            word, _, category = first.partition(" = ")
            name = CategoryName(
                word, category or word, supercategory,
                long=tuple(dict.fromkeys(one for one in (category, *long) if " " in one)),
                synonyms=tuple(one.replace("_", " ") for one in synonyms.split()),
                **PUT_AS.get(word, {}),
            )  # fmt: skip
            names.append(name)
    return Categories("coco", tuple(names), OTHER_NAMES)


def _world(corpus: Corpus) -> Categories:
    known = painter_of(corpus.about).categories
    names = [
        CategoryName(name, name, c.supercategory, synonyms=c.synonyms)
        for name, c in known.items()
        if " " not in name
    ]
    words = (name.word for name in names)
    synonyms = (s for c in known.values() for s in c.synonyms)
    return Categories("world", tuple(names), nouns=(*words, *synonyms, *WORLD_NOUNS))


def read_categories(file: Path) -> Categories:
    """Read a table with columns word, category, supercategory, and optionally long and synonyms."""
    rows = read_table(file)
    require_columns(rows, COLUMNS, file)
    names: dict[str, CategoryName] = {}
    for number, row in enumerate(rows.iter_rows(named=True), 1):
        where = f"{file}, row {number}"
        word, category, supercategory = (_text(row[column], column, where) for column in COLUMNS)
        if " " in word:
            raise BadInput(
                f"{word!r} is more than one word",
                where=where,
                allowed="one word in `word`; put longer names into the column `long`",
            )
        if word in names:
            raise BadInput(f"the word {word!r} occurs twice", where=where, allowed="each once")
        lists = {column: _listed(row.get(column)) for column in LISTS}
        long = tuple(dict.fromkeys([*lists["long"], *([category] if " " in category else [])]))
        for phrase in long:
            if word not in phrase.split() and phrase != category:
                raise BadInput(
                    f"the long name {phrase!r} does not contain the word {word!r}",
                    where=where,
                    allowed="names that contain it; others are synonyms",
                )
        long = tuple(phrase for phrase in long if word in phrase.split())
        names[word] = CategoryName(word, category, supercategory, long, lists["synonyms"])
    table = Categories(file.stem, tuple(names.values()))
    if not table.pairs():
        raise BadInput(
            f"no two words of {file.name} can replace each other",
            where=str(file),
            allowed="at least two categories in a supercategory",
        )
    return table


def _text(value: object, column: str, where: str) -> str:
    text = value.strip().lower() if isinstance(value, str) else ""
    if not text:
        raise BadInput(f"the column {column!r} is empty", where=where, allowed="text")
    return text


def _listed(value: object) -> tuple[str, ...]:
    parts: Iterable[object] = value.split(";") if isinstance(value, str) else value or ()  # type: ignore[assignment]
    return tuple(part.strip().lower() for part in parts if isinstance(part, str) and part.strip())


# A line is `word = category, long names : synonyms`, in which `_` joins the words of one synonym.
COCO: dict[str, tuple[str, ...]] = {
    "outdoor": (
        "bench : pew bleacher",
        "hydrant = fire hydrant : fireplug",
    ),
    "food": (
        "banana : plantain",
        "apple",
        "sandwich : hamburger burger cheeseburger sub hoagie panini toast wrap bagel blt",
        "orange : tangerine clementine mandarin citrus",
        "broccoli : broccolini vegetable veggie",
        "carrot : vegetable veggie",
        "pizza : pepperoni calzone flatbread",
        "donut : doughnut pastry cruller bagel",
        "cake : cupcake cheesecake pastry dessert pancake shortcake muffin brownie",
    ),
    "indoor": (
        "book : magazine novel textbook bookshelf bookcase cookbook library reading",
        "clock : timepiece",
        "vase : pot jar urn pitcher jug",
        "scissors : scissor shears",
        "drier = hair drier, blow drier : dryer hairdryer hairdrier",
        "toothbrush : brush",
    ),
    "appliance": (
        "microwave, microwave oven",
        "oven : stove stovetop range cooker",
        "toaster, toaster oven",
        "sink : basin washbasin faucet washstand",
        "refrigerator, refrigerator freezer : fridge freezer frig cooler",
    ),
    "sports": (
        "frisbee : disc disk frisbie",
        "skis, snow skis, cross country skis : ski skier skiier skiing",
        "snowboard : snow_board snowboarder snowboarding boarder",
        "ball = sports ball, tennis ball, soccer ball, golf ball : baseball basketball football "
        "volleyball softball soccer tennis pitcher batter golf dodgeball",
        "kite : parasail parachute glider kiteboarding kitesurfing",
        "bat = baseball bat : batter batting baseball hitter softball",
        "glove = baseball glove, catchers glove : mitt mitten baseball catcher",
        "skateboard : skate_board skateboarder skateboarding skater skating longboard",
        "surfboard : surf_board surfer surfing surf bodyboard paddleboard boogie wakeboard",
        "racket = tennis racket : racquet raquet tennis badminton",
    ),
    "animal": (
        "bird : seagull gull pigeon duck goose geese swan parrot owl crow eagle hawk pelican hen "
        "chicken rooster ostrich peacock flamingo robin heron stork crane turkey penguin sparrow "
        "finch toucan hummingbird cockatoo cockatiel parakeet macaw puffin vulture egret",
        "cat : kitten kitty feline tabby calico siamese",
        "dog : puppy pup canine hound terrier poodle bulldog retriever labrador beagle collie "
        "pug dachshund chihuahua corgi husky dalmatian spaniel mutt hotdog doggy",
        "horse : pony foal colt mare stallion equestrian jockey mule donkey rodeo",
        "sheep : lamb ram ewe goat",
        "cow : cattle bull calf calves ox oxen steer heifer bison buffalo holstein",
        "elephant : calf",
        "bear : cub panda grizzly teddy teddybear",
        "zebra",
        "giraffe : giraff",
    ),
    "vehicle": (
        "bicycle : bike cyclist bicyclist cycling biker biking tricycle",
        "car : automobile van taxi cab suv sedan jeep minivan limousine limo convertible traffic",
        "motorcycle : motor_cycle motorbike moped scooter motorcyclist bike biker harley vespa "
        "motocross",
        "airplane : air_plane plane jet aircraft airliner jetliner biplane jumbo aeroplane",
        "bus : minibus coach trolley shuttle decker van",
        "train, train car, train engine : locomotive subway tram trolley railway railroad amtrak "
        "streetcar",
        "truck, pickup truck, pick up truck, fire truck : pickup lorry tractor semi trailer "
        "firetruck van suv jeep",
        "boat, sail boat : ship sailboat canoe kayak yacht ferry vessel gondola raft rowboat "
        "speedboat motorboat tugboat barge dinghy",
    ),
    "furniture": (
        "chair : seat stool armchair recliner rocker seating wheelchair highchair lounger",
        "couch : sofa loveseat futon settee sectional",
        "bed : bunk mattress futon bedroom crib cot bedding bedspread",
        "table = dining table, dinner table : desk counter countertop tabletop nightstand",
        "toilet : commode urinal bathroom restroom potty lavatory bidet",
    ),
    "accessory": (
        "backpack : back_pack knapsack rucksack bookbag bag",
        "umbrella : parasol",
        "handbag : hand_bag purse bag tote pocketbook clutch",
        "tie, neck tie, bow tie : necktie bowtie suit",
        "suitcase : suit_case luggage baggage briefcase bag trunk",
    ),
    "electronic": (
        "tv, tv set : television t.v monitor screen flatscreen telly",
        "laptop, laptop computer : lap_top computer notebook macbook netbook pc",
        "mouse, computer mouse : computer trackpad",
        "remote, remote control, tv remote, wii remote, game remote : controller wii wiimote "
        "nunchuck gamepad control",
        "keyboard, computer keyboard : computer piano laptop typing",
        "phone = cell phone, mobile phone, smart phone : cellphone smartphone iphone telephone "
        "blackberry texting",
    ),
    "kitchen": (
        "bottle : flask carafe beer",
        "glass = wine glass, drinking glass : wineglass goblet tumbler wine",
        "cup, coffee cup, tea cup : mug teacup tumbler latte coffee",
        "fork : silverware utensil cutlery",
        "knife : blade silverware utensil cutlery dagger",
        "spoon : ladle silverware utensil cutlery spatula",
        "bowl : dish basin container",
    ),
}  # fmt: skip

OTHER_NAMES = (
    "hot dog", "corn dog", "chili dog", "prairie dog", "teddy bear", "stuffed bear", "gummy bear",
    "care bear", "pooh bear", "cable car", "box car", "side car", "rail car", "street car",
    "subway car", "railroad car", "trolley car", "table tennis", "ping pong ball",
    "glasses", "mickey mouse", "sea horse", "rocking horse", "mac book",
    "note book", "cup cake", "cup cakes", "flower bed", "truck bed", "toilet bowl", "fish bowl",
    "base ball", "foot ball", "basket ball", "volley ball", "jet skis", "water skis",
    "stop light", "pine apple", "computer monitor",
)  # fmt: skip
"""Names that contain one of the words but mean something else."""

PUT_AS = {
    "skis": {"one": "pair of skis"},
    "scissors": {"one": "pair of scissors"},
    "broccoli": {"one": "piece of broccoli", "several": "broccoli"},
    "glove": {"one": "baseball glove"},
    "glass": {"one": "wine glass"},
}
"""What some words are put as in the singular and in the plural."""
