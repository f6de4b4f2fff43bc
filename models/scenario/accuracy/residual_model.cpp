#include "models/scenario/accuracy/residual_model.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>

#include "models/scenario/accuracy/student_t.hpp"

namespace shardsim::scenario {

namespace {

using Rows = std::vector<const Residual*>;
using Centre = ResidualModel::Centre;

/// The rows of each GPU; of GPUs with few groups all together, under no name.
std::map<std::string, Rows> by_gpu(const Rows& rows) {
  std::map<std::string, Rows> classes;
  for (const Residual* row : rows) classes[row->run.gpu].push_back(row);
  Rows others;
  std::erase_if(classes, [&](const auto& one) {
    if (group_count(one.second) >= fewest_groups) return false;
    others.insert(others.end(), one.second.begin(), one.second.end());
    return true;
  });
  if (!others.empty()) classes[""] = others;
  return classes;
}

/// Mean of centres, each by what it is known to beside `between`.
Centre common_of(const std::vector<Centre>& centres, double between) {
  double sum = 0;
  double total = 0;
  for (const Centre& one : centres) {
    const double weight = 1 / (between * between + one.squared_noise);
    total += weight;
    sum += weight * one.centre;
  }
  return {sum / total, 1 / total};
}

void fit_centres(ResidualModel& model, const std::vector<Centre>& centres) {
  constexpr int rounds = 50;
  model.common = common_of(centres, 0);
  if (centres.size() < 2) return;
  std::vector<double> noise;
  for (const Centre& one : centres) noise.push_back(one.squared_noise);
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> effects;
    for (const Centre& one : centres) effects.push_back(one.centre - model.common.centre);
    model.between = effect_scale(effects, noise);
    model.common = common_of(centres, model.between);
  }
}

}  // namespace

std::size_t group_count(const std::vector<const Residual*>& rows) {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> groups;
  for (const Residual* row : rows) groups.emplace(row->source, row->model, row->run.gpu);
  return groups.size();
}

double log_residual(const Residual& row, bool calibrated) {
  return std::log(calibrated ? row.measured_over_predicted : row.measured_over_uncalibrated);
}

ResidualForecast ResidualModel::forecast(const std::string& gpu) const {
  const double squared_between = between * between;
  const auto own = gpus.find(gpu);
  if (own == gpus.end() || squared_between <= 0) {
    return {common.centre, squared_scale + squared_between + common.squared_noise};
  }
  // The mean of the own centre and the common one, each by its certainty.
  const double share = squared_between / (squared_between + own->second.squared_noise);
  const double rest = 1 - share;
  return {common.centre + share * (own->second.centre - common.centre),
          squared_scale + share * own->second.squared_noise + rest * rest * common.squared_noise};
}

std::optional<ResidualModel> fit_residuals(const std::vector<const Residual*>& rows,
                                           bool calibrated) {
  const std::size_t groups = group_count(rows);
  if (groups < fewest_groups) return std::nullopt;
  const std::map<std::string, Rows> sets = by_gpu(rows);
  Rows ordered;
  std::vector<std::size_t> classes;
  std::size_t count = 0;
  for (const auto& [gpu, own] : sets) {
    ordered.insert(ordered.end(), own.begin(), own.end());
    classes.insert(classes.end(), own.size(), count++);
  }
  std::vector<double> logs;
  for (const Residual* row : ordered) logs.push_back(log_residual(*row, calibrated));
  const ClassFit fit = fit_classes(logs, group_weights(ordered), classes, count);

  ResidualModel model;
  model.runs = rows.size();
  // As a sample variance: as many groups less as there are constants fitted to them.
  const auto n = static_cast<double>(groups);
  model.squared_scale = fit.scale * fit.scale * n / (n - 1 - static_cast<double>(count));
  std::vector<Centre> centres;
  for (const auto& [gpu, own] : sets) {
    const double noise = centre_variance * std::max(model.squared_scale, 1e-18) /
                         static_cast<double>(group_count(own));
    centres.push_back({fit.centres[centres.size()], noise});
    if (!gpu.empty()) model.gpus[gpu] = centres.back();
  }
  fit_centres(model, centres);
  return model;
}

}  // namespace shardsim::scenario
