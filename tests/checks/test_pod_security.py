"""The Pod Security level of a namespace, and the rights that no run gets at any level."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from declarations import ROOT, TODAY, findings, job, of, only, policy, repository, spot

from compiler.diagnostics import Finding
from compiler.project import Project
from compiler.repository import Repository
from compiler.security.posture import pod_of, roles
from compiler.security.standards import Breach, Level, breaches

WEST = "policy/clusters/west.yaml"
SAFE = "security: {run_as_user: 1000, non_root: true}"
DIGEST = f"sha256:{'7' * 64}"
IMAGE = f"registry.example.com/training/helper@{DIGEST}"
# A container that says all that `restricted` demands of it.
MODEST = "allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}"


def at(level: str, *edits: tuple[str, str]) -> dict[str, str]:
    return policy(WEST, ("pod_security: privileged", f"pod_security: {level}"), *edits)


def pod(spec: str) -> str:
    return f"pod: {{spec: {{{spec}}}}}"


def main(context: str) -> str:
    return pod(f"containers: [{{name: pytorch, securityContext: {{{context}}}}}]")


def found(extra: str, level: str, files: dict[str, str] | None = None) -> list[Finding]:
    return findings(job(extra), {**at(level), **(files or {})})


BASELINE = [
    (main("privileged: true"), "privileged-container"),
    (pod("securityContext: {windowsOptions: {hostProcess: true}}"), "privileged-container"),
    ("host_network: true", "shared-host-namespace"),
    (pod("hostPID: true"), "shared-host-namespace"),
    (pod("hostIPC: true"), "shared-host-namespace"),
    ("security: {capabilities: [IPC_LOCK]}", "added-capability"),
    (main("capabilities: {add: [SYS_ADMIN]}"), "added-capability"),
    (main("capabilities: {add: [ALL]}"), "added-capability"),
    (pod("securityContext: {seccompProfile: {type: Unconfined}}"), "relaxed-confinement"),
    (main("appArmorProfile: {type: Unconfined}"), "relaxed-confinement"),
    (main("seLinuxOptions: {type: spc_t}"), "relaxed-confinement"),
    (main("seLinuxOptions: {user: root}"), "relaxed-confinement"),
    (
        # The API server wants the first for the second, whatever the namespace allows.
        pod(
            "hostUsers: false,"
            " containers: [{name: pytorch, securityContext: {procMount: Unmasked}}]"
        ),
        "relaxed-confinement",
    ),
    (
        "annotations: {container.apparmor.security.beta.kubernetes.io/pytorch: unconfined}",
        "relaxed-confinement",
    ),
    (pod("securityContext: {sysctls: [{name: kernel.msgmax, value: '1'}]}"), "unsafe-sysctl"),
    (pod("volumes: [{name: n, hostPath: {path: /mnt}}]"), "refused-volume"),
    (
        pod("containers: [{name: pytorch, ports: [{name: p, containerPort: 80, hostPort: 80}]}]"),
        "host-port",
    ),
]
RESTRICTED = [
    ("security: {run_as_user: 0, non_root: true}", "root-user"),
    ("security: {run_as_user: 1000, non_root: false}", "root-user"),
    ("security: {run_as_user: 1000}", "root-user"),
    ("", "root-user"),
    (f"{SAFE}\n" + main("runAsNonRoot: false"), "root-user"),
    (f"{SAFE}\n" + main("allowPrivilegeEscalation: true"), "unrestricted-container"),
    (
        f"{SAFE}\n" + pod(f"initContainers: [{{name: x, image: '{IMAGE}'}}]"),
        "unrestricted-container",
    ),
    (f"{SAFE}\n" + main("capabilities: {add: [CHOWN], drop: [ALL]}"), "added-capability"),
    (f"{SAFE}\n" + pod("volumes: [{name: n, nfs: {server: a, path: /b}}]"), "refused-volume"),
]
EVERY_LEVEL = {"privileged-container"}


@pytest.mark.parametrize(("extra", "rule"), BASELINE)
@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_what_baseline_refuses_is_found_where_it_is_written(
    extra: str, rule: str, level: str
) -> None:
    safe = SAFE if not extra.startswith("security") else ""
    if extra.startswith("security") and level == "restricted":
        extra = extra.replace("{", "{run_as_user: 1000, non_root: true, ", 1)
    item = only(rule, found(f"{extra}\n{safe}", level))
    assert item.place.path == "jobs/example.yaml"
    assert item.place.line == 7
    assert f"`{level}`" in item.message
    assert (WEST, "the level of the namespaces") in [
        (related.place.path, related.message) for related in item.related
    ]


@pytest.mark.parametrize(("extra", "rule"), RESTRICTED)
def test_what_restricted_refuses_is_found_once(extra: str, rule: str) -> None:
    item = only(rule, found(extra, "restricted"))
    assert item.place.path == "jobs/example.yaml"


# The kubelet itself refuses the user 0 beside `non_root: true`, at any level.
PASSED = [extra for extra, _ in RESTRICTED if "NET" not in extra and "user: 0, non" not in extra]


@pytest.mark.parametrize("extra", PASSED)
def test_what_only_restricted_refuses_passes_at_baseline(extra: str) -> None:
    assert found(extra, "baseline") == []


@pytest.mark.parametrize(
    "extra",
    [
        SAFE,
        SAFE + "\nsidecars: [{name: exporter, image: gpu-exporter}]",
        SAFE + "\ninit: [{name: stage, image: llm-sft, command: [copy]}]",
        SAFE + "\n" + main("capabilities: {add: [NET_BIND_SERVICE]}"),
        SAFE + "\nfiles: {/etc/train/a.yaml: configs/sft.yaml}\nshm_size: 1Gi",
        SAFE + "\n" + pod(f"containers: [{{name: x, image: '{IMAGE}',"
                          f" securityContext: {{{MODEST}}}}}]"),
        pod("securityContext: {runAsNonRoot: true}"),
    ],
)  # fmt: skip
def test_a_modest_run_passes_at_restricted(extra: str) -> None:
    files = {"configs/sft.yaml": "lr: 1\n"}
    assert found(extra, "restricted", files) == []


@pytest.mark.parametrize(
    ("extra", "rule"),
    [
        (main("privileged: true"), "privileged-container"),
        (pod("hostPID: true"), "shared-host-namespace"),
        (pod("hostIPC: true"), "shared-host-namespace"),
        ("security: {capabilities: [SYS_PTRACE]}", "added-capability"),
        (main("capabilities: {add: [SYS_ADMIN]}"), "added-capability"),
    ],
)
def test_some_rights_are_refused_at_every_level(extra: str, rule: str) -> None:
    assert only(rule, found(extra, "privileged")).place.line == 7


@pytest.mark.parametrize(
    "extra",
    [
        "host_network: true",
        "security: {capabilities: [IPC_LOCK]}",
        main("capabilities: {add: [IPC_LOCK, CHOWN]}"),
        "security: {run_as_user: 0}",
        pod("securityContext: {seccompProfile: {type: Unconfined}}"),
    ],
)
def test_a_cluster_that_refuses_nothing_gets_the_rest(extra: str) -> None:
    assert found(extra, "privileged") == []


def test_a_capability_of_policy_is_found_in_policy_with_the_job() -> None:
    item = only("added-capability", findings(job(num_nodes="2"), at("baseline")))
    text = at("baseline")[WEST].splitlines()[(item.place.line or 0) - 1]
    assert item.place.path == WEST
    assert "IPC_LOCK" in text
    assert "jobs/example.yaml" in [related.place.path for related in item.related]


def test_what_is_safe_follows_the_version_of_the_cluster() -> None:
    extra = pod("securityContext: {sysctls: [{name: net.ipv4.tcp_rmem, value: '1 2 3'}]}")
    assert found(extra, "baseline") == []
    old = at("baseline", ("kubernetes: 1.33.4", "kubernetes: 1.31.9"))
    only("unsafe-sysctl", findings(job(extra), old))
    probe = pod("containers: [{name: pytorch, livenessProbe: {httpGet: {port: 80, host: a.b}}}]")
    assert found(probe, "baseline") == []
    new = at("baseline", ("kubernetes: 1.33.4", "kubernetes: v1.34.1"))
    only("probe-of-another-host", findings(job(probe), new))


def base_job(*edits: tuple[str, str]) -> dict[str, str]:
    return policy("base/job/job.yaml", *edits)


CONTAINERS = "      containers:\n"
VOLUME = "      volumes:\n        - name: a\n          hostPath:\n            path: /mnt\n"
PROFILE = "      securityContext:\n        seccompProfile:\n          type: RuntimeDefault\n"


def beside(field: str) -> str:
    """A further container before the others, with one field more than its name."""
    return f"      initContainers:\n        - name: a\n          {field}\n{CONTAINERS}"


@pytest.mark.parametrize(
    ("edits", "level", "rule", "line"),
    [
        ([(CONTAINERS, f"      hostPID: true\n{CONTAINERS}")], "privileged",
         "shared-host-namespace", "hostPID"),
        ([("type: RuntimeDefault", "type: Unconfined")], "baseline", "relaxed-confinement",
         "Unconfined"),
        ([("allowPrivilegeEscalation: false", "privileged: true")],
         "privileged", "privileged-container", "privileged: true"),
        ([(PROFILE, "")], "restricted", "relaxed-confinement", "spec:"),
        ([("automountServiceAccountToken: false", "automountServiceAccountToken: true")],
         "privileged", "token-in-every-pod", "automountServiceAccountToken"),
        ([(CONTAINERS, beside("image: busybox:1@" + DIGEST))], "privileged", "unlisted-registry",
         "busybox"),
        ([(CONTAINERS, beside("image: registry.example.com/mirror/a:1"))], "privileged",
         "unpinned-image", "mirror/a:1"),
        ([(CONTAINERS, VOLUME + CONTAINERS)], "privileged", "host-path", "/mnt"),
    ],
)  # fmt: skip
def test_a_fault_of_a_base_is_found_in_the_base_with_the_job(
    edits: list[tuple[str, str]], level: str, rule: str, line: str
) -> None:
    files = {**at(level), **base_job(*edits)}
    item = only(rule, findings(job(SAFE), files))
    assert item.place.path == "base/job/job.yaml"
    assert line in files["base/job/job.yaml"].splitlines()[(item.place.line or 0) - 1]
    assert "jobs/example.yaml" in [related.place.path for related in item.related]


def test_a_fault_that_both_templates_of_a_base_have_is_found_in_both() -> None:
    text = (ROOT / "base/pytorchjob/job.yaml").read_text("utf-8")
    files = {"base/pytorchjob/job.yaml": text.replace("type: RuntimeDefault", "type: Unconfined")}
    cluster = at("baseline", ("      capabilities: [IPC_LOCK]\n", ""))
    items = of("relaxed-confinement", findings(job(num_nodes="2"), {**cluster, **files}))
    lines = [n for n, line in enumerate(text.splitlines(), 1) if "type: RuntimeDefault" in line]
    assert [item.place.line for item in items] == lines
    one = of("relaxed-confinement", findings(job(), {**cluster, **base_job(
        ("type: RuntimeDefault", "type: Unconfined"))}))  # fmt: skip
    assert len(one) == 1


def test_a_job_gets_the_token_that_it_asks_for() -> None:
    for asks in (
        "security: {service_account: reader, service_account_token: true}",
        pod("automountServiceAccountToken: true"),
    ):
        assert findings(job(asks)) == []


def emitted(text: str, files: dict[str, str], root: Path) -> list[dict[str, Any]]:
    """The pod templates of a job, as they are written."""
    made = Project(
        Repository(repository(root, {"jobs/example.yaml": text, **files})), at=TODAY
    ).judge(root / "jobs/example.yaml")
    assert made.findings == []
    (run,) = made.runs
    specs = run.objects[0]["spec"]
    roles = specs.get("pytorchReplicaSpecs", {"": specs})
    return [role["template"] for role in roles.values()]


def test_no_token_is_mounted_unless_it_is_asked_for(tmp_path: Path) -> None:
    (pod,) = emitted(job(), {}, tmp_path / "a")
    assert pod["spec"]["automountServiceAccountToken"] is False
    asking = job("security: {service_account: reader, service_account_token: true}")
    (pod,) = emitted(asking, {}, tmp_path / "b")
    assert pod["spec"]["automountServiceAccountToken"] is True
    assert pod["spec"]["serviceAccountName"] == "reader"


def test_at_restricted_every_container_of_a_declaration_says_what_it_must(tmp_path: Path) -> None:
    text = job(SAFE + "\nsidecars: [{name: exporter, image: gpu-exporter}]")
    (made,) = emitted(text, at("restricted"), tmp_path)
    containers = [*made["spec"]["containers"], *made["spec"]["initContainers"]]
    assert len(containers) == 2
    for container in containers:
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]


def test_workers_that_the_operator_would_have_refused_are_told() -> None:
    cluster = at("restricted", ("      capabilities: [IPC_LOCK]\n", ""))
    item = only("operator-container-refused", findings(job(SAFE, num_nodes="2"), cluster))
    assert spot(item).startswith("jobs/example.yaml:7")
    elastic = job(SAFE, num_nodes="{min: 1, max: 2}")
    assert findings(elastic, cluster) == []


SHAPES = [
    "",
    SAFE,
    "num_nodes: 2",
    "num_nodes: 2\nmaster: {security: {run_as_user: 0}, image: pretrain}",
    "num_nodes: {min: 1, max: 2}",
    "host_network: true\nports: {http: 8080}",
    "sidecars: [{name: exporter, image: gpu-exporter}]",
    "init: [{name: stage, image: llm-sft, command: [copy]}]\n" + pod("hostUsers: false"),
    pod("securityContext: {seccompProfile: {type: Localhost, localhostProfile: a}}"),
    pod(
        "volumes: [{name: n, nfs: {server: a, path: /b}}], containers: [{name: pytorch,"
        " volumeMounts: [{name: n, mountPath: /n}], securityContext: {runAsUser: 0}}]"
    ),
]


@pytest.mark.parametrize("extra", SHAPES)
@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_the_part_that_is_judged_has_the_breaches_of_the_whole_object(
    extra: str, level: Level, tmp_path: Path
) -> None:
    root = repository(tmp_path, {"jobs/example.yaml": job(extra)})
    project = Project(Repository(root), at=TODAY)
    errors = [
        f for f in project.judge(root / "jobs/example.yaml").findings if f.severity == "error"
    ]
    assert errors == []
    (result,) = project.judge(root / "jobs/example.yaml").runs
    for member, template in roles(result.run, result.backend.target):
        whole: Any = result.objects[0]
        for step in template:
            whole = whole[step]
        part = pod_of(result.run, member, result.site, template)
        assert set(breaches(part, level)) == set(breaches(whole, level))


# The fixtures of the API server's own checks, each named for the check that it is about.
FIXTURES = {
    "allowprivilegeescalation": {"escalation"},
    "apparmorprofile": {"confinement"},
    "capabilities_baseline": {"capabilities"},
    "capabilities_restricted": {"capabilities", "dropped-capabilities"},
    "hostnamespaces": {"host-namespaces"},
    "hostpathvolumes": {"host-path"},
    "hostports": {"host-port"},
    "hostprobesandhostlifecycle": {"probe-host"},
    "privileged": {"privileged"},
    "procmount": {"confinement"},
    "procmount_restricted": {"confinement"},
    "restrictedvolumes": {"volume-types", "host-path"},
    "runasnonroot": {"non-root"},
    "runasuser": {"user"},
    "seccompprofile_baseline": {"confinement"},
    "seccompprofile_restricted": {"confinement"},
    "selinuxoptions": {"confinement"},
    "sysctls": {"sysctls"},
    "windowshostprocess": {"host-process"},
}


def module() -> Path | None:
    """The Go module of the API server's checks, where this machine has it."""
    cache = Path(os.environ.get("GOMODCACHE") or Path.home() / "go/pkg/mod")
    found = sorted((cache / "k8s.io").glob("pod-security-admission@v0.3[5-9].*/test/testdata"))
    return found[-1] if found else None


