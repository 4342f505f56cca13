"""Captions formatted alike, so that form tells nothing of which one is true."""

from __future__ import annotations

import re


def alike(caption: str) -> str:
    """A capital first, lower case after it, single spaces, a final mark.

    Miranda et al. 2024, BiVLC, section 3.1, step 1: positives written by people and negatives
    written by a model otherwise differ in form.

    >>> alike("  a DOG on the Beach ")
    'A dog on the beach.'
    """
    text = re.sub(r"\s+", " ", caption).strip()
    text = text[:1].upper() + text[1:].lower()
    return text if text.endswith((".", "!", "?")) else text + "."


def formed_like(model: str, caption: str) -> str:
    """A caption with the first letter's case and the final mark of another one.

    >>> formed_like("a dog on the beach", "A cat on the beach.")
    'a cat on the beach'
    """
    first = caption[:1].upper() if model[:1].isupper() else caption[:1].lower()
    marks = re.search(r"[.!?]*\s*$", model)
    return first + caption[1:].rstrip(" .!?") + (marks.group() if marks else "")
