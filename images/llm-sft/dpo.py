"""Direct preference optimization of a causal language model: train.py with --method=dpo."""

from __future__ import annotations

import sys

from runwright_runtime import end_if_complete

if __name__ == "__main__":
    end_if_complete()

from arguments import Arguments, read


def train(args: Arguments) -> None:
    """Tune on pairs of answers."""
    from finetuning import madeup
    from finetuning.preferences import Preferences
    from finetuning.rows import Listed, Rows, rows_of
    from finetuning.training import FREE, Training, begun, recorded, told
    from runwright_runtime.session import Session
    from torch import nn

    def rows(name: str) -> Rows:
        return Listed(madeup.preferences(), name) if name == madeup.NAME else rows_of(name)

    with Session(recorded(args), FREE, log_every=args.log_every) as session:
        chat, found = begun(session, args, rows)
        task = Preferences(args, found, chat, session.world)
        told(session, "data", task)
        evaluation = None
        if args.eval_data is not None:
            name = args.eval_data
            kept = session.world.together(lambda: rows(name))
            evaluation = Preferences(args, kept, chat, session.world)
            told(session, "eval_data", evaluation)
        training = Training(args, session, chat, task)
        model = training.model
        assert isinstance(model, nn.Module)
        # Before a checkpoint is put back: now the model is the one that it began as.
        task.refer(model, args.micro_batch, session, args.model)
        if evaluation is not None:
            evaluation.refer(model, args.micro_batch, session, args.model, "eval_data")
        training.restore()
        training.steps(evaluation)
        training.export()


if __name__ == "__main__":
    train(read([*sys.argv[1:], "--method=dpo"]))
