#!/usr/bin/env bash
# The first command: installs what is missing, builds the program, and makes a first plan.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

first_plan="plan --model qwen3-235b-a22b --hardware h200-sxm --gpus 16 --isl 4096 --osl 512 --tpot-ms 40"

# Cached objects serve a clone in another folder too, and tools/test.sh.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=true
tools/setup.sh
cmake --preset release
cmake --build --preset release --target shardplan

echo
echo "\$ build/release/shardplan $first_plan"
# shellcheck disable=SC2086  # the words of the command
exec build/release/shardplan $first_plan
