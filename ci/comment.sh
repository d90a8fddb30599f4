#!/bin/sh
# comment.sh FOLDER - puts FOLDER/plan.md on the pull request FOLDER/number, in one comment that is
# replaced each time. The folder comes from a pull request's own workflow run, which its author may
# have changed: nothing in it is believed before it is looked at, and nothing in it is run.
# Needs GH_TOKEN, REPOSITORY (owner/name) and HEAD_SHA, the commit that the workflow ran on.
set -eu
export LC_ALL=C.UTF-8
plan=$1/plan.md number=$1/number
marker='<!-- runwright-plan -->'

refuse() {
    echo "comment: $1" >&2
    exit 1
}

for file in "$plan" "$number"; do
    if [ -L "$file" ] || [ ! -f "$file" ]; then refuse "$file is no plain file"; fi
done
if [ "$(wc -c <"$number")" -gt 11 ]; then refuse "$number holds no number"; fi
pull=$(cat "$number")
case $pull in
    '' | 0* | *[!0-9]*) refuse "$number holds no number" ;;
esac
# A comment has room for 65,536 characters; four bytes are the longest one.
if [ "$(wc -c <"$plan")" -gt 262144 ] || [ "$(wc -m <"$plan")" -gt 65536 ]; then
    refuse "$plan is too long for a comment"
fi
if [ "$(head -n 1 "$plan")" != "$marker" ]; then refuse "$plan is no plan"; fi

head=$(gh api "repos/$REPOSITORY/pulls/$pull" --jq .head.sha)
if [ "$head" != "$HEAD_SHA" ]; then
    # Another pull request's number, or this one has moved on: its next plan will say.
    refuse "pull request $pull is at $head, and the plan is of $HEAD_SHA"
fi
old=$(gh api --paginate "repos/$REPOSITORY/issues/$pull/comments" --jq \
    ".[] | select(.user.login == \"${BOT:-github-actions[bot]}\" and (.body | startswith(\"$marker\"))) | .id" | head -n 1)
if [ -n "$old" ]; then
    gh api --method PATCH "repos/$REPOSITORY/issues/comments/$old" -F "body=@$plan" --silent
else
    gh api --method POST "repos/$REPOSITORY/issues/$pull/comments" -F "body=@$plan" --silent
fi
