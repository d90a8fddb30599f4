"""The script that a run starts is not in its image's folder.

## What it does
Looks for the script or module that the command starts among the files of `images/<name>/`, where
`workdir` in image.yaml says that the image holds them. A path that is mounted from elsewhere, one
outside of `workdir`, and a module that the folder has no package of are left alone.

## Why it is bad
The nodes are waited for, the image is pulled, and Python says \"can't open file\" on each of them.
With retries it says so again and again.

## Example
```sh
echo 'command: [torchrun, trian.py]' >> jobs/llm-sft.yaml
```

## Use instead
```sh
echo 'command: [torchrun, train.py]' >> jobs/llm-sft.yaml
```

## References
- meta-pytorch/torchx#405
- kubeflow/trainer#944
- kubeflow/katib#347
"""

import re
from collections.abc import Iterator
from posixpath import join

from compiler.containers import MAIN, passed
from compiler.diagnostics import Severity
from compiler.imagefiles import image_files
from compiler.launch import Launch, file_of, launches, script
from compiler.model import Member, Run
from compiler.programs import Word, training
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.suggestions import choose
from compiler.volumes import mounted, normal, within

RULE = Rule(
    code="LCH545",
    severity=Severity.ERROR,
    stage="run",
    sources=("meta-pytorch/torchx#405", "kubeflow/trainer#944", "kubeflow/katib#347"),
)

SCRIPT = re.compile(r"[\w./-]+\.(?:py|sh)", re.ASCII)
# What has no ending is a script to those who start Python with it.
WORD = re.compile(r"\w+", re.ASCII)
_PYTHONS = ("python", "torchrun", "accelerate")
MODULE = re.compile(r"\w+(?:\.\w+)*", re.ASCII)
# A script may go elsewhere, or make the file itself.
MOVES = re.compile(r"\b(?:cd|pushd|git|curl|wget|cp|mv|cat|tee|tar|unzip|aws|gsutil|rclone)\b")


def check(run: Run, site: Site) -> Iterator[Report]:
    """The scripts and modules that the image does not have."""
    for member in run.members:
        about = site.images.get(member.image.name or "")
        if about is None or about.value.workdir is None:
            continue
        if any("workingDir" in node for _, node in passed(run, member, "spec", "containers")):
            continue
        files = image_files(site.root, about.name)
        container = training(run, member, site)
        text = script(container)
        if text is not None and MOVES.search(text[0].text):
            continue
        for launch in launches(container):
            target = file_of(launch)
            if target is None:
                continue
            found = _missing(run, member, launch, target, normal(about.value.workdir), files)
            if found is None:
                continue
            name, others = found
            yield Report(
                target.route,
                f"images/{about.name}/ has no {name}, which the run would start",
                choose(name, others) if others else "write the name of a file that is there",
                (
                    *target.related,
                    (about.place("workdir"), "where the image holds its folder"),
                ),
                place=target.place,
            )


def _missing(
    run: Run, member: Member, launch: Launch, target: Word, workdir: str, files: frozenset[str]
) -> tuple[str, list[str]] | None:
    """The path within the folder that is not there, and what is; None where all is well."""
    start = normal(member.working_dir or workdir)
    if launch.module:
        if start != workdir or not MODULE.fullmatch(target.text):
            return None
        name = target.text.replace(".", "/")
        top = name.partition("/")[0]
        if f"{top}.py" not in files and not _is_folder(top, files):
            return None
        if f"{name}.py" in files or f"{name}/__main__.py" in files:
            return None
        name = f"{name}/__main__.py" if _is_folder(name, files) else f"{name}.py"
    else:
        plain = launch.launcher in _PYTHONS and not launch.flag("no_python", "run_path")
        if not (SCRIPT.fullmatch(target.text) or (plain and WORD.fullmatch(target.text))):
            return None
        path = normal(join(start, target.text))
        if not within(path, workdir) or ".." in path.split("/"):
            return None
        if any(_covers(item.path, path) for item in mounted(run, member) if item.container == MAIN):
            return None
        name = path[len(workdir.rstrip("/")) + 1 :]
        if name in files or _is_folder(name, files):
            return None
    suffix = name[name.rindex(".") :] if "." in name else ".py"
    others = (path for path in files if path.endswith(suffix) and "tests" not in path.split("/"))
    return name, sorted(others)


def _is_folder(name: str, files: frozenset[str]) -> bool:
    return any(path.startswith(f"{name}/") for path in files)


def _covers(mount: str, path: str) -> bool:
    return bool(mount) and (mount == path or within(path, mount))
