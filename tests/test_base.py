"""Bases are looked through before kustomize sees them, and read as kustomize would build them."""

import shutil
from pathlib import Path

import pytest

from compiler import kustomize
from compiler.backends import backends
from compiler.base import load
from compiler.diagnostics import Unavailable
from compiler.repository import Repository

ROOT = Path(__file__).resolve().parents[1]
AVAILABLE = kustomize.all_available(ROOT)
HEADER = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
LISTED = HEADER + "resources:\n  - job.yaml\n"

needs_kustomize = pytest.mark.skipif(not AVAILABLE, reason="no kustomize here")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with the example bases, and with a cache of its own."""
    root = tmp_path / "repository"
    shutil.copytree(ROOT / "base", root / "base")
    (root / "pyproject.toml").write_text("[tool.compiler]\n")
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    if AVAILABLE:
        monkeypatch.setenv("KUSTOMIZE", AVAILABLE[0].command[0])
    return Repository(root)


def put(repository, name, text):
    path = repository.root / "base" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def edit(repository, name, old, new):
    path = repository.root / "base" / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def findings(repository, backend="pytorchjob"):
    base, found = load(repository, backends()[backend])
    assert (base is None) == bool(found)
    return [(one.rule, one.place.path, one.place.line, one.place.column) for one in found]


def base_of(repository, backend="pytorchjob"):
    base, found = load(repository, backends()[backend])
    assert found == []
    return base


@pytest.mark.parametrize("backend", ["pytorchjob", "job"])
@pytest.mark.kustomize
@needs_kustomize
def test_a_base_of_one_file_is_read_as_every_kustomize_builds_it(backend):
    base = base_of(Repository(ROOT), backend)
    for real in AVAILABLE:
        assert real.build(ROOT / "base" / backend) == [base.object], real.name


def test_a_base_of_one_file_needs_no_kustomize(repository, monkeypatch):
    monkeypatch.setattr("compiler.kustomize.find", lambda root=None: pytest.fail("was looked for"))
    assert base_of(repository).object["kind"] == "PyTorchJob"


ODD_VALUES = [
    "on", "y", "NO", "010", "0x1f", "0o17", "1_000", "1e5", "12345678901234567", "2024-01-01",
    "1:30", "~", "null", "''", '"\\u0041 \\t"', "'it''s'", "=", "text: no", "a #b", "#", "!x y",
    "|\n            two\n            lines", ">\n            folded\n            text", "[]", "{}",
    "true", "False", "12", "-0", "+1", "1.0", ".5", "0", "12Gi", "5m", "a,b", "/a/b", "é", "😀",
]  # fmt: skip


@pytest.mark.parametrize("value", ODD_VALUES)
@pytest.mark.kustomize
@needs_kustomize
def test_any_value_is_read_as_kustomize_builds_it(repository, value):
    """Where the reading could differ, kustomize is asked; its answer may be a refusal."""
    put(repository, "job/kustomization.yaml", LISTED)
    put(
        repository,
        "job/job.yaml",
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: run\nspec:\n"
        f"  podFailurePolicy:\n    value: {value}\n  template: {{spec: {{priority: 1}}}}\n",
    )
    base, found = load(repository, backends()["job"])
    if base is None:
        assert {one.rule for one in found} <= {
            "unbuildable-base", "yaml-tag", "syntax-error", "forbidden-base-value",
        }  # fmt: skip
        return
    for real in AVAILABLE:
        assert real.build(repository.root / "base/job") == [base.object], real.name


REMOTE = [
    "https://example.com/base.yaml",
    "HTTP://example.com/base.yaml",
    "git@example.com:org/repository",
    "ssh://git@example.com/org/repository",
    "git::https://example.com/org/repository",
    "github.com/org/repository",
    "github.com/org/repository//base?ref=main",
    "example.com/org/repository//base",
    "file:///etc/passwd",
    "job.yaml?ref=main",
    "../x?ref=v1",
]


@pytest.mark.parametrize("path", REMOTE)
@pytest.mark.parametrize("field", ["resources", "components"])
def test_an_address_is_a_finding_at_its_line(repository, field, path):
    text = LISTED + (f"  - {path}\n" if field == "resources" else f"{field}:\n  - {path}\n")
    put(repository, "pytorchjob/kustomization.yaml", text)
    line = 5 if field == "resources" else 6
    assert findings(repository) == [("remote-base", "base/pytorchjob/kustomization.yaml", line, 5)]


def test_the_address_of_a_patch_is_a_finding(repository):
    text = LISTED + "patches:\n  - path: https://example.com/patch.yaml\n"
    put(repository, "pytorchjob/kustomization.yaml", text)
    where = ("remote-base", "base/pytorchjob/kustomization.yaml", 6, 11)
    assert findings(repository) == [where]


def test_a_file_whose_name_looks_like_an_address_is_one(repository):
    """kustomize decides by the name, so a file of that name would not be read."""
    put(repository, "pytorchjob/github.com/org/job.yaml", "{}")
    put(repository, "pytorchjob/kustomization.yaml", LISTED + "  - github.com/org/job.yaml\n")
    assert [rule for rule, *_ in findings(repository)] == ["remote-base"]


@pytest.mark.parametrize("path", ["/etc/hosts", "~/x", "../job/job.yaml", "a/../../job", "C:\\x"])
def test_a_path_out_of_the_folder_is_a_finding(repository, path):
    put(repository, "pytorchjob/kustomization.yaml", LISTED + f"  - {path}\n")
    where = ("far-base-path", "base/pytorchjob/kustomization.yaml", 5, 5)
    assert findings(repository) == [where]


@pytest.mark.parametrize("kind", ["file", "folder", "kustomization", "base"])
def test_a_link_is_a_finding_wherever_it_leads(repository, kind):
    folder = repository.root / "base/pytorchjob"
    if kind == "file":
        (folder / "job.yaml").rename(folder / "real.yaml")
        (folder / "job.yaml").symlink_to("real.yaml")
    elif kind == "folder":
        (folder / "inner").mkdir()
        (folder / "job.yaml").rename(folder / "inner/job.yaml")
        (folder / "link").symlink_to("inner")
        put(repository, "pytorchjob/kustomization.yaml", HEADER + "resources: [link/job.yaml]\n")
    elif kind == "kustomization":
        (folder / "kustomization.yaml").rename(folder / "k")
        (folder / "kustomization.yaml").symlink_to("k")
    else:
        folder.rename(repository.root / "elsewhere")
        folder.symlink_to("../elsewhere")
    assert [rule for rule, *_ in findings(repository)] == ["far-base-path"]


EXECUTABLE = [
    "generators: [g.yaml]",
    "transformers: [t.yaml]",
    "validators: [v.yaml]",
    "helmCharts:\n  - name: x\n    repo: https://example.com",
    "helmChartInflationGenerator:\n  - chartName: x",
    "helmGlobals:\n  chartHome: x",
]


@pytest.mark.parametrize("text", EXECUTABLE)
def test_what_makes_kustomize_run_something_is_a_finding(repository, text):
    put(repository, "pytorchjob/kustomization.yaml", LISTED + text + "\n")
    where = ("executable-base", "base/pytorchjob/kustomization.yaml", 5, 1)
    assert findings(repository) == [where]


@pytest.mark.parametrize(
    "key",
    [
        "config.kubernetes.io/function",
        "config.k8s.io/function",
        "internal.config.kubernetes.io/needs-hash-suffix",
        "config.kubernetes.io/local-config",
    ],
)
def test_an_annotation_that_speaks_to_kustomize_is_a_finding(repository, key):
    edit(
        repository,
        "job/job.yaml",
        "  name: run\n",
        f'  name: run\n  annotations:\n    {key}: "x"\n',
    )
    assert findings(repository, "job") == [("executable-base", "base/job/job.yaml", 7, 5)]


def test_such_an_annotation_is_found_in_a_patch_too(repository):
    patch = 'metadata: {annotations: {config.kubernetes.io/function: "x"}}\n'
    put(repository, "pytorchjob/patch.yaml", patch)
    put(repository, "pytorchjob/kustomization.yaml", LISTED + "patches:\n  - path: patch.yaml\n")
    assert findings(repository) == [("executable-base", "base/pytorchjob/patch.yaml", 1, 26)]


REFUSED = [
    "bases: [x]", "buildMetadata: [originAnnotations]", "commonLabels: {a: b}",
    "configMapGenerator: [{name: x}]", "configurations: [x]", "crds: [https://example.com/x]",
    "generatorOptions: {}", "images: [{name: x}]", "imageTags: []", "namePrefix: x",
    "nameSuffix: x", "namespace: x", "openapi: {path: https://example.com/x}",
    "patchesJson6902: []", "patchesStrategicMerge: []", "replacements: []", "replicas: []",
    "secretGenerator: []", "vars: []", "HelmCharts: []", "resource: []", "somethingElse: 1",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_a_field_that_a_base_must_not_have_is_a_finding_at_its_line(repository, text):
    put(repository, "pytorchjob/kustomization.yaml", LISTED + text + "\n")
    where = ("unsupported-base-field", "base/pytorchjob/kustomization.yaml", 5, 1)
    assert findings(repository) == [where]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("labels:\n  - pairs: {a: b}\n    includeSelectors: true", 7),
        ("patches:\n  - Path: x", 6),
        ("patches:\n  - x.yaml", 6),
        ("labels: {a: b}", 5),
        ("resources: job.yaml", None),
    ],
)
def test_a_field_within_a_field_is_looked_at_too(repository, text, line):
    header = HEADER if line is None else LISTED
    put(repository, "pytorchjob/kustomization.yaml", header + text + "\n")
    where = "base/pytorchjob/kustomization.yaml"
    found = findings(repository)
    assert [one[:3] for one in found] == [("unsupported-base-field", where, line or 3)]


@pytest.mark.parametrize("name", ["kustomization.yml", "Kustomization"])
def test_two_kustomizations_in_a_folder_are_a_finding(repository, name):
    put(repository, f"pytorchjob/{name}", LISTED)
    assert [rule for rule, *_ in findings(repository)] == ["missing-base-file"]


def test_a_base_without_a_kustomization_is_a_finding(repository):
    (repository.root / "base/pytorchjob/kustomization.yaml").unlink()
    found = [("missing-base-file", "base/pytorchjob/kustomization.yaml", None, None)]
    assert findings(repository) == found


def test_a_missing_file_is_a_finding_that_names_the_nearest(repository):
    put(repository, "pytorchjob/kustomization.yaml", HEADER + "resources: [jobs.yaml]\n")
    _, (found,) = load(repository, backends()["pytorchjob"])
    assert (found.rule, found.place.line, found.help) == (
        "missing-base-file", 3, "write `job.yaml`",
    )  # fmt: skip


def test_what_is_wrong_in_a_file_of_the_base_is_shown_there(repository):
    edit(repository, "job/job.yaml", "  name: run\n", "  name: run\n  name: run\n")
    assert findings(repository, "job") == [("duplicate-key", "base/job/job.yaml", 6, 3)]


FORBIDDEN = [
    ("job", "spec:\n", "  ttlSecondsAfterFinished: 60\n"),
    ("job", "spec:\n", "  suspend: false\n"),
    ("job", "spec:\n", "  activeDeadlineSeconds: 60\n"),
    ("job", "spec:\n", "  managedBy: kueue.x-k8s.io/multikueue\n"),
    ("job", "  name: run\n", "  namespace: training\n"),
    ("job", "  name: run\n", "  finalizers: [a.b/c]\n"),
    ("job", "  name: run\n", '  annotations: {argocd.argoproj.io/hook: "Sync"}\n'),
    ("job", "  name: run\n", '  annotations: {kustomize.toolkit.fluxcd.io/force: "enabled"}\n'),
    ("job", "        - name: pytorch\n", "          image: example.com/x\n"),
    ("job", "        - name: pytorch\n", "          command: [x]\n"),
    ("job", "          env:\n", "            - {name: RANK, value: x}\n"),
    ("job", "          env:\n", "            - {name: PET_NNODES, value: x}\n"),
    ("job", "          env:\n", "            - {name: LR, value: 10}\n"),
    ("job", "          env:\n", "            - {name: LR, value: true}\n"),
    ("job", "    spec:\n", "      nodeSelector: {a: b}\n"),
    ("job", "    spec:\n", "      tolerations: [{operator: Exists}]\n"),
    ("job", "    spec:\n", "      hostNetwork: true\n"),
    ("job", "    spec:\n", "      restartPolicy: Always\n"),
    ("pytorchjob", "spec:\n", "  elasticPolicy: {minReplicas: 1}\n"),
    ("pytorchjob", "spec:\n", "  runPolicy: {ttlSecondsAfterFinished: 60}\n"),
    ("pytorchjob", "spec:\n", "  runPolicy: {suspend: true}\n"),
    ("pytorchjob", "    Master:\n", "      restartPolicy: ExitCode\n"),
    ("pytorchjob", "  pytorchReplicaSpecs:\n", "    worker: {replicas: 1}\n"),
]


@pytest.mark.parametrize(("backend", "after", "text"), FORBIDDEN)
def test_a_value_that_is_not_the_bases_to_set_is_a_finding_at_its_line(
    repository, backend, after, text
):
    name = f"{backend}/job.yaml"
    lines = (repository.root / "base" / name).read_text("utf-8").splitlines(keepends=True)
    at = lines.index(after)
    edit(repository, name, after, after + text)
    found = [one[:3] for one in findings(repository, backend)]
    assert found == [("forbidden-base-value", f"base/{name}", at + 2)]


def test_a_label_that_queues_every_run_is_a_finding(repository):
    label = "  labels:\n    kueue.x-k8s.io/queue-name: x\n"
    edit(repository, "job/job.yaml", "  labels:\n", label)
    assert findings(repository, "job") == [("forbidden-base-value", "base/job/job.yaml", 7, 32)]


def test_what_a_patch_of_the_base_sets_is_found_in_the_patch(repository):
    put(repository, "job/patch.yaml", "- op: add\n  path: /spec/suspend\n  value: true\n")
    put(
        repository,
        "job/kustomization.yaml",
        LISTED + "patches:\n  - path: patch.yaml\n    target: {kind: Job}\n",
    )
    if AVAILABLE:
        assert findings(repository, "job") == [
            ("forbidden-base-value", "base/job/patch.yaml", 3, 10)
        ]


def test_a_container_without_an_image_is_a_finding(repository):
    text = "        - name: exporter\n        - name: pytorch\n"
    edit(repository, "job/job.yaml", "        - name: pytorch\n", text)
    assert findings(repository, "job") == [
        ("incomplete-base-container", "base/job/job.yaml", 22, 11)
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: run}\n", "v1 ConfigMap"),
        ("apiVersion: batch/v1beta1\nkind: Job\nmetadata: {name: run}\n", "batch/v1beta1 Job"),
    ],
)
def test_an_object_of_another_kind_is_a_finding(repository, text, said):
    put(repository, "job/job.yaml", text)
    _, (found,) = load(repository, backends()["job"])
    assert found.rule == "wrong-base-object"
    assert said in found.message


@needs_kustomize
@pytest.mark.kustomize
def test_a_second_object_is_a_finding(repository):
    put(repository, "job/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n")
    put(repository, "job/kustomization.yaml", LISTED + "  - more.yaml\n")
    assert findings(repository, "job") == [
        ("wrong-base-object", "base/job/kustomization.yaml", 1, 1)
    ]


@needs_kustomize
@pytest.mark.kustomize
def test_a_base_that_kustomize_refuses_is_a_finding_with_its_words(repository):
    patch = (
        "patches:\n  - target: {kind: Job}\n    patch: |-\n      - op: remove\n        path: /x\n"
    )
    put(repository, "job/kustomization.yaml", LISTED + patch)
    _, (found,) = load(repository, backends()["job"])
    assert found.rule == "unbuildable-base"
    assert "remove" in found.message


WORDS = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: run
spec:
  template:
    spec:
      terminationGracePeriodSeconds: 120
      serviceAccountName: trainer
      automountServiceAccountToken: true
      securityContext:
        runAsUser: 1000
        runAsGroup: 2000
        fsGroup: 3000
        runAsNonRoot: true
      volumes:
        - name: dshm
          emptyDir: {medium: Memory, sizeLimit: 2Gi}
      containers:
        - name: pytorch
          imagePullPolicy: Always
          resources:
            limits: {cpu: "4", memory: 8Gi}
            requests: {cpu: "2", memory: 8Gi}
          volumeMounts: [{name: dshm, mountPath: /dev/shm}]
"""


