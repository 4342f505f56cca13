"""Items of foils: the pair of captions, and the slot that T2 and T3 ask about."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart import seeds
from tellapart.items import Item, Origin, Slot, Word
from tellapart.mine.foil.foils import Foils, Put
from tellapart.text.parsing.tagging import Tagger, content_words


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes items of foils. T3's candidates are all words, or those that the image lacks.

    `tagger` is asked where there is no parse; `facts` go into the notes of each item.
    """

    foils: Foils
    tagger: Tagger | None
    seed: int
    facts: dict[str, str]

    def item(self, row: int) -> Item:
        """The item of one foil."""
        foils = self.foils
        caption = int(foils.caption[row])
        image = foils.images[int(foils.image[caption])]
        caption_id = foils.caption_ids[caption]
        made, original = foils.put(row), foils.words.texts[caption]
        place = int(seeds.rng(self.seed, "foil", "order", caption_id).integers(2))
        target = foils.table.names[int(foils.target[row])]
        foil = foils.table.names[int(foils.rows.foil[row])]
        slot = Slot(
            caption=1 - place,
            start=made.start,
            end=made.end,
            target=target.word,
            foil=made.text[made.start : made.end],
            plural=bool(foils.found.plural[foils.rows.mention[row]]),
            words=self._words(row, caption, made),
            candidates=self._candidates(caption, int(foils.target[row])),
        )
        notes = {"target": target.word, "foil": foil.word, **self.facts}
        return Item.built(
            "foil",
            images=(image,),
            captions=(original, made.text) if place == 0 else (made.text, original),
            true=frozenset({(0, place)}),
            original=(0, place),
            kind=target.supercategory,
            slot=slot,
            origin=Origin(
                "tellapart build foil", foils.corpus.name, caption_id, self.seed, notes=notes
            ),
        )

    def _candidates(self, caption: int, target: int) -> tuple[str, ...]:
        """Words for T3: what the image shows beside the target would mend the caption, too."""
        names = self.foils.table.names
        if self.foils.plain:
            return tuple(name.word for name in names)
        absent = self.foils.rules.absent[self.foils.image[caption]].tolist()
        return tuple(n.word for k, n in enumerate(names) if absent[k] or k == target)

    def _words(self, row: int, caption: int, made: Put) -> tuple[Word, ...]:
        """The content words of the foil caption, of which the foil is one, however long."""
        if self.foils.parses is None:
            assert self.tagger is not None
            known = self.tagger.content_words(made.text)
            others = [w for w in known if w.end <= made.start or w.start >= made.end]
        else:
            others = self._moved(row, caption, made)
        slot = Word(made.start, made.end, True)
        return tuple(sorted([*others, slot], key=lambda word: word.start))

    def _moved(self, row: int, caption: int, made: Put) -> list[Word]:
        """The content words of the original, moved to where they stand in the foil caption."""
        foils = self.foils
        assert foils.parses is not None
        mention = foils.rows.mention[row]
        begin = int(foils.words.begin[foils.found.first[mention]])
        end = int(foils.words.end[foils.found.last[mention]])
        longer = len(made.text) - len(foils.words.texts[caption])
        words = content_words(foils.parses[caption])
        ahead = [word for word in words if word.end <= begin]
        behind = [
            Word(word.start + longer, word.end + longer, word.noun)
            for word in words
            if word.start >= end
        ]
        return [*ahead, *behind]
