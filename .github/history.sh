#!/usr/bin/env bash
# history.sh EVIDENCE BENCHMARKS SITE: add the commit of a run to the history on the project's page, and draw both anew.
set -euo pipefail
evidence=$1 benchmarks=$2 site=$3
mkdir -p "$site"
page=$(gh api "repos/$GITHUB_REPOSITORY/pages" --jq .html_url)
# a history that is not there yet is begun; one that cannot be read now would be lost
status=$(curl --silent --show-error --location --output "$site/history.jsonl" --write-out '%{http_code}' "${page%/}/history.jsonl")
case "$status" in
  200) ;;
  404) rm -f "$site/history.jsonl" ;;
  *) echo "::error title=rooflint::the history at $page answers $status; publish again"; exit 1 ;;
esac
times=()
if test -f "$benchmarks"; then times=(--benchmark-json "$benchmarks"); fi
rooflint history add "$evidence" "${times[@]}" --file "$site/history.jsonl"
rooflint history page --file "$site/history.jsonl" --output "$site/index.html"
