// Symptoms and variables as tables.
#include "calibrate/doctor/diagnose.h"

namespace shardplan {

const std::vector<SymptomRow>& symptom_rows() {
  static const std::vector<SymptomRow> kRows{
      {"small_message_latency", "small messages take long", "starting and synchronising outweighs moving",
       "count the calls per step; fuse them, capture them in a CUDA graph, use a custom all-reduce"},
      {"large_message_bandwidth", "large messages are slow", "links are not filled", "topology, then algorithm and protocol of the log, then message cutting"},
      {"inside_node_slow", "collectives inside a node are slow", "NVLink or P2P is not in use", "nvidia-smi topo -m; NCCL_DEBUG=INFO and its \"via\" lines"},
      {"between_nodes_slow", "collectives between nodes are slow", "network or GPUDirect is set up wrongly",
       "NCCL_DEBUG_SUBSYS=INIT,NET; ibstat; NCCL_IB_HCA, NCCL_IB_GID_INDEX, NCCL_NET_GDR_LEVEL"},
      {"tests_fine_serving_slow", "nccl-tests are fast, serving is not", "communication is not behind computation",
       "a timeline (nsys): events, streams, what waits for what"},
      {"expert_exchange_jitter", "expert exchanges vary from step to step", "tokens are unevenly routed", "expert load; redundant experts; buckets of tokens"},
      {"decode_slow", "decode throughput is low", "small messages and synchronisation dominate", "fused or low-latency collectives; larger batches"},
  };
  return kRows;
}

const std::vector<NcclVariable>& nccl_variables() {
  static const std::vector<NcclVariable> kVariables{
      {"NCCL_DEBUG", "how much NCCL says", ""},
      {"NCCL_DEBUG_SUBSYS", "what it says it about", ""},
      {"NCCL_SOCKET_IFNAME", "interfaces for set-up and for sockets", "an interface is chosen by hand: the wrong one is slow or hangs at start"},
      {"NCCL_IB_HCA", "adapters to use", "adapters are chosen by hand: those left out carry nothing"},
      {"NCCL_IB_GID_INDEX", "which address of an adapter (RoCE)", "a RoCE address is chosen by hand: it must be the same kind on every node"},
      {"NCCL_P2P_DISABLE", "1: GPUs reach each other through host memory", "P2P is switched off"},
      {"NCCL_P2P_LEVEL", "how far apart P2P may be used", "P2P is limited by hand"},
      {"NCCL_NET_GDR_LEVEL", "how far GPU and adapter may be apart for GPUDirect", "GPUDirect is limited by hand"},
      {"NCCL_ALGO", "algorithm of collectives", "an algorithm is forced: it is used for sizes it is bad at"},
      {"NCCL_PROTO", "protocol of collectives", "a protocol is forced: LL at large sizes, or Simple at small ones, is slow"},
  };
  return kVariables;
}

}  // namespace shardplan
