"""The JSON Schema of a Kubernetes pod template, made from the `kubernetes` client's own tables.

    python -m tools.podschema            write compiler/data/podtemplate.json anew
    python -m tools.podschema --check    exit with 1 where that file is not what would be written

The client's models say the fields, their types and which of them must be there. They do not say
which fields are quantities, ports or one of a few words, and call an int-or-string an object: those
are listed here, from k8s.io/api/core/v1/types.go and its validation.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "compiler" / "data" / "podtemplate.json"
ROOT = "PodTemplateSpec"
LIST = re.compile(r"List\[(.*)\]")
MAP = re.compile(r"Dict\[str, (.*)\]")

# Of an object's metadata the operator's CRD keeps little, and a template gives labels and
# annotations to its pods.
METADATA = ("annotations", "labels")
INT_OR_STRING = {("HTTPGetAction", "port"), ("TCPSocketAction", "port")}
QUANTITIES = {
    ("EmptyDirVolumeSource", "sizeLimit"),
    ("PodSpec", "overhead"),
    ("ResourceFieldSelector", "divisor"),
    ("ResourceRequirements", "limits"),
    ("ResourceRequirements", "requests"),
    ("VolumeResourceRequirements", "limits"),
    ("VolumeResourceRequirements", "requests"),
}
PORTS = {("ContainerPort", "containerPort"), ("ContainerPort", "hostPort"), ("GRPCAction", "port")}
PULL = ["Always", "IfNotPresent", "Never"]
PROFILE = ["Localhost", "RuntimeDefault", "Unconfined"]
HONOR = ["Honor", "Ignore"]
CHOICES: dict[tuple[str, str], list[str]] = {
    ("AppArmorProfile", "type"): PROFILE,
    ("Container", "imagePullPolicy"): PULL,
    ("Container", "restartPolicy"): ["Always", "Never", "OnFailure"],
    ("Container", "terminationMessagePolicy"): ["FallbackToLogsOnError", "File"],
    ("ContainerPort", "protocol"): ["SCTP", "TCP", "UDP"],
    ("ContainerResizePolicy", "restartPolicy"): ["NotRequired", "RestartContainer"],
    ("EmptyDirVolumeSource", "medium"): [
        *("", "HugePages", "HugePages-16Gi", "HugePages-1Gi", "HugePages-2Mi"),
        *("HugePages-32Mi", "HugePages-512Mi", "HugePages-64Ki", "Memory"),
    ],
    ("HTTPGetAction", "scheme"): ["HTTP", "HTTPS"],
    ("HostPathVolumeSource", "type"): [
        *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File"),
        *("FileOrCreate", "Socket"),
    ],
    ("ImageVolumeSource", "pullPolicy"): PULL,
    ("LabelSelectorRequirement", "operator"): ["DoesNotExist", "Exists", "In", "NotIn"],
    ("NodeSelectorRequirement", "operator"): ["DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"],
    ("PodOS", "name"): ["linux", "windows"],
    ("PodSecurityContext", "fsGroupChangePolicy"): ["Always", "OnRootMismatch"],
    ("PodSecurityContext", "seLinuxChangePolicy"): ["MountOption", "Recursive"],
    ("PodSecurityContext", "supplementalGroupsPolicy"): ["Merge", "Strict"],
    ("PodSpec", "dnsPolicy"): ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
    ("PodSpec", "preemptionPolicy"): ["Never", "PreemptLowerPriority"],
    ("PodSpec", "restartPolicy"): ["Always", "Never", "OnFailure"],
    ("SeccompProfile", "type"): PROFILE,
    ("SecurityContext", "procMount"): ["Default", "Unmasked"],
    ("Toleration", "effect"): ["", "NoExecute", "NoSchedule", "PreferNoSchedule"],
    ("Toleration", "operator"): ["Equal", "Exists", "Gt", "Lt"],
    ("TopologySpreadConstraint", "nodeAffinityPolicy"): HONOR,
    ("TopologySpreadConstraint", "nodeTaintsPolicy"): HONOR,
    ("TopologySpreadConstraint", "whenUnsatisfiable"): ["DoNotSchedule", "ScheduleAnyway"],
    ("VolumeMount", "mountPropagation"): ["Bidirectional", "HostToContainer", "None"],
    ("VolumeMount", "recursiveReadOnly"): ["Disabled", "Enabled", "IfPossible"],
}
SCALARS: dict[str, Any] = {
    # A signed 64-bit number: the client does not tell int32 from int64.
    "int": {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
    "port": {"type": "integer", "minimum": 1, "maximum": 65535},
    "intOrString": {"type": ["integer", "string"]},
    # k8s.io/apimachinery/pkg/api/resource/quantity.go
    # A `$` alone would also match before a newline at the end.
    "quantity": {
        "type": "string",
        "pattern": r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
        r"([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$(?!\n)",
    },
}


class Tables:
    """The client's models, by the names that Kubernetes' own source gives to the types."""

    def __init__(self) -> None:
        from kubernetes import __version__
        from kubernetes.client import models

        self.version: str = __version__
        self.models = models
        self.defs: dict[str, Any] = {}
        self.listed = {*INT_OR_STRING, *QUANTITIES, *PORTS, *CHOICES}

    def schema(self) -> dict[str, Any]:
        """The whole schema; raises ValueError where the client is not as the lists here expect."""
        self.define(f"V1{ROOT}")
        if self.listed:
            raise ValueError(f"the client has no fields {sorted(self.listed)}")
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$comment": f"Made by tools/podschema.py from kubernetes {self.version}.",
            "$ref": f"#/$defs/{ROOT}",
            "$defs": {**SCALARS, **dict(sorted(self.defs.items()))},
        }

    def define(self, model: str) -> str:
        name = re.sub(r"^(Core)?V1", "", model)
        if model == "V1ObjectMeta":
            name = "TemplateMetadata"
        if name in self.defs:
            return name
        made: dict[str, Any] = {"title": name, "type": "object", "additionalProperties": False}
        self.defs[name] = made
        table = getattr(self.models, model)
        fields: dict[str, Any] = {}
        for attribute, wire in table.attribute_map.items():
            if name == "TemplateMetadata" and wire not in METADATA:
                continue
            fields[wire] = self.field(name, wire, table.openapi_types[attribute])
        made["properties"] = dict(sorted(fields.items()))
        # What is passed on is a part of a template, which has its containers already.
        needed = sorted(
            info.serialization_alias or attribute
            for attribute, info in table.model_fields.items()
            if info.is_required() and name != "PodSpec"
        )
        if not set(needed) <= set(fields):
            raise ValueError(f"{model} needs fields that it does not list: {needed}")
        if needed:
            made["required"] = needed
        return name

    def field(self, owner: str, wire: str, kind: str) -> Any:
        at = (owner, wire)
        if at in self.listed:
            self.listed.discard(at)
        if at in CHOICES:
            return {"type": "string", "enum": sorted(CHOICES[at])}
        if at in PORTS:
            return {"$ref": "#/$defs/port"}
        if at in INT_OR_STRING:
            return {"$ref": "#/$defs/intOrString"}
        return self.type(kind, at in QUANTITIES)

    def type(self, kind: str, quantity: bool) -> Any:
        if match := LIST.fullmatch(kind):
            return {"type": "array", "items": self.type(match[1], quantity)}
        if match := MAP.fullmatch(kind):
            return {"type": "object", "additionalProperties": self.type(match[1], quantity)}
        if kind == "str":
            return {"$ref": "#/$defs/quantity"} if quantity else {"type": "string"}
        if kind == "int":
            return {"$ref": "#/$defs/int"}
        if kind == "bool":
            return {"type": "boolean"}
        if not hasattr(self.models, kind):
            raise ValueError(f"the client's type {kind} is not known here: list its fields above")
        return {"$ref": f"#/$defs/{self.define(kind)}"}


def text() -> str:
    """The file: compact JSON, one definition a line, so that a new version is a readable diff."""
    schema = Tables().schema()
    defs = schema.pop("$defs")
    head = json.dumps(schema, separators=(",", ":"))[:-1]
    lines = ",\n".join(
        f"{json.dumps(name)}:{json.dumps(made, separators=(',', ':'))}"
        for name, made in defs.items()
    )
    return f'{head},"$defs":{{\n{lines}\n}}}}\n'


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the JSON Schema of a pod template.")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    made = text()
    if options.check:
        if not TARGET.exists() or TARGET.read_text("utf-8") != made:
            print(f"{TARGET.name} is stale: run python -m tools.podschema", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
