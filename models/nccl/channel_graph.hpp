// What a channel search finds: through which GPUs and NICs of one node each channel goes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/nccl/path_type.hpp"

namespace shardsim::nccl {

/// Numbered as in NCCL's logs and graph files.
enum class ChannelPattern : std::uint8_t {
  balanced_tree = 1,  ///< a chain; the NIC's traffic is shared by its first two GPUs
  split_tree = 2,     ///< a chain; receives at its first GPU, sends at its second
  tree = 3,           ///< a chain; its first GPU does both
  ring = 4,
  nvls = 5,            ///< one head per channel, which reduces through the NVSwitch
  collnet_direct = 6,  ///< one head per channel, which every GPU talks to
};

struct GraphChannel {
  /// Ranks within the node, in the order of travel; NVLS: the head alone has a meaning.
  std::vector<int> ranks;
  int net_in = -1;  ///< index in System::nets, or -1 within one node
  int net_out = -1;
};

struct ChannelGraph {
  ChannelPattern pattern = ChannelPattern::ring;
  /// 0: leaves by the NIC it came in by; 1: may differ; 2: pairs of channels swap theirs.
  int cross_nic = 0;
  float intra_gbytes_per_second = 0;  ///< per channel, within the node
  float inter_gbytes_per_second = 0;  ///< per channel, on the network
  float latency_us = 0;               ///< that the network device declares
  PathType type_intra = PathType::loc;
  PathType type_inter = PathType::loc;
  bool same_channels = false;  ///< all channels visit the GPUs in one order
  std::vector<GraphChannel> channels;

  int channel_count() const { return static_cast<int>(channels.size()); }
};

}  // namespace shardsim::nccl
