// The points of a sweep, in a fixed order: the axes are crossed, the first varies slowest.
//
// A plan is a value that any number of threads and machines make alike from the same scenario, and
// its hash says whether two did: it covers the scenario with its overrides, the axes, and whatever
// else the caller says that results depend on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/scenario/scenario_spec.hpp"
#include "models/scenario/sweep/sweep_axis.hpp"

namespace shardsim::scenario {

inline constexpr std::int64_t most_sweep_points = 10'000'000;

struct PointValue {
  std::string key;
  std::string value;  ///< YAML on one line
};

class SweepPlan {
 public:
  /// `base` has no `sweep:` section left; the axes are checked.
  SweepPlan(LoadedScenario base, std::vector<SweepAxis> axes, std::string_view salt);

  const LoadedScenario& base() const { return base_; }
  const std::vector<SweepAxis>& axes() const { return axes_; }
  std::int64_t size() const { return size_; }
  /// 16 hexadecimal digits.
  const std::string& hash() const { return hash_; }
  /// What the keys of all axes are at a point, in the order of the axes. 0 <= index < size().
  std::vector<PointValue> values(std::int64_t index) const;
  /// The scenario at a point. Nothing, and errors, if its values do not make one.
  std::optional<LoadedScenario> scenario(std::int64_t index,
                                         simcore::Diagnostics& diagnostics) const;

 private:
  LoadedScenario base_;
  std::vector<SweepAxis> axes_;
  std::int64_t size_ = 1;
  std::string hash_;
};

/// The scenario's own axes, then `added`. Errors: a key that scenarios do not have or that two axes
/// set, zipped keys with unequal numbers of values, too many points. `salt` goes into the hash.
std::optional<SweepPlan> plan_sweep(LoadedScenario base, std::vector<SweepAxis> added,
                                    std::string_view salt, simcore::Diagnostics& diagnostics);

/// FNV-1a with 64 bits, continued from `state`.
inline constexpr std::uint64_t hash_seed = 0xcbf29ce484222325;
std::uint64_t hash_text(std::string_view text, std::uint64_t state = hash_seed);

}  // namespace shardsim::scenario
