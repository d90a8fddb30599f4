#!/bin/sh
# pin.sh CHECKOUT BUILT - pins what images.sh wrote into BUILT (name, reference, digest) in
# images/lock.yaml, and pushes that as the branch pin-images, one commit above what is checked out.
# What is in BUILT comes from builds, and is taken for words, nothing else. Prints `changed` where
# the branch was pushed. PUSH_TOKEN is as for publish.sh.
set -eu
checkout=$1 built=$2

while read -r name reference digest; do
    "$checkout/.venv/bin/runwright" --repo "$checkout" \
        image pin "$name" --reference="$reference" --digest="$digest" </dev/null >&2
done <"$built"
if git -C "$checkout" diff --quiet -- images/lock.yaml; then
    exit 0
fi
if [ -n "${PUSH_TOKEN:-}" ]; then
    export PUSH_TOKEN
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=credential.helper
    export GIT_CONFIG_VALUE_0='!f() { echo "username=${PUSH_USER:-x-access-token}"; echo "password=$PUSH_TOKEN"; }; f'
fi
git -C "$checkout" config user.name "${PUBLISH_NAME:-runwright}"
git -C "$checkout" config user.email "${PUBLISH_EMAIL:-runwright@localhost}"
git -C "$checkout" checkout --quiet -B pin-images
git -C "$checkout" commit --quiet --message "Pin the images that were built" -- images/lock.yaml
git -C "$checkout" push --quiet --force origin pin-images
echo changed