def test_what_a_base_says_becomes_a_layer_with_the_bases_own_places(repository):
    put(repository, "job/job.yaml", WORDS)
    fields = base_of(repository, "job").fields
    assert fields == {
        "stop": {"grace": "120s"},
        "security": {
            "service_account": "trainer",
            "service_account_token": "true",
            "run_as_user": "1000",
            "run_as_group": "2000",
            "fs_group": "3000",
            "non_root": "true",
        },
        "pull": "always",
        "cpu": {"request": "2", "limit": "4"},
        "memory": "8Gi",
        "shm_size": "2Gi",
    }
    lines = {
        "grace": fields["stop"]["grace"].place.line,
        "user": fields["security"]["run_as_user"].place.line,
        "memory": fields["memory"].place.line,
        "shm": fields["shm_size"].place.line,
    }
    assert lines == {"grace": 8, "user": 12, "memory": 23, "shm": 18}
    assert {fields["memory"].place.path, fields["pull"].place.path} == {"base/job/job.yaml"}


def test_the_layer_is_a_layer_of_declarations(repository):
    """Whatever a base says must be typed as the declaration would be."""
    from compiler.declaration import Declaration
    from compiler.validation import validate

    put(repository, "job/job.yaml", WORDS)
    value, found = validate(Declaration, base_of(repository, "job").fields, "a job")
    assert found == []
    assert (value.stop.grace, value.security.run_as_user) == (120, 1000)


