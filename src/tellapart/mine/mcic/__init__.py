"""MCIC: an image and five captions, four of them decoys from other images."""

FAIR_SETS, PAPER = "fair-sets", "paper"
WAYS = {
    FAIR_SETS: "sets of near captions of as many images, asked once for each image",
    PAPER: "for each caption the captions of other images with the highest Score",
}
"""The ways to find decoys, and what a benchmark's card says of each."""
