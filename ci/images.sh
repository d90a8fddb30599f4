#!/bin/sh
# images.sh CHECKOUT REGISTRY OUT - builds the images whose digest is not of their folder as it is,
# pushes them to REGISTRY, and writes a line for each into OUT: name, reference, digest. docker is
# logged in where REGISTRY_PASSWORD is set. An image without a Dockerfile is left out.
set -eu
checkout=$1 registry=$2 out=$3

commit=$(git -C "$checkout" rev-parse --short=12 HEAD)
if [ -n "${REGISTRY_PASSWORD:-}" ]; then
    printf '%s' "$REGISTRY_PASSWORD" |
        docker login --username "$REGISTRY_USER" --password-stdin "${registry%%/*}"
fi
: >"$out"
"$checkout/.venv/bin/runwright" --repo "$checkout" image status --older >"$out.names"
while read -r name; do
    file=$checkout/images/$name/Dockerfile
    if [ ! -f "$file" ]; then
        echo "images: images/$name/ has no Dockerfile" >&2
        continue
    fi
    reference=$registry/$name:$commit
    docker build --file "$file" --tag "$reference" "$checkout/images" </dev/null
    docker push "$reference" </dev/null
    digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$reference" </dev/null)
    echo "$name $reference $digest" >>"$out"
done <"$out.names"
rm "$out.names"
