#!/usr/bin/env bash
# qwen3-235b-a22b on 8 x h200-sxm, vLLM 0.19: tp8 dcp2 ep8 a2a repl
# Predicted: TTFT 250 ms, TPOT 20.00 ms, 1234 output tokens/s at 64 requests at once.
# Usage: ./vllm.sh [replica] [node of the replica]
set -euo pipefail

REPLICA=${1:-0}   # of 1
NODE=${2:-0}      # of 1
# 1 replica to a node of 8 GPUs: replica r runs on node r / 1.
SLOT=$((REPLICA % 1))
PORT=$((8000 + SLOT))
CUDA_VISIBLE_DEVICES=$(seq -s, $((SLOT * 8)) $((SLOT * 8 + 7)))
export CUDA_VISIBLE_DEVICES

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
