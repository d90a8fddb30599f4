"""The quota in Kueue's objects is the quota of the verdict, for any policy."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from kueue import Tree, of_kind, read, refused

from compiler.platform.folder import platform_files
from compiler.quota.limits import limits_of
from compiler.repository import Policy, Repository

RESOURCES = ["nvidia.com/gpu", "amd.com/gpu", "nvidia.com/mig-1g.10gb"]
NAMES = ["H100", "A100-80GB", "mi300_x"]
TEAMS = ["nlp", "speech", "vision", "0-day"]
COHORTS = ["research", "product", "lost"]
small = st.integers(0, 40)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping of the fields that have a value."""
    return st.fixed_dictionaries(fields).map(
        lambda made: {key: value for key, value in made.items() if value is not None}
    )


node = some(
    cpu=st.sampled_from([1, 7, 188, 62.5, "1500m"]),
    memory=st.sampled_from(["1Gi", "1900Gi", "980Gi", "1234567891", "70G"]),
    reserved_cpu=maybe(st.sampled_from([1, 4, "333m"])),
    reserved_memory=maybe(st.sampled_from(["24Gi", "65Mi"])),
)
accelerator = some(
    resource=st.sampled_from(RESOURCES),
    per_node=st.integers(1, 9),
    nodes=st.integers(1, 12),
    node=node,
    flavor=maybe(st.sampled_from(["fast", "slow", "gpu.big"])),
    node_labels=maybe(st.just({"pool": "gpu"})),
)
queue = some(
    cluster_queue=st.sampled_from(["research", "data", "x.y"]),
    accelerators=maybe(st.lists(st.sampled_from(NAMES), unique=True)),
    resources=maybe(
        st.lists(st.sampled_from(["rdma/hca", "ephemeral-storage", "cpu"]), unique=True)
    ),
    cpu_only=maybe(st.booleans()),
)
cohort = some(parent=maybe(st.sampled_from([*COHORTS, "nobody"])))
cluster = some(
    backend=st.just({"single_node": "job", "multi_node": "job"}),
    accelerators=maybe(st.dictionaries(st.sampled_from(NAMES), accelerator)),
    cpu_nodes=maybe(some(nodes=st.integers(1, 9), node=node, flavor=maybe(st.just("fast")))),
    queues=st.dictionaries(st.sampled_from(["a", "b", "c"]), queue, min_size=1),
    cohorts=maybe(st.dictionaries(st.sampled_from(COHORTS), cohort)),
    topology=maybe(st.just({"rack": {"label": "example.com/rack"}})),
)
quota = st.dictionaries(
    st.sampled_from(NAMES), some(guaranteed=small, borrowing=maybe(small)), max_size=3
)
team = some(
    quota=maybe(quota.map(lambda own: {"west": own})),
    cohort=maybe(st.sampled_from([*COHORTS, "nobody"]).map(lambda name: {"west": name})),
    queues=maybe(st.lists(st.sampled_from(["a", "b"]), min_size=1, unique=True)),
)


