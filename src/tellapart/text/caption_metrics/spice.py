"""SPICE (Anderson et al. 2016) through its own Java program.

pycocoevalcap has the program but not the Stanford CoreNLP models that it parses with; those are to
be fetched once (see `lacking`). Captions go in as tokens, as the COCO scripts have it.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tellapart.errors import TellapartError
from tellapart.tables import read_json
from tellapart.text.caption_metrics.java import java, program
from tellapart.text.caption_metrics.metric import Floats, Marks, Material

MODELS = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")
# From Java 16 on the program may look into Java's own classes only if that is allowed.
OPENED = ("lang", "math", "net", "text", "util", "util.concurrent")
OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED),
)
SOURCE = "https://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip"


@dataclass(frozen=True, slots=True)
class Spice:
    """SPICE: F-scores over the tuples of scene graphs; `memory` is what Java may take."""

    memory: str = "4G"

    name = "SPICE"
    about = "objects, attributes and relations shared with the references (needs Java, CoreNLP)"
    cites = "Anderson et al. 2016, SPICE"
    scale = 100.0
    at_once = 1_000_000

    def lacking(self) -> TellapartError | None:
        """Java, the program, or the models that it parses with."""
        try:
            jar = program(self.name, "spice", "spice-1.0.jar")
            java(self.name)
        except TellapartError as error:
            return error
        missing = [jar.parent / "lib" / model for model in MODELS]
        missing = [path for path in missing if not path.is_file()]
        if not missing:
            return None
        return TellapartError(
            f"SPICE parses with Stanford CoreNLP 3.6.0, of which {len(missing)} of "
            f"{len(MODELS)} files are missing: {', '.join(path.name for path in missing)}",
            where=str(missing[0].parent),
            todo=f"take both files out of {SOURCE} (about 400 MB) and put them into that folder; "
            "or do without, with spice-py, which is another score of the same kind",
        )

    def marks(self, material: Material) -> Marks:
        """The F-score of each caption; overall their mean."""
        problem = self.lacking()
        if problem is not None:
            raise problem
        with tempfile.TemporaryDirectory(prefix="tellapart-spice-") as folder:
            return Marks.averaged(self._scores(material, Path(folder)))

    def _scores(self, material: Material, folder: Path) -> Floats:
        asked, answered = folder / "asked.json", folder / "answered.json"
        rows = zip(*material.tokenised, strict=True)
        asked.write_text(
            json.dumps([{"image_id": k, "test": c, "refs": own} for k, (c, own) in enumerate(rows)])
        )
        jar = program(self.name, "spice", "spice-1.0.jar")
        command = [java(self.name), f"-Xmx{self.memory}", *OPTIONS, "-jar", jar.name, str(asked)]
        command += ["-cache", str(folder / "cache"), "-out", str(answered), "-subset", "-silent"]
        (folder / "cache").mkdir()
        done = subprocess.run(command, cwd=jar.parent, capture_output=True, text=True, check=False)
        if done.returncode or not answered.is_file():
            said = " ".join((done.stderr or done.stdout).split())[-400:]
            raise TellapartError(
                f"SPICE's Java program ended with code {done.returncode}: {said or 'no message'}",
                todo="see whether the memory suffices (SPICE?memory=8G asks for more) and "
                "whether both CoreNLP files are whole",
            )
        found = {row["image_id"]: row["scores"]["All"]["f"] for row in read_json(answered)}
        return np.array([float(found[k]) for k in range(len(material.candidates))])


SPICE = Spice()
