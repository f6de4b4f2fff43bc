#include "cli/nccl_dump_files.hpp"

#include <ostream>

#include "models/nccl/graph_xml.hpp"
#include "models/nccl/topology_xml.hpp"

namespace shardsim::cli {

std::vector<NamedTarget> nccl_files_read(const nccl::Environment& environment) {
  return {{"NCCL_TOPO_FILE", environment.topology_file.value_or("")},
          {"NCCL_GRAPH_FILE", environment.graph_file.value_or("")}};
}

std::vector<NamedTarget> nccl_files_written(const nccl::Environment& environment) {
  return {{"NCCL_TOPO_DUMP_FILE", environment.topology_dump_file.value_or("")},
          {"NCCL_GRAPH_DUMP_FILE", environment.graph_dump_file.value_or("")}};
}

std::expected<void, std::string> write_nccl_dumps(const scenario::CollectiveCluster& cluster) {
  const nccl::Environment& environment = cluster.setup.environment;
  if (!environment.topology_dump_file && !environment.graph_dump_file) return {};
  const auto shape =
      nccl::shape_of_cluster(cluster.spec, cluster.nodes(), cluster.ranks() / cluster.nodes());
  if (!shape) return std::unexpected("NCCL's dump files need nodes of equal size");
  if (environment.topology_dump_file) {
    const auto done = write_document(*environment.topology_dump_file, [&](std::ostream& out) {
      out << nccl::write_topology_xml(cluster.planner->machine_of(*shape));
    });
    if (!done) return done;
  }
  if (!environment.graph_dump_file) return {};
  const auto plan = cluster.planner->plan(*shape);
  if (!plan) return std::unexpected(plan.error());
  return write_document(*environment.graph_dump_file, [&](std::ostream& out) {
    out << nccl::write_graph_xml((*plan)->graphs, *(*plan)->system);
  });
}

}  // namespace shardsim::cli
