"""Requests to an OpenAI-compatible server, with retries and limits; the key is never shown."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from tellapart.errors import BadInput, TellapartError, need

KEYS = ("TELLAPART_API_KEY", "OPENAI_API_KEY")
"""The environment variables that may hold the key, in order of preference."""
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses that are worth a retry."""
OPTIONAL = ("logprobs", "max_tokens")
"""Fields that some servers reject (`max_tokens` then becomes `max_completion_tokens`)."""
LONGEST = 60.0
"""The longest pause between two attempts, in seconds."""
Input = TypeVar("Input")
Output = TypeVar("Output")


class NoAnswer(Exception):
    """A request without an answer, and the reason; it becomes a recorded failure."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits on parallel requests, waiting time, attempts and usage.

    `max_requests` and `max_tokens_total` of 0 mean no limit.
    """

    concurrency: int
    timeout: float
    retries: int
    wait: float
    max_requests: int
    max_tokens_total: int


class Endpoint:
    """A model behind a server (`MODEL@URL`); may be used from several threads."""

    def __init__(self, model_at_url: str, limits: RequestLimits) -> None:
        self._model, url = model_and_url(model_at_url)
        if limits.concurrency < 1:
            raise BadInput(f"concurrency={limits.concurrency} is too low", allowed="1 or more")
        self._httpx = need("httpx", "chat")
        self._url = url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
        self._limits = limits
        self._key = next((os.environ[name] for name in KEYS if os.environ.get(name)), "")
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = self._httpx.Client(timeout=limits.timeout, headers=headers)
        self._lock = threading.Lock()
        self.requests = self.tokens = 0
        self._gone = False
        self._halted = threading.Event()
        self._without: frozenset[str] = frozenset()

    def ask(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The server's reply to a chat completion; raises `NoAnswer` if every attempt failed.

        Once all attempts of a request failed to reach the server, later requests try only once,
        until one gets through.
        """
        attempts = 1 if self._gone else self._limits.retries + 1
        reason, reached = "no attempt was made", True
        for attempt in range(attempts):
            pause = None
            try:
                answer = self._post(payload)
                reached, pause = True, retry_after(answer.headers.get("Retry-After"))
                reply = self._read(answer)
                if isinstance(reply, dict):
                    self._gone = False
                    return reply
                reason = reply
            except self._httpx.TransportError as error:  # refused, cut off, timed out
                reached = isinstance(error, self._httpx.TimeoutException)
                reason = f"{type(error).__name__}: {error}".rstrip(": ")
            if attempt + 1 < attempts:
                self._halted.wait(
                    pause_before(attempt, self._limits.wait) if pause is None else pause
                )
        self._gone = not reached
        times = f"{attempts} attempt{'' if attempts == 1 else 's'}"
        raise NoAnswer(self.hidden(f"{reason} (after {times})"))

    def together(self, work: Callable[[Input], Output], inputs: Sequence[Input]) -> list[Output]:
        """Run work that sends requests, several at a time; an error in one stops all.

        The work itself must handle `NoAnswer`.
        """

        def one(given: Input) -> Output:
            try:
                return work(given)
            except Exception:
                self._halted.set()  # so that the others do not wait only to fail
                raise

        self._halted.clear()
        pool = ThreadPoolExecutor(self._limits.concurrency)
        try:
            return list(pool.map(one, inputs))
        except BaseException:  # also Ctrl-C: send nothing more, and wake up waiting threads
            self._halted.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _post(self, payload: Mapping[str, Any]) -> Any:
        """One request; a second one if the server rejects an optional field."""
        while True:
            self._spend()
            sent = self._fitted(payload)
            answer = self._client.post(self._url, json=sent)
            refused = [f for f in OPTIONAL if f in sent and f in answer.text]
            if answer.status_code != 400 or not refused:
                return answer
            self._without |= {refused[0]}

    def hidden(self, text: str) -> str:
        """Text with the key removed, in case a server sends it back."""
        return text.replace(self._key, "[key]") if self._key else text

    def _read(self, answer: Any) -> dict[str, Any] | str:
        """The reply, or the reason to try again; raises if a retry would be useless."""
        if answer.status_code == 200:
            try:
                reply = answer.json()
            except ValueError:
                return "the reply is not complete JSON"
            if not isinstance(reply, dict):
                return "the reply is not a JSON object"
            usage = reply.get("usage")
            spent = usage.get("total_tokens") if isinstance(usage, Mapping) else 0
            with self._lock:
                self.tokens += int(spent) if isinstance(spent, int | float) else 0
            return reply
        message = self.hidden(" ".join(answer.text.split())[:300])
        if answer.status_code in PASSING:
            return f"status {answer.status_code}: {message}"
        if answer.status_code in (401, 404):
            raise TellapartError(
                f"the server says {answer.status_code}: {message}",
                where=self._url,
                allowed="a server that answers POST .../chat/completions",
                todo=f"set the key in {' or '.join(KEYS)}"
                if answer.status_code == 401
                else "check the model's name and the URL (it usually ends in /v1)",
            )
        raise NoAnswer(f"status {answer.status_code}: {message}")

    def _fitted(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        fitted = {"model": self._model, **payload}
        if "logprobs" in self._without:
            fitted = {k: v for k, v in fitted.items() if k not in ("logprobs", "top_logprobs")}
        if "max_tokens" in self._without and "max_tokens" in fitted:
            fitted["max_completion_tokens"] = fitted.pop("max_tokens")
        return fitted

    def _spend(self) -> None:
        limits = self._limits
        if self._halted.is_set():
            raise NoAnswer("the run was stopped")
        with self._lock:
            if limits.max_requests and self.requests >= limits.max_requests:
                raise NoAnswer(f"the limit of max_requests={limits.max_requests} is reached")
            if limits.max_tokens_total and self.tokens >= limits.max_tokens_total:
                raise NoAnswer(
                    f"the limit of max_tokens_total={limits.max_tokens_total} is reached"
                )
            self.requests += 1


def pause_before(attempt: int, first: float) -> float:
    """Doubled each time, minus a random part of up to half, so that requests spread out."""
    whole = min(first * 2.0**attempt, LONGEST)
    return whole * random.uniform(0.5, 1.0)


def retry_after(header: str | None) -> float | None:
    """The seconds that a server asks to wait, given as seconds or a date."""
    if not header:
        return None
    try:
        return min(max(float(header), 0.0), LONGEST)
    except ValueError:
        pass
    try:
        return min(max(parsedate_to_datetime(header).timestamp() - time.time(), 0.0), LONGEST)
    except (TypeError, ValueError):
        return None


def model_and_url(text: str) -> tuple[str, str]:
    """The model's name and the server's URL from the text after `chat:`."""
    model, at, rest = text.partition("@http")
    url = "http" + rest
    pieces = urlsplit(url)
    if not model or not at or pieces.scheme not in ("http", "https") or not pieces.hostname:
        raise BadInput(
            f"{text!r} does not name a model and a server",
            allowed="chat:MODEL@URL, such as chat:gpt-4o@https://api.openai.com/v1",
        )
    if pieces.username or pieces.password:
        raise BadInput(
            "the URL contains a password, which would be written into the run",
            todo="set the key in TELLAPART_API_KEY and remove it from the URL",
        )
    return model, url


def text_and_tokens(reply: Mapping[str, Any]) -> tuple[str, list[Mapping[str, Any]]]:
    """The text of a reply, and its tokens with their probabilities if the server sends them."""
    try:
        choice = reply["choices"][0]
        text = choice["message"]["content"] or ""
    except (KeyError, IndexError, TypeError):
        return str(reply)[:2000], []
    if not isinstance(text, str):  # a list of parts
        text = "".join(str(part.get("text", "")) for part in text if isinstance(part, Mapping))
    tokens = (choice.get("logprobs") or {}).get("content") or []
    return text, [token for token in tokens if isinstance(token, Mapping)]
