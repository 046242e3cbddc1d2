#!/usr/bin/env bash
# deepseek-v3 on 16 x h200-sxm, sglang 0.5.20: dpa16 ep16/a2a
# Predicted: TTFT 250 ms, TPOT 20.00 ms, 1234 output tokens/s at 64 requests at once.
# Usage: MASTER_ADDR=<address of node 0> ./sglang.sh [replica] [node of the replica], on every node of it
# DeepEP must be installed; SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK caps tokens of one dispatch (1024 at most)
# each replica runs on 2 nodes: start the script on every one with its node number
set -euo pipefail

REPLICA=${1:-0}   # of 1
NODE=${2:-0}      # of 2
PORT=8000
: "${MASTER_ADDR:?address of node 0 of this replica}"

exec python3 -m sglang.launch_server \
  --model-path deepseek-ai/DeepSeek-V3 \
  --host 0.0.0.0 \
  --port "$PORT" \
  --tp-size 16 \
  --pp-size 1 \
  --dp-size 16 \
  --enable-dp-attention \
  --enable-dp-lm-head \
  --moe-dense-tp-size 1 \
  --ep-size 16 \
  --moe-a2a-backend deepep \
  --deepep-mode auto \
  --moe-runner-backend deep_gemm \
  --mem-fraction-static 0.608 \
  --context-length 1280 \
  --max-running-requests 8192 \
  --cuda-graph-max-bs-decode 512 \
  --chunked-prefill-size 8192 \
  --max-prefill-tokens 16384 \
  --kv-cache-dtype bf16 \
  --page-size 1 \
  --dtype bfloat16 \
  --nnodes 2 \
  --node-rank "$NODE" \
  --dist-init-addr "$MASTER_ADDR:20000"
