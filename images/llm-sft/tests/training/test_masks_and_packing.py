"""Which tokens are learned, and that packed conversations do not see each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from finetuning import madeup
from finetuning.chat import Chat
from finetuning.conversations import Conversations, refuse_mixing
from finetuning.packing import packed
from finetuning.rows import Listed
from runwright_runtime import Unusable
from runwright_runtime.distributed import World
from torch.nn.functional import log_softmax
from tunings import arguments

END = "<|end|>"
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Snow?"},
    {"role": "assistant", "content": "White – weiß."},
    {"role": "user", "content": "Coal?"},
    {"role": "assistant", "content": "Black."},
]
MARKED = (
    "{% for m in messages %}[{{ m.role }}]{% if m.role == 'assistant' %}"
    "{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}"
    "{% endfor %}"
)
# Earlier answers are left out, as models do it that think before they answer.
FORGETFUL = (
    "{% for m in messages %}{% if m.role != 'assistant' or loop.last %}[{{ m.role }}]"
    "{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)


def chat(template: str | None = None) -> Chat:
    tokenizer = madeup.tokenizer()
    if template is not None:
        tokenizer.chat_template = template
    return Chat(tokenizer)


def parts(made: Chat, messages: object, answers_only: bool = True) -> list[str]:
    """The texts of the tokens that are learned one after the other."""
    found = made.encoded(messages, None, "row 0", answers_only)
    runs: list[list[int]] = [[]]
    for token, learned in zip(found.tokens, found.learned, strict=True):
        if learned:
            runs[-1].append(token)
        elif runs[-1]:
            runs.append([])
    return [made.tokenizer.decode(run) for run in runs if run]


def test_answers_are_learned_with_their_end_and_nothing_else() -> None:
    assert parts(chat(), TALK) == ["White – weiß." + END, "Black." + END]
    (whole,) = parts(chat(), TALK, answers_only=False)
    assert whole.startswith("<|begin|>system\nBe brief.<|end|><|begin|>user\nSnow?")
    assert whole.endswith("<|begin|>assistant\nBlack.<|end|>")


def test_the_tokens_are_those_that_the_model_is_asked_with() -> None:
    made = chat()
    text = made.tokenizer.apply_chat_template(TALK, tokenize=False)
    asked = made.tokenizer.apply_chat_template(
        TALK[:-1], tokenize=False, add_generation_prompt=True
    )
    found = made.encoded(TALK, None, "row 0")
    assert made.tokenizer.decode(found.tokens) == text
    before = made.tokenizer(asked, add_special_tokens=False)["input_ids"]
    assert found.tokens[: len(before)] == before
    assert found.learned[len(before) :] == [True] * len("Black.") + [True]
    assert not found.learned[len(before) - 1]


def test_a_template_may_mark_the_answers_itself() -> None:
    assert parts(chat(MARKED), TALK) == ["White – weiß.", "Black."]


def test_two_answers_in_a_row_are_both_learned() -> None:
    twice = [*TALK, {"role": "assistant", "content": "Very."}]
    # Between them stands the head of the second, which nobody answers.
    assert parts(chat(MARKED), twice)[-2:] == ["Black.", "Very."]


def test_a_template_that_writes_the_day_gives_the_same_on_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dated = "{{ strftime_now('%d %B %Y') }}" + madeup.TEMPLATE
    text = chat(dated).tokenizer.decode(chat(dated).encoded(TALK, None, "row 0").tokens)
    assert text.startswith("26 July 2024<|begin|>system")


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (
            FORGETFUL,
            "row 7: the chat template does not write message 2 behind those before it",
        ),
        ("{{ raise_exception('no system here') }}", "refuses it: no system here"),
        ("{% for m in messages %}{{ m.nothing.at_all }}{% endfor %}", "refuses it: "),
        ("{{ messages | length }}{% generation %}{% endgeneration %}", "marks no answer"),
    ],
)
def test_a_template_that_does_not_fit_is_told_with_the_row(template: str, said: str) -> None:
    made = chat(template)
    with pytest.raises(Unusable) as failure:
        made.encoded(TALK, None, "row 7")
    assert said in str(failure.value)


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([], "row 3: messages must be a list of maps with role and content"),
        ("hello", "row 3: messages must be a list of maps with role and content"),
        ([1], "row 3: message 0 is no map, but int"),
        ([{"content": "x"}], "row 3: message 0 has no role"),
        ([{"role": "user", "content": 3}], "row 3: message 0 (user) has no text as content"),
        ([{"role": "user", "content": "x"}], "row 3 has no answer: no message has the role"),
        (
            [{"role": "user", "content": "x"}, {"role": "assistant", "content": ""}],
            "row 3: message 1 is an empty answer",
        ),
        ([{"role": "assistant", "content": "x"}], "row 3 begins with an answer"),
    ],
)
def test_a_broken_conversation_is_told_with_its_place(messages: object, said: str) -> None:
    with pytest.raises(Unusable) as failure:
        chat().encoded(messages, None, "row 3")
    assert str(failure.value).startswith(said)


def test_a_tokenizer_without_a_template_is_refused(tmp_path: Path) -> None:
    tokenizer = madeup.tokenizer()
    tokenizer.chat_template = None
    with pytest.raises(Unusable, match="has no chat template"):
        Chat(tokenizer)
    with pytest.raises(Unusable, match="cannot read the chat template"):
        Chat(tokenizer, str(tmp_path / "none.jinja"))
    (tmp_path / "some.jinja").write_text(MARKED)
    assert parts(Chat(tokenizer, str(tmp_path / "some.jinja")), TALK)[-1] == "Black."


def test_packing_fills_sequences_and_loses_nothing() -> None:
    generator = torch.Generator().manual_seed(5)
    lengths = torch.randint(1, 100, (500,), generator=generator).tolist()
    groups = packed(lengths, 100)
    assert sorted(index for group in groups for index in group) == list(range(500))
    sums = [sum(lengths[index] for index in group) for group in groups]
    assert max(sums) <= 100
    # No fewer can do: the bound of best fit decreasing, 11/9 of the optimum and a little.
    assert len(groups) <= 11 / 9 * -(-sum(lengths) // 100) + 1
    assert packed(lengths, 100) == groups
    assert packed([60, 50, 40, 50], 100) == [[0, 2], [1, 3]]


def conversations(world: World, **values: object) -> Conversations:
    rows = Listed(madeup.conversations(), "made-up")
    return Conversations(arguments(**values), rows, chat(), world)


def plain_losses(model: Any) -> tuple[float, int]:
    """The sum of all losses of answers, conversation by conversation, without any batch."""
    made = chat()
    total, count = 0.0, 0
    for row in madeup.conversations():
        found = made.encoded(row["messages"], None, "")
        ids = torch.tensor([found.tokens])
        with torch.no_grad():
            scores = log_softmax(model(input_ids=ids).logits[0].double(), -1)
        for at in range(1, len(found.tokens)):
            if found.learned[at]:
                total -= float(scores[at - 1, found.tokens[at]])
                count += 1
    return total, count


@pytest.mark.parametrize("packing", [True, False])
@pytest.mark.parametrize("length", [128, 256])
def test_the_loss_is_that_of_each_conversation_alone(
    packing: bool, length: int, world: World
) -> None:
    model = madeup.model(madeup.config(), 3).eval()
    task = conversations(world, packing=packing, sequence_length=length)
    assert task.about["conversations"] == 19
    assert (len(task) < 19) == packing
    total, weight = 0.0, 0
    for begin in range(0, len(task), 3):
        samples = range(begin, min(begin + 3, len(task)))
        with torch.no_grad():
            (loss,) = task.measure(model, task.batch(samples))
        total += float(loss)
        weight += sum(task.weight(sample) for sample in samples)
    wanted, count = plain_losses(model)
    assert weight == count == task.about["learned"]
    assert total == pytest.approx(wanted, rel=1e-5)


def test_what_stands_before_in_a_sequence_changes_nothing(world: World) -> None:
    model = madeup.model(madeup.config(), 3).eval()
    task = conversations(world, sequence_length=256)
    batch = task.batch([0])
    positions = batch["position_ids"][0]
    starts = (positions == 0).nonzero().flatten().tolist()
    assert len(starts) > 2
    ids = batch["input_ids"].clone()
    ids[0, : starts[1]] = 7
    with torch.no_grad():
        logits = [
            model(input_ids=one, position_ids=batch["position_ids"], use_cache=False).logits[0]
            for one in (batch["input_ids"], ids)
        ]
    assert not torch.equal(logits[0][: starts[1]], logits[1][: starts[1]])
    assert torch.equal(logits[0][starts[1] :], logits[1][starts[1] :])


def test_a_model_that_mixes_packed_conversations_is_refused() -> None:
    class Mixing(torch.nn.Module):
        """Takes no notice of positions."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = madeup.model(madeup.config(), 3)

        def forward(self, input_ids: torch.Tensor, position_ids: object, use_cache: bool) -> Any:
            return self.inner(input_ids=input_ids, use_cache=use_cache)

    refuse_mixing(madeup.model(madeup.config(), 3), 200, torch.device("cpu"))
    with pytest.raises(Unusable, match="give --no-packing"):
        refuse_mixing(Mixing(), 200, torch.device("cpu"))
