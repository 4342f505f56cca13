"""Systems that can be trained, one file each; this table lists them without importing torch.

A plugin adds its class, or an entry like these, under `tellapart.systems`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tellapart.models.zoo.system import System


@dataclass(frozen=True, slots=True)
class SystemEntry:
    """The location of a system's class, and a one-line description."""

    about: str
    place: str

    def load(self) -> type[System]:
        """The class; this imports torch."""
        module, _, name = self.place.partition(":")
        found: type[System] = getattr(import_module(module), name)
        return found


_HERE = "tellapart.models.zoo"

CONVNET_BOW = SystemEntry(
    "Mean of word vectors and mean of regions, an MLP each, cosine.",
    f"{_HERE}.convnet_bow:ConvNetBow",
)
CONVNET_BIGRU = SystemEntry(
    "A bidirectional GRU reads the caption; mean of regions; cosine.",
    f"{_HERE}.convnet_bigru:ConvNetBiGRU",
)
OBJ_BIGRU = SystemEntry(
    "A bidirectional GRU reads the caption, another the regions; cosine.",
    f"{_HERE}.obj_bigru:ObjBiGRU",
)
SCAN_I2T = SystemEntry(
    "Stacked cross-attention: every region looks for its words.", f"{_HERE}.scan:ScanI2T"
)
SCAN_T2I = SystemEntry(
    "Stacked cross-attention: every word looks for its regions.", f"{_HERE}.scan:ScanT2I"
)
SHOW_TELL = SystemEntry(
    "Captioner: an LSTM that is shown the whole image once.", f"{_HERE}.show_tell:ShowTell"
)
SHOW_ATT_TELL = SystemEntry(
    "Captioner: an LSTM that attends to regions.", f"{_HERE}.show_att_tell:ShowAttTell"
)
UPDOWN = SystemEntry(
    "Captioner: one LSTM looks at regions, another writes.", f"{_HERE}.updown:UpDown"
)
NEURALTALK = SystemEntry(
    "Captioner: the small LSTM that mined FOIL's hardest foils.",
    f"{_HERE}.neural_talk:NeuralTalk",
)
BLIND_LSTM = SystemEntry(
    "FOIL's baseline that never looks: an LSTM classifies the caption.",
    f"{_HERE}.foil.blind_lstm:BlindLSTM",
)
CNN_LSTM = SystemEntry(
    "FOIL's baseline that looks: image and caption side by side, classified.",
    f"{_HERE}.foil.cnn_lstm:CNNLSTM",
)
LSTM_NORM_I = SystemEntry(
    "Classifier: two stacked LSTMs; image and caption are multiplied.",
    f"{_HERE}.foil.lstm_norm_i:LSTMNormI",
)
HIECOATT = SystemEntry(
    "Classifier: words, phrases and sentence attend to the image and back.",
    f"{_HERE}.foil.hie_coatt:HieCoAtt",
)
IC_WANG = SystemEntry(
    "Captioner: reads forwards and backwards, and proposes words of its own.",
    f"{_HERE}.foil.ic_wang:ICWang",
)
I2C = SystemEntry(
    "MCIC: a linear map from images to paragraph vectors; the nearest caption.",
    f"{_HERE}.mcic.linear:I2C",
)
C2I = SystemEntry(
    "MCIC: a linear map from paragraph vectors to images; the nearest image.",
    f"{_HERE}.mcic.linear:C2I",
)
LINM = SystemEntry(
    "MCIC: a matrix between images and paragraph vectors, against the worst decoy.",
    f"{_HERE}.mcic.linear:LinM",
)
FFNN = SystemEntry(
    "MCIC: a feedforward network says whether a caption is one of the image.",
    f"{_HERE}.mcic.ffnn:FFNN",
)
VEC2SEQ_FFNN = SystemEntry(
    "MCIC: a GRU captioner whose outputs a feedforward network reads; writes and chooses.",
    f"{_HERE}.mcic.vec2seq:Vec2seqFFNN",
)