def policy_of(cluster: dict[str, Any], teams: dict[str, Any]) -> Policy:
    """The policy as the compiler reads it from its files."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in files_of(cluster, teams):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, "utf-8")
        policy = Repository(root).policy()
    assert policy.findings == []
    return policy


def files_of(cluster: dict[str, Any], teams: dict[str, Any]) -> Iterator[tuple[str, str]]:
    # Not the empty mappings: a reader refuses them as values that say nothing.
    yield (
        "policy/clusters/west.yaml",
        yaml.safe_dump({key: value for key, value in cluster.items() if value != {}}),
    )
    for name, team in teams.items():
        own = {"namespace": f"p-{name}", "owners": ["kim"], "clusters": ["west"], **team}
        if own.get("quota") == {"west": {}}:
            del own["quota"]
        yield f"policy/teams/{name}.yaml", yaml.safe_dump(own)


def flavor_of(name: str, entry: dict[str, Any]) -> str:
    defaults = {"H100": "h100", "A100-80GB": "a100-80gb", "mi300_x": "mi300-x"}
    return entry.get("flavor") or defaults[name]


def free(node: dict[str, Any], field: str) -> Fraction:
    """What a node has left, from the letters that the test itself wrote."""
    units = {"Gi": 1024**3, "Mi": 1024**2, "G": 10**9, "m": Fraction(1, 1000), "": 1}

    def value(written: Any) -> Fraction:
        text = str(written)
        unit = text.lstrip("0123456789.")
        return Fraction(text[: len(text) - len(unit)]) * units[unit]

    left = value(node[field]) - value(node.get(f"reserved_{field}", "0"))
    return max(Fraction(0), left)


@settings(max_examples=60, deadline=None)
@given(cluster=cluster, teams=st.dictionaries(st.sampled_from(TEAMS), team, max_size=4))
def test_quota_in_the_objects_is_that_of_the_verdict(
    cluster: dict[str, Any], teams: dict[str, Any]
) -> None:
    policy = policy_of(cluster, teams)
    limits = limits_of(policy)["west"]
    objects = read(platform_files(policy, "west"))
    assert [refused(item) for item in objects if refused(item)] == []
    catalogue = cluster.get("accelerators") or {}
    if not catalogue and "cpu_nodes" not in cluster:
        assert not of_kind(objects, "Cohort")
        return
    tree = Tree(objects)
    assert tree.roots == ["Cohort/runwright"]

    behind: dict[tuple[str, str], list[str]] = {}
    for name, entry in catalogue.items():
        behind.setdefault((flavor_of(name, entry), entry["resource"]), []).append(name)
    for pair, names in behind.items():
        whole = sum(
            max(limits.capacity[name], sum(limits.guaranteed(name).values())) for name in names
        )
        assert tree.below("Cohort/runwright", pair) == whole
        for team, shares in limits.shares.items():
            here = f"Cohort/runwright.team.{team}"
            own, limit = tree.own[here].get(pair, (Fraction(0), None))
            assert own == sum(shares[name].guaranteed for name in names)
            caps = [shares[name].limit for name in names]
            assert (None if limit is None else own + limit) == (
                None if None in caps else sum(cap or 0 for cap in caps)
            )
            if len(names) == 1:
                most = limits.reachable(team, names[0])
                assert tree.most(here, pair) == most
                for queue in tree.children[here]:
                    assert tree.most(queue, pair) == most
    assert all(
        amount == 0 and limit is None
        for queue in tree.queues
        for amount, limit in tree.own[queue].values()
    )

    # Cores and memory: all that the nodes offer, and every team may borrow all of it.
    kinds: dict[str, list[dict[str, Any]]] = {}
    for name, entry in catalogue.items():
        kinds.setdefault(flavor_of(name, entry), []).append(entry)
    if "cpu_nodes" in cluster:
        nodes = cluster["cpu_nodes"]
        kinds.setdefault(nodes.get("flavor", "cpu"), []).append(nodes)
    fits = all(sum(limits.guaranteed(name).values()) <= limits.capacity[name] for name in catalogue)
    for kind, entries in kinds.items():
        for field, unit in (("cpu", Fraction(1, 1000)), ("memory", Fraction(1))):
            offered = sum(
                entry["nodes"] * (free(entry["node"], field) // unit) * unit for entry in entries
            )
            pair = (kind, field)
            if fits:
                assert tree.below("Cohort/runwright", pair) == offered
            assert tree.below("Cohort/runwright", pair) >= offered
            for node in tree.own:
                assert tree.own[node].get(pair, (0, None))[1] is None
                assert tree.most(node, pair) == tree.below("Cohort/runwright", pair)


@settings(max_examples=40, deadline=None)
@given(cluster=cluster, teams=st.dictionaries(st.sampled_from(TEAMS), team, max_size=4))
def test_every_queue_that_a_team_may_name_leads_to_what_it_gives_out(
    cluster: dict[str, Any], teams: dict[str, Any]
) -> None:
    objects = read(platform_files(policy_of(cluster, teams), "west"))
    locals_, queues = of_kind(objects, "LocalQueue"), of_kind(objects, "ClusterQueue")
    flavors = of_kind(objects, "ResourceFlavor")
    catalogue = cluster.get("accelerators") or {}
    for team, own in teams.items():
        for name, queue in cluster["queues"].items():
            given_out = [
                n for n in catalogue if "accelerators" not in queue or n in queue["accelerators"]
            ]
            cpu = queue.get("cpu_only", True) and "cpu_nodes" in cluster
            found = locals_.pop(f"p-{team}/{name}", None)
            if ("queues" in own and name not in own["queues"]) or not (given_out or cpu):
                assert found is None
                continue
            assert found is not None
            target = found["spec"]["clusterQueue"]
            assert target == f"{queue['cluster_queue']}.{team}"
            spec = queues[target]["spec"]
            (selector,) = spec["namespaceSelector"]["matchExpressions"]
            assert selector["values"] == [f"p-{team}"]
            (group,) = spec["resourceGroups"]
            assert {"cpu", "memory", *queue.get("resources", ())} <= set(group["coveredResources"])
            assert {catalogue[n]["resource"] for n in given_out} <= set(group["coveredResources"])
            named = {flavor["name"] for flavor in group["flavors"]}
            assert {flavor_of(n, catalogue[n]) for n in given_out} <= named <= set(flavors)
    # And there is no queue that nobody asked for.
    assert locals_ == {}
