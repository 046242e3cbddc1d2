#!/usr/bin/env bash
# For maintainers: clones what is committed into a new folder and runs the two commands there,
# as somebody does who sees the project for the first time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git clone --quiet --no-hardlinks . "$scratch/shardplan"
cd "$scratch/shardplan"
tools/quickstart.sh
tools/test.sh
if [ -n "$(git status --porcelain)" ]; then
  echo "the two commands left files that git does not ignore:" >&2
  git status --short >&2
  exit 1
fi
