#!/bin/sh
# check.sh COMPILER TREE BASE [FLAG...] - checks the checkout TREE, which goes into the commit BASE.
# COMPILER is another checkout: the code that judges is never that of the change. ACTOR, where it is
# set, is the author of the change: whose quota it spends is told, too.
set -eu
compiler=$1 tree=$2 base=$3
shift 3

if [ -n "${ACTOR:-}" ]; then set -- "$@" --actor "$ACTOR" --base "$base"; fi
exec "$compiler/.venv/bin/runwright" --repo "$tree" check "$@"
