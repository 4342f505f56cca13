"""`chat`: any model behind an OpenAI-compatible server, asked one question at a time.

Each type of question has one wording of ours; a reply must be one of the answers, read strictly, or
it counts as none.
"""

from __future__ import annotations

import base64
import io
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.models.chat_http import Endpoint, NoAnswer, RequestLimits, text_and_tokens
from tellapart.models.model import ChooserReply, ModelInfo, NamedModel, ShownQuestion
from tellapart.models.names import canonical
from tellapart.pictures import Picture, crop_box, split_uri
from tellapart.questions import Ask

AS_STORED = {"JPEG": "image/jpeg", "PNG": "image/png"}
ORIENTATION = 0x0112
LETTER = "Reply with the letter alone."
WORDING = {
    Ask.CAPTION: "Look closely at this picture. Exactly which of these captions is true of it?",
    Ask.IMAGE: 'Look closely at these pictures. Of which one is this caption true: "{caption}"',
    Ask.JUDGE: 'Look closely at this picture. Is every word of this caption true of it: "{caption}"'
    " Reply with yes or no alone.",
    Ask.NOUN: 'Look closely at this picture. One noun of this caption is wrong: "{caption}"'
    " Which noun is it?",
    Ask.WORD: 'Look closely at this picture. One word of this caption is wrong: "{caption}"'
    " Which word is it?",
    Ask.MEND: 'Look closely at this picture. In the caption "{caption}" the word "{foil}" is wrong.'
    " Which word belongs in its place?",
}
THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
LEAD = re.compile(
    r"(?:the )?(?:(?:correct |right )?(?:answer|option|choice|letter|picture|caption)"
    r"(?: is)?\s*[:=]?\s*)?",
    re.IGNORECASE,
)
MARKS = " \t\r\n.,:;!()[]{}\"'`*_"
TOP = 20
"""How many alternatives to request for each token."""


class Chat(NamedModel):
    """Chat models behind an OpenAI-compatible server: chat:gpt-4o@https://api.openai.com/v1.

    A chooser: it is shown pictures and lettered options in the order of the trial and replies with
    a letter. The key comes from TELLAPART_API_KEY or OPENAI_API_KEY and is written nowhere.
    """

    def __init__(
        self,
        model_at_url: str,
        temperature: float = 0.0,
        max_tokens: int = 16,
        logprobs: bool = True,
        concurrency: int = 4,
        timeout: float = 60.0,
        retries: int = 5,
        wait: float = 1.0,
        max_requests: int = 0,
        max_tokens_total: int = 0,
    ) -> None:
        self.endpoint = Endpoint(
            model_at_url,
            RequestLimits(concurrency, timeout, retries, wait, max_requests, max_tokens_total),
        )
        self._sent: dict[str, Any] = {"max_tokens": max_tokens}
        self._sent |= {"temperature": temperature} if temperature >= 0 else {}
        self._sent |= {"logprobs": True, "top_logprobs": TOP} if logprobs else {}
        # Retries and limits do not change the answers, so they are not part of the name.
        options = {"temperature": temperature, "max_tokens": max_tokens, "logprobs": logprobs}
        name = canonical("chat", options, model_at_url)
        self.facts = ModelInfo(name, options, preprocessing=wording(), dtype="unknown")

    @property
    def usage(self) -> dict[str, int]:
        """The requests and tokens used so far."""
        return {"requests": self.endpoint.requests, "tokens": self.endpoint.tokens}

    def choose(self, asked: Sequence[ShownQuestion]) -> list[ChooserReply]:
        """One reply per question; a failure affects only its own question."""
        prompts = [prompt_of(one) for one in asked]
        # Pictures are read before anything is sent, so that a broken one does not stop half-way.
        urls: dict[str, str] = {}
        for prompt in prompts:
            for part in prompt.parts:
                if not isinstance(part, str) and part.id not in urls:
                    urls[part.id] = data_url(part)
        return self.endpoint.together(lambda prompt: self._reply(prompt, urls), prompts)

    def _reply(self, prompt: Prompt, urls: Mapping[str, str]) -> ChooserReply:
        content = [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {"type": "image_url", "image_url": {"url": urls[part.id]}}
            for part in prompt.parts
        ]
        messages = [{"role": "user", "content": content}]
        try:
            reply = self.endpoint.ask({"messages": messages, **self._sent})
        except NoAnswer as error:
            return ChooserReply(None, failure=str(error))
        text, tokens = text_and_tokens(reply)
        text = self.endpoint.hidden(text)
        place = position(text, prompt)
        if place is None:
            allowed = ", ".join(prompt.answers)
            reason = "the reply is empty" if not text.strip() else "the reply is not an answer"
            return ChooserReply(None, text=text, failure=f"{reason} (allowed: {allowed})")
        return ChooserReply(likeliest(tokens, prompt, place), text=text)


@dataclass(frozen=True, slots=True)
class Prompt:
    """Texts and pictures in the order in which they are sent, and the possible answers.

    `answers` are letters (or yes and no) in the order of the options as shown; `options` are the
    texts they stand for.
    """

    parts: tuple[str | Picture, ...]
    answers: tuple[str, ...]
    options: tuple[str, ...]


