#include "models/scenario/validation/leave_one_out.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "models/scenario/accuracy/forecast_interval.hpp"

namespace shardsim::scenario {

namespace {

using Rows = std::vector<const Residual*>;

/// Measured over predicted of one run, and the interval for it.
struct Outcome {
  const Residual* row;
  double ratio = 1;
  std::optional<ForecastInterval> interval;
};

/// Factor on the training rate that `rows` ask for; nothing without rows that tell.
std::optional<double> fitted_factor(const Rows& rows) {
  constexpr double least_share = 0.5;
  Rows telling;
  std::vector<double> logs;
  for (const Residual* row : rows) {
    if (!row->run.calibrated || row->rate_share < least_share) continue;
    telling.push_back(row);
    logs.push_back(-std::log(row->measured_over_predicted) / row->rate_share);
  }
  if (telling.empty()) return std::nullopt;
  return std::exp(weighted_quantile(logs, group_weights(telling), 0.5));
}

/// The constants of every GPU as fitted on a part of the table.
class Fit {
 public:
  explicit Fit(Rows rows) : rows_(std::move(rows)) {}

  /// Measured over predicted with these constants.
  double ratio(const Residual& row) {
    const auto factor = factor_for(row.run);
    if (!factor) return row.measured_over_uncalibrated;
    return row.measured_over_predicted * std::pow(*factor, row.rate_share);
  }
  bool knows(const RunFacts& run) { return factor_for(run).has_value(); }

 private:
  std::optional<double> factor_for(const RunFacts& run) {
    const auto found = factors_.find(run.gpu);
    if (found != factors_.end()) return found->second;
    auto factor = factor_of([&](const Residual* row) { return row->run.gpu == run.gpu; });
    if (!factor) {
      factor =
          factor_of([&](const Residual* row) { return row->run.generation == run.generation; });
    }
    factors_[run.gpu] = factor;
    return factor;
  }

  template <class Condition>
  std::optional<double> factor_of(Condition condition) const {
    Rows chosen;
    std::ranges::copy_if(rows_, std::back_inserter(chosen), condition);
    return fitted_factor(chosen);
  }

