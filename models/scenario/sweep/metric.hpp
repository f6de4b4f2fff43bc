// Figures of a point that can be asked for, compared and plotted, by the names that results give
// them: `step.time_s`, `memory.fits`, or the last part alone, `tokens_per_s`, where it is unique.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace shardsim::scenario {

enum class MetricUnit : std::uint8_t { number, fraction, seconds, bytes, yes_or_no, money };

struct Metric {
  std::string_view section;
  std::string_view key;
  MetricUnit unit;
  bool more_is_better;
  std::string name() const { return std::string(section) + "." + std::string(key); }
};

inline constexpr auto metrics = std::to_array<Metric>({
    {"step", "time_s", MetricUnit::seconds, false},
    {"step", "compute_s", MetricUnit::seconds, false},
    {"step", "communication_s", MetricUnit::seconds, false},
    {"step", "exposed_communication_s", MetricUnit::seconds, false},
    {"step", "overlap_fraction", MetricUnit::fraction, true},
    {"step", "cpu_bound_s", MetricUnit::seconds, false},
    {"throughput", "tokens_per_s", MetricUnit::number, true},
    {"throughput", "tokens_per_s_per_gpu", MetricUnit::number, true},
    {"throughput", "model_tflops_per_gpu", MetricUnit::number, true},
    {"throughput", "mfu", MetricUnit::fraction, true},
    {"throughput", "hfu", MetricUnit::fraction, true},
    {"memory", "persistent_bytes", MetricUnit::bytes, false},
    {"memory", "peak_allocated_bytes", MetricUnit::bytes, false},
    {"memory", "peak_reserved_bytes", MetricUnit::bytes, false},
    {"memory", "peak_used_bytes", MetricUnit::bytes, false},
    {"memory", "capacity_bytes", MetricUnit::bytes, false},
    {"memory", "fits", MetricUnit::yes_or_no, true},
    {"cluster", "gpus", MetricUnit::number, false},
    {"cluster", "nodes", MetricUnit::number, false},
    {"cost", "per_hour", MetricUnit::money, false},
    {"cost", "per_step", MetricUnit::money, false},
    {"cost", "per_million_tokens", MetricUnit::money, false},
});

using MetricId = std::size_t;  ///< into `metrics`
using MetricValues = std::array<std::optional<double>, metrics.size()>;

/// The metric called `name`; the error lists them, or names the nearest.
std::expected<MetricId, std::string> find_metric(std::string_view name);

/// The metric `SECTION.KEY`, which exists.
MetricId metric_id(std::string_view name);

/// "3.21 s", "61.2 GiB", "24,631", "41.3 %", "yes".
std::string metric_text(MetricId metric, double value);

enum class Comparison : std::uint8_t { less, at_most, greater, at_least, equal };

/// `memory.fits`, `step.time_s < 3 s`, `gpus <= 64`.
struct Constraint {
  MetricId metric = 0;
  Comparison comparison = Comparison::equal;
  double bound = 1;
  std::string text;

  /// False, too, where there is no such figure.
  bool holds(const MetricValues& values) const;
};

std::expected<Constraint, std::string> parse_constraint(std::string_view text);

}  // namespace shardsim::scenario
