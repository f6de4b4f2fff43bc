// NCCL's topology files: read, written again, and planned on, by themselves and as NCCL_TOPO_FILE.
#include <string>

#include <nlohmann/json.hpp>

#include "models/nccl/topology_xml.hpp"
#include "models/scenario/collective_cluster.hpp"
#include "models/scenario/topology_report.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

namespace {

void use(const scenario::ClusterRequest& request) {
  simcore::Diagnostics diagnostics;
  const auto cluster = scenario::load_collective_cluster(request, shipped_data(), diagnostics);
  check_messages(cluster == nullptr, diagnostics);
  constexpr int most_listed = 128;
  if (!cluster || cluster->ranks() > most_listed) return;
  require(nlohmann::json::accept(scenario::topology_json(*cluster)), "a listing that is no JSON");
}

}  // namespace

void plan_topology_xml(std::string_view input) {
  simcore::Diagnostics diagnostics;
  const auto machine = nccl::read_topology_xml(source_of(input), diagnostics);
  check_messages(!machine, diagnostics);
  if (!machine) return;
  const std::string text = nccl::write_topology_xml(*machine);
  simcore::Diagnostics problems;
  const auto again = nccl::read_topology_xml(source_of(text), problems);
  require(again.has_value(), "a written topology cannot be read", problems);
  require(nccl::write_topology_xml(*again) == text, "a written topology reads as another");
  constexpr const char* file = "/input/topology.xml";
  set_memory_file(file, input);
  scenario::ClusterRequest request;
  request.nccl_version = "2.27.7";
  request.nodes = 1 + static_cast<std::int64_t>(input.size() % 2);
  request.topology = file;
  use(request);
  request.topology = "dgx-h100";
  request.gpus_per_node = 4;
  request.env["NCCL_TOPO_FILE"] = file;
  use(request);
}

}  // namespace shardsim::fuzz
