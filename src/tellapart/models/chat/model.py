"""`chat`: any model behind an OpenAI-compatible server, asked one question at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tellapart.errors import BadInput
from tellapart.models.chat.data_urls import data_url
from tellapart.models.chat.http import Endpoint, Limits, NoAnswer, model_and_url, said
from tellapart.models.chat.prompts import Prompt, prompt_of, wording
from tellapart.models.chat.replies import likeliest, position
from tellapart.models.model import Asked, Facts, Reply
from tellapart.models.names import canonical

TOP = 20
"""How many alternatives to a token are asked for."""


class Chat:
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
        self._model, url = model_and_url(model_at_url)
        if concurrency < 1:
            raise BadInput(f"concurrency={concurrency} is none", allowed="1 or more")
        limits = Limits(timeout, retries, wait, max_requests, max_tokens_total)
        self.endpoint = Endpoint(url, limits)
        self._temperature, self._max_tokens = temperature, max_tokens
        self._logprobs, self._concurrency = logprobs, concurrency
        # How patiently and how far a server is asked does not change what it answers.
        told = {"temperature": temperature, "max_tokens": max_tokens, "logprobs": logprobs}
        self.facts = Facts(
            canonical("chat", told, model_at_url), told, preprocessing=wording(), dtype="unknown"
        )

    def choose(self, asked: Sequence[Asked]) -> list[Reply]:
        """One reply a question; what fails is a failure of that question alone."""
        prompts = [prompt_of(one) for one in asked]
        # Pictures are read before anything is sent: a broken one stops nothing half-way.
        urls: dict[str, str] = {}
        for prompt in prompts:
            for part in prompt.parts:
                if not isinstance(part, str) and part.id not in urls:
                    urls[part.id] = data_url(part)
        return self.endpoint.together(
            lambda prompt: self._reply(prompt, urls), prompts, self._concurrency
        )

    def _reply(self, prompt: Prompt, urls: Mapping[str, str]) -> Reply:
        try:
            found = self.endpoint.ask(self._payload(prompt, urls))
        except NoAnswer as error:
            return Reply(None, failure=str(error))
        text, tokens = said(found)
        text = self.endpoint.hidden(text)
        place = position(text, prompt)
        if place is None:
            allowed = ", ".join(prompt.answers)
            reason = "the reply is empty" if not text.strip() else "the reply is no answer"
            return Reply(None, text=text, failure=f"{reason} (allowed: {allowed})")
        return Reply(likeliest(tokens, prompt, place), text=text)

    def _payload(self, prompt: Prompt, urls: Mapping[str, str]) -> dict[str, Any]:
        content = [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {"type": "image_url", "image_url": {"url": urls[part.id]}}
            for part in prompt.parts
        ]
        payload: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": "user", "content": content}],
            "max_tokens": self._max_tokens,
        }
        if self._temperature >= 0:
            payload["temperature"] = self._temperature
        if self._logprobs:
            payload |= {"logprobs": True, "top_logprobs": TOP}
        return payload
