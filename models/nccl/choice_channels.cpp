#include "models/nccl/choice_channels.hpp"

#include <algorithm>

namespace shardsim::nccl {
namespace {

constexpr std::int64_t KiB = 1024;

int at_most(const Setting& setting, int limit) {
  return static_cast<int>(std::min<std::int64_t>(setting.value_or(limit), limit));
}

bool doubled_for_speed(const TuningInputs& inputs, const TuningRules& rules, int channels) {
  const int capability = inputs.communicator.least_compute_capability;
  const bool fast = rules.channels_doubled_from_hopper ? capability >= 90 : capability == 90;
  const bool few = rules.channels_doubled_below_16 ? channels < 16 : channels <= 16;
  return fast && few && inputs.communicator.nodes > 1 && inputs.ring.bw_intra_gbps > 45;
}

int collective_channels(const TuningInputs& inputs, const TuningConstants& constants,
                        const Environment& environment) {
  const CommunicatorFacts& facts = inputs.communicator;
  const int limit = constants.most_channels;
  int channels = std::min(limit, 2 * inputs.ring.channels);
  const GraphSummary& chain = inputs.collnet_chain;
  if (facts.collnet.offered && chain.bw_intra_gbps > chain.bw_inter_gbps &&
      facts.ranks > facts.nodes) {
    channels = std::min(limit, channels + channels / 2);
  }
  if (doubled_for_speed(inputs, constants.rules, channels)) channels *= 2;
  if (!facts.network_by_host && facts.nodes > 1 && channels < 16 &&
      environment.unpack_double_channels.value_or(1) != 0) {
    channels *= 2;
  }
  channels = std::min(
      {channels, at_most(environment.most_channels, limit), at_most(environment.most_ctas, limit)});
  // The first channels are repeated up to the least number.
  const auto least =
      std::max(environment.least_channels.value_or(0), environment.least_ctas.value_or(1));
  return std::max(channels, static_cast<int>(std::min<std::int64_t>(least, limit)));
}

struct NvlsTuning {
  int channels = 16;
  std::int64_t chunk = 0;       ///< 0: the default
  std::int64_t tree_chunk = 0;  ///< likewise
};

/// Blackwell on several nodes, from 2.30: by the speed of the NICs, the ranks of a node and whether
/// a NIC sits below its GPU's PCIe switch.
NvlsTuning tuned_for_nics(const TuningInputs& inputs, NvlsTuning tuning) {
  const int local = inputs.communicator.least_local_ranks;
  const double nic = inputs.communicator.least_nic_bandwidth_gbps;
  const bool near = inputs.nvls.type_inter <= PathType::pxb;
  tuning.chunk = 128 * KiB;
  if (inputs.communicator.nodes == 2 && nic >= 48) {
    if (local <= 4) return {32, 256 * KiB, 256 * KiB};
    const bool small = local >= 16 || (local <= 8 && near && nic < 96);
    return {32, 128 * KiB, (small ? 64 : 128) * KiB};
  }
  if (nic >= 96) {
    if (local <= 8) return {24, 256 * KiB, 256 * KiB};
    return {32, 128 * KiB, (local < 32 ? 128 : 64) * KiB};
  }
  if (nic >= 48) return {24, 128 * KiB, (near ? 64 : 128) * KiB};
  return tuning;
}

NvlsTuning nvls_tuning(const TuningInputs& inputs, const TuningRules& rules) {
  const bool several = inputs.communicator.nodes > 1;
  NvlsTuning tuning;
  if (!rules.nvls_channels_by_generation || inputs.communicator.least_compute_capability < 100) {
    return tuning;
  }
  tuning.channels = several || !rules.nvls_fewer_channels_on_one_node ? 32 : 24;
  return several && rules.nvls_tree_tuned_for_nics ? tuned_for_nics(inputs, tuning) : tuning;
}

}  // namespace

ChannelCounts channel_counts(const TuningInputs& inputs, const TuningConstants& constants,
                             const Environment& environment) {
  ChannelCounts counts;
  counts.collective = collective_channels(inputs, constants, environment);
  if (!inputs.communicator.multicast || inputs.nvls.channels == 0 ||
      environment.nvls_enable.value_or(2) == 0) {
    return counts;
  }
  const NvlsTuning tuning = nvls_tuning(inputs, constants.rules);
  const int limit = constants.most_channels;
  counts.nvls = std::clamp(at_most(environment.nvls_channels, limit), 1, limit);
  if (!environment.nvls_channels) counts.nvls = tuning.channels;
  counts.nvls = std::max(static_cast<int>(environment.least_ctas.value_or(1)),
                         std::min(counts.nvls, at_most(environment.most_ctas, limit)));
  counts.nvls_chunk_bytes =
      environment.nvls_chunk_bytes.value_or(tuning.chunk > 0 ? tuning.chunk : 128 * KiB);
  const bool limited = constants.rules.nvls_tree_chunk_limit;
  if (limited && environment.nvls_tree_chunk_bytes) {
    counts.nvls_tree_chunk_bytes = *environment.nvls_tree_chunk_bytes;
  } else if (tuning.tree_chunk > 0) {
    counts.nvls_tree_chunk_bytes = tuning.tree_chunk;
  } else if (limited) {
    counts.nvls_tree_chunk_bytes =
        inputs.communicator.nodes >= 4 ? 64 * KiB : counts.nvls_chunk_bytes;
  } else {
    counts.nvls_tree_chunk_bytes = 512 * KiB;
  }
  return counts;
}

}  // namespace shardsim::nccl
