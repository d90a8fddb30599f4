"""Runs: what has started, what may start, and what never starts again.

GitOps converges for ever, training runs once. The ledger remembers every run there ever was, the
engine decides from it and from the declarations what starts and what stops, and only `publish`
writes.
"""
