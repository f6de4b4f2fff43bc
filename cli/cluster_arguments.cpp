#include "cli/cluster_arguments.hpp"

#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/data_directory.hpp"
#include "models/nccl/environment.hpp"
#include "simcore/config/source_positions.hpp"

namespace shardsim::cli {

namespace {

/// "--gpus 99", at the value's character `at`.
simcore::SourceLocation place_of(const std::string& option, const std::string& value,
                                 std::size_t at = 0) {
  const auto source = std::make_shared<simcore::SourceText>(
      simcore::SourceText{option, fmt::format("{} {}", option, value)});
  return simcore::SourcePositions(source).at(option.size() + 1 + at);
}

}  // namespace

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

PlacedRequest cluster_request(const ClusterArguments& arguments,
                              const std::vector<VariableOption>& options,
                              simcore::Diagnostics& diagnostics) {
  PlacedRequest made;
  scenario::ClusterRequest& request = made.request;
  request.topology = arguments.topology;
  request.nodes = arguments.nodes;
  request.nccl_version = arguments.version;
  request.limits = arguments.limits;
  if (arguments.gpus > 0) request.gpus_per_node = arguments.gpus;
  made.places.nodes = place_of("--nodes", std::to_string(arguments.nodes));
  made.places.gpus_per_node = place_of("--gpus", std::to_string(arguments.gpus));
  made.places.nccl_version = place_of("--nccl-version", arguments.version);
  std::map<std::string, simcore::SourceLocation, std::less<>> places;
  for (const VariableOption& one : options) {
    if (one.value.empty()) continue;
    request.env.insert_or_assign(one.variable, one.value);
    places.insert_or_assign(one.variable, place_of(one.option, one.value));
  }
  for (const std::string& text : arguments.env) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const simcore::SourceLocation where = place_of("--env", text);
    if (equals == std::string::npos || equals == 0) {
      diagnostics.error(where, fmt::format("expected NAME=VALUE, found {}", simcore::quote(text)));
    } else if (!nccl::is_nccl_name(name)) {
      diagnostics.error(
          where, fmt::format("'{}' is none of NCCL's variables, which begin with NCCL_", name),
          nccl::nearest_nccl_name(name));
    } else if (const auto given = request.env.find(name);
               given != request.env.end() && given->second != text.substr(equals + 1)) {
      diagnostics.error(where, fmt::format("{} was given as '{}' before: expected one value", name,
                                           given->second));
    } else {
      request.env.insert_or_assign(name, text.substr(equals + 1));
      places.insert_or_assign(name, place_of("--env", text, equals + 1));
    }
  }
  made.places.env = [places = std::move(places)](std::string_view name) {
    const auto found = places.find(name);
    return found == places.end() ? simcore::SourceLocation{} : found->second;
  };
  return made;
}

std::unique_ptr<scenario::CollectiveCluster> load_cluster(
    const ClusterArguments& arguments, const std::vector<VariableOption>& options,
    std::string_view command) {
  std::optional<std::filesystem::path> data;
  if (!arguments.data.empty()) data = arguments.data;
  const auto folders = find_data_directory(current_data_search(data));
  if (!folders) {
    std::cerr << fmt::format("{}: {}\n", command, folders.error());
    return nullptr;
  }
  simcore::Diagnostics diagnostics;
  const PlacedRequest wanted = cluster_request(arguments, options, diagnostics);
  std::unique_ptr<scenario::CollectiveCluster> cluster;
  if (!diagnostics.has_errors()) {
    cluster = scenario::load_collective_cluster(
        wanted.request, {folders->topologies, folders->scenarios}, diagnostics, wanted.places);
  }
  std::cerr << simcore::to_text(diagnostics, command);
  return diagnostics.has_errors() ? nullptr : std::move(cluster);
}

}  // namespace shardsim::cli
