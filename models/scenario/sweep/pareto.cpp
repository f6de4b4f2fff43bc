#include "models/scenario/sweep/pareto.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace shardsim::scenario {

namespace {

/// Less is better in each.
using Costs = std::array<double, 3>;

Costs costs_of(const SweepRow& row) {
  constexpr double worst = std::numeric_limits<double>::infinity();
  const auto tokens = row.figure(metric_id("throughput.tokens_per_s"));
  const auto step = row.figure(metric_id("step.time_s"));
  const auto memory = row.figure(metric_id("memory.peak_reserved_bytes"));
  const auto gpus = row.figure(metric_id("cluster.gpus"));
  return {tokens ? -*tokens : step.value_or(worst), memory.value_or(worst), gpus.value_or(worst)};
}

bool dominates(const Costs& a, const Costs& b) {
  bool better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    better |= a[i] < b[i];
  }
  return better;
}

}  // namespace

bool satisfies(const SweepRow& row, std::span<const Constraint> constraints) {
  return row.failed.empty() && std::ranges::all_of(constraints, [&](const Constraint& one) {
           return one.holds(row.figures);
         });
}

std::optional<std::size_t> best_row(std::span<const SweepRow> rows, MetricId metric,
                                    std::span<const Constraint> constraints) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto value = rows[i].figure(metric);
    if (!value || !satisfies(rows[i], constraints)) continue;
    const double against = best ? *rows[*best].figure(metric) : *value;
    const bool better = metrics[metric].more_is_better ? *value > against : *value < against;
    if (!best || better) best = i;
  }
  return best;
}

std::vector<std::size_t> pareto_front(std::span<const SweepRow> rows,
                                      std::span<const Constraint> constraints) {
  std::vector<std::pair<Costs, std::size_t>> candidates;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (satisfies(rows[i], constraints)) candidates.emplace_back(costs_of(rows[i]), i);
  }
  std::ranges::sort(candidates);
  std::vector<std::pair<Costs, std::size_t>> front;
  for (const auto& one : candidates) {
    // Whatever comes later in this order is beaten by nothing that comes after it.
    const bool beaten = std::ranges::any_of(front, [&](const auto& other) {
      return dominates(other.first, one.first) || other.first == one.first;
    });
    if (!beaten) front.push_back(one);
  }
  std::vector<std::size_t> positions;
  for (const auto& [costs, position] : front) positions.push_back(position);
  return positions;
}

}  // namespace shardsim::scenario
