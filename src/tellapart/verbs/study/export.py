"""The verb `study export`: judgements, agreement, human figures, a run and a verified benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.options import Help, Overwrite
from tellapart.verbs import Verb
from tellapart.verbs.study import Database, Folder, opened

if TYPE_CHECKING:
    from tellapart.study.results import StudyResults

TABLES = (".csv", ".parquet", ".jsonl")
VERIFIED = "verified"


@dataclass(frozen=True, slots=True)
class StudyExport:
    """An export: a folder with results, or only a table of judgements."""

    out: Path
    results: StudyResults | None = None
    judgements: int = 0

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return self.results.to_json() if self.results else {"judgements": self.judgements}

    def __str__(self) -> str:
        if self.results:
            verified = self.out / VERIFIED
            more = (
                f"\nrun models on the verified items: tellapart evaluate MODEL --on {verified} "
                "--out RUNS"
            )
            return f"{self.results}\n\n->  {self.out}{more if verified.is_dir() else ''}"
        return f"{self.judgements:,} judgements  ->  {self.out}"


def export_study(
    folder: Folder,
    out: Annotated[
        Path | str, Help("Folder to write to, or a .csv, .parquet or .jsonl of judgements.")
    ],
    *,
    database: Database = "",
    overwrite: Overwrite = False,
) -> StudyExport:
    """Write judgements, agreement, human figures, the human run and the verified benchmark."""
    out = Path(out)
    with opened(folder, database) as study:
        from tellapart.study.export import write_judgements, write_results

        if out.suffix in TABLES:
            return StudyExport(out, judgements=write_judgements(study, out))
        return StudyExport(out, write_results(study, out, overwrite=overwrite))


VERB = Verb(export_study, example="tellapart study export my-study results")