def test_replica_types_that_disagree_are_a_finding(repository):
    path = repository.root / "base/pytorchjob/job.yaml"
    text = path.read_text("utf-8")
    first, second = text.rsplit("automountServiceAccountToken: false", 1)
    path.write_text(f"{first}automountServiceAccountToken: true{second}", "utf-8")
    line = first.count("\n") + 1
    found = [one[:3] for one in findings(repository)]
    assert found == [("forbidden-base-value", "base/pytorchjob/job.yaml", line)]


@needs_kustomize
@pytest.mark.kustomize
def test_places_are_found_in_patches_by_the_keys_of_items(repository):
    patch = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: run}\nspec:\n  template:\n    spec:\n"
        "      containers:\n        - name: pytorch\n          workingDir: /work\n"
    )
    put(repository, "job/patch.yaml", patch)
    put(
        repository,
        "job/kustomization.yaml",
        LISTED + "patches:\n  - path: patch.yaml\nlabels:\n  - pairs:\n      team: core\n",
    )
    base = base_of(repository, "job")
    route = ("spec", "template", "spec", "containers", 0)
    place = base.place((*route, "workingDir"))
    assert (place.path, place.line) == ("base/job/patch.yaml", 9)
    place = base.place(("metadata", "labels", "team"))
    assert (place.path, place.line) == ("base/job/kustomization.yaml", 9)
    place = base.place((*route, "nothing"))
    assert place.path.startswith("base/job/")


