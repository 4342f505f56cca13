"""Small closed classes of English nouns: people, groups, animals, and nouns that name no thing."""

from __future__ import annotations

MALE = frozenset(
    """man boy guy gentleman male father dad husband son brother groom king businessman fireman
    policeman cowboy grandfather he his him himself""".split()
)
FEMALE = frozenset(
    """woman girl lady female mother mom wife daughter sister bride queen businesswoman waitress
    grandmother gal she her hers herself""".split()
)
OTHER_PEOPLE = frozenset(
    """person child kid baby toddler adult player skier snowboarder surfer skateboarder batter
    pitcher catcher umpire rider biker cyclist driver chef cook worker officer passenger pedestrian
    student tourist athlete boarder skater boater fan spectator soldier waiter vendor farmer artist
    customer guest friend individual youth teenager teen infant human someone performer musician
    motorcyclist bicyclist jockey hiker runner swimmer fisherman doctor teacher customer
    competitor opponent teammate model figure crew staff audience""".split()
)
GROUPS = frozenset(
    """people group couple crowd family team pair bunch folk crew audience herd flock men women
    boys girls children kids friend class line row lot number""".split()
)
OTHER_GENDER = {"man": "woman", "boy": "girl", "woman": "man", "girl": "boy", "lady": "man"}
GENDER_MARKS = frozenset(
    """beard bearded mustache moustache tie necktie suit dress skirt bikini gown shirtless topless
    pregnant bra bride groom wedding makeup lipstick heels tuxedo bald ponytail baseball batter
    pitcher umpire priest nun king queen prom""".split()
)
"""Words that fit people of one gender, or would look odd beside the other."""
PRONOUNS = {
    ("his", "PRP$"): "her", ("her", "PRP$"): "his", ("he", "PRP"): "she", ("she", "PRP"): "he",
    ("him", "PRP"): "her", ("her", "PRP"): "him",
    ("himself", "PRP"): "herself", ("herself", "PRP"): "himself",
}  # fmt: skip
"""Pronouns, with their tags, that change along with a person's gender."""
PEOPLE = frozenset(
    """person child kid baby toddler adult player skier snowboarder surfer skateboarder batter
    pitcher catcher umpire rider biker cyclist driver chef cook worker officer passenger pedestrian
    student tourist athlete boarder skater boater fan spectator soldier waiter vendor farmer artist
    customer guest friend individual youth teenager teen infant human someone performer musician
    motorcyclist bicyclist jockey hiker runner swimmer fisherman doctor teacher customer
    competitor opponent teammate model figure crew staff audience""".split()
)
GROUPS = frozenset(
    """people group couple crowd family team pair bunch folk crew audience herd flock men women
    boys girls children kids friend class line row lot number""".split()
)
GENDER_SWAPS = {"man": "woman", "boy": "girl", "woman": "man", "girl": "boy", "guy": "girl",
                "lady": "man", "gentleman": "lady"}  # fmt: skip
PEOPLE = MALE | FEMALE | OTHER_PEOPLE

BIRDS = frozenset("bird duck goose pigeon seagull parrot owl swan chicken rooster".split())
ANIMALS = (
    frozenset(
        """cat dog horse cow sheep elephant giraffe zebra bear kitten puppy goat lamb pony bull calf
        monkey lion tiger deer rabbit animal cattle""".split()
    )
    | BIRDS
    | {"polar bear"}
)

WORN = frozenset(
    """shirt hat cap jacket coat dress suit tie pants jeans shorts short pant shoe boot helmet
    glove sock scarf skirt sweater uniform vest glass sunglass goggle hoodie wetsuit blouse top
    outfit gown clothing clothes hair beard bag backpack purse bow necktie apron costume""".split()
)
"""Things that each person in an image may have one of."""

NO_THINGS = frozenset(
    """view photo picture image photograph scene close closeup shot background foreground front back
    top side middle end edge corner center part piece bunch group lot number row line pair variety
    type kind way day night time afternoon morning evening air area place space room distance
    direction game match trick jump pose style color number color one other thing item object stuff
    set display position attention fun ride walk break turn use work look smile trip flight shadow
    reflection shade light sunlight daylight standing sitting riding flying walking playing holding
    laying looking body head face hand arm leg foot mouth eye ear nose neck tail nose hair finger
    couple crowd herd flock team family people class assortment collection pile stack bit half slice
    weather winter summer birthday event party show sport fashion tennis soccer baseball skiing
    surfing skateboarding fire stop fly graffiti message word letter sign name logo wii nintendo
    business public wood metal plastic brick stone concrete left right inside outside city town
    ground floor wall surface land sky sun rain cloud crust cut mote motion swing pitch
    preparation progress action service traffic case level story state world order form left over
    topping sauce sauces food meal dinner lunch breakfast dessert drink vegetable veggie fruit
    meat snack produce animal vehicle furniture appliance equipment clothing clothes device
    decoration toy material ingredient utensil electronic""".split()
)
"""Nouns that name no one thing that can be seen, or that name too many sorts of it."""
ING_NOUNS = frozenset(
    """building painting ceiling railing ring wing string king icing earring awning sling drawing
    frosting dressing""".split()
)
"""Nouns in -ing that name things; others are verbs that were read as nouns."""

SCENES = frozenset(
    """street road sidewalk beach field court track runway ground floor grass hill slope water snow
    ocean river sea lake park lot city town air sky wall forest wood room kitchen bathroom bedroom
    yard pasture enclosure zoo path trail area sand mountain range day night photo picture
    background shade sun rain dirt tarmac wave harbor dock intersection station landscape stage
    store shop restaurant office home house building garden desert jungle pen front land side middle
    top end edge corner motion display line row group bunch circle pile stack uniform suit shirt
    dress outfit hat clothes gear hand arm mouth head face leg body lap back foot neck ear nose
    teeth tooth curb crosswalk game wii airport platform rail freeway highway roadway
    overpass bridge strip airstrip ramp""".split()
) | {"train track", "train station", "parking lot", "living room", "dining room", "hotel room",
     "bus stop", "skate park", "home plate", "bath room", "parking garage"}  # fmt: skip
"""What something is on or in together with much else, or what is no place of its own."""
