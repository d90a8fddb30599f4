"""Fields under `pod:` that the API server refuses for what stands beside them, or does not."""

from __future__ import annotations

import pytest
from declarations import findings, job, of, spot
from test_pod_values import MAIN, lines_from, main, spec

from compiler.diagnostics import Severity

NODES = "affinity: {{nodeAffinity: {{{}: {}}}}}"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def nodes(term: str) -> str:
    return spec(NODES.format(REQUIRED, f"{{nodeSelectorTerms: [{{{term}}}]}}"))


def apart(term: str) -> str:
    where = "topologyKey: kubernetes.io/hostname"
    return spec(f"affinity: {{podAntiAffinity: {{{REQUIRED}: [{{{where}, {term}}}]}}}}")


def spread(more: str) -> str:
    each = "maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule"
    return spec(f"topologySpreadConstraints: [{{{each}, {more}}}]")


def volume(source: str) -> str:
    return spec(f"volumes: [{{name: v, {source}}}]")


def claim(fields: str) -> str:
    return volume(f"ephemeral: {{volumeClaimTemplate: {{spec: {{{fields}}}}}}}")


def projected(*sources: str) -> str:
    return volume(f"projected: {{sources: [{', '.join(sources)}]}}")


def told_amount(fields: str) -> str:
    return main(f"env: [{{name: A, valueFrom: {{resourceFieldRef: {{{fields}}}}}}}]")


