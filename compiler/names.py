"""Names: of jobs, accelerators, images and runs."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated

from msgspec import Struct

from compiler.fields import Form, Reads
from compiler.nodes import Mapping
from compiler.scalars import fault, letters, matching, shown

# Room for `-r9999` and the pods' suffixes within the 63 characters of a Service name, and within
# the 47 that a TrainJob of the same name may have (JobSet, pkg/webhooks/jobset_webhook.go).
LONGEST_JOB = 40
_JOB = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
RESERVED_TEAMS = ("base", "platform", "sync", "ended")
RESERVED_CLUSTERS = ("ledger",)
_FOREIGN = frozenset(
    {"default", "kueue-system", "kubeflow", "flux-system", "argocd", "runwright-sync"}
)


def is_foreign(namespace: str) -> bool:
    """Whether a namespace is of Kubernetes itself or of the controllers, and nobody's team."""
    return namespace.startswith("kube-") or namespace in _FOREIGN


def job_name_problem(name: str) -> tuple[str, str] | None:
    """Why `name` cannot be the name of a job, and what to call it; None if it can.

    PyTorchJob names are DNS-1035 labels (training-operator,
    pkg/webhooks/pytorch/pytorchjob_webhook.go).
    """
    proposal = proposed_name(name)
    if len(name) > LONGEST_JOB:
        return (
            f"the name has {len(name)} characters; {LONGEST_JOB} are possible, as pods add theirs",
            f"call the file {proposal}.yaml",
        )
    if not _JOB.fullmatch(name):
        return (
            "a job's name has lower-case letters, digits and hyphens, and begins with a letter",
            f"call the file {proposal}.yaml",
        )
    if re.search(r"-r[0-9]+$", name):
        other = re.sub(r"-r([0-9]+)$", r"-v\1", name)
        return (
            "a name that ends like a run (-r and a number) would be taken for another job's run",
            f"call the file {other}.yaml",
        )
    return None


def proposed_name(name: str) -> str:
    """The nearest possible job name."""
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    word = re.sub(r"[^a-z0-9]+", "-", ascii_name.lower()).strip("-")
    word = word if word[:1].isalpha() else f"job-{word}".strip("-")
    if len(word) > LONGEST_JOB:
        parts = word[:LONGEST_JOB].split("-")
        word = (
            "-".join(parts[:-1])
            if len(parts) > 1 and len("-".join(parts[:-1])) > 20
            else word[:LONGEST_JOB]
        )
    return word.strip("-")


class AcceleratorCount(Struct, frozen=True):
    """Accelerators per node: the catalogue's name and how many."""

    name: str
    count: int

    def __str__(self) -> str:
        return f"{self.name}:{self.count}"


def _accelerators(value: object) -> AcceleratorCount:
    if isinstance(value, AcceleratorCount):
        return value
    if isinstance(value, Mapping) and len(value) == 1:
        name, count = next(iter(value.items()))
        raise fault(
            "bad-accelerators",
            "accelerators are one word, name and count",
            f"write {name}:{count}, without a space",
            f"{name}:{count}" if isinstance(count, str) and count.isdigit() else None,
        )
    word = letters(value, "accelerators such as H100:8")
    name, colon, count = word.partition(":")
    name, count = name.strip(" "), count.strip(" ")
    if re.fullmatch(r"[0-9.]+", name) and not colon:
        raise fault(
            "bad-accelerators",
            f"{shown(value)} says how many, but not which accelerator",
            "write NAME:{0}, such as H100:{0}".format(name.partition(".")[0] or "1"),
        )
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]{0,62}", name):
        raise fault(
            "bad-accelerators",
            f"{shown(value)} is not an accelerator and its count",
            "write NAME:COUNT, such as H100:8",
        )
    if not colon:
        return AcceleratorCount(name, 1)
    if re.fullmatch(r"[0-9]+\.[0-9]+|0|-[0-9.]+", count):
        raise fault(
            "fractional-accelerators",
            f"{shown(value)}: a pod gets whole accelerators, one or more",
            f"write {name}:1, or leave `accelerators` out for a run on CPUs",
        )
    if not re.fullmatch(r"[1-9][0-9]{0,3}", count):
        raise fault(
            "bad-accelerators",
            f"{shown(value)}: `{count}` is not a number of accelerators",
            f"write {name}:8, for eight per node",
        )
    return AcceleratorCount(name, int(count))


Accelerators = Annotated[
    AcceleratorCount,
    Reads(
        _accelerators,
        Form(r" *[A-Za-z][A-Za-z0-9._-]{0,62} *(: *[1-9][0-9]{0,3} *)?", examples=["H100:8"]),
    ),
]

DIGEST = r"sha256:[0-9a-f]{64}"
_FOLDER = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_REFERENCE = re.compile(
    r"(?P<repository>[a-zA-Z0-9][a-zA-Z0-9._:-]*(/[a-z0-9][a-z0-9._-]*)+|[a-z0-9][a-z0-9._-]*)"
    rf"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?(?:@(?P<digest>{DIGEST}))?"
)


class ImageName(Struct, frozen=True):
    """An image as a declaration names it: a name of the lock, or a whole reference."""

    text: str
    repository: str
    tag: str | None
    digest: str | None

    @property
    def local(self) -> bool:
        """Whether it may be a name of `images/lock.yaml` (a bare word)."""
        return self.tag is None and self.digest is None and "/" not in self.repository

    @property
    def registry(self) -> str:
        """The host and path prefix; empty where the reference names no host."""
        host, slash, _ = self.repository.partition("/")
        return host if slash and ("." in host or ":" in host or host == "localhost") else ""

    def __str__(self) -> str:
        return self.text


def _image(value: object) -> ImageName:
    if isinstance(value, ImageName):
        return value
    word = letters(value, "an image")
    if _FOLDER.fullmatch(word):
        return ImageName(word, word, None, None)
    if word.startswith("images/") and _FOLDER.fullmatch(name := word.strip("/").split("/")[-1]):
        raise fault(
            "bad-image-reference",
            f"{shown(value)} is a folder, and an image is called by its name",
            f"write {name}",
        )
    match = _REFERENCE.fullmatch(word)
    if match is None:
        raise fault(
            "bad-image-reference",
            f"{shown(value)} is not an image reference",
            "write a folder of images/ such as llm-sft, "
            "or registry/name:tag@sha256:<64 hex digits>",
        )
    return ImageName(word, match["repository"], match["tag"], match["digest"])


ImageRef = Annotated[
    ImageName,
    Reads(_image, Form(f"{_FOLDER.pattern}|{_REFERENCE.pattern}", examples=["llm-sft"])),
]
RunRef = Annotated[
    str,
    Reads(
        matching(
            r"r[1-9][0-9]{0,5}",
            "a run such as r2",
            "write r and the run's number, such as r2",
            rule="bad-run-reference",
        ),
        Form(r"r[1-9][0-9]{0,5}", examples=["r2"]),
    ),
]
