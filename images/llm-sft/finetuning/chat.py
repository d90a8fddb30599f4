"""Conversations as tokens, and which of them are an answer's.

The chat template makes one text of a conversation, and the text is turned into tokens at once, as
it is when the model is asked. A token is an answer's if it begins within one. Where answers begin
and end the template says itself, with `{% generation %}`; for others each answer is what the
template adds to the conversation before it, once that ends as it does when the model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from runwright_runtime import Unusable

Message = Mapping[str, Any]

_MARKED = re.compile(r"\{%-?\s*generation\s*-?%\}")
# Templates that write the day would make other tokens on each: it is always this one.
_SAME_DAY = (
    "{%- macro strftime_now(format) -%}{{- format | replace('%d', '26') | replace('%b', 'Jul')"
    " | replace('%B', 'July') | replace('%m', '07') | replace('%Y', '2024') | replace('%y', '24')"
    " | replace('%A', 'Friday') | replace('%a', 'Fri') | replace('%H', '00') | replace('%M', '00')"
    " | replace('%S', '00') -}}{%- endmacro -%}"
)


class Encoded(NamedTuple):
    """The tokens of a conversation, and of each whether it is learned."""

    tokens: list[int]
    learned: list[bool]


class Chat:
    """A tokenizer with a template. Raises Unusable for a pair that cannot do this."""

    def __init__(self, tokenizer: Any, template: str | None = None) -> None:
        if template is not None:
            try:
                tokenizer.chat_template = Path(template).read_text("utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise Unusable(f"cannot read the chat template {template}: {error}") from error
        if not isinstance(tokenizer.chat_template, str) or not tokenizer.chat_template:
            raise Unusable("the tokenizer has no chat template: name a file with chat_template")
        if not tokenizer.is_fast:
            raise Unusable(
                "the tokenizer does not say where in the text its tokens are: use a fast"
            )
        self.tokenizer = tokenizer
        self._template = _SAME_DAY + tokenizer.chat_template
        self._marked = _MARKED.search(tokenizer.chat_template) is not None

    def encoded(
        self, messages: object, tools: object, where: str, answers_only: bool = True
    ) -> Encoded:
        """A conversation as tokens. Raises Unusable, naming the place."""
        conversation = checked(messages, where)
        if not any(message["role"] == "assistant" for message in conversation):
            raise Unusable(f"{where} has no answer: no message has the role assistant")
        text, spans = self._spans(conversation, tools, where)
        return self._tokens(text, spans if answers_only else [(0, len(text))])

    def answered(
        self, asked: object, answer: object, tools: object, where: str, name: str
    ) -> Encoded:
        """A beginning and one answer to it: only the answer counts. Raises Unusable."""
        before = [*checked(asked, f"{where}: prompt")]
        if isinstance(answer, str):
            answer = [{"role": "assistant", "content": answer}]
        after = [*checked(answer, f"{where}: {name}")]
        if after[0]["role"] != "assistant":
            raise Unusable(f"{where}: {name} begins with the role {after[0]['role']}")
        text, spans = self._spans([*before, *after], tools, where)
        begin = len(self._rendered(before, tools, where, True))
        return self._tokens(text, [span for span in spans if span[0] >= begin])

    def _tokens(self, text: str, spans: Sequence[tuple[int, int]]) -> Encoded:
        made = self.tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        learned: list[bool] = []
        left = iter(spans)
        begin, end = next(left, (0, 0))
        for start, stop in made["offset_mapping"]:
            while start >= end and (begin, end) != (0, 0):
                begin, end = next(left, (0, 0))
            learned.append(begin <= start < end and start < stop)
        return Encoded(list(made["input_ids"]), learned)

    def _spans(
        self, conversation: Sequence[Message], tools: object, where: str
    ) -> tuple[str, list[tuple[int, int]]]:
        """The text, and where in it the answers are."""
        if self._marked:
            text, spans = self._marked_spans(conversation, tools, where)
            if not spans:
                raise Unusable(f"{where}: the chat template marks no answer")
            return text, spans
        text = self._rendered(conversation, tools, where, False)
        spans = []
        for index, message in enumerate(conversation):
            if message["role"] != "assistant":
                continue
            if index and conversation[index - 1]["role"] == "assistant":
                asked = self._rendered(conversation[:index], tools, where, False)
            else:
                asked = self._rendered(conversation[:index], tools, where, True)
            answered = self._rendered(conversation[: index + 1], tools, where, False)
            if not (text.startswith(answered) and answered.startswith(asked)):
                raise Unusable(
                    f"{where}: the chat template does not write message {index} behind those "
                    "before it, as when the model is asked: mark the answers in it with "
                    "{% generation %}"
                )
            spans.append((len(asked), len(answered)))
        return text, spans

    def _rendered(
        self, conversation: Sequence[Message], tools: object, where: str, asks: bool
    ) -> str:
        if not conversation and asks:
            raise Unusable(f"{where} begins with an answer")
        return self._render(conversation, tools, where, asks, False)[0]

    def _marked_spans(
        self, conversation: Sequence[Message], tools: object, where: str
    ) -> tuple[str, list[tuple[int, int]]]:
        text, spans = self._render(conversation, tools, where, False, True)
        return text, [(begin, end) for begin, end in spans if begin < end]

    def _render(
        self, conversation: Sequence[Message], tools: object, where: str, asks: bool, marks: bool
    ) -> tuple[str, list[Any]]:
        from transformers.utils.chat_template_utils import render_jinja_template

        render = cast("Any", render_jinja_template)
        try:
            texts, spans = render(
                [list(conversation)],
                tools=tools,
                chat_template=self._template,
                add_generation_prompt=asks,
                return_assistant_tokens_mask=marks,
                **self.tokenizer.special_tokens_map,
            )
        except Exception as error:  # whatever a template does to a row
            raise Unusable(f"{where}: the chat template refuses it: {error}") from error
        return texts[0], spans[0] if spans else []


def checked(messages: object, where: str) -> Sequence[Message]:
    """Messages, each with a role and a content. Raises Unusable."""
    if not isinstance(messages, list) or not messages:
        raise Unusable(f"{where}: messages must be a list of maps with role and content")
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise Unusable(f"{where}: message {index} is no map, but {type(message).__name__}")
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str) or not role:
            raise Unusable(f"{where}: message {index} has no role")
        if not isinstance(content, str) and not message.get("tool_calls"):
            raise Unusable(f"{where}: message {index} ({role}) has no text as content")
        if role == "assistant" and content == "" and not message.get("tool_calls"):
            raise Unusable(f"{where}: message {index} is an empty answer")
    return messages
