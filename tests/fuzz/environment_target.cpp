// NCCL's version and variables, a line each: NAME=VALUE.
#include <nlohmann/json.hpp>

#include "models/scenario/collective_cluster.hpp"
#include "models/scenario/collective_run.hpp"
#include "models/scenario/topology_report.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

void set_environment(std::string_view input) {
  scenario::ClusterRequest request;
  request.topology = "pcie-4xl40s";
  request.nodes = 1 + static_cast<std::int64_t>(input.size() % 2);
  request.nccl_version = "2.27.7";
  for (const std::string_view line : lines_of(input, 20)) {
    const std::size_t equals = line.find('=');
    const std::string value(equals == std::string_view::npos ? "" : line.substr(equals + 1));
    if (line.starts_with("version=")) {
      request.nccl_version = value;
    } else if (line.starts_with("topology=") && value.size() < 20) {
      request.topology = value;
    } else {
      request.env[std::string(line.substr(0, equals))] = value;
    }
  }
  simcore::Diagnostics diagnostics;
  const auto cluster = scenario::load_collective_cluster(request, shipped_data(), diagnostics);
  check_messages(cluster == nullptr, diagnostics);
  constexpr int most_listed = 32;
  if (!cluster || cluster->ranks() > most_listed) return;
  require(nlohmann::json::accept(scenario::topology_json(*cluster)), "a listing that is no JSON");
  auto run = scenario::CollectiveRun::make(*cluster);
  if (!run) return;
  for (const auto fidelity :
       {scenario::CollectiveFidelity::model, scenario::CollectiveFidelity::flow,
        scenario::CollectiveFidelity::chunk}) {
    scenario::CollectiveSettings settings;
    settings.fidelity = fidelity;
    const auto row = run->run(settings, 1 << 16);
    if (!row) require(!row.error().empty(), "a refusal without a reason");
  }
}

}  // namespace shardsim::fuzz
