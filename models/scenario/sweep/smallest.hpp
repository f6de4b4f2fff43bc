// The smallest of a row of sizes for which something holds, with few looks.
//
// Assumes that it holds for every size above the smallest for which it does. Looks at the first,
// then at twice as many each time until it holds, then halves what is left: about 2 log2(n) looks,
// none at sizes far above the answer.
#pragma once

#include <cstdint>
#include <optional>

namespace shardsim::scenario {

/// `holds(position)` for 0 <= position < count is asked at most once for each. Nothing if it holds
/// at none that was looked at, which are 0, 1, 3, 7, ... and the last.
template <class Holds>
std::optional<std::int64_t> smallest_that_holds(std::int64_t count, Holds&& holds) {
  std::int64_t below = -1;  // the largest known not to hold
  std::int64_t at = 0;
  while (at < count && !holds(at)) {
    below = at;
    if (at == count - 1) return std::nullopt;
    at = at * 2 + 1 < count - 1 ? at * 2 + 1 : count - 1;
  }
  if (count == 0) return std::nullopt;
  while (at - below > 1) {
    const std::int64_t middle = below + (at - below) / 2;
    if (holds(middle)) {
      at = middle;
    } else {
      below = middle;
    }
  }
  return at;
}

}  // namespace shardsim::scenario
