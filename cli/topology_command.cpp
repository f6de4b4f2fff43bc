#include "cli/topology_command.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/budget.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/nccl_dump_files.hpp"
#include "cli/output_target.hpp"
#include "models/scenario/topology_report.hpp"

namespace shardsim::cli {

namespace {

constexpr int exit_success = 0;
constexpr int exit_bad_input = 2;

struct TopologyArguments {
  ClusterArguments cluster;
  std::string json;
  std::string dot;
};

int run(const TopologyArguments& arguments) {
  const auto cluster = load_cluster(arguments.cluster, {}, "shardsim topology");
  if (!cluster) return exit_bad_input;
  const nccl::Environment& environment = cluster->setup.environment;
  std::vector<NamedTarget> inputs = nccl_files_read(environment);
  inputs.push_back({"the topology", arguments.cluster.topology});
  std::vector<NamedTarget> outputs = nccl_files_written(environment);
  outputs.insert(outputs.begin(), {{"--json", arguments.json}, {"--dot", arguments.dot}});
  if (const auto differ = check_targets(inputs, outputs); !differ) {
    std::cerr << "shardsim topology: " << differ.error() << '\n';
    return exit_bad_input;
  }
  bool written = true;
  if (const auto done = write_nccl_dumps(*cluster); !done) {
    std::cerr << "shardsim topology: " << done.error() << '\n';
    written = false;
  }
  const auto document = [&written](const std::string& target, const auto& write_to) {
    if (target.empty()) return;
    const auto done = write_document(target, write_to);
    if (!done) std::cerr << "shardsim topology: " << done.error() << '\n';
    written &= done.has_value();
  };
  document(arguments.json, [&](std::ostream& out) { out << scenario::topology_json(*cluster); });
  document(arguments.dot, [&](std::ostream& out) { scenario::write_dot(out, cluster->graph); });
  const bool taken = arguments.json == "-" || arguments.dot == "-";
  std::ostream& people = taken ? std::cerr : std::cout;
  people << scenario::topology_text(*cluster);
  people.flush();
  return written ? exit_success : exit_bad_input;
}

}  // namespace

void add_topology_command(CommandLine& line) {
  auto arguments = std::make_shared<TopologyArguments>();
  CLI::App* command =
      line.root().add_subcommand("topology", "Show a cluster, and what NCCL plans on it");
  command
      ->add_option("topology", arguments->cluster.topology,
                   "Name or path of a topology YAML file, or an NCCL topology XML file")
      ->type_name(label::topology)
      ->required();
  add_size_options(*command, arguments->cluster.limits);
  add_cluster_options(*command, arguments->cluster);
  command
      ->add_option("--json", arguments->json,
                   "Write devices, links and NCCL's graphs, tuning table, choices, rings and "
                   "trees as JSON; '-': standard output")
      ->type_name(label::file);
  command
      ->add_option("--dot", arguments->dot,
                   "Write the graph of devices for Graphviz; '-': standard output")
      ->type_name(label::file);
  line.describe(
      *command,
      {"Counts devices and links, gives the bisection bandwidth and the longest way, warns of what "
       "looks like a mistake, and shows the rings, trees and NVLink meshes that NCCL finds.",
       {{"Four DGX H100", {"shardsim topology dgx-h100 --nodes 4"}},
        {"A fat-tree with too few uplinks, for Graphviz",
         {"shardsim topology h100-fat-tree-4to1 --nodes 8 --dot fabric.dot"}},
        {"NCCL's choices without NVLink SHARP, as JSON",
         {"shardsim topology dgx-h100 --env NCCL_NVLS_ENABLE=0 --json -"}}}});
  command->callback([arguments, &line] { line.choose([arguments] { return run(*arguments); }); });
}

}  // namespace shardsim::cli
