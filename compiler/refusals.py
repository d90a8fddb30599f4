"""What a verb raises where it cannot do what it is asked."""


class CompilerError(Exception):
    """The user asked for something that cannot be done: one line on stderr, exit status 2."""

    status = 2

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help


class Unavailable(CompilerError):
    """Something outside that a verb needs is missing (kustomize, a cluster): exit status 1."""

    status = 1
