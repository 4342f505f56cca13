"""`http:`: a server that makes images, with OpenAI's or Automatic1111's interface.

`http:MODEL@http://host/v1` sends `POST .../images/generations`; with `?api=automatic1111` it sends
`POST .../sdapi/v1/txt2img`. The seed is sent, too (`?seed=false` for servers that accept none:
their pictures cannot be reproduced). A prompt that the server rejects is a refusal, not an error.
"""

from __future__ import annotations

import base64
import binascii
import io
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from tellapart.errors import BadInput, need
from tellapart.makers.diffusion import prompt_of
from tellapart.makers.maker import (
    ImageRequest,
    MadeImage,
    MakerFailed,
    MakerInfo,
    maker_name,
    png,
)
from tellapart.models.chat_http import KEYS, PASSING, model_and_url, pause_before, retry_after

APIS = ("openai", "automatic1111")
REFUSALS = ("content_policy", "moderation", "safety", "rejected")
"""Words in an error's code or message that mean that the prompt was rejected."""


class HttpMaker:
    """Images from a server: MODEL@URL (OpenAI's interface), or ?api=automatic1111."""

    needs: Literal["caption", "picture", "boxes"] = "caption"

    def __init__(
        self,
        model_at_url: str,
        api: str = APIS[0],
        size: int = 512,
        steps: int = 30,
        guidance: float = 7.0,
        suffix: str = "",
        seed: bool = True,
        batch: int = 1,
        timeout: float = 300.0,
        retries: int = 3,
        wait: float = 1.0,
    ) -> None:
        if api not in APIS:
            raise BadInput(f"api={api}", allowed=" or ".join(APIS))
        if batch < 1 or size < 8 or steps < 1 or retries < 0:
            raise BadInput(
                f"batch={batch}, size={size}, steps={steps}, retries={retries}",
                allowed="batch and steps from 1, size from 8, retries from 0",
            )
        self._model, url = model_and_url(model_at_url)
        self._httpx = need("httpx", "chat", "the maker http:")
        self.batch, self._api, self._seed = batch, api, seed
        self._size, self._steps, self._guidance, self._suffix = size, steps, guidance, suffix
        self._retries, self._wait = retries, wait
        path = "/images/generations" if api == APIS[0] else "/sdapi/v1/txt2img"
        self._url = url.rstrip("/").removesuffix(path) + path
        self._key = next((os.environ[name] for name in KEYS if os.environ.get(name)), "")
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = self._httpx.Client(timeout=timeout, headers=headers)
        options: dict[str, Any] = {
            "api": api, "size": size, "steps": steps, "guidance": guidance, "suffix": suffix,
            "seed": seed, "batch": 1, "timeout": 300.0, "retries": 3, "wait": 1.0,
        }  # fmt: skip
        self.facts = MakerInfo(maker_name("http", options, model_at_url), options)

    def make(self, requests: Sequence[ImageRequest]) -> list[MadeImage]:
        """One request to the server for each picture, a batch at a time."""
        with ThreadPoolExecutor(self.batch) as pool:
            return list(pool.map(self._make_one, requests))

    def _make_one(self, request: ImageRequest) -> MadeImage:
        reply = self._answer(self._payload(request))
        return reply if isinstance(reply, MadeImage) else self._picture(reply)

    def _payload(self, request: ImageRequest) -> dict[str, Any]:
        prompt = prompt_of(request.caption, self._suffix)
        seed = {"seed": request.seed} if self._seed else {}
        if self._api == APIS[0]:
            size = f"{self._size}x{self._size}"
            asked = {"model": self._model, "prompt": prompt, "n": 1, "size": size}
            return {**asked, "response_format": "b64_json", **seed}
        side = {"width": self._size, "height": self._size}
        settings = {"steps": self._steps, "cfg_scale": self._guidance, "batch_size": 1}
        return {"prompt": prompt, **side, **settings, **seed}

    def _answer(self, payload: Mapping[str, Any]) -> Mapping[str, Any] | MadeImage:
        reason = "no attempt was made"
        for attempt in range(self._retries + 1):
            pause = None
            try:
                answer = self._client.post(self._url, json=payload)
            except self._httpx.TransportError as error:  # refused, cut off, timed out
                reason = f"{type(error).__name__}: {error}".rstrip(": ")
            else:
                if answer.status_code == 200:
                    return self._json(answer)
                message = self._hidden(" ".join(answer.text.split())[:300])
                if answer.status_code == 400 and any(w in message.lower() for w in REFUSALS):
                    return MadeImage(refused="the server refused the prompt")
                reason = f"status {answer.status_code}: {message}"
                if answer.status_code not in PASSING:
                    raise self._failed(f"the server says {reason}", answer.status_code, message)
                pause = retry_after(answer.headers.get("Retry-After"))
            if attempt < self._retries:
                time.sleep(pause_before(attempt, self._wait) if pause is None else pause)
        raise self._failed(
            f"the server sent no picture in {self._retries + 1} attempts: {self._hidden(reason)}"
        )

    def _json(self, answer: Any) -> Mapping[str, Any]:
        try:
            reply = answer.json()
        except ValueError:
            raise self._failed("the server's reply is not complete JSON") from None
        if not isinstance(reply, Mapping):
            raise self._failed("the server's reply is not a JSON object")
        return reply

    def _picture(self, reply: Mapping[str, Any]) -> MadeImage:
        from PIL import Image

        try:
            coded = reply["data"][0]["b64_json"] if self._api == APIS[0] else reply["images"][0]
            with Image.open(io.BytesIO(base64.b64decode(str(coded).rpartition(",")[2]))) as made:
                made.load()
                return png(made)
        except (KeyError, IndexError, TypeError, binascii.Error, OSError, ValueError):
            raise self._failed("the server's reply has no complete picture") from None

    def _failed(self, what: str, status: int = 0, message: str = "") -> MakerFailed:
        todo = "check that the server is running"
        if status == 401:
            todo = f"set the key in {' or '.join(KEYS)}"
        elif status == 400 and "seed" in message:
            todo = "this server accepts no seed: use ?seed=false"
        elif status == 404:
            todo = "check the model's name and the URL (it usually ends in /v1)"
        return MakerFailed(what, where=self._url, todo=todo)

    def _hidden(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text
