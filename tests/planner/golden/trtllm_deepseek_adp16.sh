#!/usr/bin/env bash
# deepseek-v3 on 16 x h200-sxm, trtllm 1.3: dpa16 ep16/a2a redundant32
# Predicted: TTFT 250 ms, TPOT 20.00 ms, 1234 output tokens/s at 64 requests at once.
# Usage: HOSTS=node0:8,node1:8,.. ./trtllm.sh [replica], on node 0 of the replica
# each replica runs on 2 nodes: start the script on the first, which reaches the others over ssh
set -euo pipefail

REPLICA=${1:-0}   # of 1
PORT=8000
: "${HOSTS:?hosts of this replica with their GPUs, such as node0:8}"
export TRTLLM_FORCE_COMM_METHOD=DEEPEPLOWLATENCY
CONFIG="$(cd "$(dirname "$0")" && pwd)/trtllm.yaml"   # at the same path on every node

exec mpirun --allow-run-as-root -np 16 --host "$HOSTS" -x TRTLLM_FORCE_COMM_METHOD trtllm-llmapi-launch trtllm-serve deepseek-ai/DeepSeek-V3 \
  --host 0.0.0.0 \
  --port "$PORT" \
  --backend pytorch \
  --config "$CONFIG"
