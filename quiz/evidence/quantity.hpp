// A number with its dimension: what a run measures and what claims are made of.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace shardsim::quiz {

/// Powers of the byte and the second; both zero for counts and ratios.
struct Dimension {
  int bytes = 0;
  int seconds = 0;
  bool operator==(const Dimension&) const = default;
};

inline constexpr Dimension no_dimension{};
inline constexpr Dimension in_bytes{1, 0};
inline constexpr Dimension in_seconds{0, 1};

struct Quantity {
  double value = 0;  ///< in bytes, seconds, or their products
  Dimension dimension;
  bool operator==(const Quantity&) const = default;
};

/// What one run measured, by name.
using Facts = std::map<std::string, Quantity, std::less<>>;
/// The facts of several runs, by the name that a question gives each run.
using RunFacts = std::map<std::string, Facts, std::less<>>;

/// The quantity called "run.fact"; null if there is none.
const Quantity* find_fact(const RunFacts& facts, std::string_view name);

}  // namespace shardsim::quiz
