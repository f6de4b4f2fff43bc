// The search for a node's channels: which pattern, how many, at which bandwidth.
//
// Models: `ncclTopoCompute` of NCCL graph/search.cc. A first pass relaxes what a channel may be -
// different orders of GPUs, simpler trees, worse paths, other NICs, less bandwidth - until it finds
// a solution and no better one; a second pass raises bandwidths again where that still fits.
// Assumes that all nodes are alike, so that one node's result is everybody's. Leaves out
// ranks whose results differ.
#pragma once

#include <optional>
#include <string_view>

#include "models/nccl/channel_graph.hpp"
#include "models/nccl/paths.hpp"

namespace shardsim::nccl {

struct NodeGraphs {
  ChannelGraph ring;
  ChannelGraph tree;
  std::optional<ChannelGraph> collnet_chain;   ///< if wanted
  std::optional<ChannelGraph> collnet_direct;  ///< if wanted, from 2.22 on
  ChannelGraph nvls;                           ///< no channels where NVLS is not possible
};

struct GraphWishes {
  bool collnet = false;  ///< NCCL_COLLNET_ENABLE
  bool nvls = true;      ///< NCCL_NVLS_ENABLE
};

/// Graphs that the user gives; the others are searched for.
struct GivenGraphs {
  std::optional<ChannelGraph> ring;
  std::optional<ChannelGraph> tree;
  std::optional<ChannelGraph> collnet_chain;
  std::optional<ChannelGraph> collnet_direct;
  std::optional<ChannelGraph> nvls;
};

/// In NCCL's order: the tree has as many channels as the ring.
NodeGraphs search_graphs(const Landscape& land, const GraphWishes& wishes,
                         const GivenGraphs& given = {});

}  // namespace shardsim::nccl
