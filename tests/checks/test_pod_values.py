"""Values under `pod:` that the API server refuses, and those that it takes."""

from __future__ import annotations

import pytest
from declarations import findings, job, of, spot

from compiler.diagnostics import Finding

MAIN = "pod:\n  spec:\n    containers:\n      - name: pytorch\n"


def lines_from(found: Finding, text: str) -> list[str]:
    """The text from the place of a finding on."""
    assert found.place.line is not None
    assert found.place.column is not None
    lines = text.splitlines()[found.place.line - 1 :]
    return [lines[0][found.place.column - 1 :], *lines[1:]]


def spec(text: str) -> str:
    return job(f"pod:\n  spec:\n    {text}")


def main(text: str) -> str:
    return job(f"{MAIN}        {text}")


AFFINITY = (
    "affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: "
    "{{nodeSelectorTerms: [{{matchExpressions: [{}]}}]}}}}}}"
)
PREFERRED = (
    "affinity: {{nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: "
    "[{{weight: {}, preference: {{matchExpressions: [{{key: a, operator: Exists}}]}}}}]}}}}"
)
SPREAD = (
    "topologySpreadConstraints: [{{maxSkew: {}, topologyKey: kubernetes.io/hostname, "
    "whenUnsatisfiable: {}}}]"
)
# The declaration, what the finding's place shows, a part of its message, what to write.
REFUSED = {
    "a volume's name": (
        spec("volumes: [{name: V_1, emptyDir: {}}]"),
        "V_1",
        "`V_1` is not a name",
        "write v-1",
    ),
    "a mount of no volume": (
        main("volumeMounts: [{name: dta, mountPath: /a}]"),
        "dta",
        "the pod has no volume `dta`",
        "add it to spec.volumes",
    ),
    "a path out of the volume": (
        job(f"mounts: {{/data: {{claim: logs}}}}\n{MAIN}"
            "        volumeMounts: [{name: logs, mountPath: /d, subPath: ../x}]"),
        "../x",
        "`../x` is not a path inside the volume",
        "write x",
    ),
    "a variable's name": (
        main("env: [{name: a=b, value: x}]"),
        "a=b",
        "`a=b` is not the name of a variable",
        "write name: a, value: b",
    ),
    "a variable without a name": (
        main('env: [{name: "", value: x}]'),
        '""',
        "a variable without a name",
        "write its name",
    ),
    "a field of the pod": (
        main("env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.nme}}}]"),
        "metadata.nme",
        "`metadata.nme` is no field",
        "write metadata.name",
    ),
    "all labels as a variable": (
        main("env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]"),
        "metadata.labels",
        "`metadata.labels` is no field",
        "write metadata.name",
    ),
    "a value from nowhere": (
        main("env: [{name: A, valueFrom: {}}]"),
        "{}",
        "nothing says where the value comes from",
        "add one of: fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef",
    ),
    "an unnamed ConfigMap": (
        spec("volumes: [{name: a, configMap: {optional: true}}]"),
        "optional",
        "nothing says which ConfigMap this is",
        "add name: <name>",
    ),
    "a mode that is none": (
        spec("volumes: [{name: a, secret: {secretName: b, defaultMode: 644}}]"),
        "644",
        "`644` is out of range: 0 to 511",
        "write a whole number from 0 to 511",
    ),
    "a probe's port": (
        main("livenessProbe: {httpGet: {port: 99999}}"),
        "99999",
        "`99999` is out of range: 1 to 65535",
        "write a whole number from 1 to 65535",
    ),
    "a liveness that succeeds twice": (
        main("livenessProbe: {tcpSocket: {port: 80}, successThreshold: 2}"),
        "2}",
        "its successThreshold can only be 1",
        "write 1, or take it out",
    ),
    "a probe that does nothing": (
        main("startupProbe: {periodSeconds: 5}"),
        "periodSeconds",
        "`startupProbe` says nothing to do",
        "add one of: exec, httpGet, tcpSocket, grpc",
    ),
    "a hook that does nothing": (
        main("lifecycle: {preStop: {}}"),
        "{}",
        "`preStop` says nothing to do",
        "add one of: exec, httpGet, sleep",
    ),
    "a profile without its name": (
        main("securityContext: {seccompProfile: {type: Localhost}}"),
        "Localhost",
        "`type: Localhost` needs the profile's name",
        "add localhostProfile: <name>",
    ),
    "no time at all": (
        main("livenessProbe: {tcpSocket: {port: 80}, terminationGracePeriodSeconds: 0}"),
        "0",
        "`0` is out of range: 1 or more",
        "write 1 or more",
    ),
    "a host's name": (spec("hostname: A_B"), "A_B", "`A_B` is not a name", "write a-b"),
    "no name server": (
        spec('dnsPolicy: "None"'),
        '"None"',
        "`dnsPolicy: None` needs the servers",
        "add dnsConfig: {nameservers: [...]}",
    ),
    "an address": (
        spec("hostAliases: [{ip: foo, hostnames: [a]}]"),
        "foo",
        "`foo` is not an IP address",
        "write an address such as 10.0.0.1",
    ),
    "nodes of no value": (
        spec(AFFINITY.format("{key: a, operator: In}")),
        "In",
        "`operator: In` needs values",
        "add values: [...]",
    ),
    "nodes with a value too many": (
        spec(AFFINITY.format("{key: a, operator: Exists, values: [b]}")),
        "values",
        "`operator: Exists` takes no values",
        "take it out, or write operator: In",
    ),
    "a weight": (
        spec(PREFERRED.format(0)),
        "0",
        "`0` is out of range: 1 to 100",
        "write a whole number from 1 to 100",
    ),
    "a skew of nothing": (
        spec(SPREAD.format(0, "DoNotSchedule")),
        "0",
        "`0` is out of range: 1 or more",
        "write 1 or more",
    ),
    "a label's value": (
        job("pod: {metadata: {labels: {a: e/f}}}"),
        "e/f",
        "`e/f` is not a label's value",
        "write e-f",
    ),
    "a label's key": (
        job('pod: {metadata: {labels: {"a b": c}}}'),
        '"a b"',
        "`a b` is not a key",
        "write a key such as",
    ),
    "a resource": (
        main("resources: {limits: {memroy: 1Gi}}"),
        "memroy",
        "`memroy` is no resource of a container",
        "write memory",
    ),
    "less than nothing": (
        main("resources: {requests: {memory: -5Gi}}"),
        "-5Gi",
        "`-5Gi` is below 0",
        "write 5Gi",
    ),
    "a root that gains nothing": (
        main(
            "securityContext:\n          allowPrivilegeEscalation: false\n"
            "          capabilities: {add: [CAP_SYS_ADMIN]}"
        ),
        "allowPrivilegeEscalation",
        "`allowPrivilegeEscalation: false` and CAP_SYS_ADMIN exclude each other",
        "take it out",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown", "message", "remedy"), REFUSED.values(), ids=list(REFUSED)
)
def test_what_the_api_server_refuses_is_one_finding_at_its_place(
    text: str, shown: str, message: str, remedy: str
) -> None:
    (found,) = of("refused-pod-value", findings(text))
    assert lines_from(found, text)[0].startswith(shown)
    assert message in found.message
    assert remedy in found.help


TAKEN = {
    "names, probes and hooks": main(
        "volumeMounts: [{name: cache, mountPath: /cache, subPath: a/b}]\n"
        "        env:\n          - name: a-b.C\n"
        "            valueFrom: {fieldRef: {fieldPath: \"metadata.labels['x/y']\"}}\n"
        "        livenessProbe: {httpGet: {port: web}, successThreshold: 1, failureThreshold: 0}\n"
        "        lifecycle: {preStop: {exec: {command: [sync]}}}\n"
        "        ports: [{name: web, containerPort: 8080}]\n"
        "        securityContext: {seccompProfile: {type: RuntimeDefault}, runAsUser: 0}\n"
        "        resources: {requests: {memory: 100Gi, ephemeral-storage: 0}}\n"
        "    volumes: [{name: cache, emptyDir: {}}]"
    ),
    "a device, and a key with capital letters": job(
        "pod:\n  metadata: {annotations: {Example.com/a: b}}\n  spec:\n"
        "    volumes: [{name: raw, persistentVolumeClaim: {claimName: logs}}]\n"
        "    containers:\n      - name: pytorch\n        env:\n          - name: A\n"
        "            valueFrom: {fieldRef: {fieldPath: \"metadata.annotations['E.com/a']\"}}\n"
        "        volumeDevices: [{name: raw, devicePath: /dev/xvda}]"
    ),
    "texts that are as good as absent": job(
        "pod:\n  spec:\n    hostname: ''\n    subdomain: ''\n    priorityClassName: ''\n"
        "    containers:\n      - name: pytorch\n"
        "        envFrom: [{prefix: '', configMapRef: {name: a}}]\n"
        "        ports: [{name: web, containerPort: 8080, hostIP: ''}]"
    ),
    "what is no number, which has a finding of its own": spec(
        "volumes: [{name: a, secret: {secretName: b, defaultMode: 0644}}]"
    ),
    "labels as a file": spec(
        "volumes:\n      - name: a\n        downwardAPI:\n"
        "          items: [{path: l, fieldRef: {fieldPath: metadata.labels}}]"
    ),
    "a sidecar of a declaration gets a probe": job(
        "memory: 1000Gi\nsidecars: [{name: side, image: gpu-exporter, memory: 1Gi}]\n"
        "pod:\n  spec:\n    initContainers:\n"
        "      - {name: side, livenessProbe: {exec: {command: [a]}}}"
    ),
    "a mount of a volume that the job's own mounts make": job(
        "mounts: {/data: {claim: logs}}\n"
        f"{MAIN}        volumeMounts: [{{name: logs, mountPath: /other, readOnly: true}}]"
    ),
    "spread, affinity and times": spec(
        SPREAD.format(1, "ScheduleAnyway")
        + "\n    hostname: a-b\n    "
        + PREFERRED.format(100)
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", TAKEN.values(), ids=list(TAKEN))
def test_what_the_api_server_takes_is_no_finding(text: str) -> None:
    assert [(spot(f), f.message) for f in of("refused-pod-value", findings(text))] == []
