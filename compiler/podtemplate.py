"""The pod template of a member of a run, as every Kubernetes back end writes it."""

from __future__ import annotations

from typing import Any

from compiler import guard
from compiler.digests import operation, training
from compiler.launch import starts_torchrun
from compiler.model import Bounds, Companion, Member, Mount, Run, Security, Variable
from compiler.passthrough import CONTAINER, over
from compiler.podvolumes import Volumes
from compiler.site import Site

PULL = {"always": "Always", "if-not-present": "IfNotPresent", "never": "Never"}
# torchrun kills its workers 30 s after SIGTERM unless told otherwise (torch,
# distributed/elastic/multiprocessing/api.py); these seconds are left for its own end.
SHUTDOWN_MARGIN = 15
# The agents of a run share the store of rank 0, and are told its address in the first round only: a
# node that joins a later one waits for it in vain for a minute (torch 2.15,
# distributed/elastic/rendezvous/dynamic_rendezvous.py, next_rendezvous). Set to 1, each round has a
# store of its own. For every torch: one that shares none does not read it.
OWN_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
Object = dict[str, Any]


def template(
    run: Run, member: Member, site: Site, *, restart_policy: str | None, ports: list[Object]
) -> Object:
    """A pod template (`metadata` and `spec`) for one member, before base and passthrough.

    `ports` are the back end's own, beside those of the declaration. `restart_policy` is None
    where the object has its own field for it (PyTorchJob overwrites that of the template).
    """
    annotations = dict(member.annotations)
    network = site.cluster.value.network
    if network is not None and network.istio:
        # The CRD and the injector want text here; a bare boolean is refused.
        annotations.setdefault("sidecar.istio.io/inject", "false")
    if run.topology is not None and site.kueue and run.queue is not None:
        level = "required" if run.topology.required else "preferred"
        annotations[f"kueue.x-k8s.io/podset-{level}-topology"] = run.topology.label
    spec: Object = {}
    if restart_policy is not None:
        spec["restartPolicy"] = restart_policy
    spec["terminationGracePeriodSeconds"] = run.grace
    spec["automountServiceAccountToken"] = member.security.service_account_token
    if member.security.service_account is not None:
        spec["serviceAccountName"] = member.security.service_account
    if run.host_network:
        spec["hostNetwork"] = True
        # Without it the pods' names do not resolve (the operator does not set it).
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    of_pod = pod_security(member.security)
    if of_pod:
        spec["securityContext"] = of_pod
    if run.priority is not None and not (run.queue is not None and site.kueue):
        # Kueue reads its own label; without it the scheduler knows only this.
        spec["priorityClassName"] = run.priority
    if run.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in run.pull_secrets]
    queued = run.queue is not None and site.kueue
    if member.placement.labels and not queued:
        spec["nodeSelector"] = dict(member.placement.labels)
    elif member.placement.labels:
        # Beside a queue a node selector would be taken back at each sync (it is one atomic
        # value, and Kueue adds the flavor's labels to it); an affinity is left alone.
        spec["affinity"] = _affinity(member.placement.labels)
    if member.placement.tolerations and not queued:
        spec["tolerations"] = [dict(taint) for taint in member.placement.tolerations]
    volumes = Volumes()
    container = _container(run, member, site, ports, volumes)
    before = [_companion(companion, site, volumes) for companion in member.init]
    # A plain second container would keep the pod from ever completing: a sidecar is an init
    # container that is restarted, which the kubelet stops after the training container
    # (Kubernetes 1.29 and newer).
    before += [
        {**_companion(companion, site, volumes), "restartPolicy": "Always"}
        for companion in member.sidecars
    ]
    if before:
        spec["initContainers"] = before
    spec["containers"] = [container]
    if volumes.items:
        spec["volumes"] = volumes.items
    metadata: Object = {}
    labels = dict(member.labels)
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": spec} if metadata else {"spec": spec}


def passed(template: Object, member: Member) -> Object:
    """The template with the declaration's `pod:` merged over it by the lists' keys."""
    return over(member.pod, template) if member.pod else template


