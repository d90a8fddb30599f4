"""The namespace refuses the init container that the operator adds to the workers.

## What it does
Reports runs on several nodes with a fixed number of them, as PyTorchJobs, on a cluster whose Pod
Security level is `restricted`. The operator's own template of that container cannot be seen from
here: where yours says what `restricted` demands, turn the rule off in policy/rules.yaml.

## Why it is bad
The training operator gives each worker an init container that waits for the first node. As it comes
with the operator, the container keeps all capabilities and may gain privileges, so the API server
refuses the workers, and the first node waits for them with its accelerators.

## Example
```sh
rm -rf jobs/* policy/waivers
sed -i 's/^pod_security: .*/pod_security: restricted/' policy/clusters/west.yaml
sed -i '/capabilities: \\[IPC_LOCK\\]/d' policy/clusters/west.yaml
```

```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 2
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
security: {run_as_user: 1000, non_root: true}
```

## Use instead
```sh
rm -rf jobs/* policy/waivers
sed -i 's/^pod_security: .*/pod_security: restricted/' policy/clusters/west.yaml
sed -i '/capabilities: \\[IPC_LOCK\\]/d' policy/clusters/west.yaml
```

```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
security: {run_as_user: 1000, non_root: true}
```

## References
- kubeflow/training-operator: pkg/controller.v1/pytorch/initcontainer.go
- kubernetes.io: concepts/security/pod-security-standards
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.posture import level_of
from compiler.site import Site

RULE = Rule(
    code="SEC925",
    severity=Severity.WARNING,
    stage="run",
    sources=(
        "kubeflow/training-operator: pkg/controller.v1/pytorch/initcontainer.go",
        "kubernetes.io: concepts/security/pod-security-standards",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The runs whose workers the operator gives a container that is refused."""
    waits = site.backend == "pytorchjob" and run.nodes > 1 and run.elastic is None
    if waits and level_of(site) == "restricted":
        yield Report(
            ("num_nodes",),
            "the operator's init container for workers is one that `restricted` namespaces refuse",
            "give the operator a template for it in /etc/config/initContainer.yaml with"
            " allowPrivilegeEscalation: false and capabilities: {drop: [ALL]}",
            ((site.cluster.place("pod_security"), "the level of the namespaces"),),
        )
