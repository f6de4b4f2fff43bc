#include "models/nccl/system.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

namespace shardsim::nccl {

std::string_view node_kind_name(NodeKind kind) {
  constexpr std::array<std::string_view, 6> names = {"GPU", "PCI", "NVS", "CPU", "NIC", "NET"};
  return names[static_cast<std::size_t>(kind)];
}

int System::least_compute_capability() const {
  int least = std::numeric_limits<int>::max();
  for (const SystemGpu& gpu : gpus) least = std::min(least, gpu.compute_capability);
  return least;
}

int System::find_link(int from, int to, PathType type) const {
  for (const int link : nodes[static_cast<std::size_t>(from)].links) {
    const SystemLink& candidate = links[static_cast<std::size_t>(link)];
    if (candidate.to == to && candidate.type == type) return link;
  }
  return -1;
}

std::string node_name(const System& system, int node) {
  const SystemNode& named = system.nodes[static_cast<std::size_t>(node)];
  return fmt::format("{}/{:x}-{:x}", node_kind_name(named.kind), named.host, named.id);
}

}  // namespace shardsim::nccl
