"""The smallest honest data-parallel training: a classifier, on accelerators or on CPUs.

It saves, goes on exactly where it stopped, stops in time and ends at once when it is complete: all
that is runwright_runtime's doing.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

from runwright_runtime import end_if_complete

if __name__ == "__main__":
    # Before torch is imported: a finished training costs no seconds.
    end_if_complete()

import torch
from dataset import Dataset, from_files, synthetic
from runwright_runtime import flops, randomness
from runwright_runtime.data import Order
from runwright_runtime.distributed import warm_up
from runwright_runtime.session import Session
from runwright_runtime.state import State
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

FREE = ("data", "epochs", "log_every", "workers")
"""Arguments that may differ when a training goes on."""


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """The arguments, as a command line gives them."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, help="folder with features.npy and labels.npy; else made-up data")
    add("--samples", type=int, default=4096, help="how many samples to make up")
    add("--epochs", type=int, default=10)
    add("--batch", type=int, default=256, help="samples in a step, of all processes together")
    add("--width", type=int, default=256)
    add("--depth", type=int, default=2)
    add("--lr", type=float, default=1e-3)
    add("--seed", type=int, default=0)
    add("--workers", type=int, default=0, help="processes that load data, for each that trains")
    add("--log-every", type=int, default=10, help="steps between two lines")
    return parser.parse_args(given)


def classifier(inputs: int, width: int, depth: int, classes: int) -> nn.Sequential:
    """A multilayer perceptron with `depth` hidden layers."""
    widths = [inputs, *[width] * depth]
    hidden = [
        layer
        for before, after in pairwise(widths)
        for layer in (nn.Linear(before, after), nn.GELU(), nn.Dropout(0.1))
    ]
    return nn.Sequential(*hidden, nn.Linear(widths[-1], classes))


def accuracy(model: nn.Module, dataset: Dataset, session: Session) -> float:
    """The share of all samples that the model gets right; each process looks at a part."""
    model.eval()
    mine = range(session.world.rank, len(dataset), session.world.size)
    right = 0
    with torch.inference_mode():
        for features, labels in DataLoader(dataset, batch_size=1024, sampler=mine):
            guessed = model(features.to(session.device)).argmax(1).cpu()
            right += int((guessed == labels).sum())
    model.train()
    return session.world.sums([right])[0] / len(dataset)


def main() -> None:
    """Train."""
    args = arguments()
    with Session(vars(args), FREE, log_every=args.log_every) as session:
        randomness.seed(args.seed)
        rank, size = session.world.rank, session.world.size
        # Every process looks for what is wrong with the data, and all hear of it.
        dataset = session.world.together(
            lambda: from_files(args.data) if args.data else synthetic(args.samples, args.seed)
        )
        inner = classifier(dataset.inputs, args.width, args.depth, dataset.classes)
        model = DistributedDataParallel(inner.to(session.device))
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        order = Order(len(dataset), args.batch, args.seed)
        session.flops_per_token = flops.transformer(sum(p.numel() for p in inner.parameters()))

        def loss_of(features: Tensor, labels: Tensor) -> Tensor:
            return cross_entropy(model(features.to(session.device)), labels.to(session.device))

        warm_up(model, lambda: loss_of(*(part[None] for part in dataset[0])))
        # From here on each process draws its own numbers: dropout differs between them.
        randomness.seed(args.seed * 1_000_003 + rank)
        session.restore(State(model, [optimizer], order))
        batches = iter(
            DataLoader(dataset, batch_sampler=order.batches(rank, size), num_workers=args.workers)
        )
        steps = max(1, args.epochs * len(dataset) // args.batch)
        for _ in session.steps(steps):
            features, labels = next(batches)
            loss = loss_of(features, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            # A sample is a token of a sequence of one, as far as arithmetic goes.
            session.report(loss, samples=len(labels), tokens=len(labels))
        reached = accuracy(model, dataset, session)
        session.tell("evaluated", f"accuracy {reached:.2%}", accuracy=reached)


if __name__ == "__main__":
    main()
