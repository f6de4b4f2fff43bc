#include "models/scenario/validation/training_validation.hpp"

#include <algorithm>
#include <cmath>
#include <expected>
#include <utility>

#include <fmt/format.h>

#include "models/scenario/validation/run_forecast.hpp"
#include "models/scenario/validation/run_mapping.hpp"

namespace shardsim::scenario {

namespace {

/// A run's step time as measured: printed, or from the throughput of one GPU, which works on
/// `micro_batch` sequences at a time by itself where nothing but data is parallel.
std::optional<double> measured_step(const TrainingRun& run) {
  if (const auto printed = run.amount("step_time_s")) return printed;
  const auto rate = run.amount("tokens_per_s_per_gpu");
  const auto length = run.count("seq_len");
  const auto batch = run.count("micro_batch");
  const auto accumulation = run.count("grad_accum");
  if (!rate || !length || !batch || !accumulation) return std::nullopt;
  // Not as integers: their product may be beyond 64 bits.
  return static_cast<double>(*length) * static_cast<double>(*batch) *
         static_cast<double>(*accumulation) / *rate;
}

std::optional<double> measured_memory(const TrainingRun& run) {
  const auto gib = run.amount("peak_memory_GiB");
  if (!gib) return std::nullopt;
  return std::round(*gib * 1024 * 1024 * 1024);
}

/// Step time of a run that has a forecast, on other hardware; nothing if that has none.
std::optional<double> changed_step(const LoadedScenario& scenario,
                                   const TrainingValidation& options,
                                   const HardwareChanges& changes) {
  const auto changed = forecast(scenario, options.data, options.budget, changes);
  if (!changed) return std::nullopt;
  return changed->result.step.time.seconds();
}

double bytes_of(const MemoryResult& memory, MemoryFigure figure) {
  switch (figure) {
    case MemoryFigure::allocated:
      return static_cast<double>(memory.peak_allocated.count);
    case MemoryFigure::reserved:
    case MemoryFigure::unstated:
      break;
    case MemoryFigure::device:
      return static_cast<double>((memory.peak_reserved + memory.outside).count);
  }
  return static_cast<double>(memory.peak_reserved.count);
}

const char* strategy_name(training::Strategy strategy) {
  switch (strategy) {
    case training::Strategy::fsdp1:
      return "FSDP1";
    case training::Strategy::fsdp2:
      return "FSDP2";
    case training::Strategy::ddp:
      return "DDP";
    default:
      return "ZeRO";
  }
}

std::vector<ValidationGroup> groups_of(const TrainingRun& run, training::Strategy strategy) {
  const bool fsdp = strategy == training::Strategy::fsdp1 || strategy == training::Strategy::fsdp2;
  const char* const family = strategy_family(strategy);
  const std::string& trust = run.text("trust");
  std::vector<ValidationGroup> groups;
  if (trust == "A") groups.push_back({0, fmt::format("all {}, trust A", family)});
  groups.push_back({1, fmt::format("all {}, trust A and B", family)});
  if (fsdp) groups.push_back({2, fmt::format("{}, trust {}", strategy_name(strategy), trust)});
  groups.push_back({3, run.text("gpu")});
  groups.push_back(
      {4, fmt::format("{}, {}, {}", run.text("source_id"), run.text("model"), run.text("gpu"))});
  return groups;
}

bool ought_to_map(const TrainingRun& run) {
  const auto alone = [&run](std::string_view degree) { return run.count(degree).value_or(1) == 1; };
  const std::string& framework = run.text("framework");
  const std::string& trust = run.text("trust");
  return (framework.starts_with("FSDP") || framework.starts_with("SimpleFSDP")) &&
         (trust == "A" || trust == "B") && run.text("sim_ready") == "Y" && alone("tp") &&
         alone("pp") && alone("cp");
}

class Validation {
 public:
  explicit Validation(const TrainingValidation& options) : options_(options) {}

