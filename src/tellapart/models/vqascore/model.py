"""`vqascore`: the probability that a model answers "Yes" when asked whether the caption fits.

Lin et al., Evaluating Text-to-Visual Generation with Image-to-Text Generation, ECCV 2024,
section 3. Any model that answers questions about pictures can be asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

import numpy as np

from tellapart.errors import BadInput
from tellapart.models.hf.loading import (
    Wanted,
    described,
    fetch,
    transformers_library,
    weights_of,
)
from tellapart.models.model import Facts, Floats
from tellapart.models.names import canonical
from tellapart.models.torch_tools import device_of, dtype_of, fingerprint
from tellapart.models.vqascore.families import BlipAnswers, GenerativeAnswers
from tellapart.pictures import Picture

if TYPE_CHECKING:
    import torch

QUESTION = 'Does this figure show "{caption}"? Please answer yes or no.'
ANSWER = "Yes"
PLACE = "{caption}"


class _Answers(Protocol):
    """A family of models that answer."""

    def log_probability(
        self, pictures: Sequence[Picture], questions: Sequence[str]
    ) -> torch.Tensor:
        """Of the whole answer, one a question."""
        ...


class VQAScore:
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
                f"the question {question!r} has no place for the caption",
                allowed=f"text with {PLACE} in it",
            )
        transformers = transformers_library()
        dtype_of(dtype)
        wanted = Wanted(name, dtype, device_of(device), revision)
        config = fetch(transformers.AutoConfig.from_pretrained, wanted)
        self._question = question
        blip = config.model_type == "blip"
        kind = "BlipForQuestionAnswering" if blip else "AutoModelForImageTextToText"
        model = weights_of(getattr(transformers, kind), wanted)
        processor = fetch(transformers.AutoProcessor.from_pretrained, wanted)
        family = BlipAnswers if blip else GenerativeAnswers
        self._answers: _Answers = family(model, processor, wanted, answer)
        told = {"dtype": dtype, "device": device, "revision": revision}
        told |= {"question": quote(question)} if question != QUESTION else {}
        told |= {"answer": quote(answer)} if answer != ANSWER else {}
        self.facts = Facts(
            name=canonical("vqascore", told, name),
            options={
                "family": config.model_type,
                "question": question,
                "answer": answer,
                "dtype": dtype,
                "device": wanted.device,
            },
            weights=fingerprint(model),
            preprocessing=described(
                processor.image_processor,
                processor.tokenizer,
                [getattr(processor, "chat_template", None) or ""],
            ),
            dtype=dtype,
        )

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """One probability a pair, in float64: near 1 float32 would make ties."""
        if not texts:
            return np.empty(0)
        asked = [self._question.replace(PLACE, text) for text in texts]
        return np.asarray(np.exp(self._answers.log_probability(pictures, asked).numpy()))
