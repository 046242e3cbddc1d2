#!/usr/bin/env bash
# deepseek-v3 on 16 x h200-sxm, rtp-llm 0.2: dpa8 tp2 ep16/a2a
# Predicted: TTFT 250 ms, TPOT 20.00 ms, 1234 output tokens/s at 64 requests at once.
# Usage: MASTER_ADDR=<address of node 0> ./rtp-llm.sh [replica] [node of the replica], on every node of it
# RTP-LLM publishes no image under a fixed name: build one and put its name in place of rtp-llm:cuda12 where a manifest needs it
# each replica runs on 2 nodes: start the script on every one with its node number
set -euo pipefail

REPLICA=${1:-0}   # of 1
NODE=${2:-0}      # of 2
PORT=8000
: "${MASTER_ADDR:?address of node 0 of this replica}"
export LEADER_ADDRESS="$MASTER_ADDR"

exec python3 -m rtp_llm.start_server \
  --checkpoint_path deepseek-ai/DeepSeek-V3 \
  --model_type deepseek3 \
  --start_port "$PORT" \
  --tp_size 2 \
  --dp_size 8 \
  --world_size 16 \
  --local_world_size 8 \
  --world_rank $((NODE * 8)) \
  --ep_size 16 \
  --use_all_gather 0 \
  --use_deepep_moe 1 \
  --use_deepep_low_latency 0 \
  --use_deepep_internode 1 \
  --redundant_expert 0 \
  --eplb_mode NONE \
  --max_seq_len 1280 \
  --concurrency_limit 2048 \
  --max_batch_size 256 \
  --max_context_batch_size 1 \
  --seq_size_per_block 64 \
  --reserver_runtime_mem_mb 1024 \
  --kv_cache_mem_mb 88549 \
  --fp8_kv_cache 0 \
  --act_type bf16 \
  --reuse_cache 1
