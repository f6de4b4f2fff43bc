#include "models/scenario/accuracy/interval_widening.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "models/scenario/accuracy/residual_model.hpp"
#include "models/scenario/accuracy/student_t.hpp"

namespace shardsim::scenario {

namespace {

using Rows = std::vector<const Residual*>;
using Key = std::pair<std::string_view, std::string_view>;

/// Where nothing in the table tells what a trait does. Assumed.
constexpr double unseen = 1.5;
/// Sizes a little beyond those compared are not worth a word.
constexpr double worth_saying = 1.5;

double log2_of(std::int64_t count) { return std::log2(static_cast<double>(count)); }

/// Sums of a line through points whose means are taken set by set.
class PooledLine {
 public:
  void add(const std::vector<std::pair<double, double>>& points) {
    double x = 0;
    double y = 0;
    for (const auto& point : points) {
      x += point.first / static_cast<double>(points.size());
      y += point.second / static_cast<double>(points.size());
    }
    for (const auto& point : points) {
      squares_ += (point.first - x) * (point.first - x);
      products_ += (point.first - x) * (point.second - y);
    }
  }
  /// Two points a factor of four apart suffice.
  bool tells() const { return squares_ >= 2; }
  double slope() const { return products_ / squares_; }
  /// Variance of the slope where that of a point is 1.
  double noise() const { return 1 / squares_; }

 private:
  double squares_ = 0;
  double products_ = 0;
};

/// Effects that sources and GPUs show, with the noise that the spread of runs gives them.
class Effects {
 public:
  explicit Effects(double squared_scale) : squared_scale_(squared_scale) {}

  void add(double effect, double noise) {
    effects_.push_back(effect);
    noise_.push_back(noise * squared_scale_);
  }
  void add(const PooledLine& line) {
    if (line.tells()) add(line.slope(), line.noise());
  }
  bool none() const { return effects_.empty(); }
  double scale() const { return effect_scale(effects_, noise_); }

