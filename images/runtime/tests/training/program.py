"""A training as small as one can be that shows all that a run must keep."""

from __future__ import annotations

import argparse
import json
import os
import time
from datetime import timedelta
from pathlib import Path

from runwright_runtime import end_if_complete

end_if_complete()

import torch  # noqa: E402
from runwright_runtime import randomness  # noqa: E402
from runwright_runtime.data import Order  # noqa: E402
from runwright_runtime.distributed import warm_up  # noqa: E402
from runwright_runtime.session import Session  # noqa: E402
from runwright_runtime.state import State  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--out", type=Path, required=True)
parser.add_argument("--steps", type=int, default=24)
parser.add_argument("--save", type=int, default=4)
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--dropout", type=float, default=0.1)
parser.add_argument("--hidden", type=int, default=16)
parser.add_argument("--pause", type=float, default=0.0)
parser.add_argument("--samples", type=int, default=50)
parser.add_argument("--leave", type=int, default=-1)
parser.add_argument("--finish", type=int, default=-1)
parser.add_argument("--timeout", type=float, default=60)
parser.add_argument("--shard", action="store_true")
args = parser.parse_args()
free = {"out", "steps", "save", "pause", "leave", "finish", "timeout"}
recorded = {name: value for name, value in vars(args).items() if name not in free}

randomness.seed(7)
features = torch.randn(args.samples, 6)
labels = (features.sum(1, keepdim=True) > 0).float()

with Session(
    recorded,
    every_steps=args.save,
    log_every=2,
    timeout=timedelta(seconds=args.timeout),
) as session:
    inner = nn.Sequential(
        nn.Linear(6, args.hidden), nn.Tanh(), nn.Dropout(args.dropout), nn.Linear(args.hidden, 1)
    ).to(session.device)
    model = fully_shard(inner) if args.shard else DistributedDataParallel(inner)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=24)
    order = Order(samples=args.samples, batch=args.batch, seed=3)
    world = session.world

    def loss_of(indices: list[int]) -> torch.Tensor:
        return nn.functional.binary_cross_entropy_with_logits(
            model(features[indices]), labels[indices]
        )

    warm_up(model, lambda: loss_of([0]))
    randomness.seed(100 + world.rank)
    session.restore(State(model, [optimizer], order, parts={"schedule": schedule}))
    args.out.mkdir(parents=True, exist_ok=True)
    seen = (args.out / f"seen-{world.rank}.jsonl").open("a", buffering=1)
    batches = order.batches(world.rank, world.size)
    for step in session.steps(args.steps):
        indices = next(batches)
        loss = loss_of(indices)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        session.report(loss, samples=len(indices), tokens=len(indices))
        line = {"step": step, "world": world.size, "samples": indices, "loss": loss.item()}
        seen.write(json.dumps({**line, "pid": os.getpid()}) + "\n")
        time.sleep(args.pause)
        if step == args.finish:
            session.finish()
        if step == args.leave:
            break
    if world.first and not args.shard:
        torch.save(inner.state_dict(), args.out / "weights.pt")
