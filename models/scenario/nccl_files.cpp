#include "models/scenario/nccl_files.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "models/nccl/topology_xml.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::scenario {

namespace {

constexpr std::size_t max_xml_bytes = std::size_t{16} << 20;

using Source = std::shared_ptr<const simcore::SourceText>;

/// Null, with a problem reported, if there is no such file.
Source read_named(const char* variable, const std::string& file, const nccl::VariablePlaces& places,
                  simcore::Diagnostics& diagnostics) {
  auto text = simcore::read_text_file(file, max_xml_bytes);
  if (!text) {
    const auto place = places ? places(variable) : simcore::SourceLocation{};
    diagnostics.error(place, fmt::format("{}: {} {}", variable, file, text.error()));
    return nullptr;
  }
  return std::make_shared<simcore::SourceText>(simcore::SourceText{file, std::move(*text)});
}

}  // namespace

bool read_nccl_files(nccl::NcclSetup& setup, const nccl::VariablePlaces& places,
                     simcore::Diagnostics& diagnostics) {
  const nccl::Environment& environment = setup.environment;
  if (environment.topology_file) {
    const Source source =
        read_named("NCCL_TOPO_FILE", *environment.topology_file, places, diagnostics);
    if (!source) return false;
    setup.machine = nccl::read_topology_xml(source, diagnostics);
    if (!setup.machine) return false;
  }
  if (environment.graph_file) {
    setup.graph_file = read_named("NCCL_GRAPH_FILE", *environment.graph_file, places, diagnostics);
    if (!setup.graph_file) return false;
  }
  return true;
}

void check_nic_list(const nccl::Planner& planner, const simcore::SourceLocation& where,
                    simcore::Diagnostics& diagnostics) {
  if (!planner.list_leaves_no_nic()) return;
  diagnostics.warning(
      where, fmt::format("NCCL_IB_HCA={} names no NIC of the topology, which are mlx5_0, mlx5_1, "
                         "...: data take TCP",
                         *planner.setup().environment.ib_hca));
}

void apply_environment(const nccl::Environment& environment, network::TopologySpec& topology) {
  auto& nvlink = topology.node.nvlink;
  if (nvlink && environment.mnnvl_enable == 0) nvlink->nodes_per_domain = 1;
}

}  // namespace shardsim::scenario
