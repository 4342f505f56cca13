"""The tokens of the COCO scripts."""
