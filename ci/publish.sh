#!/bin/sh
# publish.sh CHECKOUT [FILE...] - brings the published branch up to the default branch, with the
# observations in the files. PUSH_TOKEN, where it is set, is what the remote asks for as a password;
# it is handed to git alone, and stands in no file and in no command line. The compiler's own
# repository, whose jobs are examples, only says what it would publish.
set -eu
checkout=$1
shift

for file in "$@"; do
    # Not a file where nothing was observed: a pattern that matched nothing.
    if [ -f "$file" ]; then set -- "$@" --observed "$file"; fi
    shift
done
if [ -f "$checkout/tools/setup.py" ]; then set -- "$@" --dry-run; fi
if [ -n "${PUSH_TOKEN:-}" ]; then
    export PUSH_TOKEN
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=credential.helper
    export GIT_CONFIG_VALUE_0='!f() { echo "username=${PUSH_USER:-x-access-token}"; echo "password=$PUSH_TOKEN"; }; f'
fi
git -C "$checkout" config user.name "${PUBLISH_NAME:-runwright}"
git -C "$checkout" config user.email "${PUBLISH_EMAIL:-runwright@localhost}"
exec "$checkout/.venv/bin/runwright" --repo "$checkout" publish "$@"
