"""The verb `work send`: what an object store did not take when it was written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tellapart.options import Help
from tellapart.verbs import Verb


@dataclass(frozen=True, slots=True)
class Sent:
    """The addresses that were sent to."""

    addresses: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(f"sent {one}" for one in self.addresses) or "nothing waits to be sent"

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"sent": list(self.addresses)}


def work_send(
    address: Annotated[
        Path | str | None, Help("An address that a command wrote to (default: all).")
    ] = None,
) -> Sent:
    """Send results that an object store could not take when they were written.

    A command that names an address does this by itself before anything else.
    """
    from tellapart.addresses import address_in, place_of
    from tellapart.remote import send_what_waits

    found = address_in(address) if address is not None else None
    path = place_of(found) if found is not None else Path(address) if address is not None else None
    return Sent(tuple(send_what_waits(path)))


VERB = Verb(work_send, example="tellapart work send s3://bucket/my-bison")
