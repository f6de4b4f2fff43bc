#include "models/scenario/host_memory.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <string>

#include <fmt/format.h>

namespace shardsim::scenario {

using simcore::Bytes;

Bytes HostMemoryResult::used() const {
  return std::accumulate(by_kind.begin(), by_kind.end(), Bytes{});
}

namespace {

/// A node without a known limit is never the fullest.
std::int64_t left(const HostMemoryResult& memory) {
  return memory.capacity ? memory.capacity->count - memory.used().count
                         : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

std::optional<HostMemoryResult> host_memory(const cuda::Program& program,
                                            const std::vector<int>& gpus,
                                            const network::Graph& graph,
                                            const network::TopologySpec& topology) {
  const cuda::BytesByKind& of_rank = program.host_memory;
  if (std::accumulate(of_rank.begin(), of_rank.end(), Bytes{}) == Bytes{}) return std::nullopt;
  std::map<int, int> ranks_on;
  for (const int gpu : gpus) ++ranks_on[graph.node_of(gpu)];
  std::optional<HostMemoryResult> fullest;
  for (const auto& [node, ranks] : ranks_on) {
    HostMemoryResult one{node, ranks, of_rank, topology.node_at(node).host_memory()};
    for (Bytes& bytes : one.by_kind) bytes = bytes * ranks;
    const bool fuller = !fullest || left(one) < left(*fullest) ||
                        (left(one) == left(*fullest) && one.gpus > fullest->gpus);
    if (fuller) fullest = one;
  }
  return fullest;
}

cuda::MemoryKind first_without_place(const HostMemoryResult& memory) {
  Bytes held;
  std::size_t kind = 0;
  for (; kind + 1 < memory.by_kind.size(); ++kind) {
    held += memory.by_kind[kind];
    if (memory.capacity && held > *memory.capacity) break;
  }
  return static_cast<cuda::MemoryKind>(kind);
}

std::string shortage_text(const HostMemoryResult& memory) {
  return fmt::format(
      "the {} of node {} hold{} {} of host memory (training.cpu_offload), and the "
      "node has {}",
      memory.gpus == 1 ? "rank" : fmt::format("{} ranks", memory.gpus), memory.node,
      memory.gpus == 1 ? "s" : "", simcore::to_text(memory.used()),
      simcore::to_text(memory.capacity.value_or(Bytes{})));
}

}  // namespace shardsim::scenario
