"""The toolkit's own form: a folder with corpus.json."""

from __future__ import annotations

from pathlib import Path

from tellapart.corpus.coco import with_objects
from tellapart.corpus.corpus import Corpus, load_corpus
from tellapart.corpus.reading import ReadOptions, head
from tellapart.errors import BadInput

CARD = "corpus.json"


class NativeReader:
    """Reads what `save_corpus` wrote; the path is the folder, or the card inside it."""

    about = "a folder that tellapart wrote (it has corpus.json)"

    def fits(self, path: Path) -> bool:
        """Whether this is a corpus folder or its card."""
        if path.name == CARD and path.is_file():
            return '"tellapart-corpus-' in head(path)
        return (path / CARD).is_file()

    def read(self, path: Path, options: ReadOptions) -> Corpus:
        """The corpus in a folder; it says itself where its pictures are."""
        if options.images is not None:
            raise BadInput(
                "a corpus that tellapart wrote says itself where its pictures are",
                where=str(path),
                allowed="no folder of images beside it",
                todo="leave out --images (images=...)",
            )
        folder = path.parent if path.name == CARD and path.is_file() else path
        return with_objects(load_corpus(folder), options.objects)


READER = NativeReader()