@needs_kustomize
@pytest.mark.kustomize
def test_a_base_is_built_once_for_its_content(repository, monkeypatch):
    put(repository, "job/kustomization.yaml", LISTED + "commonAnnotations: {owner: core}\n")
    first = base_of(repository, "job")
    assert first.object["metadata"]["annotations"] == {"owner": "core"}
    monkeypatch.setattr("compiler.kustomize.find", lambda root=None: pytest.fail("was looked for"))
    assert base_of(repository, "job").object == first.object


def test_without_kustomize_a_base_that_needs_it_says_so(repository, monkeypatch):
    def find(root=None):
        raise Unavailable("there is no kustomize", "run `make tools`")

    monkeypatch.setattr("compiler.kustomize.find", find)
    put(repository, "job/kustomization.yaml", LISTED + "commonAnnotations: {owner: core}\n")
    with pytest.raises(Unavailable, match=r"base/job/ is more than one plain file: .*no kustomize"):
        load(repository, backends()["job"])


def test_the_digest_is_of_what_is_read_and_of_nothing_else(repository):
    before = base_of(repository).digest
    put(repository, "pytorchjob/README.md", "about")
    assert base_of(repository).digest == before
    edit(repository, "pytorchjob/job.yaml", "# What", "# what")
    assert base_of(repository).digest != before
    assert len(before) == 12


