"""MCIC: an image and five captions, four of them decoys from other images."""
