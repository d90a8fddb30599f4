"""The states of the random number generators: each process has its own, and a checkpoint all."""

from __future__ import annotations

import random
import sys

import torch

from runwright_runtime.failures import Damaged


def seed(value: int) -> None:
    """Begin all generators of this process anew: Python's, NumPy's where it is loaded, torch's."""
    random.seed(value)
    torch.manual_seed(value)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(value % (1 << 32))


def state() -> dict[str, object]:
    """The states of all generators of this process, as JSON keeps them."""
    found: dict[str, object] = {
        "python": random.getstate(),
        "torch": _text(torch.get_rng_state()),
    }
    if torch.cuda.is_available():
        found["cuda"] = _text(torch.cuda.get_rng_state())
    if "numpy" in sys.modules:
        kind, keys, *rest = sys.modules["numpy"].random.get_state()
        found["numpy"] = [kind, keys.tolist(), *rest]
    return found


def restore(found: dict[str, object]) -> None:
    """Go on with the states of a checkpoint. Raises Damaged.

    A generator that the checkpoint or this process does not have stays as it is.
    """
    try:
        version, words, gauss = found["python"]  # type: ignore[misc]  # pyright: ignore
        random.setstate((version, tuple(words), gauss))  # pyright: ignore
        torch.set_rng_state(_tensor(found["torch"]))
        if "cuda" in found and torch.cuda.is_available():
            torch.cuda.set_rng_state(_tensor(found["cuda"]))
        if "numpy" in found and "numpy" in sys.modules:
            sys.modules["numpy"].random.set_state(tuple(found["numpy"]))  # type: ignore[arg-type]  # pyright: ignore
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise Damaged(f"the state of a random number generator is none: {error}") from error


def _text(tensor: torch.Tensor) -> str:
    return bytes(tensor.tolist()).hex()


def _tensor(text: object) -> torch.Tensor:
    return torch.tensor(list(bytes.fromhex(str(text))), dtype=torch.uint8)
