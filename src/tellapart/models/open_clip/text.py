"""Texts through open_clip's text towers, trimmed to their length where that is exact.

In a tower with a causal mask nothing behind the end token reaches what is read off there, so the
padding behind it can be left out. open_clip's own `encode_text` takes only the full length. Other
towers (SigLIP: all tokens see all 64, padding too; CoCa; Hugging Face towers) get it in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def trims(model: Any) -> bool:
    """Whether a model's text tower may be given trimmed texts."""
    tower = getattr(model, "text", model)
    parts = ("token_embedding", "positional_embedding", "transformer", "ln_final")
    return (
        all(hasattr(tower, part) for part in parts)
        and getattr(tower, "attn_mask", None) is not None
        and getattr(tower, "cls_emb", None) is None
        and not getattr(tower, "use_pad_mask", False)
        and not getattr(tower, "output_tokens", False)
        and _pool(tower) in ("argmax", "eos")
        and hasattr(model, "encode_text")
        and type(model).__name__ in ("CLIP", "CustomTextCLIP")
    )


def longest(model: Any, tokens: torch.Tensor) -> list[int]:
    """How many tokens of each text matter: up to and with the end token, or all of them."""
    if not trims(model):
        return [tokens.shape[1]] * tokens.shape[0]
    return [int(k) + 1 for k in _ends(getattr(model, "text", model), tokens)]


def encode_text(model: Any, tokens: torch.Tensor) -> torch.Tensor:
    """What `model.encode_text(tokens)` gives, without computing what comes to nothing."""
    if not trims(model):
        full: torch.Tensor = model.encode_text(tokens)
        return full
    import torch

    tower = getattr(model, "text", model)
    ends = _ends(tower, tokens)
    length = int(ends.max()) + 1
    dtype = tower.transformer.get_cast_dtype()
    x = tower.token_embedding(tokens[:, :length]).to(dtype)
    x = x + tower.positional_embedding[:length].to(dtype)
    x = tower.transformer(x, attn_mask=tower.attn_mask[:length, :length])
    pooled: torch.Tensor = tower.ln_final(x)[torch.arange(len(tokens), device=x.device), ends]
    projection = tower.text_projection
    if projection is None:
        return pooled
    projected: torch.Tensor = projection(pooled) if callable(projection) else pooled @ projection
    return projected


def _pool(tower: Any) -> str:
    return str(getattr(tower, "text_pool_type", getattr(tower, "pool_type", "")))


def _ends(tower: Any, tokens: torch.Tensor) -> torch.Tensor:
    if _pool(tower) == "argmax":
        return tokens.argmax(dim=-1)
    end = tokens.new_tensor(getattr(tower, "text_eos_id", getattr(tower, "eos_id", None)))
    return tokens.eq(end).int().argmax(dim=-1)