 private:
  double squared_scale_;
  std::vector<double> effects_;
  std::vector<double> noise_;
};

double mean_residual(const Rows& rows, bool calibrated) {
  double sum = 0;
  for (const Residual* row : rows) sum += log_residual(*row, calibrated);
  return sum / static_cast<double>(rows.size());
}

/// The runs of one source on one GPU.
std::map<Key, Rows> by_source_and_gpu(const ResidualTable& table) {
  std::map<Key, Rows> sets;
  for (const Residual& row : table.rows) sets[{row.source, row.run.gpu}].push_back(&row);
  return sets;
}

std::map<std::string_view, Rows> by_model(const Rows& rows) {
  std::map<std::string_view, Rows> sets;
  for (const Residual* row : rows) sets[row->model].push_back(row);
  return sets;
}

/// How many times `count` lies above the largest, or below the smallest, of `rows`; 1 within.
double times_above(std::int64_t count, std::int64_t largest) {
  return std::max(1.0, static_cast<double>(count) / static_cast<double>(largest));
}

struct Range {
  std::int64_t least;
  std::int64_t most;
};

template <class Size>
Range range_of(const Rows& rows, Size size) {
  Range range{size(rows.front()), size(rows.front())};
  for (const Residual* row : rows) {
    range.least = std::min(range.least, size(row));
    range.most = std::max(range.most, size(row));
  }
  return range;
}

void widen_by_size(IntervalWidening& made, std::int64_t size, const Range& range, double drift,
                   std::string_view what) {
  const double above = times_above(size, range.most);
  const double below = times_above(range.least, size);
  const double deviation = drift * std::log2(above * below);
  made.squared_scale += deviation * deviation;
  made.beyond |= above >= worth_saying || below >= worth_saying;
  if (above >= worth_saying) {
    made.reasons.push_back(
        fmt::format("{:.3g} times as many {} as any published run", above, what));
  } else if (below >= worth_saying) {
    made.reasons.push_back(
        fmt::format("{:.3g} times fewer {} than any published run", below, what));
  }
}

/// All runs of the family, compared or not; those compared where there are none.
Rows of_family(const std::string& family, const Rows& compared, const ResidualTable& table) {
  Rows rows;
  for (const Residual& row : table.rows) {
    if (row.run.family == family) rows.push_back(&row);
  }
  return rows.empty() ? compared : rows;
}

bool is_fp8(const Residual* row) { return row->run.precision == "fp8"; }

std::size_t groups_with(const Rows& rows, const std::string& precision) {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> groups;
  for (const Residual* row : rows) {
    if (row->run.precision == precision) groups.emplace(row->source, row->model, row->run.gpu);
  }
  return groups.size();
}

/// Says how far fp8 runs are among those compared.
std::string fp8_reason(std::size_t alike) {
  if (alike == 0) return "no fp8 runs among them";
  return alike < fewest_groups ? "few fp8 runs among them" : "fp8 runs differ more";
}

/// The spread is that of runs in other precisions, so that what fp8 adds comes on top of it.
void widen_by_fp8(IntervalWidening& made, const Rows& rows, std::optional<double> drift) {
  const std::size_t alike = groups_with(rows, "fp8");
  if (drift) {
    made.squared_scale += *drift * *drift;
  } else {
    made.factor *= unseen;
  }
  made.beyond |= alike == 0;
  made.reasons.push_back(fp8_reason(alike));
}

void widen_by_precision(IntervalWidening& made, const RunFacts& run, const Rows& rows) {
  if (groups_with(rows, run.precision) > 0) return;
  // fp16 products run at the rate of bf16 ones.
  if (run.precision == "fp16" && groups_with(rows, "bf16") > 0) return;
  made.factor *= unseen;
  made.beyond = true;
  made.reasons.push_back(fmt::format("no {} runs among them", run.precision));
}

}  // namespace

ResidualDrift residual_drift(const ResidualTable& table, bool calibrated, double squared_scale) {
  Effects along_gpus(squared_scale);
  Effects along_parameters(squared_scale);
  Effects in_fp8(squared_scale);
  for (const auto& [key, rows] : by_source_and_gpu(table)) {
    PooledLine gpus;
    PooledLine parameters;
    std::vector<std::pair<double, double>> models;
    for (const auto& [model, runs] : by_model(rows)) {
      std::vector<std::pair<double, double>> points;
      for (const Residual* row : runs) {
        points.emplace_back(log2_of(row->run.gpus), log_residual(*row, calibrated));
      }
      gpus.add(points);
      models.emplace_back(log2_of(runs.front()->run.parameters), mean_residual(runs, calibrated));
    }
    parameters.add(models);
    along_gpus.add(gpus);
    along_parameters.add(parameters);
    Rows fp8;
    Rows others;
    for (const Residual* row : rows) (is_fp8(row) ? fp8 : others).push_back(row);
    if (fp8.empty() || others.empty()) continue;
    in_fp8.add(mean_residual(fp8, calibrated) - mean_residual(others, calibrated),
               1 / static_cast<double>(fp8.size()) + 1 / static_cast<double>(others.size()));
  }
  ResidualDrift drift{along_gpus.scale(), along_parameters.scale(), std::nullopt};
  if (!in_fp8.none()) drift.fp8 = in_fp8.scale();
  return drift;
}

IntervalWidening widening(const RunFacts& run, const std::vector<const Residual*>& rows,
                          const ResidualTable& table, double squared_scale) {
  const ResidualDrift drift = residual_drift(table, run.calibrated, squared_scale);
  IntervalWidening made;
  const Rows known = of_family(run.family, rows, table);
  const Range gpus = range_of(known, [](const Residual* row) { return row->run.gpus; });
  widen_by_size(made, run.gpus, gpus, drift.per_doubling_of_gpus, "GPUs");
  const Range parameters = range_of(known, [](const Residual* row) { return row->run.parameters; });
  widen_by_size(made, run.parameters, parameters, drift.per_doubling_of_parameters, "parameters");
  if (run.precision == "fp8") {
    widen_by_fp8(made, rows, drift.fp8);
  } else {
    widen_by_precision(made, run, rows);
  }
  if (run.cpu_offload) {
    made.factor *= unseen;
    made.beyond = true;
    made.reasons.emplace_back("no published run offloads to the CPU");
  }
  return made;
}

}  // namespace shardsim::scenario
