// Rings along direct NVLinks, where GPUs of a node are cabled to each other without a switch.
//
// Models: closed rings over all GPUs are laid one after another, each taking a share of every link
// that it follows, until no further one fits; at each GPU the search tries the link with the most
// left first. Assumes few GPUs (16 at most) and bounds its steps. Leaves out NCCL's own order of
// trying, which decides between equally good sets of rings.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/network/graph.hpp"

namespace shardsim::nccl {

class NvlinkMesh {
 public:
  NvlinkMesh(const network::Graph& graph, std::span<const int> ranks);

  /// Closed rings, each of all ranks, to be used in equal shares; none if no ring can be laid.
  std::vector<std::vector<int>> rings() const;
  /// A way from one rank over all others to another along NVLinks.
  std::optional<std::vector<int>> path(int from, int to) const;

 private:
  struct Search;
  std::size_t index_of(int rank) const;

  std::vector<int> ranks_;
  /// [from * ranks + to]: bandwidth of the link in units of a ring's share, 0 without a link.
  std::vector<int> units_;
};

}  // namespace shardsim::nccl
