#include "models/scenario/sweep/sweep_plan.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "simcore/config/flow_text.hpp"

namespace shardsim::scenario {

using simcore::Diagnostics;
using simcore::TypeKind;
using simcore::TypeSchema;

namespace {

constexpr std::string_view option = "--over";

/// Keys and indices of a dotted path: "perturb[0].rank" is perturb, 0, rank.
std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments(1);
  bool quoted = false;
  for (const char c : path) {
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '.' || c == '[')) {
      segments.emplace_back();
    } else if (quoted || c != ']') {
      segments.back() += c;
    }
  }
  return segments;
}

/// Whether values of the type may have something under the segments from `at` on.
bool has_path(const TypeSchema& type, const std::vector<std::string>& segments, std::size_t at) {
  if (at == segments.size()) return true;
  switch (type.kind) {
    case TypeKind::structure:
      return std::ranges::any_of(type.fields, [&](const simcore::FieldSchema& field) {
        return field.key == segments[at] && has_path(field.type, segments, at + 1);
      });
    case TypeKind::list:
    case TypeKind::dictionary:
      return has_path(type.element(), segments, at + 1);
    case TypeKind::choice:
      return std::ranges::any_of(type.alternatives, [&](const TypeSchema& alternative) {
        return has_path(alternative, segments, at);
      });
    default:
      return false;
  }
}

bool sweeps_itself(const std::vector<std::string>& segments) { return segments[0] == "sweep"; }

/// Reports a key that no scenario has: setting it says so, with the nearest spelling.
bool check_key(const LoadedScenario& base, const AxisKey& axis, Diagnostics& diagnostics) {
  static const TypeSchema type = simcore::schema_of<ScenarioSpec>();
  const auto segments = segments_of(axis.key);
  if (!sweeps_itself(segments) && has_path(type, segments, 0)) return true;
  if (!sweeps_itself(segments)) {
    (void)with_overrides(base, {axis.key + "=" + axis.values.front()}, diagnostics, option);
    if (diagnostics.has_errors()) return false;
  }
  diagnostics.error(axis.where, fmt::format("'{}' is no key that can be swept", axis.key));
  return false;
}

bool check_axis(const LoadedScenario& base, const SweepAxis& axis, std::set<std::string>& seen,
                Diagnostics& diagnostics) {
  bool good = true;
  if (axis.size() == 0) {
    diagnostics.error({}, "an axis has no values: expected at least one");
    return false;
  }
  for (const AxisKey& key : axis.keys) {
    if (key.values.size() != axis.size()) {
      diagnostics.error(
          key.where,
          fmt::format("'{}' has {} values and '{}', which goes with it, {}: expected as many",
                      axis.keys.front().key, axis.size(), key.key, key.values.size()));
      good = false;
    }
    if (!seen.insert(key.key).second) {
      diagnostics.error(key.where, fmt::format("two axes set '{}': expected one", key.key));
      good = false;
    }
    good &= check_key(base, key, diagnostics);
  }
  return good;
}

}  // namespace

std::uint64_t hash_text(std::string_view text, std::uint64_t state) {
  constexpr std::uint64_t prime = 0x100000001b3;
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * prime;
  return (state ^ 0xffU) * prime;  // no text holds this byte, so that texts stay apart
}

SweepPlan::SweepPlan(LoadedScenario base, std::vector<SweepAxis> axes, std::string_view salt)
    : base_(std::move(base)), axes_(std::move(axes)) {
  std::uint64_t state = hash_text(salt, hash_text(simcore::to_flow_text(base_.root)));
  for (const SweepAxis& axis : axes_) {
    size_ *= static_cast<std::int64_t>(axis.size());
    for (const AxisKey& key : axis.keys) {
      state = hash_text(key.key, state);
      for (const std::string& value : key.values) state = hash_text(value, state);
    }
  }
  hash_ = fmt::format("{:016x}", state);
}

std::vector<PointValue> SweepPlan::values(std::int64_t index) const {
  std::vector<PointValue> values;
  std::int64_t stride = size_;
  for (const SweepAxis& axis : axes_) {
    const std::size_t size = axis.size();
    if (size == 0) continue;
    stride /= static_cast<std::int64_t>(size);
    const auto at = static_cast<std::size_t>(index / stride) % size;
    for (const AxisKey& key : axis.keys) values.push_back({key.key, key.values[at]});
  }
  return values;
}

std::optional<LoadedScenario> SweepPlan::scenario(std::int64_t index,
                                                  Diagnostics& diagnostics) const {
  std::vector<std::string> overrides;
  for (const PointValue& one : values(index)) overrides.push_back(one.key + "=" + one.value);
  return with_overrides(base_, overrides, diagnostics, option);
}

std::optional<SweepPlan> plan_sweep(LoadedScenario base, std::vector<SweepAxis> added,
                                    std::string_view salt, Diagnostics& diagnostics) {
  std::vector<SweepAxis> axes = std::exchange(base.spec.sweep, {});
  std::erase_if(base.root.entries(), [](const auto& entry) { return entry.key == "sweep"; });
  axes.insert(axes.end(), added.begin(), added.end());
  std::set<std::string> seen;
  bool good = true;
  double points = 1;
  for (const SweepAxis& axis : axes) {
    if (!check_axis(base, axis, seen, diagnostics)) {
      good = false;
      continue;
    }
    points *= static_cast<double>(axis.size());
  }
  if (points > static_cast<double>(most_sweep_points)) {
    diagnostics.error({}, fmt::format("the axes have {:.4g} points, and a sweep has at most {}",
                                      points, most_sweep_points));
    good = false;
  }
  if (!good) return std::nullopt;
  return SweepPlan(std::move(base), std::move(axes), salt);
}

}  // namespace shardsim::scenario
