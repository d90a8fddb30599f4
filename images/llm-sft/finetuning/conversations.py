"""Supervised fine-tuning: conversations, packed or alone, and the loss on what is learned of them.

In a packed sequence each conversation counts its positions from 0, and no attention mask is given:
from that transformers makes a mask in which no conversation sees another, for each kind of
attention that the model has (transformers, masking_utils.py, find_packed_sequence_indices).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from runwright_runtime import Unusable
from runwright_runtime.distributed import World
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from finetuning.chat import Chat, Encoded
from finetuning.packing import packed
from finetuning.rows import Rows
from finetuning.task import IGNORED, Batch, labels_of, padded, rounded
from finetuning.tokenized import tokenized

if TYPE_CHECKING:
    from arguments import Arguments


class Conversations:
    """The samples: sequences of up to `sequence_length` tokens. Raises Unusable."""

    measured: tuple[str, ...] = ("loss",)

    def __init__(self, args: Arguments, rows: Rows, chat: Chat, world: World) -> None:
        def encode(index: int) -> list[Encoded]:
            row, where = rows[index], rows.place(index)
            if "messages" not in row:
                raise Unusable(f"{where} has no messages, but {', '.join(map(str, row)) or 'none'}")
            tools = row.get("tools") or None
            return [chat.encoded(row["messages"], tools, where, args.answers_only)]

        self._length = args.sequence_length
        self._padding = chat.tokenizer.pad_token_id or 0
        self._packing = args.packing
        found, self.note = tokenized(rows, encode, world, self._length, args.too_long)
        self._found = found
        lengths = [found.length(row) for row in range(found.rows)]
        self._groups = (
            packed(lengths, self._length) if args.packing else [[row] for row in range(found.rows)]
        )
        self._weights = [sum(found.learned(row) for row in group) for group in self._groups]
        total = sum(lengths)
        self.fingerprint = found.fingerprint
        self.attended = sum(length**2 for length in lengths) / total
        self.about = {
            "conversations": found.rows,
            "sequences": len(self._groups),
            "tokens": total,
            "learned": sum(self._weights),
            "filled": round(total / (len(self._groups) * self._length), 4),
        }

    def __len__(self) -> int:
        return len(self._groups)

    def weight(self, sample: int) -> int:
        return self._weights[sample]

    def batch(self, samples: Sequence[int]) -> Batch:
        rows: list[tuple[list[int], list[int], list[int]]] = []
        for sample in samples:
            ids: list[int] = []
            labels: list[int] = []
            positions: list[int] = []
            for row in self._groups[sample]:
                tokens, following = labels_of(*self._found.sequence(row))
                ids += tokens
                labels += following
                positions += range(len(tokens))
            rows.append((ids, labels, positions))
        longest = max(len(ids) for ids, _, _ in rows)
        length = self._length if self._packing else min(self._length, rounded(longest))
        made = {
            "input_ids": padded([ids for ids, _, _ in rows], length, self._padding),
            "labels": padded([labels for _, labels, _ in rows], length, IGNORED),
            "tokens": torch.tensor(sum(len(ids) for ids, _, _ in rows)),
        }
        if self._packing:
            # What fills a sequence up is one more conversation, that nobody learns.
            for ids, _, positions in rows:
                positions += range(length - len(ids))
            made["position_ids"] = torch.tensor([positions for _, _, positions in rows])
        else:
            made["attention_mask"] = padded([[1] * len(ids) for ids, _, _ in rows], length, 0)
        return made

    def measure(self, model: nn.Module, batch: Batch) -> list[Tensor]:
        labels = batch["labels"].flatten()
        inputs = {
            name: batch[name]
            for name in ("input_ids", "position_ids", "attention_mask")
            if name in batch
        }
        # With a cache transformers takes no notice of positions that begin anew.
        logits = model(**inputs, use_cache=False).logits.flatten(0, 1)
        wanted = labels != IGNORED
        # In 4 bytes for these only: it is the largest thing there is.
        return [cross_entropy(logits[wanted].float(), labels[wanted], reduction="sum")]


def refuse_mixing(model: nn.Module, vocabulary: int, device: torch.device) -> None:
    """Raise Unusable if a conversation sees the one before it in its sequence.

    So it is with models that have other means than attention to carry something on. All processes
    call it.
    """
    length = 8
    first = torch.arange(length) % vocabulary
    other = (torch.arange(length) * 7 + 3) % vocabulary
    last = (torch.arange(length) * 5 + 1) % vocabulary
    ids = torch.stack([torch.cat([first, last]), torch.cat([other, last])]).to(device)
    positions = torch.arange(length).repeat(2, 2).to(device)
    model.eval()
    with torch.no_grad():
        found = model(input_ids=ids, position_ids=positions, use_cache=False)
    model.train()
    logits = found.logits[:, length:].float()
    if not torch.allclose(logits[0], logits[1], rtol=1e-3, atol=1e-3):
        raise Unusable(
            "with this model a conversation sees those before it in its sequence: give --no-packing"
        )