@pytest.mark.skipif(module() is None, reason="no module k8s.io/pod-security-admission here")
@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_the_api_server_s_own_fixtures_are_judged_alike(level: Level) -> None:
    root = module()
    assert root is not None
    judged = 0
    for version in sorted((root / level).iterdir()):
        minor = int(version.name.partition(".")[2])
        if not 25 <= minor <= 35:
            continue
        for path in sorted(version.glob("*/*.yaml")):
            got = list(breaches(yaml.safe_load(path.read_text("utf-8")), level, minor))
            if path.parent.name == "pass":
                assert got == [], path
            else:
                wanted = FIXTURES[path.stem.rstrip("0123456789")]
                assert {breach.control for breach in got} & wanted, path
            judged += 1
    assert judged > 300


def restricted(spec: dict[str, Any] | None = None, **context: Any) -> dict[str, Any]:
    modest = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {
        "spec": {
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "a", "securityContext": {**modest, **context}}],
            **(spec or {}),
        }
    }


@pytest.mark.parametrize(
    ("made", "level", "minor", "wanted"),
    [
        (restricted(), "restricted", 35, None),
        ({"spec": {"containers": [{"name": "a"}]}}, "baseline", 35, None),
        (restricted(procMount="Unmasked"), "baseline", 34, "confinement"),
        (restricted({"hostUsers": False}, procMount="Unmasked"), "baseline", 34, "confinement"),
        (restricted({"hostUsers": False}, procMount="Unmasked"), "baseline", 35, None),
        (restricted({"hostUsers": False}, procMount="Unmasked"), "restricted", 35, "confinement"),
        (restricted({"hostUsers": False}, runAsUser=0), "restricted", 34, "user"),
        (restricted({"hostUsers": False}, runAsUser=0), "restricted", 35, None),
        (restricted(runAsNonRoot=False), "restricted", 35, "non-root"),
        (restricted(seLinuxOptions={"type": "container_engine_t"}), "baseline", 30, "confinement"),
        (restricted(seLinuxOptions={"type": "container_engine_t"}), "baseline", 31, None),
        (restricted({"volumes": [{"name": "v", "image": {}}]}), "restricted", 35, None),
        (restricted({"volumes": [{"name": "v", "iscsi": {}}]}), "restricted", 35, "volume-types"),
        (restricted({"volumes": [{"name": "v", "iscsi": {}}]}), "baseline", 35, None),
        (restricted(capabilities={"drop": ["all"]}), "restricted", 35, "dropped-capabilities"),
    ],
)
def test_a_pod_has_just_the_breach_that_its_level_names(
    made: dict[str, Any], level: Level, minor: int, wanted: str | None
) -> None:
    got: list[Breach] = list(breaches(made, level, minor))
    assert [breach.control for breach in got] == ([] if wanted is None else [wanted])
    assert list(breaches(made, "privileged", minor)) == []
