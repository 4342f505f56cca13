"""`vqascore`: the probability that a model answers "Yes" when asked whether the caption fits.

Lin et al., Evaluating Text-to-Visual Generation with Image-to-Text Generation, ECCV 2024,
section 3. Any model that answers questions about pictures can be asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from tellapart.errors import BadInput
from tellapart.models.checkpoint import (
    Checkpoint,
    alike,
    fetch,
    loaded_info,
    log_probabilities,
    see_once,
    text_length,
    to_device,
    token_ids,
    weights_of,
)
from tellapart.models.model import ModelInfo, NamedModel
from tellapart.models.names import canonical
from tellapart.pictures import Picture
from tellapart.types import Floats

if TYPE_CHECKING:
    import torch


QUESTION = 'Does this figure show "{caption}"? Please answer yes or no.'
ANSWER = "Yes"
PLACE = "{caption}"
PLAIN = {"instructblip": "{question}", "blip-2": "Question: {question} Answer:"}
"""Families without a chat template, and the form of questions in their training."""
PAIRS = 8


class VQAScore(NamedModel):
    """How likely is "Yes" when asked whether the caption fits, such as vqascore:ORG/NAME.

    For BLIP-VQA, InstructBLIP, BLIP-2 and models with a chat template (LLaVA and its kin).
    `question=` changes the wording ({caption} is filled in), `answer=` the answer.
    """

    def __init__(
        self,
        name: str,
        question: str = QUESTION,
        answer: str = ANSWER,
        dtype: str = "float32",
        device: str = "auto",
        revision: str = "",
    ) -> None:
        if PLACE not in question:
            raise BadInput(
                f"the question {question!r} has no placeholder for the caption",
                allowed=f"text with {PLACE} in it",
            )
        checkpoint = Checkpoint.of(name, dtype, device, revision)
        family = fetch("AutoConfig", checkpoint).model_type
        blip = family == "blip"
        kind = "BlipForQuestionAnswering" if blip else "AutoModelForImageTextToText"
        model = weights_of(kind, checkpoint)
        processor = fetch("AutoProcessor", checkpoint)
        self._question = question
        self._answers: _Answers = (BlipAnswers if blip else GenerativeAnswers)(
            model, processor, checkpoint, answer
        )
        options = {"dtype": dtype, "device": device, "revision": revision}
        options |= {"question": quote(question)} if question != QUESTION else {}
        options |= {"answer": quote(answer)} if answer != ANSWER else {}
        recorded = {"family": family, "question": question, "answer": answer}
        recorded |= {"dtype": dtype, "device": checkpoint.device}
        info = ModelInfo(canonical("vqascore", options, name), recorded)
        template = [getattr(processor, "chat_template", None) or ""]
        self.facts = loaded_info(
            info, checkpoint, model, processor.image_processor, processor.tokenizer, template
        )

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """One probability per pair, in float64, because float32 would tie near 1."""
        if not texts:
            return np.empty(0)
        asked = [self._question.replace(PLACE, text) for text in texts]
        return np.asarray(np.exp(self._answers.log_probability(pictures, asked).numpy()))


class _Answers:
    """A family of models that answer questions about pictures."""

    def __init__(self, model: Any, processor: Any, checkpoint: Checkpoint, answer: str) -> None:
        self._model, self._processor, self._checkpoint = model, processor, checkpoint
        self._answer = list(processor.tokenizer(answer, add_special_tokens=False).input_ids)
        if not self._answer or processor.tokenizer.unk_token_id in self._answer:
            raise BadInput(f"the model's tokenizer cannot spell the answer {answer!r}")

    def log_probability(
        self, pictures: Sequence[Picture], questions: Sequence[str]
    ) -> torch.Tensor:
        """The log-probability of the whole answer to each question."""
        raise NotImplementedError


class BlipAnswers(_Answers):
    """BLIP's question answering: a picture-grounded question encoder and an answer decoder."""

    def log_probability(
        self, pictures: Sequence[Picture], questions: Sequence[str]
    ) -> torch.Tensor:
        """The log-probability of the whole answer to each question."""
        import torch

        model, processor = self._model, self._processor
        seen = see_once(
            pictures,
            processor.image_processor,
            self._checkpoint,
            lambda pixels: model.vision_model(pixel_values=pixels)[0],
        )
        length = text_length(model.config, processor.tokenizer)
        ids = token_ids(processor.tokenizer, questions, length)
        answered = torch.empty(len(questions), dtype=torch.float64)
        for part in alike([len(row) for row in ids]):
            image = torch.stack([seen[pictures[k].id] for k in part])
            tokens = torch.tensor([ids[k] for k in part], device=self._checkpoint.device)
            answered[part] = self._answer_log_probability(image, tokens).cpu()
        return answered

    def _answer_log_probability(self, image: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        import torch

        answer = torch.tensor([self._answer] * len(tokens), device=tokens.device)
        start = torch.full_like(answer[:, :1], self._model.decoder_start_token_id)
        with torch.inference_mode():
            question = self._model.text_encoder(
                input_ids=tokens,
                attention_mask=torch.ones_like(tokens),
                encoder_hidden_states=image,
                encoder_attention_mask=torch.ones(
                    image.shape[:2], dtype=torch.long, device=image.device
                ),
            )[0]
            out = self._model.text_decoder(
                input_ids=torch.cat([start, answer[:, :-1]], dim=1),
                encoder_hidden_states=question,
                encoder_attention_mask=torch.ones_like(tokens),
            )
            return log_probabilities(out.logits, answer).sum(1)


class GenerativeAnswers(_Answers):
    """Models that continue a prompt with a picture in it (LLaVA, InstructBLIP, BLIP-2)."""

    def __init__(self, model: Any, processor: Any, checkpoint: Checkpoint, answer: str) -> None:
        super().__init__(model, processor, checkpoint, answer)
        self._family = model.config.model_type
        if not getattr(processor, "chat_template", None) and self._family not in PLAIN:
            raise BadInput(
                f"{checkpoint.name!r} has no chat template, so the form of questions is unknown",
                allowed=f"a model with a chat template, blip, {', '.join(PLAIN)}",
            )
        text = getattr(model.config, "text_config", model.config)
        self._decodes = bool(getattr(text, "is_encoder_decoder", False))

    def log_probability(
        self, pictures: Sequence[Picture], questions: Sequence[str]
    ) -> torch.Tensor:
        """The log-probability of the whole answer to each question."""
        import torch

        inputs = [self._inputs(p, q) for p, q in zip(pictures, questions, strict=True)]
        shapes = [tuple((name, tuple(t.shape)) for name, t in sorted(i.items())) for i in inputs]
        answered = torch.empty(len(questions), dtype=torch.float64)
        for part in alike(shapes, PAIRS):
            joined = {name: torch.cat([inputs[k][name] for k in part]) for name in inputs[part[0]]}
            answered[part] = self._answer_log_probability(
                to_device(joined, self._checkpoint), len(part)
            ).cpu()
        return answered

    def _inputs(self, picture: Picture, question: str) -> dict[str, torch.Tensor]:
        if getattr(self._processor, "chat_template", None):
            content = [
                {"type": "image", "image": picture.open()},
                {"type": "text", "text": question},
            ]
            return dict(
                self._processor.apply_chat_template(
                    [{"role": "user", "content": content}],
                    add_generation_prompt=True,
                    tokenize=True,
                    return_dict=True,
                    return_tensors="pt",
                )
            )
        prompt = PLAIN[self._family].replace("{question}", question)
        return dict(self._processor(images=picture.open(), text=prompt, return_tensors="pt"))

    def _answer_log_probability(self, inputs: dict[str, torch.Tensor], count: int) -> torch.Tensor:
        import torch

        answer = torch.tensor([self._answer] * count, device=self._checkpoint.device)
        with torch.inference_mode():
            if self._decodes:
                logits = self._model(**inputs, labels=answer).logits
            else:
                logits = self._model(**_longer(inputs, answer[:, :-1])).logits
            return log_probabilities(logits[:, -answer.shape[1] :], answer).sum(1)


def _longer(inputs: dict[str, torch.Tensor], more: torch.Tensor) -> dict[str, torch.Tensor]:
    """The prompt with tokens appended; parallel inputs grow with them."""
    import torch

    shape = inputs["input_ids"].shape
    grown = dict(inputs)
    for name, value in inputs.items():
        if value.shape == shape and more.shape[1]:
            tail = more if name == "input_ids" else torch.ones_like(more)
            tail = torch.zeros_like(more) if name.endswith("token_type_ids") else tail
            grown[name] = torch.cat([value, tail.to(value.dtype)], dim=1)
    return grown
