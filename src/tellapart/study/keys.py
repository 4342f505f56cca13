"""Secrets: tokens and their hashes, pseudonyms, and addresses of pictures."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tellapart.errors import BadInput
from tellapart.files import read_json, whole_file

NAME = "keys.json"


@dataclass(frozen=True, slots=True, repr=False)
class Keys:
    """The secrets of a study; they stay in its folder, readable only by its owner."""

    owner: str
    pseudonyms: str
    pictures: str

    def pseudonym(self, platform_id: str) -> str:
        """A pseudonym for a platform's id, which cannot be traced back without the key."""
        return keyed(self.pseudonyms, "person", platform_id)

    def picture(self, person: int, number: int, place: int) -> str:
        """The token that makes a picture's address specific to one person."""
        return keyed(self.pictures, str(person), str(number), str(place))[:22]

    @property
    def metrics(self) -> str:
        """The token for reading metrics; it gives access to nothing else."""
        return keyed(self.pictures, "metrics")[:40]

    def is_owner(self, token: str) -> bool:
        """Whether this is the owner's token, in constant time."""
        return hmac.compare_digest(hashed(token), hashed(self.owner))


def new_token() -> str:
    """192 random bits as text that can be part of a link."""
    return secrets.token_urlsafe(24)


def hashed(token: str) -> str:
    """The stored form of a token; with 192 random bits, a plain hash suffices."""
    return hashlib.sha256(token.encode()).hexdigest()


def keyed(key: str, *parts: str) -> str:
    """A keyed hash of texts."""
    message = json.dumps(parts).encode()
    return hmac.new(bytes.fromhex(key), message, hashlib.sha256).hexdigest()


def write_keys(folder: Path) -> Keys:
    """Create new keys."""
    return _write(folder, Keys(new_token(), secrets.token_hex(32), secrets.token_hex(32)))


def renew_owner(folder: Path) -> Keys:
    """Replace the owner's token; the old one becomes invalid."""
    return _write(folder, replace(read_keys(folder), owner=new_token()))


def _write(folder: Path, keys: Keys) -> Keys:
    """Write keys to a file that is never readable by anyone but its owner."""
    with whole_file(folder / NAME, mode=0o600) as partial:
        partial.write_text(json.dumps(asdict(keys)), encoding="utf-8")
    return keys


def read_keys(folder: Path) -> Keys:
    """The keys of a study."""
    stored = read_json(folder / NAME)
    try:
        return Keys(**stored)
    except TypeError:
        raise BadInput(f"{NAME} is damaged", where=str(folder)) from None