@pytest.mark.parametrize(
    "text",
    [
        "", "- a", "x", "spec: 1", "spec: {template: x}", "spec: {template: {spec: [1]}}",
        "spec: {template: {spec: {containers: x}}}",
        "spec: {template: {spec: {containers: [x, [y], {name: [z]}]}}}",
        "spec: {template: {spec: {volumes: [1]}}}",
        "spec: {template: {spec: {containers: [{name: pytorch, volumeMounts: [2]}]}}}",
        "spec: {template: {spec: {containers: [{name: pytorch, env: x, resources: []}]}}}",
        "metadata: {name: [a]}", "metadata: x", "metadata: {name: run, labels: x}", "\x00", "a: *b",
    ],
)  # fmt: skip
def test_a_base_of_any_shape_is_read_without_an_accident(repository, text):
    head = "apiVersion: batch/v1\nkind: Job\n" if ":" in text else ""
    name = "metadata: {name: run}\n" if ":" in text and "metadata" not in text else ""
    put(repository, "job/job.yaml", f"{head}{name}{text}\n")
    load(repository, backends()["job"])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("- name: PYTHONFAULTHANDLER\n", "- nmae: PYTHONFAULTHANDLER\n", "EnvVar has no field"),
        ("- name: PYTHONFAULTHANDLER\n              value", "- value", "EnvVar needs the field"),
        ("terminationMessagePolicy: FallbackToLogsOnError", "lifecycle: x", "is wanted here"),
        ("enableServiceLinks: false", "enableServiceLinks: maybe", "true or false is wanted"),
        ("spec:\n  template:\n", "spec:\n  template: {spec: x}\n  other:\n", "a mapping"),
        ("spec:\n  template:\n", "spec:\n  bakoffLimit: 3\n  template:\n", "has no field `bakoff"),
        ("  name: run\n", "  name: run\n  lables: {a: b}\n", "`metadata` has no field `lables`"),
    ],
)
def test_a_field_without_the_shape_of_its_type_is_a_finding(repository, old, new, said):
    """What is laid over such a base could be anything, and the cluster would refuse it."""
    edit(repository, "job/job.yaml", old, new)
    base, found = load(repository, backends()["job"])
    assert base is None
    bad = [item for item in found if item.rule == "bad-base-field"]
    assert bad
    assert any(said in item.message for item in bad), [item.message for item in bad]
    lines = (repository.root / "base/job/job.yaml").read_text("utf-8").splitlines()
    assert all(item.place.line and 1 <= item.place.line <= len(lines) for item in bad)


