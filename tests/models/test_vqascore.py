"""`vqascore`: the probability of "Yes" equals what the library's own calls give."""

from __future__ import annotations

import numpy as np
import pytest
from tests.models.small import (
    CAPTIONS,
    WORDS,
    bert_tokenizer,
    library,
    one_thread,
    pairs,
    pictures,
    wide,
)

from tellapart.errors import BadInput
from tellapart.models.model import PairScorer
from tellapart.models.names import load

TEXT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
VISION = TEXT | {"image_size": 32, "patch_size": 8}
QUESTION = 'Does this figure show "{}"? Please answer yes or no.'


@pytest.fixture(scope="module")
def transformers():
    found = library("transformers")
    with one_thread():
        yield found


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return pictures(tmp_path_factory.mktemp("pictures"), count=3)


@pytest.fixture(scope="module")
def blip(transformers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("blip-vqa")
    tokenizer = bert_tokenizer(transformers, folder)
    text = TEXT | {
        "vocab_size": len(tokenizer) + 2, "max_position_embeddings": 64, "encoder_hidden_size": 32,
        "projection_dim": 16, "bos_token_id": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id, "sep_token_id": tokenizer.sep_token_id,
    }  # fmt: skip
    config = transformers.BlipConfig(text_config=text, vision_config=VISION, projection_dim=16)
    model = wide(transformers.BlipForQuestionAnswering(config), 0.2)
    for name, parameter in model.text_encoder.named_parameters():
        if name.endswith("output.dense.weight"):  # else the picture drowns out the question
            parameter.data *= 0.2
    model.save_pretrained(folder)
    images = transformers.BlipImageProcessor(size={"height": 32, "width": 32})
    transformers.BlipProcessor(images, tokenizer).save_pretrained(folder)
    return folder


def word_tokenizer(transformers, **more):
    """A tokenizer of whole words, with a place for pictures."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokens = ["<pad>", "<unk>", "<s>", "</s>", "<image>", "USER", "ASSISTANT", "Yes", "Yessir"]
    tokens += [*WORDS.split(), *'.,!;?:"', "A", "Two", "Does", "Please"]
    vocabulary = {token: k for k, token in enumerate(dict.fromkeys(tokens))}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", bos_token="<s>",
        eos_token="</s>", model_max_length=256, **more,
    )  # fmt: skip


TEMPLATE = (
    "{% for m in messages %}USER: {% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<image> {% else %}{{ c['text'] }}{% endif %}{% endfor %}"
    "{% endfor %} ASSISTANT:"
)


@pytest.fixture(scope="module")
def llava(transformers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("llava")
    marks = {"image_token": "<image>"}
    tokenizer = word_tokenizer(transformers, extra_special_tokens=marks)
    text = transformers.LlamaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=256, num_key_value_heads=2, **TEXT
    )
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**VISION), text_config=text,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1, vision_feature_select_strategy="default",
    )  # fmt: skip
    wide(transformers.LlavaForConditionalGeneration(config)).save_pretrained(folder)
    images = transformers.CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )
    transformers.LlavaProcessor(
        images, tokenizer, patch_size=8, vision_feature_select_strategy="default",
        num_additional_image_tokens=1, chat_template=TEMPLATE,
    ).save_pretrained(folder)  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def instructblip(transformers, tmp_path_factory):
    """With an encoder-decoder language model, as with Flan-T5."""
    folder = tmp_path_factory.mktemp("instructblip")
    tokenizer = word_tokenizer(transformers)
    text = transformers.T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=3,
    )  # fmt: skip
    qformer = TEXT | {"vocab_size": 100, "encoder_hidden_size": 32, "max_position_embeddings": 64}
    config = transformers.InstructBlipConfig(
        vision_config=VISION, qformer_config=qformer, text_config=text.to_dict(),
        num_query_tokens=4, image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )  # fmt: skip
    wide(transformers.InstructBlipForConditionalGeneration(config)).save_pretrained(folder)
    transformers.InstructBlipProcessor(
        transformers.BlipImageProcessor(size={"height": 32, "width": 32}), tokenizer,
        bert_tokenizer(transformers, folder / "qformer"), num_query_tokens=4,
    ).save_pretrained(folder)  # fmt: skip
    return folder


def test_blip_equals_the_librarys_own_loss(transformers, blip, seen):
    import torch

    own = transformers.BlipForQuestionAnswering.from_pretrained(blip).eval()
    processor = transformers.AutoProcessor.from_pretrained(blip)
    model = load(f"vqascore:{blip}?device=cpu")
    assert isinstance(model, PairScorer)
    scores = model.score_pairs(*pairs(seen))
    start = own.config.text_config.bos_token_id
    yes = processor.tokenizer.convert_tokens_to_ids("yes")
    for score, picture, text in zip(scores, *pairs(seen), strict=True):
        question = QUESTION.format(text)
        inputs = processor(images=picture.open(), text=question, return_tensors="pt")
        with torch.no_grad():
            loss = own(**inputs, labels=torch.tensor([[start, yes]])).loss
        assert score == pytest.approx(float(torch.exp(-loss)), rel=1e-4)
    grid = np.log(scores).reshape(len(seen), -1)
    assert np.ptp(grid, axis=0).min() > 0.01 and np.ptp(grid, axis=1).min() > 0.01


def test_llava_equals_the_librarys_next_token(transformers, llava, seen):
    import torch

    own = transformers.LlavaForConditionalGeneration.from_pretrained(llava).eval()
    processor = transformers.AutoProcessor.from_pretrained(llava)
    scores = load(f"vqascore:{llava}").score_pairs(*pairs(seen))
    yes = processor.tokenizer.convert_tokens_to_ids("Yes")
    for score, picture, text in zip(scores, *pairs(seen), strict=True):
        prompt = f"USER: <image> {QUESTION.format(text)} ASSISTANT:"
        inputs = processor(images=picture.open(), text=prompt, return_tensors="pt")
        with torch.no_grad():
            chance = own(**inputs).logits[0, -1].softmax(-1)[yes]
        assert score == pytest.approx(float(chance), abs=1e-5)
    assert np.ptp(scores) > 1e-3


def test_an_answer_of_several_tokens_counts_in_full(transformers, llava, seen):
    import torch

    own = transformers.LlavaForConditionalGeneration.from_pretrained(llava).eval()
    processor = transformers.AutoProcessor.from_pretrained(llava)
    (score,) = load(f"vqascore:{llava}?answer=yes please").score_pairs(seen[:1], CAPTIONS[:1])
    prompt = f"USER: <image> {QUESTION.format(CAPTIONS[0])} ASSISTANT: yes please"
    inputs = processor(images=seen[0].open(), text=prompt, return_tensors="pt")
    ids = inputs.input_ids[0, -2:]
    with torch.no_grad():
        logits = own(**inputs).logits[0, -3:-1].log_softmax(-1)
    assert score == pytest.approx(float(logits.gather(1, ids[:, None]).sum().exp()), abs=1e-6)


def test_instructblip_with_an_encoder_decoder_equals_the_librarys_loss(
    transformers, instructblip, seen
):
    import torch

    own = transformers.InstructBlipForConditionalGeneration.from_pretrained(instructblip).eval()
    processor = transformers.AutoProcessor.from_pretrained(instructblip)
    scores = load(f"vqascore:{instructblip}").score_pairs(*pairs(seen))
    yes = torch.tensor([[processor.tokenizer.convert_tokens_to_ids("Yes")]])
    for score, picture, text in zip(scores, *pairs(seen), strict=True):
        question = QUESTION.format(text)
        inputs = processor(images=picture.open(), text=question, return_tensors="pt")
        with torch.no_grad():
            loss = own(**inputs, labels=yes).loss
        assert score == pytest.approx(float(torch.exp(-loss)), abs=1e-5)
    assert np.ptp(scores) > 1e-3


def test_the_question_is_part_of_the_name_and_comes_back(blip, seen):
    plain = load(f"vqascore:{blip}")
    asked = load(f"vqascore:{blip}?question=is this {{caption}} %26 no dogs?")
    assert asked.facts.options["question"] == "is this {caption} & no dogs?"
    again = load(asked.facts.name)
    assert again.facts == asked.facts != plain.facts
    first, second = (m.score_pairs(seen[:1], CAPTIONS[:1]) for m in (asked, again))
    np.testing.assert_array_equal(first, second)
    other = plain.score_pairs(seen[:1], CAPTIONS[:1])
    assert abs(np.log(first[0] / other[0])) > 0.01


def test_mistakes_are_explained(blip):
    with pytest.raises(BadInput, match="has no placeholder for the caption"):
        load(f"vqascore:{blip}?question=is it true?")
    with pytest.raises(BadInput, match="cannot spell the answer"):
        load(f"vqascore:{blip}?answer=√")
