"""What a run may cost at the most, in exact numbers."""

from __future__ import annotations

from fractions import Fraction

from compiler.model import Member, Run
from compiler.site import Site


def cost(run: Run, site: Site) -> Fraction | None:
    """The whole cost of a run: rate times nodes times duration.

    In the cluster's currency; None where a price or the duration is not known. Retries cost
    nothing on top: the deadline of an object, and Kueue's limit for a workload, run from the start
    over all tries of its pods together.
    """
    if run.max_duration is None:
        return None
    members = [(run.first, 1)]
    if run.nodes > 1:
        members.append((run.others, run.nodes - 1))
    total = Fraction(0)
    for member, nodes in members:
        rate = _rate(member, site)
        if rate is None:
            return None
        total += rate * nodes
    return total * Fraction(run.max_duration, 3600)


def _rate(member: Member, site: Site) -> Fraction | None:
    """The price of one node for an hour."""
    if member.devices is not None:
        entry = site.accelerator(member.devices.name)
        return None if entry is None or entry.price is None else entry.price * member.devices.count
    nodes = site.cluster.value.cpu_nodes
    if nodes is None or nodes.price is None or member.cpu is None:
        return None
    return nodes.price * member.cpu.request.value


def rounded(amount: Fraction) -> str:
    """An amount as a whole number, rounded up."""
    return str(-(-amount.numerator // amount.denominator))
