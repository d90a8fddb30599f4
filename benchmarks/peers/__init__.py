"""Other programs that do a part of the work, set up on demand and measured beside ours.

KCL turns the declarations of the generated repository into objects and checks them by a schema;
kubeconform checks the objects by the operator's own definition. Both are built or installed into
the cache, from what `tools/peers/` pins. The definition is read from the operator's Go module and
made into a JSON schema each time.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from yaml.cyaml import CSafeLoader

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PINS = ROOT / "tools" / "peers"
OPERATOR = "github.com/kubeflow/training-operator@v1.9.3"
CRD = "manifests/base/crds/kubeflow.org_pytorchjobs.yaml"
PROGRAM = ("job.k", "main.k")


class Peers:
    """The programs, ready to be measured over one repository."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.objects = folder / "objects.yaml"
        self.schemas = folder / "schemas"
        self.library = _kcl()
        self.checker = _kubeconform()
        self.schemas.mkdir()
        for kind, schema in schemas(_definition()).items():
            (self.schemas / f"{kind}.json").write_text(json.dumps(schema))
        for name in PROGRAM:
            shutil.copy(HERE / name, root / name)

    def kcl(self) -> list[str]:
        """The words that turn all declarations into objects."""
        start = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(self.library)!r}); "]
        start[-1] += f"import runpy; sys.argv[0] = 'kcl'; runpy.run_path({str(HERE / 'kcl.py')!r}, "
        start[-1] += "run_name='__main__')"
        return [*start, str(self.root), str(self.objects)]

    def kubeconform(self) -> list[str]:
        """The words that check these objects."""
        location = f"{self.schemas}/{{{{ .ResourceKind }}}}.json"
        options = ("-strict", "-summary", "-schema-location", location)
        return [str(self.checker), *options, str(self.objects)]


def schemas(definition: Any) -> dict[str, Any]:
    """JSON schemas by kind, in small letters, as kubeconform looks for them.

    They are closed: a field that the definition lacks is an error. That of the batch Job has the
    pod template of the PyTorchJob.
    """
    version = next(v for v in definition["spec"]["versions"] if v["storage"])
    training = _closed(version["schema"]["openAPIV3Schema"])
    members = training["properties"]["spec"]["properties"]["pytorchReplicaSpecs"]
    number = {"type": "integer"}
    spec: dict[str, Any] = {
        "type": "object",
        "required": ["template"],
        "additionalProperties": False,
        "properties": {
            **dict.fromkeys(("activeDeadlineSeconds", "backoffLimit", "completions"), number),
            **dict.fromkeys(("parallelism", "ttlSecondsAfterFinished"), number),
            "suspend": {"type": "boolean"},
            "template": members["additionalProperties"]["properties"]["template"],
        },
    }
    job = {**training, "properties": {**training["properties"], "spec": spec}}
    return {"pytorchjob": training, "job": job}


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        key: _closed(value)
        for key, value in schema.items()
        # What is for people, and what is for the API server, costs time alone.
        if not key.startswith("x-") and not (key == "description" and isinstance(value, str))
    }
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
        made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    open_ended = schema.get("x-kubernetes-preserve-unknown-fields")
    if "properties" in schema and "additionalProperties" not in schema and not open_ended:
        made["additionalProperties"] = False
    return made


def _cache() -> Path:
    return Path(os.environ.get("COMPILER_CACHE") or ROOT / ".cache" / "compiler") / "tools"


def _definition() -> Any:
    """The operator's definition of a PyTorchJob, from its Go module."""
    words = ["go", "mod", "download", "-json", OPERATOR]
    found = json.loads(_run(words, Path.home()))
    # Outside of any module, so that none of ours has to name it.
    return yaml.load((Path(found["Dir"]) / CRD).read_bytes(), Loader=CSafeLoader)


def _kubeconform() -> Path:
    _run([sys.executable, str(ROOT / "tools" / "install.py"), "kubeconform"], ROOT)
    pinned = re.search(r"yannh/kubeconform v(\S+)", (PINS / "go.mod").read_text())
    assert pinned is not None
    return _cache() / f"kubeconform-{pinned[1]}" / "kubeconform"


def _kcl() -> Path:
    lock = PINS / "kcl.lock"
    pinned = re.search(r"^kcl-lib==(\S+)", lock.read_text(), re.MULTILINE)
    assert pinned is not None
    folder = _cache() / f"kcl-{pinned[1]}"
    if not folder.exists():
        print("peers: installing KCL", file=sys.stderr, flush=True)
        draft = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--require-hashes"]
        _run([*install, "--target", str(draft), "-r", str(lock)], ROOT)
        draft.rename(folder)
    return folder


def _run(words: Sequence[str], folder: Path, environment: dict[str, str] | None = None) -> bytes:
    """What a program prints; SystemExit with its own words where it fails."""
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"peers: {' '.join(words)} ended with {done.returncode}")
    return done.stdout