def prompt_of(asked: ShownQuestion) -> Prompt:
    """The prompt of a question, its options lettered in the order in which they are shown."""
    question, item = asked.question, asked.item
    caption = item.captions[question.caption] if question.caption >= 0 else ""
    foil = item.slot.foil if item.slot is not None else ""
    text = WORDING[question.ask].replace("{caption}", caption).replace("{foil}", foil)
    if question.ask is Ask.JUDGE:
        answers = tuple(str(question.options[k]) for k in asked.order)
        return Prompt((text, asked.pictures[question.image]), answers, answers)
    answers = letters(len(asked.order))
    if question.ask is Ask.IMAGE:
        shown = [asked.pictures[int(question.options[k])] for k in asked.order]
        pictures = [
            part
            for letter, picture in zip(answers, shown, strict=True)
            for part in (f"Picture {letter}:", picture)
        ]
        return Prompt((text, *pictures, LETTER), answers, ("",) * len(answers))
    options = option_texts(asked)
    lines = [f"{letter}. {option}" for letter, option in zip(answers, options, strict=True)]
    asks = "\n".join([text, *lines, LETTER])
    return Prompt((asked.pictures[question.image], asks), answers, options)


def option_texts(asked: ShownQuestion) -> tuple[str, ...]:
    """The options as shown; a word that occurs twice in a caption is numbered."""
    question, item = asked.question, asked.item
    if question.ask is Ask.CAPTION:
        return tuple(item.captions[int(question.options[k])] for k in asked.order)
    if question.ask is Ask.MEND:
        return tuple(str(question.options[k]) for k in asked.order)
    assert item.slot is not None
    caption, words = item.captions[item.slot.caption], item.slot.words
    spelled = [caption[words[int(o)].start : words[int(o)].end] for o in question.options]
    twice = {word for word, count in Counter(spelled).items() if count > 1}
    numbered = [
        f"{word} (number {spelled[: k + 1].count(word)})" if word in twice else word
        for k, word in enumerate(spelled)
    ]
    return tuple(numbered[k] for k in asked.order)


def letters(count: int) -> tuple[str, ...]:
    """A, B, ... Z, AA, AB, ...

    >>> letters(3), letters(28)[-2:]
    (('A', 'B', 'C'), ('AA', 'AB'))
    """
    singles = list(ascii_uppercase)
    return tuple((singles + [a + b for a in singles for b in singles])[:count])


def wording() -> str:
    """A hash of the wording, recorded in the run."""
    return seeds.digest({str(ask): text for ask, text in WORDING.items()}, LETTER)


def data_url(picture: Picture) -> str:
    """A picture as `data:image/...;base64,...`.

    JPEG and PNG are sent as stored. Other formats, parts of pictures, pictures rotated by EXIF
    (readers differ) and PNG files that contain text (the built-in world stores the truth there) are
    encoded again as PNG, without loss.
    """
    from PIL import Image as Pillow

    opened = picture.open()  # decoded and checked, as for every other model
    if crop_box(split_uri(picture.image.uri)[1]) is None:
        stored = picture.read()
        with Pillow.open(io.BytesIO(stored)) as file:
            plain = file.mode in ("RGB", "L") and file.getexif().get(ORIENTATION, 1) == 1
            has_text = file.format == "PNG" and bool(getattr(file, "text", {}))
            if file.format in AS_STORED and plain and not has_text:
                return _url(AS_STORED[file.format], stored)
    encoded = io.BytesIO()
    opened.save(encoded, "PNG")
    return _url("image/png", encoded.getvalue())


def _url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def position(text: str, prompt: Prompt) -> int | None:
    """The position of a reply's answer, read strictly.

    The reply must be only the letter (or yes, no), possibly after a lead such as "Answer:", or the
    letter followed by its own option's text. "A dog." is not "A", and "A or B" is no answer.

    >>> ask = Prompt((), ("A", "B"), ("a cat", "a dog"))
    >>> [position(t, ask) for t in ("(B)", "Answer: **b**", "A dog.", "B. A dog", "A or B")]
    [1, 1, None, 1, None]
    """
    given = THOUGHT.sub("", text).strip(MARKS)
    bare = LEAD.sub("", given, count=1).strip(MARKS)
    for place, (answer, option) in enumerate(zip(prompt.answers, prompt.options, strict=True)):
        if bare.casefold() == answer.casefold():
            return place
        marked = re.match(rf"{answer}[.):\]*]+\s*", bare, re.IGNORECASE)
        if option and marked and _same(bare[marked.end() :], option):
            return place
    return None


def likeliest(tokens: Sequence[Mapping[str, Any]], prompt: Prompt, given: int) -> int:
    """The answer with the highest probability at the token where the reply names one.

    `tokens` is `logprobs.content` of the reply; spellings of one answer ("B", " b") count together.
    Without probabilities for the answer's token, the given answer is returned.
    """
    wanted = prompt.answers[given].casefold()
    for token in tokens:
        if str(token.get("token", "")).strip(MARKS).casefold() != wanted:
            continue
        mass = dict.fromkeys(prompt.answers, -math.inf)
        for one in token.get("top_logprobs") or [token]:
            for answer in prompt.answers:
                if str(one.get("token", "")).strip(MARKS).casefold() == answer.casefold():
                    mass[answer] = float(np.logaddexp(mass[answer], float(one["logprob"])))
        best = max(mass.values())
        return given if mass[prompt.answers[given]] == best else [*mass.values()].index(best)
    return given


def _same(text: str, option: str) -> bool:
    return text.strip(MARKS).casefold() == option.strip(MARKS).casefold()
