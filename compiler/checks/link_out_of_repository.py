"""A file of the repository is a link to somewhere else.

## What it does
Reports symbolic links, at any step of a path, that lead out of the repository: declarations,
policy, and the files that `files:` names.

## Why it is bad
What a reviewer sees must be what runs. A link to outside has another content on each machine, and
would carry files of the build machine into a cluster. Syncers refuse repositories with such links.

## Example
```sh
ln -s /etc/hostname configs/host.txt
cat >jobs/example.yaml <<'END'
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
files: {/etc/job/host.txt: configs/host.txt}
END
```

## Use instead
```sh
echo build-01 >configs/host.txt
cat >jobs/example.yaml <<'END'
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
files: {/etc/job/host.txt: configs/host.txt}
END
```

## References
- argoproj/argo-cd#9843
- fluxcd/source-controller#569
"""

from compiler.diagnostics import Severity
from compiler.rules import Rule

RULE = Rule(
    code="DEC213",
    severity=Severity.ERROR,
    stage="source",
    sources=("argoproj/argo-cd#9843", "fluxcd/source-controller#569"),
)
