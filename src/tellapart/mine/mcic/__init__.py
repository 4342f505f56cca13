"""MCIC: an image and five captions, four of them decoys from other images."""

FAIR_SETS, PAPER = "fair-sets", "paper"
WAYS = {
    FAIR_SETS: "sets of similar captions, one from each image, asked once for each image",
    PAPER: "for each caption, the captions of other images with the highest Score",
}
"""The methods of finding decoys, and their descriptions on a benchmark's card."""
