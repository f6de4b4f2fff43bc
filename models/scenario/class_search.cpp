#include "models/scenario/class_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "models/nccl/communicator_plan.hpp"
#include "models/scenario/perturbations.hpp"

namespace shardsim::scenario {

namespace {

class Search {
 public:
  Search(const std::vector<ClassJob>& jobs, const network::Graph& graph,
         const std::vector<network::LinkChange>& link_changes, const CollectivePlanning& planning)
      : jobs_(jobs), graph_(graph), link_changes_(link_changes), planning_(planning) {}

  ClassProblem problem(bool every_rank) {
    for (const ClassJob& job : jobs_) add_ranks(job);
    std::uint32_t first_rank = 0;
    for (const ClassJob& job : jobs_) {
      for (const auto& groups : job.groups) add_role(groups, first_rank);
      first_rank += static_cast<std::uint32_t>(job.ranks.size());
    }
    // One group a role: its data are one flow, whatever links they load.
    const bool tied =
        std::ranges::any_of(problem_.roles, [](const auto& role) { return role.size() > 1; });
    if (tied && !every_rank) tie_links();
    return std::move(problem_);
  }

 private:
  /// Ranks of different jobs are told apart by the roles that they are in.
  void add_ranks(const ClassJob& job) {
    const Colour first = next_colour_;
    for (const Colour colour : job.ranks) {
      problem_.ranks.push_back(first + colour);
      next_colour_ = std::max(next_colour_, first + colour + 1);
    }
  }

  void add_role(const std::vector<std::vector<int>>& groups, std::uint32_t first_rank) {
    auto& role = problem_.roles.emplace_back();
    for (const std::vector<int>& group : groups) {
      RankGroup& made = role.emplace_back();
      for (const int rank : group) made.ranks.push_back(first_rank + static_cast<Colour>(rank));
    }
  }

  void tie_links() {
    problem_.links = colours_of_links(graph_, link_changes_);
    std::size_t role = 0;
    for (const ClassJob& job : jobs_) {
      for (std::size_t id = 0; id < job.groups.size(); ++id, ++role) {
        for (std::size_t g = 0; g < job.groups[id].size(); ++g) {
          const auto number = static_cast<cuda::CommunicatorId>(id);
          tie(problem_.roles[role][g], static_cast<std::uint32_t>(role), job, number, g);
        }
      }
    }
  }

  /// What the group's collectives cost apart from the links they share, and the links they load.
  void tie(RankGroup& made, std::uint32_t role, const ClassJob& job, cuda::CommunicatorId id,
           std::size_t number) {
    nccl::CommunicatorSpec spec{job.program->communicators[id], {}, 1, {}};
    auto& gpus = spec.groups.emplace_back();
    for (const int rank : job.groups[id][number]) {
      gpus.push_back((*job.gpus)[static_cast<std::size_t>(rank)]);
    }
    if (gpus.size() < 2) return;
    auto plan = plan_of(spec);
    if (!plan) return;  // the run will say so
    std::vector<std::int64_t> costs{role};
    std::vector<const nccl::Traffic*> traffics;
    for (const cuda::CollectiveSpec& collective : job.program->collectives) {
      if (collective.communicator != id || collective.fixed_time) continue;
      const auto timing = planning_.model.timing(collective, *plan);
      if (!timing) continue;
      costs.insert(costs.end(),
                   {timing->latency.picoseconds(), std::bit_cast<std::int64_t>(timing->flow_bytes),
                    std::bit_cast<std::int64_t>(timing->cap.bytes_per_second), timing->channels});
      if (timing->traffic == nullptr || timing->flow_bytes <= 0) continue;
      if (std::ranges::find(traffics, timing->traffic) == traffics.end()) {
        traffics.push_back(timing->traffic);
      }
    }
    made.colour = number_in(costs_, std::move(costs));
    for (const nccl::Traffic* traffic : traffics) {
      const auto pattern = static_cast<std::uint32_t>(*plan->pattern_of(*traffic));
      for (const network::LinkUse& use : traffic->uses) {
        const auto weight = std::bit_cast<std::uint64_t>(use.weight);
        made.ties.push_back({use.link, number_in(labels_, std::tuple(role, pattern, weight))});
      }
    }
  }

  /// A cluster whose nodes have shapes has been found to be connected.
  std::expected<nccl::CommunicatorPlan, nccl::NoRoute> plan_of(
      const nccl::CommunicatorSpec& spec) const {
    if (graph_.shape_of_node(0) >= 0) return nccl::CommunicatorPlan::outline(graph_, spec);
    return nccl::CommunicatorPlan::make(graph_, spec);
  }

  template <class Key>
  static std::uint32_t number_in(std::map<Key, std::uint32_t>& known, Key key) {
    const auto next = static_cast<std::uint32_t>(known.size());
    return known.try_emplace(std::move(key), next).first->second;
  }

  const std::vector<ClassJob>& jobs_;
  const network::Graph& graph_;
  const std::vector<network::LinkChange>& link_changes_;
  const CollectivePlanning& planning_;
  ClassProblem problem_;
  Colour next_colour_ = 0;
  std::map<std::vector<std::int64_t>, std::uint32_t> costs_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint32_t> labels_;
};

/// Cuts each job's part out, numbered by first appearance in it.
std::vector<RankClasses> divide(const RankClasses& all, const std::vector<ClassJob>& jobs) {
  std::vector<RankClasses> parts;
  std::size_t rank = 0;
  std::size_t role = 0;
  for (const ClassJob& job : jobs) {
    RankClasses& part = parts.emplace_back();
    std::map<Colour, Colour> numbers;
    for (std::size_t i = 0; i < job.ranks.size(); ++i, ++rank) {
      const auto next = static_cast<Colour>(numbers.size());
      part.ranks.push_back(numbers.try_emplace(all.ranks[rank], next).first->second);
    }
    for (std::size_t id = 0; id < job.groups.size(); ++id)
      part.groups.push_back(all.groups[role++]);
  }
  return parts;
}

}  // namespace

std::vector<RankClasses> search_classes(const std::vector<ClassJob>& jobs,
                                        const network::Graph& graph,
                                        const std::vector<network::LinkChange>& link_changes,
                                        const CollectivePlanning& planning, bool every_rank) {
  const ClassProblem problem = Search(jobs, graph, link_changes, planning).problem(every_rank);
  return divide(every_rank ? one_class_each(problem) : find_classes(problem), jobs);
}

}  // namespace shardsim::scenario
