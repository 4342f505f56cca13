"""Datasets on the Hugging Face hub: their Parquet files, through huggingface_hub if it is there."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tellapart.errors import TellapartError

PREFIX = "hf:"


def hub_files(name: str) -> list[Path]:
    """The Parquet files of a dataset, such as `hf:imirandam/BiVLC`; kept in `HF_HOME`.

    What must be agreed to on the hub (Winoground) must have been, and `HF_HUB_OFFLINE` is obeyed.
    """
    repository = name.removeprefix(PREFIX)
    by_hand = f"download its .parquet files and give them with --from (see {page(repository)})"
    try:
        hub = import_module("huggingface_hub")
    except ImportError:
        raise TellapartError(
            f"{name} is on the Hugging Face hub, for which a package is needed: huggingface_hub",
            where=page(repository),
            todo=f"pip install huggingface_hub; or {by_hand}",
        ) from None
    try:
        folder = Path(
            hub.snapshot_download(repository, repo_type="dataset", allow_patterns="*.parquet")
        )
    except Exception as error:  # the hub's own errors are many, and change
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise TellapartError(
            f"{name} cannot be fetched: {reason}", where=page(repository), todo=by_hand
        ) from None
    files = sorted(folder.rglob("*.parquet"))
    if not files:
        raise TellapartError(f"{name} has no Parquet files", where=page(repository), todo=by_hand)
    return files


def page(repository: str) -> str:
    """Where a dataset is on the web."""
    return f"https://huggingface.co/datasets/{repository}"
