# The demo that `make demo` runs, with the words that start the compiler as its arguments.
set -eu

say() {
    printf '\n== %s\n' "$*"
}

say "check: every declaration, against the policy"
"$@" check

say "render llm-sft: the objects that one job becomes"
"$@" render llm-sft

say "build: the overlays of all jobs, into build/"
rm -rf build
"$@" build -o build

overlays=$(find build -name run.yaml | wc -l | tr -d ' ')
files=$(find build -type f | wc -l | tr -d ' ')
say "done: $overlays runs in $files files under build/"
echo "Next: change jobs/llm-sft.yaml, then run .venv/bin/runwright check"
