"""Supervised fine-tuning of a causal language model; with --method=dpo preference tuning.

It saves, goes on exactly where it stopped, stops in time and ends at once when it is complete: all
that is runwright_runtime's doing.
"""

from __future__ import annotations

import sys

from runwright_runtime import end_if_complete

if __name__ == "__main__":
    # Before anything is imported that takes seconds: a finished training costs none.
    end_if_complete()

from arguments import Arguments, read


def train(args: Arguments) -> None:
    """Fine-tune on conversations."""
    from finetuning import madeup
    from finetuning.conversations import Conversations, refuse_mixing
    from finetuning.rows import Listed, Rows, rows_of
    from finetuning.training import FREE, Training, begun, recorded, told
    from runwright_runtime.session import Session
    from torch import nn

    def rows(name: str) -> Rows:
        if name == madeup.NAME:
            return Listed(madeup.conversations(), name)
        return rows_of(name)

    with Session(recorded(args), FREE, log_every=args.log_every) as session:
        chat, found = begun(session, args, rows)
        task = Conversations(args, found, chat, session.world)
        told(session, "data", task)
        evaluation = None
        if args.eval_data is not None:
            name = args.eval_data
            kept = session.world.together(lambda: rows(name))
            evaluation = Conversations(args, kept, chat, session.world)
            told(session, "eval_data", evaluation)
        training = Training(args, session, chat, task)
        if args.packing:
            model = training.model
            assert isinstance(model, nn.Module)
            refuse_mixing(model, training.config.vocab_size, session.device)
        training.restore()
        training.steps(evaluation)
        training.export()


def main(words: list[str] | None = None) -> None:
    """Train as the arguments say."""
    args = read(sys.argv[1:] if words is None else words)
    if args.method == "dpo":
        import dpo

        dpo.train(args)
    else:
        train(args)


if __name__ == "__main__":
    main()
