#!/bin/sh
# base.sh FOLDER - puts the target branch of a merge request into FOLDER, and all published history
# into this clone. A merge request from a fork is compared with the project that it goes to.
set -eu
folder=$1

from=origin
if [ "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID" != "$CI_MERGE_REQUEST_PROJECT_ID" ]; then
    from=$CI_MERGE_REQUEST_PROJECT_URL.git
fi
git fetch --quiet "$from" '+refs/heads/*:refs/remotes/origin/*'
# A runner that keeps its folders has the one of the last pipeline.
rm -rf "$folder"
git worktree prune
git worktree add --quiet --force --detach "$folder" "origin/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME"
