"""COCO's categories that have a name of one word, with what else people call them.

A line is `word = category, long names : words after which the category may well be there`, where
`_` joins words that stand together.
"""

from __future__ import annotations

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
"""Names that hold one of the words and mean something else."""
