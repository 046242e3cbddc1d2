#!/usr/bin/env bash
# qwen3-235b-a22b on 8 x h200-sxm, vllm 0.19: tp8 dcp2/a2a ep8/repl
# Predicted: TTFT 250 ms, TPOT 20.00 ms, 1234 output tokens/s at 64 requests at once.
# Usage: ./vllm.sh [replica]
# --kv-cache-memory-bytes 70267012752 in place of --gpu-memory-utilization pins the planned cache, whatever CUDA graphs are estimated at
set -euo pipefail

REPLICA=${1:-0}   # of 1
NODE=0
PORT=8000

exec vllm serve Qwen/Qwen3-235B-A22B \
  --host 0.0.0.0 \
  --port "$PORT" \
  --tensor-parallel-size 8 \
  --pipeline-parallel-size 1 \
  --data-parallel-size 1 \
  --decode-context-parallel-size 2 \
  --dcp-comm-backend a2a \
  --cp-kv-cache-interleave-size 1 \
  --no-dcp-q-replicate \
  --enable-expert-parallel \
  --gpu-memory-utilization 0.90 \
  --max-model-len 1280 \
  --max-num-seqs 1024 \
  --max-num-batched-tokens 8192 \
  --kv-cache-dtype fp8 \
  --block-size 16 \
  --dtype bfloat16 \
  --enable-chunked-prefill \
  --enable-prefix-caching
