#!/usr/bin/env bash
# qwen3-235b-a22b on 8 x b200-sxm, trtllm 1.3: replicas2 tp4 ep4/repl
# Predicted: TTFT 250 ms, TPOT 20.00 ms, 1234 output tokens/s at 64 requests at once.
# Usage: ./trtllm.sh [replica]
# 2 replicas are 2 independent servers: start each, and put a router in front that balances requests
set -euo pipefail

REPLICA=${1:-0}   # of 2
NODE=0
# 2 replicas to a node of 8 GPUs: replica r runs on node r / 2.
SLOT=$((REPLICA % 2))
PORT=$((8000 + 100 * SLOT))
CUDA_VISIBLE_DEVICES=$(seq -s, $((SLOT * 4)) $((SLOT * 4 + 3)))
export CUDA_VISIBLE_DEVICES
CONFIG="$(cd "$(dirname "$0")" && pwd)/trtllm.yaml"   # at the same path on every node

exec trtllm-serve Qwen/Qwen3-235B-A22B \
  --host 0.0.0.0 \
  --port "$PORT" \
  --backend pytorch \
  --config "$CONFIG"
