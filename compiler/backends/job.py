"""Job (batch/v1): runs on one node, without any operator.

The process gets no rendezvous variables: torchrun on one node needs none but the number of
processes, which is set as the operator would set it.
"""

from __future__ import annotations

from compiler.backends import Object, Target
from compiler.features import FEATURES
from compiler.model import Run
from compiler.podtemplate import object_metadata, passed, template
from compiler.podvolumes import files_objects
from compiler.site import Site

TARGET = Target(
    name="job",
    api_version="batch/v1",
    kind="Job",
    keeps=FEATURES - {"several-nodes", "elastic", "master"},
    templates=(("spec", "template"),),
)


def emit(run: Run, site: Site) -> list[Object]:
    """The Job of a run, and the ConfigMaps of its files."""
    member = run.first
    pod = template(run, member, site, restart_policy="Never", ports=[])
    env = pod["spec"]["containers"][0]["env"]
    names = {variable["name"] for variable in env}
    # Under the operator torchrun finds these; a plain Job must say them itself.
    for name, value in (("PET_NPROC_PER_NODE", str(member.processes)), ("PET_NNODES", "1")):
        if name not in names:
            env.append({"name": name, "value": value})
    spec: Object = {
        "parallelism": 1,
        "completions": 1,
        # A failed pod is replaced by a new one, so that its logs stay for reading.
        "backoffLimit": run.retries,
        "template": passed(pod, member),
    }
    if run.max_duration is not None:
        spec["activeDeadlineSeconds"] = run.max_duration
    job = {
        "apiVersion": TARGET.api_version,
        "kind": TARGET.kind,
        "metadata": object_metadata(run, site),
        "spec": spec,
    }
    return [job, *files_objects(run)]
