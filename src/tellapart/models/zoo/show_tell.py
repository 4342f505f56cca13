"""ShowTell: an LSTM that sees the image once and then writes (Vinyals et al. 2015)."""

from __future__ import annotations

from tellapart.models.zoo.captioner import LSTMCaptioner


class ShowTell(LSTMCaptioner):
    """The LSTM captioner that sees only the whole image.

    BISON (Hu et al. 2019, section 4): the image is the mean of its region vectors, and the loss is
    averaged over words. From the code that BISON cites: LSTM and word vectors of 512, the image as
    the first input, dropout 0.5 on inputs and state. Ours: the image's own global vector is used
    if the features have one (for a grid it is the mean of the cells).
    """
