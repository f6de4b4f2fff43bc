// Arguments of the commands that are about a cluster with NCCL on it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/command_line.hpp"
#include "models/scenario/collective_cluster.hpp"

namespace shardsim::cli {

struct ClusterArguments {
  std::string topology;
  std::int64_t nodes = 1;
  std::int64_t gpus = 0;  ///< of each node; 0: all
  std::string version = "2.27.7";
  std::vector<std::string> env;  ///< NAME=VALUE
  std::string data;
  network::SizeLimits limits{};
};

/// `--nodes`, `--gpus`, `--nccl-version`, `--env`, `--data`.
void add_cluster_options(CLI::App& command, ClusterArguments& arguments);

/// What the arguments ask for; `env` comes first. Nothing if something is wrong, which is then on
/// standard error.
std::optional<scenario::ClusterRequest> cluster_request(
    const ClusterArguments& arguments, const std::map<std::string, std::string>& env);

/// Null if something is wrong, which is then on standard error. `env` comes on top of the
/// arguments'.
std::unique_ptr<scenario::CollectiveCluster> load_cluster(
    const ClusterArguments& arguments, const std::map<std::string, std::string>& env);

}  // namespace shardsim::cli
