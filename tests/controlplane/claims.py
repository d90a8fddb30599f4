"""What the page of each rule says of a cluster, and where it is confirmed.

Every rule is in `REFUSED`, `SEEN`, `NOT_SHOWN` or `NO_CLAIM`; `tests/test_claims.py` holds the
tables against the rules and the tests. A page may say several things, so a rule may be in several
of the first three.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


REFUSED = _names(
    """
    added-capability ambiguous-mount ambiguous-topology bad-base-field bad-name bad-pod-field
    bad-quantity beyond-kueue conflicting-ports containers-of-one-name field-set-by-cluster
    file-too-large files-too-large forbidden-base-value fractional-accelerators host-path host-port
    incomplete-base-container job-field-in-pod missing-key name-too-long-for-pods
    number-out-of-range operator-container-refused overlapping-mounts privileged-container
    probe-of-another-host refused-pod-value refused-volume relaxed-confinement request-above-limit
    resource-with-a-field root-user second-training-container shared-host-namespace
    unequal-device-requests unknown-choice unknown-team unnamed-port unrestricted-container
    unsafe-sysctl unusable-policy-name variable-set-twice wrong-type
    """
)
"""A server, a webhook or a namespace refuses something: a fault in `faults.py`."""

SEEN = _names(
    """
    above-quota accelerator-not-in-queue ambiguous-mount bad-image-reference bad-path
    circular-cohorts conflicting-ports deadline-not-timed elastic-range elastic-with-master
    elastic-without-launcher empty-value forbidden-base-value foreign-namespace host-path
    master-readiness-probe memory-in-milli missing-launcher missing-queue
    missing-rendezvous-endpoint more-nodes-than-exist name-too-long-for-pods
    node-selector-beside-queue operator-container-refused operator-variable overlapping-mounts
    pod-restart-policy queue-not-allowed queue-without-flavor quota-above-nodes quota-below-use
    read-only-claim-written rendezvous-port-mismatch repeated-topology-level reserved-label
    resource-not-in-queue
    root-refused-by-kubelet static-rendezvous-variable toleration-beside-queue
    too-many-accelerators-per-node topology-without-queue unknown-choice unknown-priority
    unknown-queue unknown-topology unnamed-port unreachable-init-image
    """
)
"""Accepted, and then something follows that needs no kubelet: marked `shows` in a test."""

_KUBELET = "a kubelet and a container runtime would show it"
_NODES = "nodes with daemon sets, and the scheduler, would show it"
_PROCESSES = "the processes of a run would show it"
_SYNCER = "Flux and Argo CD show it, in the tests of a run's life"
_VERSIONS = "another version of the cluster would show it"

NOT_SHOWN: dict[str, str] = {
    "accelerators-in-pod": _PROCESSES,
    "ambiguous-flavor": _NODES,
    "bad-command": _KUBELET,
    "bad-image-reference": _KUBELET,
    "bad-path": _KUBELET,
    "checkpoint-on-no-volume": _PROCESSES,
    "circular-variables": _KUBELET,
    "claim-of-two-runs": _KUBELET,
    "command-in-one-word": _KUBELET,
    "edited-overlay": _SYNCER,
    "elastic-with-master": _PROCESSES,
    "elastic-without-launcher": _PROCESSES,
    "field-set-by-cluster": _NODES,
    "forbidden-base-value": _SYNCER,
    "foreign-interface": _PROCESSES,
    "foreign-rdma-device": _PROCESSES,
    "indistinct-nodes": _NODES,
    "injected-sidecar": "a service mesh would show it",
    "kind-ignored-by-kueue": _VERSIONS,
    "link-out-of-repository": _SYNCER,
    "loopback-interface": _PROCESSES,
    "lost-network-setting": _PROCESSES,
    "master-readiness-probe": _KUBELET,
    "memory-in-milli": _KUBELET,
    "missing-pull-secret": _KUBELET,
    "more-nodes-than-exist": _NODES,
    "mount-over-image-code": _KUBELET,
    "mount-over-system-path": _KUBELET,
    "node-count-mismatch": _PROCESSES,
    "node-too-small": _NODES,
    "part-of-a-node": _PROCESSES,
    "pod-restart-policy": _VERSIONS,
    "process-count-mismatch": _PROCESSES,
    "read-only-claim-written": _KUBELET,
    "root-refused-by-kubelet": _KUBELET,
    "script-in-several-words": _KUBELET,
    "shell-variable-in-env": _KUBELET,
    "shm-above-memory": _KUBELET,
    "single-node-claim": _KUBELET,
    "text-too-long-to-start": _KUBELET,
    "text-with-nul": _KUBELET,
    "too-little-shared-memory": _KUBELET,
    "two-syncers": _SYNCER,
    "unexpanded-shell-variable": _KUBELET,
    "unfollowed-branch": _SYNCER,
    "unknown-accelerator": _NODES,
    "unknown-claim": _NODES,
    "unknown-image": _KUBELET,
    "unknown-placement": _NODES,
    "unknown-reference": _KUBELET,
    "unlisted-registry": _KUBELET,
    "unpinned-image": _KUBELET,
    "unsupported-version": _VERSIONS,
    "variable-set-twice": _KUBELET,
    "whole-node-request": _NODES,
}
"""What a control plane without kubelet, scheduler and nodes cannot show, and what would."""

NO_CLAIM = _names(
    """
    accelerators-above-cap active-run-without-policy adopted-without-job argument-out-of-range
    bad-accelerators bad-args-schema bad-duration bad-run-reference bad-secret-reference
    budget-passed cap-above-quota claim-not-allowed conflicting-arguments control-character
    cost-above-limit duplicate-key duration-above-cap edited-ledger empty-file ending-waiver
    executable-base expired-declaration expired-stop expired-waiver far-base-path fixed-node-rank
    fixed-rendezvous-address foreign-approver foreign-quota foreign-run-stopped
    grace-beyond-launcher grace-shorter-than-checkpoint guard-without-shell hidden-accelerators
    hidden-exit-code idle-stop ineffective-waiver ineffective-weight
    invisible-character job-in-two-files key-overridden-in-pod
    lost-publish-commit lost-run merge-key mismatched-arguments missing-argument missing-base
    missing-base-file missing-entry-script missing-file model-above-memory names-alike
    nobody-to-borrow-from nodes-above-cap not-a-declaration not-utf8 nothing-left-on-a-node
    nothing-to-start shell-words-in-list
    outdated-codeowners output-of-two-runs parallelism-mismatch policy-without-owners
    priority-not-allowed publish-commit-in-change rdma-switched-off recursive-alias remote-base
    reserved-name reserved-variable retry-without-checkpoint reused-run-number
    script-with-carriage-returns secret-in-file secret-in-text secret-in-variable secret-not-allowed
    several-documents shared-namespace stale-image syntax-error team-and-folder-differ
    text-lost-by-kustomize time-beyond-duration token-in-every-pod too-deep too-many-nodes
    top-level-not-mapping torch-for-another-device torch-older-than-accelerator
    trainer-shape-mismatch two-files-by-was unbuildable-base unconnected-nodes unknown-argument
    unknown-cluster unknown-key unknown-launcher-flag unknown-name-in-policy unknown-run
    unmet-image-need unread-policy-file unresolved-owner unsupported-base-field
    unsupported-by-backend unsupported-key untracked-file unused-waiver vague-stop
    variable-before-its-torch waits-for-budget waits-for-quota wrong-argument wrong-base-object
    yaml-directive yaml-tag
    """
)
"""Rules about files, policy, programs or launchers: no control plane is part of what they say."""