@pytest.mark.parametrize(
    ("text", "place", "message", "remedy"),
    [
        (
            "resources:\n  - job.yaml\n  - job.yaml\n",
            (3, 5),
            "`job.yaml` is listed twice, and kustomize takes no object twice",
            "take this line out",
        ),
        (
            "apiVersion: v1\nkind: Kustomization\nresources: [job.yaml]\n",
            (1, 13),
            "kustomize reads no kustomization of the version `v1`",
            "write `apiVersion: kustomize.config.k8s.io/v1beta1`",
        ),
    ],
)
def test_what_kustomize_refuses_is_told_at_its_line(repository, text, place, message, remedy):
    put(repository, "job/kustomization.yaml", text)
    base, found = load(repository, backends()["job"])
    assert base is None
    told = [(item.place.line, item.place.column, item.message, item.help) for item in found]
    assert told == [(*place, message, remedy)]


@pytest.mark.parametrize(
    ("old", "new", "line"), [("kind: Job", "kind: Jobs", 3), ("batch/v1", "batch/v2", 2)]
)
def test_an_object_of_another_kind_is_told_at_its_line(repository, old, new, line):
    edit(repository, "job/job.yaml", old, new)
    base, found = load(repository, backends()["job"])
    assert base is None
    (item,) = (each for each in found if each.rule == "wrong-base-object")
    assert (item.place.path, item.place.line) == ("base/job/job.yaml", line)
