#!/usr/bin/env bash
# llama-3.1-70b on 8 x h200-sxm, vllm 0.30: replicas4 tp2
# Predicted: TTFT 250 ms, TPOT 20.00 ms, 1234 output tokens/s at 64 requests at once.
# Usage: ./vllm.sh [replica]
# 4 replicas are 4 independent servers: start each, and put a router in front that balances requests
# --kv-cache-memory-bytes 61363402785 in place of --gpu-memory-utilization pins the planned cache, whatever CUDA graphs are estimated at
set -euo pipefail

REPLICA=${1:-0}   # of 4
NODE=0
# 4 replicas to a node of 8 GPUs: replica r runs on node r / 4.
SLOT=$((REPLICA % 4))
PORT=$((8000 + 100 * SLOT))
CUDA_VISIBLE_DEVICES=$(seq -s, $((SLOT * 2)) $((SLOT * 2 + 1)))
export CUDA_VISIBLE_DEVICES

exec vllm serve meta-llama/Llama-3.1-70B \
  --host 0.0.0.0 \
  --port "$PORT" \
  --tensor-parallel-size 2 \
  --pipeline-parallel-size 1 \
  --data-parallel-size 1 \
  --decode-context-parallel-size 1 \
  --gpu-memory-utilization 0.92 \
  --max-model-len 1280 \
  --max-num-seqs 1024 \
  --max-num-batched-tokens 8192 \
  --kv-cache-dtype bfloat16 \
  --block-size 16 \
  --dtype bfloat16 \
  --enable-chunked-prefill \
  --enable-prefix-caching
