"""What a chat model's reply says: one of the answers, or nothing that counts as one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tellapart.models.chat.prompts import Prompt

THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
LEAD = re.compile(
    r"(?:the )?(?:(?:correct |right )?(?:answer|option|choice|letter|picture|caption)"
    r"(?: is)?\s*[:=]?\s*)?",
    re.IGNORECASE,
)
MARKS = " \t\r\n.,:;!()[]{}\"'`*_"


def position(text: str, prompt: Prompt) -> int | None:
    """The place of the answer that a reply gives, read strictly.

    The reply must be the letter (or yes, no) alone, with a lead such as "Answer:" at most, or the
    letter with its own option's text behind it. "A dog." is not "A", "A or B" is nothing.

    >>> ask = Prompt((), ("A", "B"), ("a cat", "a dog"))
    >>> [position(t, ask) for t in ("(B)", "Answer: **b**", "A dog.", "B. A dog", "A or B")]
    [1, 1, None, 1, None]
    """
    said = THOUGHT.sub("", text).strip(MARKS)
    bare = LEAD.sub("", said, count=1).strip(MARKS)
    for place, (answer, option) in enumerate(zip(prompt.answers, prompt.options, strict=True)):
        if bare.casefold() == answer.casefold():
            return place
        marked = re.match(rf"{answer}[.):\]*]+\s*", bare, re.IGNORECASE)
        if option and marked and _same(bare[marked.end() :], option):
            return place
    return None


def likeliest(tokens: Sequence[Mapping[str, Any]], prompt: Prompt, said: int) -> int:
    """The answer with the highest probability where the reply names one.

    `tokens` is `logprobs.content` of the reply; spellings of one answer ("B", " b") count
    together. Without probabilities for the answer's token it is what was said.
    """
    wanted = prompt.answers[said].casefold()
    for token in tokens:
        if str(token.get("token", "")).strip(MARKS).casefold() != wanted:
            continue
        mass = dict.fromkeys(prompt.answers, -math.inf)
        for one in token.get("top_logprobs") or [token]:
            for answer in prompt.answers:
                if str(one.get("token", "")).strip(MARKS).casefold() == answer.casefold():
                    mass[answer] = _added(mass[answer], float(one["logprob"]))
        best = max(mass.values())
        return said if mass[prompt.answers[said]] == best else [*mass.values()].index(best)
    return said


def _same(text: str, option: str) -> bool:
    return text.strip(MARKS).casefold() == option.strip(MARKS).casefold()


def _added(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))
