#!/bin/sh
# archive.sh CHECKOUT OUT CLUSTER... - writes OUT/<cluster>.json: what has ended on each cluster.
# kubectl needs a context of each cluster's name, and need only read. A cluster that cannot be read
# is left out and named, the others are still written; the exit status is then 1.
set -eu
checkout=$1 out=$2
shift 2

mkdir -p "$out"
seen=$(mktemp)
trap 'rm -f "$seen"' EXIT INT TERM

# list CLUSTER RESOURCE [FLAG...] - all objects of a kind that the cluster knows.
list() {
    cluster=$1 resource=$2
    shift 2
    if printf '%s\n' "$known" | grep -qx "$resource"; then
        kubectl --context "$cluster" get "$resource" --all-namespaces --output json "$@"
    fi
}

# observe CLUSTER - fails with the first kubectl that does: half of a cluster is not all of it.
observe() {
    known=$(kubectl --context "$1" api-resources --verbs=list --output name) &&
        list "$1" pytorchjobs.kubeflow.org >"$seen" &&
        list "$1" jobs.batch >>"$seen" &&
        list "$1" workloads.kueue.x-k8s.io >>"$seen" &&
        # The pods of both kinds: why a run has failed is written there alone.
        list "$1" pods --selector training.kubeflow.org/job-name >>"$seen" &&
        list "$1" pods --selector batch.kubernetes.io/job-name >>"$seen" &&
        "$checkout/.venv/bin/runwright" --repo "$checkout" \
            archive --cluster "$1" --from - -o "$out/$1.json" <"$seen"
}

status=0
for cluster in "$@"; do
    if ! observe "$cluster"; then
        echo "archive: $cluster could not be read" >&2
        status=1
    fi
done
exit "$status"