  Rows rows_;
  std::map<std::string, std::optional<double>> factors_;
};

/// Forecasts of a source from all others.
std::vector<Outcome> left_out(const ResidualTable& table, const std::string& source) {
  Rows others;
  for (const Residual& row : table.rows) {
    if (row.source != source) others.push_back(&row);
  }
  Fit fit(others);
  ResidualTable known;
  for (const Residual* row : others) {
    known.rows.push_back(*row);
    known.rows.back().measured_over_predicted = fit.ratio(*row);
  }
  std::vector<Outcome> outcomes;
  for (const Residual& row : table.rows) {
    if (row.source != source) continue;
    Outcome outcome{&row, fit.ratio(row), std::nullopt};
    RunFacts facts = row.run;
    facts.calibrated = fit.knows(facts);
    outcome.interval = forecast_interval(facts, known);
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

/// Of those that have an interval, each weighted anew among them.
std::optional<IntervalQuality> quality_of(const std::vector<Outcome>& outcomes, bool by_group) {
  std::vector<const Outcome*> chosen;
  Rows rows;
  for (const Outcome& one : outcomes) {
    if (!one.interval) continue;
    chosen.push_back(&one);
    rows.push_back(one.row);
  }
  if (rows.empty()) return std::nullopt;
  constexpr double outside = 0.1;  // share of runs that an interval may miss
  const std::vector<double> weights =
      by_group ? group_weights(rows)
               : std::vector<double>(rows.size(), 1 / static_cast<double>(rows.size()));
  IntervalQuality made;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const double low = std::log(chosen[i]->interval->low);
    const double high = std::log(chosen[i]->interval->high);
    const double measured = std::log(chosen[i]->ratio);
    const double missed_by = std::max({0.0, low - measured, measured - high});
    made.coverage += missed_by > 0 ? 0 : weights[i];
    made.width += weights[i] * (high - low);
    made.score += weights[i] * (high - low + 2 / outside * missed_by);
  }
  return made;
}

AccuracyScore score_of(std::string what, const std::vector<Outcome>& outcomes) {
  AccuracyScore made;
  made.what = std::move(what);
  made.rows = outcomes.size();
  const double each = 1 / static_cast<double>(outcomes.size());
  Rows rows;
  for (const Outcome& one : outcomes) rows.push_back(one.row);
  const std::vector<double> weights = group_weights(rows);
  const std::vector<double> equal(outcomes.size(), each);
  std::vector<double> absolute;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const double error = 1 / outcomes[i].ratio - 1;
    absolute.push_back(std::abs(error));
    made.bias += each * error;
    made.group_bias += weights[i] * error;
  }
  made.median_abs_error = weighted_quantile(absolute, equal, 0.5);
  made.p90_abs_error = weighted_quantile(absolute, equal, 0.9);
  made.group_median_abs_error = weighted_quantile(absolute, weights, 0.5);
  made.group_p90_abs_error = weighted_quantile(absolute, weights, 0.9);
  made.intervals = quality_of(outcomes, false);
  made.group_intervals = quality_of(outcomes, true);
  return made;
}

std::vector<RefitConstant> refit(const ResidualTable& table) {
  std::map<std::string, Rows> by_gpu;
  for (const Residual& row : table.rows) by_gpu[row.run.gpu].push_back(&row);
  std::vector<RefitConstant> constants;
  for (const auto& [gpu, rows] : by_gpu) {
    if (const auto factor = fitted_factor(rows)) constants.push_back({gpu, rows.size(), *factor});
  }
  return constants;
}

}  // namespace

LeaveOneOutReport leave_one_out(const ResidualTable& table) {
  LeaveOneOutReport report;
  if (table.rows.empty()) return report;
  std::vector<Outcome> shipped;
  std::vector<Outcome> uncalibrated;
  std::set<std::string> sources;
  for (const Residual& row : table.rows) {
    shipped.push_back({&row, row.measured_over_predicted, std::nullopt});
    uncalibrated.push_back({&row, row.measured_over_uncalibrated, std::nullopt});
    sources.insert(row.source);
  }
  std::vector<Outcome> all;
  std::vector<AccuracyScore> by_source;
  for (const std::string& source : sources) {
    const std::vector<Outcome> outcomes = left_out(table, source);
    all.insert(all.end(), outcomes.begin(), outcomes.end());
    by_source.push_back(score_of("  without " + source, outcomes));
  }
  report.scores = {score_of("constants as shipped", shipped),
                   score_of("no calibration on training runs", uncalibrated),
                   score_of("each source forecast from the others", all)};
  report.scores.insert(report.scores.end(), by_source.begin(), by_source.end());
  report.constants = refit(table);
  return report;
}

namespace {

std::string share(const std::optional<IntervalQuality>& quality) {
  return quality ? fmt::format("{:.1f} %", quality->coverage * 100) : std::string("-");
}

/// Of the forecasts from the other sources: how wide their intervals are.
std::string interval_text(const LeaveOneOutReport& report) {
  if (report.scores.size() < 3 || !report.scores[2].intervals) return {};
  const IntervalQuality& runs = *report.scores[2].intervals;
  const IntervalQuality& groups = *report.scores[2].group_intervals;
  return fmt::format(
      "\n90 % intervals from the other sources, by run | by group: width {:.1f} % | {:.1f} %, "
      "interval score {:.3f} | {:.3f}\n",
      runs.width * 100, groups.width * 100, runs.score, groups.score);
}

}  // namespace

std::string to_text(const LeaveOneOutReport& report) {
  std::size_t width = 0;
  for (const AccuracyScore& one : report.scores) width = std::max(width, one.what.size());
  std::string text = fmt::format("{:<{}} {:>5} {:>9} {:>9} {:>9} {:>9}  {:>9} {:>9} {:>9} {:>9}\n",
                                 "step time, by run | by group", width, "rows", "median", "p90",
                                 "bias", "within", "| median", "p90", "bias", "within");
  for (const AccuracyScore& one : report.scores) {
    text += fmt::format(
        "{:<{}} {:>5} {:>7.1f} % {:>7.1f} % {:>+7.1f} % {:>9}  {:>7.1f} % {:>7.1f} % {:>+7.1f} % "
        "{:>9}\n",
        one.what, width, one.rows, one.median_abs_error * 100, one.p90_abs_error * 100,
        one.bias * 100, share(one.intervals), one.group_median_abs_error * 100,
        one.group_p90_abs_error * 100, one.group_bias * 100, share(one.group_intervals));
  }
  text += interval_text(report);
  text += "\nwhat all sources together ask for: a factor on 1 - training_throttle\n";
  for (const RefitConstant& one : report.constants) {
    text += fmt::format("{:<{}} {:>5} {:>9.3f}\n", one.gpu, width, one.rows, one.factor);
  }
  return text;
}

}  // namespace shardsim::scenario