def _container(
    run: Run, member: Member, site: Site, ports: list[Object], volumes: Volumes
) -> Object:
    container: Object = {"name": CONTAINER, "image": member.image.reference}
    container["imagePullPolicy"] = PULL[member.pull]
    command = guard.command(run, member)
    if command is not None:
        container["command"] = command
    if member.args:
        container["args"] = list(member.args)
    if member.working_dir is not None:
        container["workingDir"] = member.working_dir
    container["env"] = identity(run) + [
        _variable(variable) for variable in _environment(run, member)
    ]
    resources = _resources(member)
    if resources:
        container["resources"] = resources
    all_ports = [
        {"name": name, "containerPort": port, "protocol": "TCP"} for name, port in member.ports
    ]
    all_ports += ports
    if all_ports:
        container["ports"] = all_ports
    mounts = [volumes.mount(mount) for mount in member.mounts]
    checkpoint = run.checkpoint
    if (
        checkpoint is not None
        and checkpoint.claim is not None
        and checkpoint.path not in {mount.path for mount in member.mounts}
    ):
        mounts.append(volumes.mount(Mount(checkpoint.path, "claim", checkpoint.claim)))
    if member.files:
        mounts += volumes.files(run, member)
    if member.shm is not None:
        mounts.append(volumes.shared_memory(member.shm.text))
    if mounts:
        container["volumeMounts"] = mounts
    security = container_security(member.security, site)
    if security:
        container["securityContext"] = security
    return container


def identity(run: Run) -> list[Object]:
    """Which run this is, for the process: see docs/environment.md."""
    values = {
        "RUN_NAME": run.identity.name,
        "RUN_NUMBER": str(run.identity.number),
        "RUN_LINEAGE": lineage(run),
        "SOURCE_COMMIT": run.identity.source,
    }
    checkpoint = run.checkpoint
    if checkpoint is not None:
        values["CHECKPOINT_DIR"] = checkpoint_dir(run)
        if checkpoint.every is not None:
            values["CHECKPOINT_EVERY"] = str(checkpoint.every)
        if checkpoint.keep is not None:
            values["CHECKPOINT_KEEP"] = str(checkpoint.keep)
        if checkpoint.resume is not None:
            number = int(checkpoint.resume.removeprefix("r"))
            values["CHECKPOINT_FROM"] = run.identity.resumed or _folder(run, number)
    return [{"name": name, "value": value} for name, value in values.items()]


def lineage(run: Run) -> str:
    """The first run of the lineage: the runs that share a checkpoint folder."""
    return f"{run.identity.job}-r{run.identity.first}"


def checkpoint_dir(run: Run) -> str:
    """The folder of the lineage: `<path>/<cluster>/<team>/<job>/r1`."""
    assert run.checkpoint is not None
    return run.identity.folder or _folder(run, run.identity.first)


def _folder(run: Run, number: int) -> str:
    assert run.checkpoint is not None
    who = run.identity
    root = run.checkpoint.path.rstrip("/")
    return f"{root}/{who.cluster}/{who.team}/{who.job}/r{number}"


def _environment(run: Run, member: Member) -> list[Variable]:
    variables = list(member.env)
    names = {variable.name for variable in variables}
    added: list[Variable] = []
    if (
        run.grace > 30
        and starts_torchrun(member.words)
        and "TORCH_ELASTIC_SHUTDOWN_TIMEOUT" not in names
    ):
        added.append(Variable("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", str(run.grace - SHUTDOWN_MARGIN)))
    # Whatever the command is: without torchrun somewhere in it no node would find another.
    if run.elastic is not None and OWN_STORE not in names:
        added.append(Variable(OWN_STORE, "1"))
    return added + variables


def _variable(variable: Variable) -> Object:
    if variable.secret is not None:
        return {
            "name": variable.name,
            "valueFrom": {"secretKeyRef": {"name": variable.secret, "key": variable.key}},
        }
    return {"name": variable.name, "value": variable.value}


