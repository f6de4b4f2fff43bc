#include "models/nccl/tuning_inputs.hpp"

namespace shardsim::nccl {

GraphSummary summary_of(const ChannelGraph& graph) {
  return {.pattern = static_cast<int>(graph.pattern),
          .cross_nic = graph.cross_nic,
          .channels = graph.channel_count(),
          .bw_intra_gbps = static_cast<double>(graph.intra_gbytes_per_second),
          .bw_inter_gbps = static_cast<double>(graph.inter_gbytes_per_second),
          .latency_inter_us = static_cast<double>(graph.latency_us),
          .type_intra = graph.type_intra,
          .type_inter = graph.type_inter,
          .same_channels = graph.same_channels};
}

}  // namespace shardsim::nccl
