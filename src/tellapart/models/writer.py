"""Models that write: a conversation in, the next reply out.

A writer is named like a model: `chat:MODEL@URL` (any OpenAI-compatible server) or `hf:NAME` (a
causal language model of transformers with a chat template: on the hub, a folder, a .gguf file).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from tellapart import seeds
from tellapart.errors import BadInput, UnknownName
from tellapart.models.chat_http import Endpoint, NoAnswer, RequestLimits, text_and_tokens
from tellapart.models.checkpoint import Checkpoint
from tellapart.models.language import CausalModel
from tellapart.models.model import Model, ModelInfo
from tellapart.models.names import ModelName, build, canonical
from tellapart.torch_tools import chunks

Turn = tuple[str, str]
"""The speaker ("user", "assistant") and the text."""
Talk = tuple[Turn, ...]
"""A conversation; the last message is the user's."""


@dataclass(frozen=True, slots=True)
class WriterReply:
    """A writer's reply, or why there is none."""

    text: str = ""
    failure: str = ""


@runtime_checkable
class Writer(Model, Protocol):
    """Continues conversations."""

    def write(self, talks: Sequence[Talk]) -> list[WriterReply]:
        """The next reply in each conversation."""
        ...


class ChatWriter:
    """Writes with a model behind an OpenAI-compatible server, several requests at a time.

    A temperature below 0 is not sent.
    """

    def __init__(
        self,
        model_at_url: str,
        temperature: float = 0.0,
        max_tokens: int = 96,
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
        # Retries and limits do not change the replies, so they are not part of the name.
        options = {"temperature": temperature, "max_tokens": max_tokens}
        name = canonical("chat", options, model_at_url, ChatWriter)
        self.facts = ModelInfo(name, options, dtype="unknown")
        self._sent = {key: value for key, value in options.items() if value >= 0}

    def write(self, talks: Sequence[Talk]) -> list[WriterReply]:
        """The server's replies; a failure affects only its own conversation."""
        return self.endpoint.together(self._write, talks)

    def _write(self, talk: Talk) -> WriterReply:
        messages = [{"role": who, "content": what} for who, what in talk]
        try:
            reply = self.endpoint.ask({"messages": messages, **self._sent})
        except NoAnswer as error:
            return WriterReply(failure=str(error))
        return WriterReply(self.endpoint.hidden(text_and_tokens(reply)[0]))


class LocalWriter:
    """Writes with a language model on this machine, always the likeliest token."""

    def __init__(
        self,
        name: str,
        max_tokens: int = 96,
        batch_size: int = 8,
        dtype: str = "float32",
        device: str = "auto",
        revision: str = "",
    ) -> None:
        options = {"max_tokens": max_tokens, "dtype": dtype, "device": device, "revision": revision}
        checkpoint = Checkpoint.of(name, dtype, device, revision)
        info = ModelInfo(canonical("hf", options, name, LocalWriter), options)
        self._causal = CausalModel(checkpoint, info, "mean")
        self._tokenizer, self._device = self._causal.tokenizer, checkpoint.device
        self._max_tokens, self._batch_size = max_tokens, batch_size
        template = self._tokenizer.chat_template
        if not template:
            raise BadInput(
                f"the tokenizer of {name!r} has no chat template",
                allowed="a model trained to follow instructions",
            )
        own = self._causal.facts
        self.facts = replace(own, preprocessing=seeds.digest(own.preprocessing, template))

    def write(self, talks: Sequence[Talk]) -> list[WriterReply]:
        """The model's replies; conversations of similar length are batched together."""
        prompts = [self._prompt(talk) for talk in talks]
        order = sorted(range(len(talks)), key=lambda k: (len(prompts[k]), prompts[k]))
        replies: dict[int, WriterReply] = {}
        for part in chunks(len(order), self._batch_size):
            places = [order[k] for k in part]
            texts = self._continuations([prompts[k] for k in places])
            replies |= {k: WriterReply(text) for k, text in zip(places, texts, strict=True)}
        return [replies[k] for k in range(len(talks))]

    def _prompt(self, talk: Talk) -> list[int]:
        messages = [{"role": who, "content": what} for who, what in talk]
        text = self._tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False
        )
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _continuations(self, prompts: list[list[int]]) -> list[str]:
        import torch

        width = max(map(len, prompts))
        end = self._tokenizer.eos_token_id
        ids = torch.tensor([[end] * (width - len(row)) + row for row in prompts])
        there = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in prompts])
        with torch.inference_mode():
            out = self._causal.model.generate(
                input_ids=ids.to(self._device), attention_mask=there.to(self._device),
                max_new_tokens=self._max_tokens, do_sample=False, pad_token_id=end,
            )  # fmt: skip
        texts: list[str] = self._tokenizer.batch_decode(out[:, width:], skip_special_tokens=True)
        return texts


WRITERS: Mapping[str, Callable[..., Writer]] = {"chat": ChatWriter, "hf": LocalWriter}


def writer_of(text: str) -> Writer:
    """The writer that a string names."""
    name = ModelName.parse(text)
    if name.scheme not in WRITERS:
        raise UnknownName(
            "sort of writer", name.scheme, WRITERS,
            todo="such as chat:MODEL@URL, or hf:FOLDER for a language model on this machine",
        )  # fmt: skip
    writer: Writer = build(name, WRITERS[name.scheme])
    return writer