def _resources(member: Member) -> Object:
    requests: Object = {}
    limits: Object = {}
    _bound(requests, limits, "cpu", member.cpu)
    _bound(requests, limits, "memory", member.memory)
    extended: list[tuple[str, str]] = []
    if member.storage is not None:
        extended.append(("ephemeral-storage", member.storage.text))
    if member.devices is not None:
        extended.append((member.devices.resource, str(member.devices.count)))
    extended += [(name, str(count)) for name, count in member.resources]
    for name, amount in extended:
        # Kubernetes refuses extended resources whose request and limit differ.
        requests[name] = amount
        limits[name] = amount
    return {"requests": requests, "limits": limits} if limits else {}


def _bound(requests: Object, limits: Object, name: str, bounds: Bounds | None) -> None:
    if bounds is not None:
        requests[name] = bounds.request.text
        limits[name] = bounds.limit.text


def _companion(companion: Companion, site: Site, volumes: Volumes) -> Object:
    container: Object = {
        "name": companion.name,
        "image": companion.image.reference,
        "imagePullPolicy": "IfNotPresent",
    }
    if companion.command is not None:
        container["command"] = list(companion.command)
    if companion.args:
        container["args"] = list(companion.args)
    if companion.env:
        container["env"] = [_variable(variable) for variable in companion.env]
    requests: Object = {}
    limits: Object = {}
    _bound(requests, limits, "cpu", companion.cpu)
    _bound(requests, limits, "memory", companion.memory)
    if limits:
        container["resources"] = {"requests": requests, "limits": limits}
    if companion.ports:
        container["ports"] = [
            {"name": name, "containerPort": port, "protocol": "TCP"}
            for name, port in companion.ports
        ]
    if companion.mounts:
        container["volumeMounts"] = [volumes.mount(mount) for mount in companion.mounts]
    security = container_security(Security(), site)
    if security:
        container["securityContext"] = security
    return container


def pod_security(security: Security) -> Object:
    """The security context of a pod: who its processes run as."""
    fields = {
        "runAsUser": security.run_as_user,
        "runAsGroup": security.run_as_group,
        "fsGroup": security.fs_group,
        "runAsNonRoot": security.non_root,
    }
    return {name: value for name, value in fields.items() if value is not None}


def container_security(security: Security, site: Site) -> Object:
    """The security context of a container.

    Where the namespace is `restricted`, it says what such a container must say and cannot say
    otherwise (k8s.io/pod-security-admission): no new privileges, and no capability that is not
    added by name.
    """
    made: Object = {}
    capabilities: Object = {}
    if site.cluster.value.pod_security == "restricted":
        made["allowPrivilegeEscalation"] = False
        capabilities["drop"] = ["ALL"]
    if security.capabilities:
        capabilities["add"] = list(security.capabilities)
    if capabilities:
        made["capabilities"] = capabilities
    return made


def _affinity(labels: Any) -> Object:
    terms = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": terms}]
            }
        }
    }


def object_metadata(run: Run, site: Site) -> Object:
    """Name, namespace, labels and annotations of a training object."""
    who = run.identity
    labels = {
        "app.kubernetes.io/name": who.job,
        "app.kubernetes.io/managed-by": "runwright",
        "runwright/team": who.team,
    }
    if run.queue is not None and site.kueue:
        labels["kueue.x-k8s.io/queue-name"] = run.queue
        if run.priority is not None:
            labels["kueue.x-k8s.io/priority-class"] = run.priority
        if run.max_duration is not None:
            # Kueue's own clock: the operator's deadline does not wake up by itself.
            labels["kueue.x-k8s.io/max-exec-time-seconds"] = str(run.max_duration)
    annotations = {
        "runwright/job": f"{who.team}/{who.job}",
        "runwright/run": str(who.number),
        "runwright/lineage": lineage(run),
        "runwright/training": training(run, site.operational_env),
        "runwright/operation": operation(run, site.operational_env),
        "runwright/source-commit": run.identity.source,
        # A launched run is never changed in place, and a shell's ${VARIABLE} is not the syncer's.
        "kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent",
        "kustomize.toolkit.fluxcd.io/substitute": "disabled",
    }
    return {
        "name": who.name,
        "namespace": who.namespace,
        "labels": labels,
        "annotations": annotations,
    }
