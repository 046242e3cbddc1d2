#!/usr/bin/env bash
# For people, never in CI: takes what the program prints now as expected. Look at the difference before committing it.
#   tests/tools/accept.sh [PROGRAM]    (build/release/shardplan)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python3 -B tests/tools/scenarios.py "${1:-build/release/shardplan}" --accept
git --no-pager diff --stat -- tests/tools/golden
