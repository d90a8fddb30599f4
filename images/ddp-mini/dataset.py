"""Rows of numbers with a class each: from two files, or made up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from runwright_runtime import Unusable
from torch import Tensor

Array = np.ndarray


class Dataset(torch.utils.data.Dataset[tuple[Tensor, Tensor]]):
    """Features (rows × inputs) and their labels. Raises Unusable where they cannot be learned."""

    def __init__(self, features: Array, labels: Array) -> None:
        if features.ndim != 2 or labels.ndim != 1 or len(features) != len(labels):
            raise Unusable(
                f"features have the shape {features.shape} and labels {labels.shape}: they should "
                "be (rows, inputs) and (rows,)"
            )
        if not len(labels):
            raise Unusable("the dataset has no rows")
        if labels.dtype.kind not in "iu" or int(labels.min()) < 0:
            raise Unusable("labels must be whole numbers from 0")
        self.features = features
        self.labels = labels
        self.inputs = features.shape[1]
        self.classes = max(2, int(labels.max()) + 1)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        row = torch.from_numpy(np.array(self.features[index], dtype=np.float32))
        return row, torch.tensor(int(self.labels[index]))


def from_files(folder: Path) -> Dataset:
    """The rows of features.npy and labels.npy, read as they are needed.

    Looks at all rows first. Raises Unusable, naming the first row that is no finite numbers.
    """
    found: list[Array] = []
    for name in ("features.npy", "labels.npy"):
        try:
            found.append(np.load(folder / name, mmap_mode="r", allow_pickle=False))
        except (OSError, ValueError) as error:
            raise Unusable(f"cannot read {folder / name}: {error}") from error
    dataset = Dataset(*found)
    for begin in range(0, len(dataset), 65536):
        finite = np.isfinite(dataset.features[begin : begin + 65536]).all(axis=1)
        if not finite.all():
            row = begin + int(np.argmin(finite))
            raise Unusable(f"row {row} of {folder / 'features.npy'} is no finite numbers")
    return dataset


def synthetic(samples: int, seed: int, inputs: int = 16, classes: int = 4) -> Dataset:
    """Clouds of points around one center for each class. Raises Unusable for no samples."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, max(samples, 0))
    centers = generator.normal(size=(classes, inputs))
    features = centers[labels] + generator.normal(scale=0.5, size=(len(labels), inputs))
    return Dataset(features.astype(np.float32), labels)
