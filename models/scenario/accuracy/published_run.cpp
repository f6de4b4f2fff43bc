#include "models/scenario/accuracy/published_run.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardsim::scenario {

namespace {

double ratio(std::int64_t published, std::int64_t asked) {
  return static_cast<double>(published) / static_cast<double>(asked);
}

PublishedRun compare(const RunFacts& run, const Residual& row) {
  PublishedRun made;
  made.run = &row;
  std::vector<std::string> differences;
  const auto size = [&](double times, std::string_view what) {
    made.doublings += std::abs(std::log2(times));
    if (times >= 1.005) differences.push_back(fmt::format("{:.3g} times as many {}", times, what));
    if (times <= 1 / 1.005)
      differences.push_back(fmt::format("{:.3g} times fewer {}", 1 / times, what));
  };
  const auto trait = [&](bool same, std::string difference) {
    if (same) return;
    made.doublings += 1;
    differences.push_back(std::move(difference));
  };
  const double gpus = ratio(row.run.gpus, run.gpus);
  const double parameters = ratio(row.run.parameters, run.parameters);
  const bool same_gpu = row.run.gpu == run.gpu;
  const bool same_type = row.run.precision == run.precision;
  const bool same_place = row.run.cpu_offload == run.cpu_offload;
  size(gpus, "GPUs");
  size(parameters, "parameters");
  trait(same_gpu, fmt::format("on {}", row.run.gpu));
  trait(same_type, fmt::format("{} instead of {}", row.run.precision, run.precision));
  trait(same_place, "without offload to the CPU");
  made.comparable = same_gpu && same_type && same_place && std::abs(std::log2(gpus)) <= 2 &&
                    std::abs(std::log2(parameters)) <= 1;
  made.differences = fmt::format("{}", fmt::join(differences, ", "));
  return made;
}

}  // namespace

std::optional<PublishedRun> nearest_published_run(const RunFacts& run, const ResidualTable& table) {
  if (run.parameters <= 0 || run.gpus <= 0) return std::nullopt;
  std::optional<PublishedRun> nearest;
  for (const Residual& row : table.rows) {
    if (row.run.family != run.family || row.run.generation != run.generation) continue;
    PublishedRun candidate = compare(run, row);
    if (!nearest || candidate.doublings < nearest->doublings) nearest = std::move(candidate);
  }
  return nearest;
}

}  // namespace shardsim::scenario
