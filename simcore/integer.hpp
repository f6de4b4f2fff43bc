// Divisions of counts that round up, of the whole range of the type: nothing is added that could
// overflow, which an `(a + b - 1) / b` does for a number that a user wrote.
#pragma once

#include <concepts>
#include <type_traits>

namespace shardsim::simcore {

/// The least count of parts of `by` that hold `value`. `value` is not negative, `by` positive.
template <std::integral Integer>
constexpr Integer divide_up(Integer value, std::type_identity_t<Integer> by) {
  return static_cast<Integer>(value / by + (value % by != 0 ? 1 : 0));
}

/// The least multiple of `to` that is not less than `value`; must itself be within the type.
template <std::integral Integer>
constexpr Integer round_up(Integer value, std::type_identity_t<Integer> to) {
  return static_cast<Integer>(divide_up(value, to) * to);
}

}  // namespace shardsim::simcore
