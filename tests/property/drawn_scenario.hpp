// Training scenarios of small models drawn at random: many fabrics and strategies, with and without
// perturbations. Equal seeds draw equal scenarios on every machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "simcore/random.hpp"

namespace shardsim::scenario::drawn {

inline const std::filesystem::path root = SHARDSIM_SOURCE_DIR;

struct Fabric {
  const char* topology;
  int gpus;
  int most_nodes;
};

inline constexpr Fabric fabrics[] = {
    {"dgx-h100", 8, 6},       {"dgx-a100", 8, 5},         {"aws-p4d", 8, 3},
    {"aws-p5", 8, 4},         {"azure-nd-a100-v4", 8, 3}, {"pcie-8xl40s", 8, 1},
    {"dgx-b200", 8, 4},       {"gb200-nvl72", 4, 6},      {"one-gpu-per-node-100g", 1, 9},
    {"cscs-alps", 4, 7},      {"h100-fat-tree", 8, 5},    {"h100-fat-tree-4to1", 8, 6},
    {"h100-rail-only", 8, 4}, {"h100-torus-2d", 8, 6},    {"h100-dragonfly-plus", 8, 6},
    {"alcf-polaris", 4, 5},
};

inline constexpr const char* strategies[] = {
    "strategy: fsdp2",
    "strategy: fsdp2, reshard_after_forward: false",
    "strategy: fsdp2, sharding: hybrid_shard",
    "strategy: fsdp2, sharding: hybrid_shard, shard_group: 2",
    "strategy: fsdp1",
    "strategy: fsdp1, sharding: hybrid_shard",
    "strategy: ddp",
    "strategy: zero1",
    "strategy: zero2",
    "strategy: zero3",
};

/// A scenario drawn from the seed; some have no valid groups and are passed over.
inline std::string random_scenario(std::uint64_t seed) {
  simcore::RandomStream random(seed, "scenario");
  const Fabric& fabric = fabrics[random.below(std::size(fabrics))];
  const auto nodes = 1 + random.below(static_cast<std::uint64_t>(fabric.most_nodes));
  const auto ranks = nodes * static_cast<std::uint64_t>(fabric.gpus);
  std::string text = fmt::format(
      "name: random\ncluster: {{topology: {}, nodes: {}}}\n"
      "workload: {{model: {}, sequence_length: {}, micro_batch_size: {}}}\n"
      "training: {{{}}}\nsteps: {{warmup: 1, measure: 1}}\n",
      fabric.topology, nodes, random.below(2) == 0 ? "gpt2" : "mpt-125m", 256 << random.below(2),
      1 + random.below(2), strategies[random.below(std::size(strategies))]);
  const std::uint64_t perturbations = random.below(4);
  if (perturbations > 0) text += "perturb:\n";
  for (std::uint64_t i = 0; i < perturbations; ++i) {
    const std::uint64_t rank = random.below(ranks);
    const std::uint64_t node = random.below(nodes);
    switch (random.below(6)) {
      case 0:
      case 1:
        text += fmt::format("  - {{rank: {}, compute_slowdown: 1.{}}}\n", rank, random.below(6));
        break;
      case 2:
        text += fmt::format("  - {{link: \"node[{}].gpu[0]\", bandwidth: {} %}}\n", node,
                            20 + random.below(70));
        break;
      case 3:
        text += fmt::format(
            "  - {{link: \"node[{}].gpu[0]\", bandwidth: 50 %, at: {} ms, until: {} ms}}\n", node,
            5 + random.below(30), 60 + random.below(60));
        break;
      case 4:
        text += fmt::format("  - {{rank: {}, pause: {{at: {} ms, length: {} us}}}}\n", rank,
                            random.below(80), 100 + random.below(9000));
        break;
      default:
        if (random.below(3) > 0) break;
        text += fmt::format("  - {{jitter: {{compute: 3 %}}, rank: {}, seed: {}}}\n", rank, seed);
        break;
    }
  }
  if (text.ends_with("perturb:\n")) text.erase(text.rfind("perturb:"));
  return text;
}

}  // namespace shardsim::scenario::drawn
