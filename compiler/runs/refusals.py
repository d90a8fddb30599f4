"""What git complains of, in a line, and what is to be done about a push that it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterable

# What git says besides: how it went on, and advice for whoever sits before it.
_ASIDE = re.compile(
    r"(?:To |hint:|warning:|Please make sure you have|and the repository exists"
    r"|fatal: Could not read from remote|error: failed to push|remote:\s*$|\s*$)",
    re.IGNORECASE,
)
_MOST = 3

# The words of git, of curl, of ssh, and of the hosts GitHub, GitLab and Gitea; the first that is
# there tells. A rule of the branch comes first: hosts call that a denial as well.
_CAUSES = (
    (
        (
            r"protected|GH0(?:06|13)|rule violations|hook declined|deny updating a hidden ref"
            r"|not allowed to push code to protected"
        ),
        (
            "publish must be allowed to push to `{branch}`; for a protected one, set `branch` in "
            "[tool.compiler.publish] to another"
        ),
    ),
    (
        (
            r"could not resolve|unable to access .*(?:connect|timed out|reset|SSL|certificate)"
            r"|connection (?:refused|reset|timed out|closed)|timed out|network is unreachable"
            r"|hung up unexpectedly|early EOF|HTTP 5\d\d|returned error: 5\d\d"
        ),
        "publish again when `{remote}` can be reached: it goes on from what is there",
    ),
    (
        (
            r"authentication failed|could not read (?:username|password)|publickey|invalid username"
            r"|returned error: 401|host key verification failed"
        ),
        (
            "give git credentials for `{remote}`: in a workflow, `actions/checkout` keeps them "
            "unless `persist-credentials: false` is set"
        ),
    ),
    (
        (
            r"returned error: 403|permission (?:to .* )?denied|access denied|write access"
            r"|not allowed|read-only|insufficient permission"
        ),
        (
            "whoever publishes needs to write to the repository: in a workflow, `permissions: "
            "{{contents: write}}`"
        ),
    ),
    (
        r"no space left|disk quota|quota exceeded|exceeds? .*(?:size|limit)|too large",
        "make room at `{remote}`, and publish again",
    ),
    (
        (
            r"does not appear to be a git repository|repository .*not found|no such remote"
            r"|returned error: 404"
        ),
        "set the address of `{remote}`: `git remote set-url {remote} ADDRESS`",
    ),
)


def complaint(said: Iterable[str]) -> str:
    """What git complains of, in a line: what matters of its standard error, without passwords."""
    lines = [line.rstrip() for line in said]
    telling = [line for line in lines if not _ASIDE.match(line)] or lines[-1:]
    words = [re.sub(r"^(?:(?:remote|fatal|error):\s+)+", "", line.strip()) for line in telling]
    told = "; ".join(dict.fromkeys(words[:_MOST])) or "failed"
    return re.sub(r"(?<=://)[^/@\s]+@", "", told)


def advice(said: Iterable[str], remote: str, branch: str) -> str:
    """What to do about a push that was refused with these lines of git's standard error."""
    text = "\n".join(said)
    for pattern, told in (*_CAUSES, ("", _CAUSES[0][1])):
        if re.search(pattern, text, re.IGNORECASE):
            return told.format(remote=remote, branch=branch)
    raise AssertionError("the last pattern is in every text")
