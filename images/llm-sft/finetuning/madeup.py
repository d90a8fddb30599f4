"""A model, a tokenizer and conversations that are made here, for runs without files or a network.

The tokenizer has a token for each byte, so that it needs no merges, and the model is two blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

NAME = "made-up"
"""What `model` and `data` say for it."""

SPECIAL = ("<|pad|>", "<|begin|>", "<|end|>")
TEMPLATE = (
    "{%- for message in messages -%}"
    "<|begin|>{{ message['role'] }}\n{{ message['content'] }}<|end|>"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|begin|>assistant\n' }}{%- endif -%}"
)
COLOURS = {
    "grass": "green", "snow": "white", "coal": "black", "the sky": "blue", "a lemon": "yellow",
    "blood": "red", "an orange": "orange", "a violet": "purple", "ash": "grey", "mud": "brown",
    "a rose": "pink", "gold": "golden",
}  # fmt: skip


def tokenizer() -> Any:
    """A token for each byte, three special ones, and a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    bytes_ = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {word: index for index, word in enumerate([*SPECIAL, *bytes_])}
    inner = Tokenizer(models.BPE(vocab=words, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]
    inner.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token=SPECIAL[0],
        eos_token=SPECIAL[2],
        additional_special_tokens=[SPECIAL[1]],
    )
    made.chat_template = TEMPLATE
    return made


def config() -> Any:
    """A Llama of two blocks, 64 wide, for that tokenizer."""
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=len(SPECIAL) + 256,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=2,
        tie_word_embeddings=False,
    )


def built(config: Any) -> nn.Module:
    """A model of a kind in 32 bits, with the weights that it begins with."""
    import torch
    from transformers import LlamaConfig

    if type(config) is LlamaConfig:
        # The same class, without the list of all others.
        from transformers import LlamaForCausalLM

        return LlamaForCausalLM(config)
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_config(config, dtype=torch.float32)


def model(config: Any, seed: int) -> nn.Module:
    """The model, with weights drawn by the seed; leaves the generator as it was."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return built(config)


def conversations() -> list[dict[str, object]]:
    """Questions and answers, alone and two in a conversation."""

    def said(role: str, content: str) -> dict[str, str]:
        return {"role": role, "content": content}

    def pair(thing: str) -> list[dict[str, str]]:
        return [
            said("user", f"What colour is {thing}?"),
            said("assistant", f"{thing[0].upper()}{thing[1:]} is {COLOURS[thing]}."),
        ]

    things = list(COLOURS)
    alone: list[dict[str, object]] = [{"messages": pair(thing)} for thing in things]
    two: list[dict[str, object]] = [
        {"messages": [*pair(one), *pair(other)]}
        for one, other in zip(things, things[5:], strict=False)
    ]
    return [*alone, *two]


def preferences() -> list[dict[str, object]]:
    """Questions with an answer that is one, and one that is none."""
    return [
        {
            "prompt": [{"role": "user", "content": f"What colour is {thing}?"}],
            "chosen": f"It is {colour}.",
            "rejected": f"Who knows what {thing} is like?",
        }
        for thing, colour in COLOURS.items()
    ]
