#include "models/scenario/validation/fit_validation.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/scenario/accuracy/run_facts.hpp"
#include "models/scenario/validation/run_forecast.hpp"
#include "models/scenario/validation/run_mapping.hpp"

namespace shardsim::scenario {

namespace {

/// What a source may leave out and memory depends on.
struct Choice {
  std::string_view column;
  std::string_view key;
  std::vector<std::string> values;
};

const std::array<Choice, 2>& choices() {
  static const std::array<Choice, 2> all{
      Choice{"act_ckpt", "workload.activation_checkpointing", {"none", "selective", "full"}},
      Choice{"compile", "workload.compile", {"false", "true"}}};
  return all;
}

/// Settings for every way to read what the run's source leaves out; one if it leaves out nothing.
std::vector<Settings> readings(const TrainingRun& run) {
  std::vector<Settings> made{{{"workload.gradient_accumulation", "1"}}};
  for (const Choice& choice : choices()) {
    if (run.states(choice.column)) continue;
    std::vector<Settings> extended;
    for (const Settings& settings : made) {
      for (const std::string& value : choice.values) {
        extended.push_back(settings);
        extended.back()[std::string(choice.key)] = value;
      }
    }
    made = std::move(extended);
  }
  return made;
}

std::vector<std::string_view> left_out(const TrainingRun& run) {
  std::vector<std::string_view> columns;
  for (const Choice& choice : choices()) {
    if (!run.states(choice.column)) columns.push_back(choice.column);
  }
  return columns;
}

FitRow forecast_fit(const TrainingRun& run, const TrainingValidation& options) {
  FitRow row;
  row.id = run.text("row_id");
  row.source = run.text("source_id");
  for (const Settings& settings : readings(run)) {
    auto scenario = map_run(run, options.rules, options.rules_file, settings);
    if (!scenario) {
      row.why_not = scenario.error();
      break;
    }
    row.mapped = true;
    row.family = strategy_family(scenario->spec.training.strategy);
    const auto made = forecast(std::move(*scenario), options.data, options.budget);
    if (!made && !made.error().out_of_memory) {
      row.why_not = made.error().why;
      break;
    }
    if (row.predicted && *row.predicted != made.has_value()) {
      row.why_not = fmt::format("it depends on what the source does not say: {}",
                                fmt::join(left_out(run), ", "));
      break;
    }
    row.predicted = made.has_value();
  }
  if (!row.why_not.empty()) row.predicted.reset();
  return row;
}

/// The runs of `training` that have a forecast or ran out of memory in it, one row each.
void add_fitting(const ValidationReport& training, std::vector<FitRow>& rows) {
  std::set<std::string_view> seen;
  for (const ValidationRow& row : training.rows) {
    if (!row.fits || !row.scored || !seen.insert(row.id).second) continue;
    rows.push_back({.id = row.id,
                    .source = row.source,
                    .measured = true,
                    .predicted = row.fits,
                    .mapped = true,
                    .why_not = {},
                    .family = row.family});
  }
}

void count(FitScore& score, const FitRow& row) {
  const bool right = *row.predicted == row.measured;
  (row.measured ? score.fits : score.shortages) += 1;
  if (right) (row.measured ? score.fits_right : score.shortages_right) += 1;
}

class Scores {
 public:
  explicit Scores(const std::vector<FitRow>& rows) : rows_(rows) {}

  /// One score for each text that `group` yields.
  template <class Group>
  void add(Group group) {
    std::map<std::string, std::size_t> places;
    for (const FitRow& row : rows_) {
      if (!row.predicted) continue;
      const auto [place, is_new] = places.try_emplace(group(row), made_.size());
      if (is_new) made_.push_back({.group = place->first});
      count(made_[place->second], row);
    }
  }
  std::vector<FitScore> take() { return std::move(made_); }

 private:
  const std::vector<FitRow>& rows_;
  std::vector<FitScore> made_;
};

}  // namespace

double FitScore::share_right() const {
  const std::size_t all = fits + shortages;
  if (all == 0) return 0;
  return static_cast<double>(fits_right + shortages_right) / static_cast<double>(all);
}

std::vector<FitScore> score_fits(const std::vector<FitRow>& rows) {
  Scores scores(rows);
  scores.add([](const FitRow&) { return std::string("all"); });
  scores.add([](const FitRow& row) { return row.family; });
  scores.add([](const FitRow& row) { return row.source; });
  return scores.take();
}

FitReport validate_fits(const TrainingTable& out_of_memory, const ValidationReport& training,
                        const TrainingValidation& options) {
  FitReport report;
  for (std::size_t row = 0; row < out_of_memory.rows(); ++row) {
    report.rows.push_back(forecast_fit(TrainingRun(out_of_memory, row), options));
    if (options.progress) {
      options.progress(static_cast<double>(row + 1) / static_cast<double>(out_of_memory.rows()));
    }
  }
  add_fitting(training, report.rows);
  report.summary = score_fits(report.rows);
  return report;
}

std::string to_text(const FitReport& report) {
  std::size_t width = 22;
  for (const FitScore& one : report.summary) width = std::max(width, one.group.size());
  std::string text = fmt::format("{:<{}} {:>15} {:>21} {:>9}\n", "fits or out of memory", width,
                                 "fits, right", "out of memory, right", "right");
  for (const FitScore& one : report.summary) {
    text +=
        fmt::format("{:<{}} {:>7} {:>7} {:>10} {:>10} {:>7.1f} %\n", one.group, width, one.fits,
                    one.fits_right, one.shortages, one.shortages_right, one.share_right() * 100);
  }
  for (const FitRow& row : report.rows) {
    if (!row.predicted || *row.predicted == row.measured) continue;
    text += fmt::format("  wrong: {}, which {}\n", row.id, row.measured ? "fits" : "does not fit");
  }
  std::map<std::string, std::size_t> reasons;
  for (const FitRow& row : report.rows) {
    if (!row.why_not.empty()) ++reasons[row.why_not];
  }
  std::vector<std::pair<std::string, std::size_t>> counted(reasons.begin(), reasons.end());
  std::ranges::stable_sort(counted, std::greater{}, &std::pair<std::string, std::size_t>::second);
  if (!counted.empty()) text += "\nout of memory, without a forecast\n";
  for (const auto& [reason, rows] : counted) text += fmt::format("{:>6}  {}\n", rows, reason);
  return text;
}

}  // namespace shardsim::scenario
