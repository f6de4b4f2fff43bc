// NCCL's graph files, as NCCL_GRAPH_FILE on machines of one and two nodes.
#include <string>

#include <nlohmann/json.hpp>

#include "models/scenario/collective_cluster.hpp"
#include "models/scenario/collective_run.hpp"
#include "models/scenario/topology_report.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

void plan_graph_xml(std::string_view input) {
  constexpr const char* file = "/input/graph.xml";
  set_memory_file(file, input);
  scenario::ClusterRequest request;
  request.topology = "pcie-4xl40s";
  request.nccl_version = "2.27.7";
  request.env["NCCL_GRAPH_FILE"] = file;
  for (const std::int64_t nodes : {1, 2}) {
    request.nodes = nodes;
    simcore::Diagnostics diagnostics;
    const auto cluster = scenario::load_collective_cluster(request, shipped_data(), diagnostics);
    check_messages(cluster == nullptr, diagnostics);
    if (!cluster) continue;
    require(nlohmann::json::accept(scenario::topology_json(*cluster)), "a listing that is no JSON");
    auto run = scenario::CollectiveRun::make(*cluster);
    if (!run) continue;
    const auto row = run->run({}, 1 << 16);
    require(row || !row.error().empty(), "a refusal without a reason");
  }
}

}  // namespace shardsim::fuzz
