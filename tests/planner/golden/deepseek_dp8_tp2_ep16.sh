#!/usr/bin/env bash
# deepseek-v3 on 16 x h200-sxm, vllm 0.30: dpa8 tp2 ep16/a2a redundant16
# Predicted: TTFT 250 ms, TPOT 20.00 ms, 1234 output tokens/s at 64 requests at once.
# Usage: MASTER_ADDR=<address of node 0> ./vllm.sh [replica] [node of the replica], on every node of it
# --kv-cache-memory-bytes 75100912833 in place of --gpu-memory-utilization pins the planned cache, whatever CUDA graphs are estimated at
# DeepEP must be installed; its high-throughput kernels take steps of this size, and run without CUDA graphs
# each replica runs on 2 nodes: start the script on every one with its node number
set -euo pipefail

REPLICA=${1:-0}   # of 1
NODE=${2:-0}      # of 2
PORT=8000
: "${MASTER_ADDR:?address of node 0 of this replica}"
WORKER=()
if [ "$NODE" -gt 0 ]; then WORKER=(--headless); fi

exec vllm serve deepseek-ai/DeepSeek-V3 \
  --host 0.0.0.0 \
  --port "$PORT" \
  --tensor-parallel-size 2 \
  --pipeline-parallel-size 1 \
  --data-parallel-size 8 \
  --decode-context-parallel-size 1 \
  --enable-expert-parallel \
  --all2all-backend deepep_high_throughput \
  --enable-eplb \
  --eplb-config '{"num_redundant_experts": 16}' \
  --gpu-memory-utilization 0.92 \
  --max-model-len 1280 \
  --max-num-seqs 1024 \
  --max-num-batched-tokens 8192 \
  --kv-cache-dtype bfloat16 \
  --block-size 64 \
  --dtype bfloat16 \
  --enable-chunked-prefill \
  --enable-prefix-caching \
  --data-parallel-size-local 4 \
  --data-parallel-start-rank $((NODE * 4)) \
  --data-parallel-address "$MASTER_ADDR" \
  --data-parallel-rpc-port 29550 \
  "${WORKER[@]}"
