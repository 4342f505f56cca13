"""Balanced pairs: two images and two captions, each true of one image and false of the other.

Both captions are asked of both images, so a model that does not look is right on exactly one of the
two items, whatever it knows. The idea is that of balanced pairs in visual question answering (Goyal
et al. 2017); here the second image is found by what its captions say instead of by people.
"""
