#include "models/scenario/accuracy/forecast_interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/scenario/accuracy/interval_widening.hpp"
#include "models/scenario/accuracy/residual_model.hpp"
#include "models/scenario/accuracy/student_t.hpp"

namespace shardsim::scenario {

namespace {

constexpr double most_times_parameters = 8;
constexpr double most_times_gpus = 16;
/// The interval is so much wider where no run at all has the strategy's family, and again where
/// none has the GPU's generation. Assumed: the table cannot tell what it does not hold.
constexpr double unseen = 1.5;

bool within(std::int64_t a, std::int64_t b, double factor) {
  const double ratio = static_cast<double>(a) / static_cast<double>(b);
  return ratio <= factor && ratio >= 1 / factor;
}

bool similar_size(const RunFacts& a, const RunFacts& b) {
  return within(a.parameters, b.parameters, most_times_parameters) &&
         within(a.gpus, b.gpus, most_times_gpus);
}

enum class Hardware { same_gpu, same_generation, any };

/// How near runs have to be.
struct Nearness {
  Hardware hardware;
  bool sized;   ///< of similar size
  bool family;  ///< of the same family of strategies
};

constexpr std::array steps{
    Nearness{Hardware::same_gpu, true, true},  Nearness{Hardware::same_generation, true, true},
    Nearness{Hardware::any, true, true},       Nearness{Hardware::any, false, true},
    Nearness{Hardware::same_gpu, true, false}, Nearness{Hardware::same_generation, true, false},
    Nearness{Hardware::any, true, false},      Nearness{Hardware::any, false, false}};

bool is_near(const RunFacts& run, const RunFacts& other, const Nearness& how) {
  if (how.family && run.family != other.family) return false;
  if (how.sized && !similar_size(run, other)) return false;
  if (run.precision != "fp8" && other.precision == "fp8") return false;
  switch (how.hardware) {
    case Hardware::same_gpu:
      return run.gpu == other.gpu;
    case Hardware::same_generation:
      return run.generation == other.generation;
    case Hardware::any:
      return true;
  }
  return false;
}

/// "5 to 80 billion" or "125 million".
std::string range(std::int64_t low, std::int64_t high) {
  const auto number = [](std::int64_t count) {
    const auto value = static_cast<double>(count);
    return value >= 1e9 ? fmt::format("{:.3g}G", value * 1e-9)
                        : fmt::format("{:.3g}M", value * 1e-6);
  };
  if (number(low) == number(high)) return number(low);
  return number(low) + " to " + number(high);
}

bool knows_generation(const ResidualTable& table, const std::string& generation) {
  return std::ranges::any_of(table.rows,
                             [&](const Residual& row) { return row.run.generation == generation; });
}

std::string describe(const RunFacts& run, const std::vector<const Residual*>& rows,
                     const Nearness& how, bool known) {
  std::set<std::string> families;
  auto [fewest, most] = std::pair{rows.front()->run.gpus, rows.front()->run.gpus};
  auto [smallest, largest] = std::pair{rows.front()->run.parameters, rows.front()->run.parameters};
  bool own_gpu = false;
  for (const Residual* row : rows) {
    families.insert(row->run.family);
    own_gpu = own_gpu || row->run.gpu == run.gpu;
    fewest = std::min(fewest, row->run.gpus);
    most = std::max(most, row->run.gpus);
    smallest = std::min(smallest, row->run.parameters);
    largest = std::max(largest, row->run.parameters);
  }
  std::string text;
  for (const std::string& family : families) text += (text.empty() ? "" : "/") + family;
  if (!how.family) text += fmt::format(" (none of {})", run.family);
  switch (how.hardware) {
    case Hardware::same_gpu:
      text += ", " + run.gpu;
      break;
    case Hardware::same_generation:
      text +=
          fmt::format(", {} GPUs ({} of {})", run.generation, own_gpu ? "few" : "none", run.gpu);
      break;
    case Hardware::any:
      text += fmt::format(", all GPUs ({} of {}{})", known ? "few" : "none", run.generation,
                          known ? " of this size" : "");
      break;
  }
  text += fmt::format(", {} parameters, ", range(smallest, largest));
  text +=
      fewest == most ? fmt::format("{} GPUs", most) : fmt::format("{} to {} GPUs", fewest, most);
  if (!how.sized) text += ", none of similar size";
  if (!run.calibrated) text += ", forecast without calibration on training";
  return text;
}

/// What the distribution is drawn from: all runs of the family but those in fp8, which have their
/// own spread on top; `compared` where that leaves too few.
std::vector<const Residual*> drawn_from(const RunFacts& run, const ResidualTable& table,
                                        const std::vector<const Residual*>& compared,
                                        const Nearness& how) {
  std::vector<const Residual*> rows;
  for (const Residual& row : table.rows) {
    if (how.family && row.run.family != run.family) continue;
    if (row.run.precision != "fp8") rows.push_back(&row);
  }
  return group_count(rows) >= fewest_groups ? rows : compared;
}

ForecastInterval interval_from(const RunFacts& run, const std::vector<const Residual*>& rows,
                               const Nearness& how, const ResidualTable& table, double confidence) {
  const bool known = knows_generation(table, run.generation);
  const auto model = *fit_residuals(drawn_from(run, table, rows, how), run.calibrated);
  const ResidualForecast forecast = model.forecast(run.gpu);
  const IntervalWidening wider = widening(run, rows, table, model.squared_scale);
  double half = wider.factor * student_t_quantile((1 + confidence) / 2, tail_freedom) *
                std::sqrt(forecast.squared_scale + wider.squared_scale);
  if (!how.family) half *= unseen;
  if (!known) half *= unseen;
  ForecastInterval made;
  made.low = std::exp(forecast.centre - half);
  made.high = std::exp(forecast.centre + half);
  made.runs = model.runs;
  made.comparable_runs = rows.size();
  made.comparable = how.family && how.hardware != Hardware::any && !wider.beyond;
  made.what = describe(run, rows, how, known);
  if (!wider.reasons.empty()) {
    made.what += fmt::format("; wider: {}", fmt::join(wider.reasons, ", "));
  }
  return made;
}

}  // namespace

std::optional<ForecastInterval> forecast_interval(const RunFacts& run, const ResidualTable& table,
                                                  double confidence) {
  if (run.parameters <= 0 || run.gpus <= 0) return std::nullopt;
  for (const Nearness& how : steps) {
    std::vector<const Residual*> rows;
    for (const Residual& row : table.rows) {
      if (is_near(run, row.run, how)) rows.push_back(&row);
    }
    if (group_count(rows) < fewest_groups) continue;
    return interval_from(run, rows, how, table, confidence);
  }
  return std::nullopt;
}

std::optional<StepInterval> step_interval(const RunFacts& run, simcore::SimTime step,
                                          const ResidualTable& table) {
  const auto factors = forecast_interval(run, table);
  if (!factors) return std::nullopt;
  return StepInterval{simcore::SimTime::from_seconds(step.seconds() * factors->low),
                      simcore::SimTime::from_seconds(step.seconds() * factors->high),
                      factors->runs,
                      factors->comparable_runs,
                      factors->comparable,
                      factors->what};
}

}  // namespace shardsim::scenario
