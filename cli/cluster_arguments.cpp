#include "cli/cluster_arguments.hpp"

#include <iostream>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/data_directory.hpp"
#include "models/nccl/environment.hpp"

namespace shardsim::cli {

void add_cluster_options(CLI::App& command, ClusterArguments& arguments) {
  expect_number(*command.add_option("--nodes", arguments.nodes, "Number of nodes"), std::int64_t{1},
                std::int64_t{1'000'000});
  expect_number(*command.add_option("--gpus", arguments.gpus,
                                    "GPUs used in each node; by default all of them"),
                std::int64_t{1}, std::int64_t{1024});
  command.add_option("--nccl-version", arguments.version, "NCCL's version")
      ->type_name("VERSION")
      ->capture_default_str();
  command.add_option("--env", arguments.env, "A variable of NCCL")
      ->type_name("NCCL_NAME=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--data", arguments.data, "Folder that holds topologies/ and scenarios/")
      ->type_name(label::folder);
}

std::optional<scenario::ClusterRequest> cluster_request(
    const ClusterArguments& arguments, const std::map<std::string, std::string>& env) {
  scenario::ClusterRequest request{arguments.topology, arguments.nodes, std::nullopt,
                                   arguments.version, env};
  request.limits = arguments.limits;
  if (arguments.gpus > 0) request.gpus_per_node = arguments.gpus;
  for (const std::string& text : arguments.env) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      std::cerr << "shardsim: --env expects NAME=VALUE, not '" << text << "'\n";
      return std::nullopt;
    }
    const std::string name = text.substr(0, equals);
    if (!nccl::is_nccl_name(name)) {
      const std::string near = nccl::nearest_nccl_name(name);
      std::cerr << fmt::format(
          "shardsim: --env: '{}' is none of NCCL's variables, which begin with "
          "NCCL_{}\n",
          name, near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
      return std::nullopt;
    }
    request.env.insert_or_assign(text.substr(0, equals), text.substr(equals + 1));
  }
  return request;
}

std::unique_ptr<scenario::CollectiveCluster> load_cluster(
    const ClusterArguments& arguments, const std::map<std::string, std::string>& env) {
  std::optional<std::filesystem::path> data;
  if (!arguments.data.empty()) data = arguments.data;
  const auto folders = find_data_directory(current_data_search(data));
  if (!folders) {
    std::cerr << "shardsim: " << folders.error() << '\n';
    return nullptr;
  }
  const auto request = cluster_request(arguments, env);
  if (!request) return nullptr;
  simcore::Diagnostics diagnostics;
  auto cluster = scenario::load_collective_cluster(
      *request, {folders->topologies, folders->scenarios}, diagnostics);
  std::cerr << simcore::to_text(diagnostics);
  return diagnostics.has_errors() ? nullptr : std::move(cluster);
}

}  // namespace shardsim::cli
