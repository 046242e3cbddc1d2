#!/usr/bin/env bash
# llama-3.1-405b on 16 x h100-sxm, vllm 0.30: pp2 tp8
# Predicted: TTFT 250 ms, TPOT 20.00 ms, 1234 output tokens/s at 64 requests at once.
# Usage: MASTER_ADDR=<address of node 0> ./vllm.sh [replica] [node of the replica], on every node of it
# --kv-cache-memory-bytes 21222884638 in place of --gpu-memory-utilization pins the planned cache, whatever CUDA graphs are estimated at
# each replica runs on 2 nodes: start the script on every one with its node number
set -euo pipefail

REPLICA=${1:-0}   # of 1
NODE=${2:-0}      # of 2
PORT=8000
: "${MASTER_ADDR:?address of node 0 of this replica}"
export VLLM_PP_LAYER_PARTITION=64,62
WORKER=()
if [ "$NODE" -gt 0 ]; then WORKER=(--headless); fi

exec vllm serve meta-llama/Llama-3.1-405B \
  --host 0.0.0.0 \
  --port "$PORT" \
  --tensor-parallel-size 8 \
  --pipeline-parallel-size 2 \
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
  --enable-prefix-caching \
  --distributed-executor-backend mp \
  --nnodes 2 \
  --node-rank "$NODE" \
  --master-addr "$MASTER_ADDR" \
  --master-port 29501 \
  "${WORKER[@]}"
