// From one node's channels to the rings and trees over all nodes.
//
// Models: NCCL graph/connect.cc. Rings run through the nodes in their order; where pairs of
// channels swap NICs, every second node swaps the channels, so that a rail stays a rail. Trees are
// a chain within each node and a double binary tree between the nodes: the channels as searched use
// the first tree, their copies the second. NVLS trees join the heads of the nodes.
// Assumes that all nodes found the same graphs and have equally many ranks. Leaves out CollNet.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "models/nccl/channel_graph.hpp"
#include "models/nccl/nccl_version.hpp"

namespace shardsim::nccl {

/// The ranks of each node by their rank within the node; nodes in the order of their first rank.
using NodeRanks = std::vector<std::vector<int>>;

/// `nodes` nodes of `per_node` consecutive ranks.
NodeRanks consecutive_ranks(int nodes, int per_node);

/// A rank's neighbours in a tree; -1 where there is none.
struct TreeLinks {
  int up = -1;
  std::array<int, 3> down = {-1, -1, -1};
  bool operator==(const TreeLinks&) const = default;
};

/// A rank's neighbours between nodes; below it is also its own node's NVSwitch.
struct NvlsTreeLinks {
  std::optional<int> head;  ///< number of the head that it is
  int up = -1;
  std::array<int, 2> down = {-1, -1};
  bool operator==(const NvlsTreeLinks&) const = default;
};

/// Do channels 2k and 2k + 1 of a ring change places on every second node?
bool swaps_channel_pairs(const ChannelGraph& ring, std::size_t nodes, NcclVersion version);

/// Per channel the ranks in ring order, beginning with rank 0; channels beyond those searched
/// repeat them.
std::vector<std::vector<int>> connect_rings(const ChannelGraph& ring, const NodeRanks& nodes,
                                            int channels, NcclVersion version);

/// [channel][rank].
std::vector<std::vector<TreeLinks>> connect_trees(const ChannelGraph& tree, const NodeRanks& nodes,
                                                  int channels);

/// [tree][rank]; even channels use tree 0, odd ones tree 1.
std::array<std::vector<NvlsTreeLinks>, 2> connect_nvls_trees(const ChannelGraph& nvls,
                                                             const NodeRanks& nodes);

/// Ranks within the node that head the NVLS channels, each once.
std::vector<int> nvls_heads_of(const ChannelGraph& nvls);

}  // namespace shardsim::nccl
