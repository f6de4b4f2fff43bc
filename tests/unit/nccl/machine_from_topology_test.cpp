// Our topologies seen by NCCL's planner.
#include "models/nccl/machine_from_topology.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "models/nccl/topology_xml.hpp"
#include "models/network/topology_library.hpp"
#include "tests/unit/nccl/planned_machine.hpp"

namespace shardsim::nccl {

namespace {

network::TopologySpec shipped_topology(const std::string& name) {
  simcore::Diagnostics diagnostics;
  const auto folder = std::filesystem::path(SHARDSIM_SOURCE_DIR) / "topologies";
  const auto topology = network::load_topology(name, {folder}, diagnostics);
  REQUIRE_MESSAGE(topology.has_value(), simcore::to_text(diagnostics));
  return topology->spec;
}

void check_same_graphs(const Machine& ours, const std::string& xml, bool several) {
  PlanningOptions options;
  options.several_nodes = several;
  const Machine theirs = shipped_machine(xml);
  for (const NcclVersion version : {NcclVersion{30, 7}, NcclVersion{21, 5}}) {
    CAPTURE(version.minor);
    const PlannedMachine a = planned(ours, version, options);
    const PlannedMachine b = planned(theirs, version, options);
    CHECK(a.land->max_gbytes_per_second == b.land->max_gbytes_per_second);
    CHECK(a.land->total_gbytes_per_second == b.land->total_gbytes_per_second);
    CHECK(summary_row(a.graphs.ring) == summary_row(b.graphs.ring));
    CHECK(summary_row(a.graphs.tree) == summary_row(b.graphs.tree));
    CHECK(summary_row(a.graphs.nvls) == summary_row(b.graphs.nvls));
    CHECK(same_channels(a.graphs.ring, b.graphs.ring));
    CHECK(same_channels(a.graphs.tree, b.graphs.tree));
    CHECK(same_channels(a.graphs.nvls, b.graphs.nvls));
  }
}

struct Pair {
  std::string yaml;
  std::string xml;
  int compute_capability = 0;
};

}  // namespace

TEST_CASE("a topology of ours and NCCL's file of that machine give the same graphs") {
  for (const Pair& pair :
       {Pair{"dgx-h100", "dgx_h100_8x400g", 90}, Pair{"dgx-a100", "dgx_a100_8x200g", 80},
        Pair{"dgx-b200", "hgx_b200_8x400g", 100}, Pair{"aws-p4d", "p4d_like_4x100g", 80},
        Pair{"pcie-8xl40s", "pcie_8xL40S_2x200g_amd", 89}}) {
    CAPTURE(pair.yaml);
    MachineChoice choice;
    choice.compute_capability = pair.compute_capability;
    network::TopologySpec spec = shipped_topology(pair.yaml);
    spec.node.nics->plugin_latency = {};  // NCCL's file of the p4d-like machine has none
    const Machine ours = machine_from_topology(spec, choice);
    for (const bool several : {false, true}) {
      CAPTURE(several);
      check_same_graphs(ours, pair.xml, several);
    }
  }
}

TEST_CASE("every shipped topology makes a machine that NCCL's file format can hold") {
  const auto folder = std::filesystem::path(SHARDSIM_SOURCE_DIR) / "topologies";
  for (const std::string& name : network::available_topologies({folder})) {
    CAPTURE(name);
    const network::TopologySpec spec = shipped_topology(name);
    MachineChoice choice;
    choice.compute_capability = 80;
    choice.nodes = 2;
    const Machine machine = machine_from_topology(spec, choice);
    const std::string text = write_topology_xml(machine);
    simcore::Diagnostics diagnostics;
    const auto read = read_topology_xml(source_of("m.xml", text), diagnostics);
    REQUIRE_MESSAGE(read.has_value(), simcore::to_text(diagnostics));
    CHECK(diagnostics.all().empty());
    CHECK(write_topology_xml(*read) == text);
    const bool domain = spec.node.nvlink && spec.node.nvlink->nodes_per_domain > 1;
    CHECK(gpus_of(machine).size() == static_cast<std::size_t>(spec.node.gpus) * (domain ? 2 : 1));
  }
}

TEST_CASE("an NVLink domain is one machine of several hosts, as large as the cluster") {
  const network::TopologySpec rack = shipped_topology("gb200-nvl72");
  MachineChoice choice;
  choice.compute_capability = 100;
  for (const int nodes : {1, 2, 18, 36}) {
    choice.nodes = nodes;
    const System system = build_system(machine_from_topology(rack, choice), {30, 7});
    CHECK(system.hosts == std::min(nodes, 18));
    CHECK(system.gpus.size() == static_cast<std::size_t>(4 * std::min(nodes, 18)));
    CHECK(system.gpus.back().rank == 4 * std::min(nodes, 18) - 1);
  }
  // The cable to the CPU is NVLink-C2C: no PCIe is that fast.
  const PlannedMachine made =
      surveyed(machine_from_topology(rack, choice), {30, 7}, on_several_nodes());
  CHECK(made.land->gpu_net(0, 0).type == PathType::p2c);
}

TEST_CASE("NICs that a plugin offers as one are one device") {
  const network::TopologySpec p5 = shipped_topology("aws-p5");
  MachineChoice choice;
  choice.compute_capability = 90;
  CHECK(build_system(machine_from_topology(p5, choice), {30, 7}).nets.size() == 32);
  choice.nics_per_device = 4;
  const System grouped = build_system(machine_from_topology(p5, choice), {30, 7});
  REQUIRE(grouped.nets.size() == 8);
  CHECK(grouped.nets[7].gbytes_per_second == 50.0F);
  CHECK(grouped.nets[7].latency_us == 75.0F);
}

TEST_CASE("the first GPUs of a node keep their links among themselves") {
  MachineChoice choice;
  choice.compute_capability = 70;
  choice.gpus_per_node = 3;
  const System system =
      build_system(machine_from_topology(shipped_topology("dgx-1v"), choice), {30, 7});
  CHECK(system.gpus.size() == 3);
  int nvlinks = 0;
  for (const SystemLink& link : system.links) nvlinks += link.type == PathType::nvl ? 1 : 0;
  CHECK(nvlinks == 6);
}

}  // namespace shardsim::nccl
