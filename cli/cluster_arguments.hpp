// Arguments of the commands that are about a cluster with NCCL on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
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

/// An option that sets a variable of NCCL: `--algo Ring`. Nothing is set where the value is empty.
struct VariableOption {
  std::string variable;
  std::string option;
  std::string value;
};

/// A request of the command line, and where its parts stand there.
struct PlacedRequest {
  scenario::ClusterRequest request;
  scenario::RequestPlaces places;
};

/// What the arguments ask for; `--env` overrides the options before it.
PlacedRequest cluster_request(const ClusterArguments& arguments,
                              const std::vector<VariableOption>& options,
                              simcore::Diagnostics& diagnostics);

/// Null if something is wrong, which is then on standard error in the name of `command`: "shardsim
/// topology".
std::unique_ptr<scenario::CollectiveCluster> load_cluster(
    const ClusterArguments& arguments, const std::vector<VariableOption>& options,
    std::string_view command);

}  // namespace shardsim::cli