MODES = "accessModes: [ReadWriteOnce]"
SIZE = "resources: {requests: {storage: 10Gi}}"
SERVERS = ", ".join(f"10.0.0.{number}" for number in range(1, 5))
DOMAINS = [f"d{number}.example.com" for number in range(33)]
LONG = [f"{'a' * 60}.{'b' * 60}.d{number}" for number in range(17)]
FILES = "items: [{key: k, path: p}]"
ONE_FILE = "{path: p, fieldRef: {fieldPath: metadata.name}}"
# The declaration, what the finding's place shows, a part of its message, what to write.
REFUSED = {
    "a fourth name server": (
        spec(f"dnsConfig: {{nameservers: [{SERVERS}]}}"),
        "10.0.0.4",
        "4 name servers; 3 are possible",
        "keep three",
    ),
    "a 33rd domain": (
        spec(f"dnsConfig: {{searches: [{', '.join(DOMAINS)}]}}"),
        "d32.example.com",
        "33 domains to search; 32 are possible",
        "keep 32",
    ),
    "domains that are too long": (
        spec(f"dnsConfig: {{searches: [{', '.join(LONG)}]}}"),
        "searches",
        "characters; 2048 are possible",
        "keep those that are needed",
    ),
    "a domain with a space": (
        spec('dnsConfig: {searches: ["_foo bar"]}'),
        '"_foo bar"',
        "`_foo bar` is not a domain",
        "write _foo-bar",
    ),
    "an option without a name": (
        spec('dnsConfig: {options: [{value: "1"}]}'),
        "value",
        "an option of the resolver needs its name",
        "add name: <option>",
    ),
    "an empty name of an option": (
        spec('dnsConfig: {options: [{name: ""}]}'),
        '""',
        "there is nothing here",
        "write the value",
    ),
    "Windows": (
        spec("os: {name: windows}"),
        "os",
        "a run has Linux pods",
        "take it out",
    ),
    "own users in the node's network": (
        spec("hostUsers: false\n    hostNetwork: true"),
        "hostUsers",
        "`hostUsers: false` and `hostNetwork` exclude each other",
        "take it out",
    ),
    "a device of the whole pod": (
        spec("resources: {limits: {example.com/nic: 1}}"),
        "example.com/nic",
        "`example.com/nic` is not given to a pod as a whole",
        "write it in the resources of the container",
    ),
    "a kernel setting twice": (
        spec("securityContext: {sysctls: [{name: net.a, value: '1'}, {name: net.a, value: '2'}]}"),
        "net.a",
        "`net.a` is set twice",
        "keep one of the two",
    ),
    "a folder of a server": (
        volume("nfs: {server: s, path: rel}"),
        "rel",
        "`rel` is not an absolute path",
        "write /rel",
    ),
    "no server": (
        volume('nfs: {server: "", path: /a}'),
        '""',
        "there is nothing here",
        "write the value",
    ),
    "a target of iSCSI": (
        volume("iscsi: {targetPortal: 'a:1', iqn: foo, lun: 0}"),
        "foo",
        "`foo` is not the name of an iSCSI target",
        "write a name such as iqn.",
    ),
    "a unit of iSCSI": (
        volume("iscsi: {targetPortal: 'a:1', iqn: 'iqn.2026-01.com.example:a', lun: 256}"),
        "256",
        "`256` is out of range: 0 to 255",
        "write a whole number from 0 to 255",
    ),
    "a driver": (
        volume('csi: {driver: "A B"}'),
        '"A B"',
        "`A B` is not the name of a CSI driver",
        "write a name such as",
    ),
    "no claim of its own": (
        volume("ephemeral: {}"),
        "{}",
        "an ephemeral volume needs the claim",
        "add volumeClaimTemplate: {spec:",
    ),
    "a claim without a size": (
        claim(MODES),
        "accessModes",
        "needs a size (resources.requests.storage)",
        "add resources: {requests: {storage: 10Gi}}",
    ),
    "a claim without a mode": (
        claim(SIZE),
        "resources",
        "needs `accessModes`",
        "add accessModes: [ReadWriteOnce]",
    ),
    "a claim of nothing": (
        claim(f"{MODES}, resources: {{requests: {{storage: 0}}}}"),
        "0",
        "`0` is no size of a volume",
        "write a size such as 10Gi",
    ),
    "a mode of a claim": (
        claim(f"accessModes: [RWO], {SIZE}"),
        "RWO",
        "`RWO` is not one of: ReadWriteOnce,",
        "write ReadWriteOnce or",
    ),
    "a mode that stands alone": (
        claim(f"accessModes: [ReadWriteOncePod, ReadWriteOnce], {SIZE}"),
        "[ReadWriteOncePod",
        "`ReadWriteOncePod` stands alone",
        "write [ReadWriteOncePod]",
    ),
    "a mode of a volume": (
        claim(f"{MODES}, {SIZE}, volumeMode: block"),
        "block",
        "`block` is not one of: Filesystem, Block",
        "write Block",
    ),
    "two sources in one": (
        projected("{secret: {name: hf}, configMap: {name: b}}"),
        "configMap",
        "`configMap` and `secret` are two sources in one item",
        "write it as an item of its own: - configMap: ...",
    ),
    "two files with one path": (
        projected(f"{{secret: {{name: hf, {FILES}}}}}", f"{{configMap: {{name: b, {FILES}}}}}"),
        "p}]}}]",
        "two files of the volume have the path `p`",
        "give one of the two another path",
    ),
    "two files of the pod with one path": (
        projected(f"{{secret: {{name: hf, {FILES}}}}}", f"downwardAPI: {{items: [{ONE_FILE}]}}"),
        "p, fieldRef",
        "two files of the volume have the path `p`",
        "give one of the two another path",
    ),
    "a unit of memory": (
        told_amount("resource: limits.memory, divisor: 3"),
        "3",
        "`3` is no unit of `limits.memory`",
        "write one of: 1, 1k, 1M",
    ),
    "nobody's resources": (
        volume("downwardAPI: {items: [{path: p, resourceFieldRef: {resource: limits.cpu}}]}"),
        "resource:",
        "needs the container whose they are",
        "add containerName: <container>",
    ),
    "a version of the fields": (
        main("env: [{name: A, valueFrom: {fieldRef: {apiVersion: v2, fieldPath: metadata.name}}}]"),
        "v2",
        "`v2` is not one of: v1",
        "write v1",
    ),
    "a claim of a device without its name": (
        spec("resourceClaims: [{name: a}]"),
        "a}",
        "nothing says which claim or template",
        "add one of: resourceClaimName, resourceClaimTemplateName",
    ),
    "the name of a ConfigMap": (
        main('envFrom: [{configMapRef: {name: "A B"}}]'),
        '"A B"',
        "`A B` is not the name of an object",
        "write a-b",
    ),
    "a long sleep": (
        main("lifecycle: {preStop: {sleep: {seconds: 9999}}}"),
        "9999",
        "a hook of 9999 s is longer than the grace of 300 s",
        "write 300 or less, or stop: {grace: 9999s}",
    ),
    "a hook without a program": (
        main("lifecycle: {preStop: {exec: {command: []}}}"),
        "[]",
        "nothing says which program is started",
        "add command: [<program>]",
    ),
    "a header": (
        main("livenessProbe: {httpGet: {port: 80, httpHeaders: [{name: X_a, value: b}]}}"),
        "X_a",
        "`X_a` is not the name of a header",
        "write X-a",
    ),
    "an open /proc": (
        main("securityContext: {procMount: Unmasked}"),
        "Unmasked",
        "`procMount: Unmasked` needs `hostUsers: false`",
        "take it out, or add hostUsers: false",
    ),
    "a profile from the root": (
        main("securityContext: {seccompProfile: {type: Localhost, localhostProfile: /a}}"),
        "/a",
        "`/a` is not a path inside the kubelet's folder",
        "write a",
    ),
    "a mount that is seen by the node": (
        job(f"mounts: {{/data: {{claim: logs}}}}\n{MAIN}"
            "        volumeMounts: [{name: logs, mountPath: /d, mountPropagation: Bidirectional}]"),
        "Bidirectional",
        "`mountPropagation: Bidirectional` is for privileged containers",
        "write HostToContainer",
    ),
    "keys without a selector": (
        apart("matchLabelKeys: [a]"),
        "matchLabelKeys",
        "`matchLabelKeys` needs a `labelSelector`",
        "add labelSelector: {matchLabels:",
    ),
    "a key on both sides": (
        apart("matchLabelKeys: [a], mismatchLabelKeys: [a], labelSelector: {matchLabels: {b: c}}"),
        "a], labelSelector",
        "`a` is in `matchLabelKeys` as well",
        "keep one of the two",
    ),
    "a namespace": (
        apart('namespaces: ["A B"]'),
        '"A B"',
        "`A B` is not a name",
        "write a-b",
    ),
    "keys of a spread without a selector": (
        spread("matchLabelKeys: [a]"),
        "matchLabelKeys",
        "`matchLabelKeys` needs a `labelSelector`",
        "add labelSelector: {matchLabels:",
    ),
    "a field of a node": (
        nodes("matchFields: [{key: metadata.foo, operator: In, values: [a]}]"),
        "metadata.foo",
        "`metadata.foo` is no field that a node is chosen by",
        "write metadata.name, or matchExpressions",
    ),
    "two names of one node": (
        nodes("matchFields: [{key: metadata.name, operator: In, values: [a, b]}]"),
        "[a, b]",
        "`operator: In` takes one name of a node here",
        "one term for each node",
    ),
    "any field of a node": (
        nodes("matchFields: [{key: metadata.name, operator: Exists}]"),
        "Exists",
        "`operator: Exists` is not possible for a field of a node",
        "write In or NotIn",
    ),
    "a value of a node's label": (
        nodes('matchExpressions: [{key: a, operator: In, values: ["A B"]}]'),
        '"A B"',
        "`A B` is not a label's value",
        "write A-B",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown", "message", "remedy"), REFUSED.values(), ids=list(REFUSED)
)
def test_what_the_api_server_refuses_is_one_finding_and_the_only_error(
    text: str, shown: str, message: str, remedy: str
) -> None:
    (found,) = [f for f in findings(text) if f.severity is Severity.ERROR]
    assert found.rule == "refused-pod-value"
    assert lines_from(found, text)[0].startswith(shown)
    assert message in found.message
    assert remedy in found.help


TAKEN = {
    "as many servers and domains as possible": spec(
        f"dnsConfig: {{nameservers: [10.0.0.1, 10.0.0.1, 'fd00::1'], "
        f"searches: [{', '.join(DOMAINS[:31])}, _a.b_c.], options: [{{name: ndots}}]}}"
    ),
    "the root as a domain": spec("dnsConfig: {searches: ['.']}"),
    "Linux, and users of its own": spec(
        "os: {name: linux}\n    hostUsers: false\n    containers:\n      - name: pytorch\n"
        "        securityContext: {procMount: Unmasked}"
    ),
    "memory of the whole pod": spec("resources: {limits: {memory: 1500Gi}}"),
    "volumes": spec(
        "volumes:\n"
        "      - {name: a, nfs: {server: s, path: /a/../b}}\n"
        "      - {name: b, iscsi: {targetPortal: 'a:1', iqn: 'iqn.2026-01.com.a:b', lun: 0}}\n"
        "      - {name: c, csi: {driver: A.b}}\n"
        f"      - {{name: d, ephemeral: {{volumeClaimTemplate: {{spec: {{{MODES}, {SIZE}}}}}}}}}\n"
        f"      - {{name: e, secret: {{secretName: a, items: [{{key: k, path: p}}, "
        "{key: l, path: p}]}}\n"
        "      - {name: f, projected: {sources: [{serviceAccountToken: {path: p}}, "
        f"{{secret: {{name: hf, {FILES}}}}}]}}}}"
    ),
    "a unit of cores": told_amount("resource: limits.cpu, divisor: 1m"),
    "no unit at all": told_amount("resource: limits.memory, divisor: 0"),
    "a sleep as long as the grace": job(
        f"stop: {{grace: 2m}}\n{MAIN}        lifecycle: {{preStop: {{sleep: {{seconds: 120}}}}}}"
    ),
    "keys with a selector": apart("matchLabelKeys: [a], labelSelector: {matchLabels: {b: c}}"),
    "keys of a spread with a selector": spread("matchLabelKeys: [a], labelSelector: {}"),
    "any namespace": apart("namespaceSelector: {}, labelSelector: {}"),
    "one node less": nodes("matchFields: [{key: metadata.name, operator: NotIn, values: [a.b]}]"),
    # No server looks at the values of a preference.
    "a preference": spec(
        NODES.format(
            PREFERRED,
            "[{weight: 1, preference: {matchExpressions: "
            '[{key: a, operator: In, values: ["A B"]}]}}]',
        )
    ),
}


@pytest.mark.parametrize("text", TAKEN.values(), ids=list(TAKEN))
def test_what_the_api_server_takes_is_no_finding(text: str) -> None:
    assert [(spot(f), f.message) for f in of("refused-pod-value", findings(text))] == []
