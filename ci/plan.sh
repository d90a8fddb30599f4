#!/bin/sh
# plan.sh COMPILER TREE BASE OUT - writes OUT/plan.md: what merging the checkout TREE into the
# commit BASE would start and stop. COMPILER is another checkout: the code that decides is never
# that of the change. NUMBER, the number of the pull request, goes into OUT/number for comment.sh.
# Exit 1 where the change blocks a job or wakes the stop guard; the plan is written all the same.
set -eu
compiler=$1 tree=$2 base=$3 out=$4

mkdir -p "$out"
status=0
"$compiler/.venv/bin/runwright" --repo "$tree" plan --base "$base" --head HEAD --markdown \
    >"$out/plan.md" || status=$?
printf '%s\n' "${NUMBER:-}" >"$out/number"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    cat "$out/plan.md" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$status"
