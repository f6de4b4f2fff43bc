// A topology file: read, built for a few nodes, planned on and listed.
//
// The number of nodes and the way of asking follow from the text, so that both are varied.
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "models/network/bisection.hpp"
#include "models/network/topology_warnings.hpp"
#include "models/scenario/collective_cluster.hpp"
#include "models/scenario/collective_run.hpp"
#include "models/scenario/topology_report.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

namespace {

void use(const scenario::CollectiveCluster& cluster) {
  for (const std::string& one : network::topology_warnings(cluster.graph)) {
    require(!one.empty(), "a warning without words");
  }
  std::ostringstream dot;
  scenario::write_dot(dot, cluster.graph);
  constexpr int most_listed = 128;
  if (cluster.ranks() > most_listed) return;
  require(nlohmann::json::accept(scenario::topology_json(cluster)), "a listing that is no JSON");
  require(!scenario::topology_text(cluster).empty(), "a listing without words");
  auto run = scenario::CollectiveRun::make(cluster);
  if (!run) {
    require(!run.error().empty(), "a refusal without a reason");
    return;
  }
  constexpr std::int64_t bytes = 1 << 20;
  const auto row = run->run({}, bytes);
  if (row && *row) require((*row)->time_us > 0, "a collective that takes no time");
}

}  // namespace

void build_topology(std::string_view input) {
  const auto file = source_folder() / "topologies" / "input.yaml";
  set_memory_file(file, input);
  scenario::ClusterRequest request;
  request.topology = file.string();
  request.nccl_version = "2.27.7";
  request.nodes = 1 + static_cast<std::int64_t>(input.size() % 4);
  if (input.size() % 8 != 0)
    request.gpus_per_node = 1 + static_cast<std::int64_t>(input.size() % 3);
  simcore::Diagnostics diagnostics;
  const auto cluster = scenario::load_collective_cluster(request, shipped_data(), diagnostics);
  check_messages(cluster == nullptr, diagnostics);
  if (cluster) use(*cluster);
}

}  // namespace shardsim::fuzz
