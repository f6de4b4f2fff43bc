#include "models/scenario/job_placement.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace shardsim::scenario {

namespace {

class Placer {
 public:
  Placer(const LoadedScenario& scenario, const network::Graph& graph,
         simcore::Diagnostics& diagnostics)
      : scenario_(scenario), graph_(graph), diagnostics_(diagnostics) {}

  std::optional<JobPlacement> place() {
    if (!place_others() || !place_own()) return std::nullopt;
    place_background();
    return diagnostics_.has_errors() ? std::nullopt : std::optional(std::move(made_));
  }

 private:
  simcore::SourceLocation nodes_of(std::string_view list, std::size_t i) const {
    return scenario_.root.find(list)->items()[i].where_value("nodes");
  }

  /// GPUs of the nodes, in their order. Complains about nodes that there are not, or twice.
  std::vector<int> gpus_of(const std::vector<std::int64_t>& nodes,
                           const simcore::SourceLocation& place) {
    const std::int64_t gpus_per_node = graph_.gpu_count() / std::max(1, graph_.node_count());
    std::vector<int> gpus;
    std::set<std::int64_t> seen;
    for (const std::int64_t node : nodes) {
      if (node < 0 || node >= graph_.node_count() || !seen.insert(node).second) {
        diagnostics_.error(place, fmt::format("expected different nodes from 0 to {}, found {}",
                                              graph_.node_count() - 1, node));
        return {};
      }
      for (std::int64_t i = 0; i < gpus_per_node; ++i) {
        gpus.push_back(static_cast<int>(node * gpus_per_node + i));
      }
    }
    return gpus;
  }

  bool place_others() {
    taken_.resize(static_cast<std::size_t>(graph_.node_count()));
    for (std::size_t i = 0; i < scenario_.spec.jobs.size(); ++i) {
      const JobSpec& wanted = scenario_.spec.jobs[i];
      const simcore::SourceLocation place = nodes_of("jobs", i);
      JobPlan& job = made_.others.emplace_back();
      job.name = wanted.name;
      job.nodes = static_cast<int>(wanted.nodes.size());
      job.gpus = gpus_of(wanted.nodes, place);
      if (diagnostics_.has_errors()) return false;
      for (const std::int64_t node : wanted.nodes) {
        if (taken_[static_cast<std::size_t>(node)]) {
          diagnostics_.error(place, fmt::format("node {} belongs to another job", node));
        }
        taken_[static_cast<std::size_t>(node)] = true;
      }
    }
    return true;
  }

  bool place_own() {
    std::vector<std::int64_t> own;
    for (std::int64_t node = 0; node < graph_.node_count(); ++node) {
      if (!taken_[static_cast<std::size_t>(node)]) own.push_back(node);
    }
    if (own.empty()) {
      diagnostics_.error(scenario_.where("jobs"), "no node is left for the scenario's own job");
      return false;
    }
    made_.nodes = static_cast<int>(own.size());
    made_.gpus = gpus_of(own, scenario_.where("jobs"));
    return true;
  }

  void place_background() {
    for (std::size_t i = 0; i < scenario_.spec.background.size(); ++i) {
      const BackgroundSpec& traffic = scenario_.spec.background[i];
      std::vector<std::int64_t> nodes = traffic.nodes;
      for (std::int64_t node = 0; traffic.nodes.empty() && node < graph_.node_count(); ++node) {
        nodes.push_back(node);
      }
      JobPlan& job = made_.others.emplace_back();
      job.name = traffic.name;
      job.background = true;
      job.gpus = gpus_of(nodes, nodes_of("background", i));
      job.nodes = static_cast<int>(nodes.size());
    }
  }

  const LoadedScenario& scenario_;
  const network::Graph& graph_;
  simcore::Diagnostics& diagnostics_;
  std::vector<bool> taken_;  ///< nodes, by other jobs
  JobPlacement made_;
};

}  // namespace

std::optional<JobPlacement> place_jobs(const LoadedScenario& scenario, const network::Graph& graph,
                                       simcore::Diagnostics& diagnostics) {
  return Placer(scenario, graph, diagnostics).place();
}

}  // namespace shardsim::scenario
