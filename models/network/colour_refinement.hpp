// Which devices of a cluster are alike: the coarsest equitable colouring of its graph.
//
// Models: two devices of one colour have, for every kind, bandwidth and latency of link and every
// colour, equally many links to and from devices of that colour. What depends on the graph alone -
// greatest flows, fair shares, distances - is then the same for both. Colours are 64-bit hashes of
// all that was seen; that two unlike ones among four million collide has a chance below 10^-6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/network/graph.hpp"

namespace shardsim::network {

struct Colouring {
  std::vector<std::uint32_t> colour_of;  ///< by vertex; numbered in order of first appearance
  std::size_t colours = 0;
};

/// `start` tells vertices apart from the beginning, beside their kinds and tiers; empty: nothing
/// more.
Colouring refine_colours(const Graph& graph, std::span<const std::uint32_t> start = {});

}  // namespace shardsim::network
