"""What keeps a decoy from being true of the image, and an item from asking something twice.

The paper takes whatever Score puts first. Some of its decoys are true (the first released row has
"sitting on a bench outside" against "sitting outside on a bench"), and 122 of its 9,999
development rows have a decoy twice. Each guard can be left out, which gives the paper's own way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tellapart.errors import BadInput, UnknownName

OFF = {"doubt": 1.0}


@dataclass(frozen=True, slots=True)
class Guards:
    """Which guards stand; the numbers are those of the page of pitfalls.

    `length` (4): how many decoys are longer than the target is drawn by lot, where there are so
    many. BLEU without a brevity penalty prefers short decoys: the longest option would be true in
    44% of the items on COCO.
    `shuffle` (7): options in an order that the seed gives; else alphabetical, as released.
    `same_words` (8): no decoy has the bag of words of a caption of the image, letters only.
    `doubt` (8): a decoy has a word which, were it true, all captions of the image would leave
    out with at most this probability (see `telling.py`); 1 lets everything pass.
    `distinct` (9): no two decoys of an item have the same bag of words, no item is there twice.
    `own_split` (14): decoys are captions of the item's own split. Captions that were true in
    training would otherwise be known for decoys.
    """

    length: bool = True
    shuffle: bool = True
    same_words: bool = True
    doubt: float = 0.1
    distinct: bool = True
    own_split: bool = True

    def without(self, names: Iterable[str]) -> Guards:
        """The guards but for those named (`same-words`, ...), none with `all`.

        >>> Guards().without(["doubt"]).doubt, Guards().without(["all"]).shuffle
        (1.0, False)
        """
        known = {name.replace("_", "-"): name for name in self.__dataclass_fields__}
        gone: list[str] = []
        for name in names:
            if name not in (*known, "all"):
                raise UnknownName("guard", name, [*known, "all"])
            gone += known.values() if name == "all" else [known[name]]
        off: dict[str, Any] = {name: OFF.get(name, False) for name in gone}
        return replace(self, **off)

    def check(self) -> None:
        """Raise where a value cannot be meant."""
        if not 0 < self.doubt <= 1:
            raise BadInput(
                f"doubt: {self.doubt}", allowed="a probability above 0, or 1 for no guard"
            )
