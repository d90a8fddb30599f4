"""What a training is made of, as one thing that can be saved and put back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.tensor import DTensor
from torch.optim import Optimizer

from runwright_runtime.data import Order
from runwright_runtime.failures import Incompatible, Unusable


class Part(Protocol):
    """Anything with a state that JSON can hold: a learning rate schedule, a scaler, a counter."""

    def state_dict(self) -> dict[str, object]:
        """The state."""
        ...

    def load_state_dict(self, state_dict: dict[str, object]) -> object:
        """Go on with a state."""
        ...


@dataclass
class State:
    """Model, optimizers, order of the data and whatever else goes on when a training does.

    Tensors are saved under the names that they have in the model without wrappers (DDP, FSDP2,
    torch.compile), each process its own shards, so other numbers of processes can load them.
    """

    model: nn.Module
    optimizers: Sequence[Optimizer] = ()
    order: Order | None = None
    parts: Mapping[str, Part] = field(default_factory=dict[str, Part])
    trainable_only: bool = False
    """Leave frozen parameters out: they come from elsewhere, as the base of an adapter does."""

    def tensors(self) -> dict[str, object]:
        """The tensors as they are now; not copies."""
        options = self._options
        model = get_model_state_dict(self.model, options=options)
        if self.trainable_only:
            # torch leaves out one name of a parameter only, and a tied one has two.
            for name, parameter in self.model.named_parameters(remove_duplicate=False):
                if not parameter.requires_grad:
                    model.pop(_plain(name), None)
        found: dict[str, object] = {"model": model}
        if self.optimizers:
            found["optimizer"] = get_optimizer_state_dict(
                self.model, list(self.optimizers), options=options
            )
        return found

    def put_back(self, tensors: dict[str, object]) -> None:
        """Have loaded tensors in the model and the optimizers."""
        options = self._options
        set_model_state_dict(self.model, tensors["model"], options=options)  # type: ignore[arg-type]
        if self.optimizers:
            set_optimizer_state_dict(
                self.model,
                list(self.optimizers),
                tensors["optimizer"],  # type: ignore[arg-type]
                options=options,
            )

    def rest(self) -> dict[str, object]:
        """All that is no tensor. Raises Unusable for a part that JSON has no form for."""
        found: dict[str, object] = {}
        if self.order is not None:
            found["order"] = self.order.state_dict()
        for name, part in self.parts.items():
            kept = part.state_dict()
            try:
                found[f"part {name}"] = json.loads(json.dumps(kept))
            except (TypeError, ValueError) as error:
                raise Unusable(f"the state of {name} is no JSON: {error}") from error
        return found

    def put_back_rest(self, found: Mapping[str, object]) -> None:
        """Have the rest back. Raises Incompatible if the checkpoint lacks something."""
        parts: dict[str, Part] = {f"part {name}": part for name, part in self.parts.items()}
        if self.order is not None:
            parts["order"] = self.order  # type: ignore[assignment]  # pyright: ignore[reportArgumentType]
        for name, part in parts.items():
            kept = found.get(name)
            if not isinstance(kept, dict):
                raise Incompatible(f"the checkpoint has nothing of {name.removeprefix('part ')}")
            part.load_state_dict(kept)  # pyright: ignore[reportUnknownArgumentType]

    def local_bytes(self) -> tuple[int, int]:
        """About how large a checkpoint is: bytes of this process alone, and of what all share.

        Optimizers are counted by the moments that they keep, for those are made at the first step.
        """
        alone = shared = 0
        moments = max((_moments(optimizer) for optimizer in self.optimizers), default=0)
        for _, tensor in [*self.model.named_parameters(), *self.model.named_buffers()]:
            if self.trainable_only and not tensor.requires_grad:
                continue
            times = 1 + (moments if tensor.requires_grad else 0)
            if isinstance(tensor, DTensor):
                alone += times * _bytes(tensor.to_local())
            else:
                shared += times * _bytes(tensor)
        return alone, shared

    @property
    def _options(self) -> StateDictOptions:
        return StateDictOptions(
            flatten_optimizer_state_dict=True,
            ignore_frozen_params=self.trainable_only,
            strict=not self.trainable_only,
        )


def _plain(name: str) -> str:
    """The name of a parameter in the model without wrappers."""
    for wrapper in ("_checkpoint_wrapped_module.", "_orig_mod."):
        name = name.replace(wrapper, "")
    return name.removeprefix("module.")


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _moments(optimizer: Optimizer) -> int:
    if "betas" in optimizer.defaults:
        return len(optimizer.defaults["betas"])
    return 1 if optimizer.defaults.get("momentum") else 0
