# The demo that `make demo` runs, with the words that start the compiler as its arguments.
set -eu

say() {
    printf '\n== %s\n' "$*"
}

# The job that is rehearsed, as two nodes with a process each: a laptop has few cores.
rehearsed=llm-sft
rendered=$(mktemp)
trap 'rm -f "$rendered"' EXIT

say "check: every declaration, against the policy"
"$@" check

say "render llm-sft: what the $(wc -l <jobs/llm-sft.yaml | tr -d " ") lines of one job become"
"$@" render llm-sft >"$rendered"
sed -n 1,24p "$rendered"
echo "... and $(sed 1,24d "$rendered" | wc -l | tr -d ' ') lines more: .venv/bin/runwright render llm-sft"

say "explain-job llm-sft: which file says what"
"$@" explain-job llm-sft >"$rendered"
grep -E '^ +(max_duration|stop\.grace|cpu|shm_size|env\.(NCCL_IB_HCA|HF_HUB_DISABLE_TELEMETRY)) ' "$rendered" || true
echo "... and the other values: .venv/bin/runwright explain-job llm-sft"

say "build: the overlays of all jobs, each built with kustomize and compared, into build/"
rm -rf build
"$@" build -o build

# The first word is the Python that the compiler runs on.
if "$1" tools/images.py; then
    say "rehearse $rehearsed: small on this machine, with a lost node, a stop and a second start"
    "$@" rehearse "$rehearsed" --processes 1 --timeout 900
else
    say "rehearse $rehearsed: left out, for its training has no torch here (see above)"
fi

overlays=$(find build -name run.yaml | wc -l | tr -d ' ')
files=$(find build -type f | wc -l | tr -d ' ')
say "done: $overlays runs in $files files under build/"
echo "Next: change jobs/llm-sft.yaml, then run .venv/bin/runwright check"
