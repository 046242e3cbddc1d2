#!/usr/bin/env bash
# Writes the golden launch files from what the program gives now: look at the difference before committing it.
# Usage: tests/planner/accept_goldens.sh <build folder>
set -euo pipefail
if [ -n "${CI:-}" ]; then
  echo "goldens are not accepted in CI" >&2
  exit 1
fi
SHARDPLAN_ACCEPT=1 "${1:?build folder}/tests/planner/planner_test" "[golden]"
