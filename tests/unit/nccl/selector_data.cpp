#include "tests/unit/nccl/selector_data.hpp"

#include <algorithm>

namespace shardsim::nccl {
namespace {

template <class E, class Names>
E named(std::string_view name, const Names& names) {
  const auto found = std::ranges::find(names.values, name);
  return static_cast<E>(found - names.values.begin());
}

void set_machine(const CsvRows& machines, std::string_view name, CommunicatorFacts& facts) {
  for (std::size_t row = 0; row < machines.size(); ++row) {
    if (machines.text(row, "topology") != name) continue;
    const auto capability = static_cast<int>(machines.integer(row, "compute_capability"));
    facts.least_compute_capability = facts.most_compute_capability = capability;
    const std::string_view cpu = machines.text(row, "cpu");
    facts.cpu_architecture = cpu == "ARM" ? CpuArchitecture::arm : CpuArchitecture::x86;
    facts.cpu_vendor = cpu == "AMD"   ? CpuVendor::amd
                       : cpu == "ARM" ? CpuVendor::other
                                      : CpuVendor::intel;
  }
}

GraphSummary graph_at(const CsvRows& rows, std::size_t row) {
  GraphSummary graph;
  graph.pattern = static_cast<int>(rows.integer(row, "pattern"));
  graph.cross_nic = static_cast<int>(rows.integer(row, "crossNic"));
  graph.channels = static_cast<int>(rows.integer(row, "nChannels"));
  graph.bw_intra_gbps = rows.number(row, "bwIntra");
  graph.bw_inter_gbps = rows.number(row, "bwInter");
  graph.latency_inter_us = rows.number(row, "latInter");
  graph.type_intra = path_type_named(rows.text(row, "typeIntra")).value();
  graph.type_inter = path_type_named(rows.text(row, "typeInter")).value();
  graph.same_channels = rows.integer(row, "sameChannels") != 0;
  return graph;
}

}  // namespace

Collective collective_named(std::string_view name) {
  return named<Collective>(name, collective_names);
}
Algorithm algorithm_named(std::string_view name) { return named<Algorithm>(name, algorithm_names); }
Protocol protocol_named(std::string_view name) { return named<Protocol>(name, protocol_names); }

SystemKey system_key(const CsvRows& rows, std::size_t row) {
  return {std::string(rows.text(row, "nccl_version")), std::string(rows.text(row, "topology")),
          static_cast<int>(rows.integer(row, "nNodes"))};
}

std::map<SystemKey, SystemInputs> read_systems() {
  const CsvRows machines(selector_data("machines.csv"));
  const CsvRows graphs(selector_data("graphs.csv"));
  std::map<SystemKey, SystemInputs> systems;
  for (std::size_t row = 0; row < graphs.size(); ++row) {
    const SystemKey key = system_key(graphs, row);
    SystemInputs& system = systems[key];
    CommunicatorFacts& facts = system.inputs.communicator;
    const auto local = static_cast<int>(graphs.integer(row, "ppn"));
    facts.version = parse_nccl_version(graphs.text(row, "nccl_version")).value();
    facts.nodes = static_cast<int>(graphs.integer(row, "nNodes"));
    facts.ranks = facts.nodes * local;
    facts.least_local_ranks = facts.most_local_ranks = local;
    set_machine(machines, graphs.text(row, "topology"), facts);
    system.collective_channels = static_cast<int>(graphs.integer(row, "collChannels"));
    const std::string_view which = graphs.text(row, "graph");
    if (which == "ring") system.inputs.ring = graph_at(graphs, row);
    if (which == "tree") system.inputs.tree = graph_at(graphs, row);
    if (which == "nvls") {
      system.inputs.nvls = graph_at(graphs, row);
      facts.multicast = true;
    }
  }
  return systems;
}

}  // namespace shardsim::nccl
