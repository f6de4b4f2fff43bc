// Which node is the fullest, and whether it has the host memory that its ranks hold.
#include "models/scenario/host_memory.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/network/topology_builder.hpp"
#include "models/network/topology_library.hpp"

namespace shardsim::scenario {
namespace {

using cuda::MemoryKind;
using simcore::Bytes;

constexpr std::int64_t gib = std::int64_t{1} << 30;

/// What a rank of it holds on the host.
cuda::Program holding(std::int64_t parameters, std::int64_t gradients, std::int64_t optimizer) {
  cuda::Program program;
  const auto hold = [&](MemoryKind kind, std::int64_t bytes) {
    program.host_memory[static_cast<std::size_t>(kind)] = Bytes{bytes};
  };
  hold(MemoryKind::parameters, parameters);
  hold(MemoryKind::gradients, gradients);
  hold(MemoryKind::optimizer, optimizer);
  return program;
}

/// Four nodes of eight GPUs with `memory` each, where it is known.
struct Cluster {
  network::TopologySpec spec;
  std::optional<network::Graph> graph;
  explicit Cluster(std::optional<Bytes> memory) {
    simcore::Diagnostics diagnostics;
    auto topology = network::load_topology(
        "dgx-h100", {std::string(SHARDSIM_SOURCE_DIR) + "/topologies"}, diagnostics);
    REQUIRE(topology);
    spec = std::move(topology->spec);
    spec.node.cpus->memory = memory;
    network::ClusterSize size;
    size.nodes = 4;
    graph = network::build_graph(spec, size, diagnostics);
    REQUIRE(graph);
  }
  std::optional<HostMemoryResult> of(const cuda::Program& program,
                                     const std::vector<int>& gpus) const {
    return host_memory(program, gpus, *graph, spec);
  }
};

TEST_CASE("ranks that hold nothing on the host have no figures of it") {
  CHECK_FALSE(Cluster(Bytes{gib}).of(holding(0, 0, 0), {0, 1}));
}

TEST_CASE("a node holds what its ranks of the job hold together, to the last byte it has") {
  const auto exact = Cluster(Bytes{6 * gib}).of(holding(gib, gib, gib), {8, 9});
  REQUIRE(exact);
  CHECK(exact->node == 1);
  CHECK(exact->gpus == 2);
  CHECK(exact->used() == Bytes{6 * gib});
  CHECK(exact->fits());
  const auto over = Cluster(Bytes{5 * gib}).of(holding(gib, gib, gib), {8, 9});
  CHECK_FALSE(over->fits());
  CHECK(first_without_place(*over) == MemoryKind::optimizer);
  CHECK(shortage_text(*over) ==
        "the 2 ranks of node 1 hold 6 GiB of host memory (training.cpu_offload), and the node has "
        "5 GiB");
  CHECK_FALSE(Cluster(Bytes{6 * gib - 1}).of(holding(gib, gib, gib), {8, 9})->fits());
}

TEST_CASE("the part without a place is the first that a run allocates beyond the node's memory") {
  const auto first = [](std::int64_t capacity) {
    return first_without_place(*Cluster(Bytes{capacity}).of(holding(gib, gib, 2 * gib), {0}));
  };
  CHECK(first(gib - 1) == MemoryKind::parameters);
  CHECK(first(gib) == MemoryKind::gradients);
  CHECK(first(2 * gib) == MemoryKind::optimizer);
}

TEST_CASE("the fullest node is the one with least left, not the one with most ranks") {
  Cluster cluster(Bytes{100 * gib});
  const cuda::Program program = holding(gib, 0, 0);
  CHECK(cluster.of(program, {0, 8, 9, 16})->node == 1);
  network::OtherNodesSpec small{.first = 2, .last = 2, .node = cluster.spec.node};
  small.node.cpus->memory = Bytes{gib / 2};
  cluster.spec.other_nodes.push_back(small);
  const auto fullest = cluster.of(program, {0, 8, 9, 16});
  CHECK(fullest->node == 2);
  CHECK_FALSE(fullest->fits());
}

TEST_CASE("memory that the topology does not name is no limit") {
  const auto unknown = Cluster(std::nullopt).of(holding(1000 * gib, 0, 0), {0, 8, 9});
  REQUIRE(unknown);
  CHECK_FALSE(unknown->capacity);
  CHECK(unknown->fits());
  CHECK(unknown->node == 1);
}

}  // namespace
}  // namespace shardsim::scenario
