"""Direct preference optimization: of two answers the one that is preferred becomes likelier.

    loss = -log sigmoid(beta × ((π(chosen) - r(chosen)) - (π(rejected) - r(rejected))))

π are log-probabilities of an answer under the model, r those under the model that it began as
(Rafailov et al., "Direct Preference Optimization", 2023, equation 7). The latter never change, so
they are computed once, before the first step, and kept beside the checkpoints.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from runwright_runtime import Unusable, save
from runwright_runtime.distributed import World
from runwright_runtime.session import Session
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, logsigmoid

from finetuning.chat import Chat, Encoded
from finetuning.rows import Rows
from finetuning.task import IGNORED, Batch, labels_of, padded, rounded
from finetuning.tokenized import tokenized

if TYPE_CHECKING:
    from arguments import Arguments

NAMES = {"data": "reference.json", "eval_data": "reference-eval.json"}
"""Files with log-probabilities under the first model, in the checkpoint folder."""


class Preferences:
    """The samples: pairs of answers to the same. Raises Unusable."""

    measured: tuple[str, ...] = ("loss", "margin", "accuracy")

    def __init__(self, args: Arguments, rows: Rows, chat: Chat, world: World) -> None:
        def encode(index: int) -> list[Encoded]:
            row, where = rows[index], rows.place(index)
            missing = [name for name in ("prompt", "chosen", "rejected") if name not in row]
            if missing:
                raise Unusable(
                    f"{where} has no {' and no '.join(missing)}, but "
                    f"{', '.join(map(str, row)) or 'none'}"
                )
            prompt = row["prompt"]
            if isinstance(prompt, str):
                prompt = [{"role": "user", "content": prompt}]
            tools = row.get("tools") or None
            return [
                chat.answered(prompt, row[name], tools, where, name)
                for name in ("chosen", "rejected")
            ]

        self._length = args.sequence_length
        self._padding = chat.tokenizer.pad_token_id or 0
        self._beta = args.dpo_beta
        self._found, self.note = tokenized(rows, encode, world, self._length, args.too_long, 2)
        found = self._found
        self.reference: Tensor | None = None
        self.fingerprint = found.fingerprint
        lengths = [found.length(row, which) for row in range(len(self)) for which in (0, 1)]
        total = sum(lengths)
        self.attended = sum(length**2 for length in lengths) / total
        self.about = {"pairs": len(self), "tokens": total}

    def __len__(self) -> int:
        return self._found.rows

    def weight(self, sample: int) -> int:
        return 1

    def batch(self, samples: Sequence[int]) -> Batch:
        both = [
            labels_of(*self._found.sequence(sample, which))
            for which in (0, 1)
            for sample in samples
        ]
        length = min(self._length, rounded(max(len(ids) for ids, _ in both)))
        made = {
            "input_ids": padded([ids for ids, _ in both], length, self._padding),
            "labels": padded([labels for _, labels in both], length, IGNORED),
            "attention_mask": padded([[1] * len(ids) for ids, _ in both], length, 0),
            "tokens": torch.tensor(sum(len(ids) for ids, _ in both)),
            "samples": torch.tensor(samples),
        }
        if self.reference is not None:
            made["reference"] = self.reference[samples]
        return made

    def measure(self, model: nn.Module, batch: Batch) -> list[Tensor]:
        gained = log_probabilities(model, batch) - batch["reference"].float()
        margin = self._beta * (gained[:, 0] - gained[:, 1])
        return [-logsigmoid(margin).sum(), margin.sum(), (margin > 0).float().sum()]

    def refer(
        self, model: nn.Module, micro: int, session: Session, origin: str, name: str = "data"
    ) -> None:
        """Compute the log-probabilities of all answers under the model as it is, or find them.

        All processes call it, before a checkpoint is put back. Raises what writing them raises.
        """
        key = {"data": self.fingerprint, "model": origin}
        world = session.world
        kept = world.told(lambda: _kept(session, NAMES[name], key))
        if kept is not None:
            self.reference = torch.tensor(kept, dtype=torch.float64)
            return
        made = torch.zeros(len(self), 2, dtype=torch.float64)
        model.eval()
        with torch.no_grad():
            for begin in range(0, len(self), micro * world.size):
                mine = range(begin + world.rank * micro, begin + (world.rank + 1) * micro)
                samples = [sample for sample in mine if sample < len(self)]
                # All have to take part in each pass.
                batch = self.batch(samples or [0])
                found = log_probabilities(
                    model, {name: tensor.to(session.device) for name, tensor in batch.items()}
                )
                if samples:
                    made[samples] = found.double().cpu()
        model.train()
        self.reference = torch.tensor(world.sums(made.flatten().tolist())).reshape(-1, 2).double()
        world.told(lambda: _keep(session, NAMES[name], key, self.reference.tolist()))  # type: ignore[union-attr]  # pyright: ignore


def log_probabilities(model: nn.Module, batch: Batch) -> Tensor:
    """Of each pair the log-probabilities of its two answers, each the sum over its tokens."""
    labels = batch["labels"]
    logits = model(
        input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], use_cache=False
    ).logits
    wanted = labels != IGNORED
    lost = cross_entropy(logits[wanted].float(), labels[wanted], reduction="none")
    rows = wanted.nonzero()[:, 0]
    sums = torch.zeros(len(labels), device=lost.device).index_add(0, rows, -lost)
    return sums.reshape(2, -1).T


def _kept(session: Session, name: str, key: dict[str, str]) -> list[list[float]] | None:
    """What an earlier start computed; None where it is not there or was for something else."""
    if session.run is None:
        return None
    try:
        found = json.loads((session.run.folder / name).read_bytes())
        return found["log_probabilities"] if found["of"] == key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(session: Session, name: str, key: dict[str, str], values: list[list[float]]) -> None:
    if session.run is None:
        return
    session.run.fence().check()
    text = json.dumps({"of": key, "log_probabilities": values})
    save(session.run.folder / name, text.encode())