  void add(const TrainingRun& run) {
    const auto step = measured_step(run);
    const auto memory = measured_memory(run);
    auto scenario = map_run(run, options_.rules, options_.rules_file);
    if (scenario && run.text("sim_ready") != "Y") {
      scenario = std::unexpected("the table marks the run as not ready for simulation");
    }
    if (!scenario) {
      ValidationRow row;
      row.id = run.text("row_id");
      row.ought_to_map = ought_to_map(run);
      row.why_not = scenario.error();
      if (step || !memory) add_row(row, step_time, step);
      if (memory) add_row(row, peak_memory, memory);
      return;
    }
    ValidationRow row;
    row.id = run.text("row_id");
    row.ought_to_map = ought_to_map(run);
    row.mapped = true;
    row.scored = run.text("trust") != "C";
    row.source = run.text("source_id");
    row.family = strategy_family(scenario->spec.training.strategy);
    row.groups = groups_of(run, scenario->spec.training.strategy);
    compare(run, *scenario, row, step, memory);
  }

  std::vector<ValidationRow> take() { return std::move(rows_); }

 private:
  void compare(const TrainingRun& run, const LoadedScenario& scenario, ValidationRow row,
               const std::optional<double>& step, const std::optional<double>& memory) {
    if (!step && !memory) {
      row.why_not = "the source prints neither step time nor memory";
      add_row(row, step_time, std::nullopt);
      return;
    }
    const auto made = forecast(scenario, options_.data, options_.budget);
    if (!made) row.why_not = made.error().why;
    if (made || made.error().out_of_memory) row.fits = made.has_value();
    if (const auto reason = options_.rules.why_no_time(run); step && reason) {
      ValidationRow timeless = row;
      timeless.mapped = false;
      timeless.why_not = *reason;
      add_row(timeless, step_time, step);
      row.ought_to_map = false;  // its step time is what counts
    } else if (step) {
      if (made) row.predicted = made->result.step.time.seconds();
      if (made && row.scored && options_.with_residuals) {
        row.residual = residual(run, scenario, *made, *step);
      }
      add_row(row, step_time, step);
    }
    if (!memory) return;
    row.predicted.reset();
    row.residual.reset();
    const auto figure = options_.rules.figure(run.text("peak_memory_kind"));
    if (!figure) {
      row.why_not = figure.error();
    } else if (*figure == MemoryFigure::unstated) {
      row.why_not = "the source does not say what its peak of memory counts";
    } else if (made) {
      row.predicted = bytes_of(made->result.memory, *figure);
    }
    add_row(row, peak_memory, memory);
  }

  std::optional<Residual> residual(const TrainingRun& run, const LoadedScenario& scenario,
                                   const RunForecast& made, double measured) const {
    constexpr double faster = 1.02;
    HardwareChanges unthrottled;
    unthrottled.as_in_benchmarks = true;
    HardwareChanges quicker;
    quicker.training_rate = faster;
    const auto uncalibrated = changed_step(scenario, options_, unthrottled);
    const auto quick = changed_step(scenario, options_, quicker);
    if (!uncalibrated || !quick) return std::nullopt;
    const double predicted = made.result.step.time.seconds();
    Residual line;
    line.row_id = run.text("row_id");
    line.source = run.text("source_id");
    if (run.has("url")) line.url = run.text("url");
    line.model = run.text("model");
    line.run = made.facts;
    line.measured_over_predicted = measured / predicted;
    line.measured_over_uncalibrated = measured / *uncalibrated;
    line.rate_share = -std::log(*quick / predicted) / std::log(faster);
    return line;
  }

  void add_row(ValidationRow row, std::string_view quantity,
               const std::optional<double>& measured) {
    row.quantity = quantity;
    row.measured = measured;
    rows_.push_back(std::move(row));
  }

  const TrainingValidation& options_;
  std::vector<ValidationRow> rows_;
};

}  // namespace

ValidationReport validate_training(const TrainingTable& table, const TrainingValidation& options) {
  Validation validation(options);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    validation.add(TrainingRun(table, row));
    if (options.progress) {
      options.progress(static_cast<double>(row + 1) / static_cast<double>(table.rows()));
    }
  }
  ValidationReport report;
  report.rows = validation.take();
  report.summary = score_groups(report.rows);
  return report;
}

}  // namespace shardsim::scenario
