// Simulated time: an integer count of picoseconds, used for instants and for durations.
//
// 64 signed bits hold 106 days, far beyond any training step. Integers make every sum exact, so a
// run gives the same bits whatever the order in which equal times were computed. What would not fit
// stays at the largest time that is a time: sums never wrap round to early moments.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

namespace shardsim::simcore {

class SimTime {
 public:
  constexpr SimTime() = default;

  static constexpr SimTime picoseconds(std::int64_t count) { return SimTime(count); }
  static constexpr SimTime nanoseconds(std::int64_t count) { return SimTime(count * 1'000); }
  static constexpr SimTime microseconds(std::int64_t count) { return SimTime(count * 1'000'000); }
  /// Nearest picosecond to `seconds` (not NaN), or the nearest end of the range.
  static SimTime from_seconds(double seconds) {
    constexpr double limit = 9.2e6;
    if (seconds >= limit) return latest();
    if (seconds <= -limit) return SimTime(-latest().picoseconds_);
    return SimTime(static_cast<std::int64_t>(std::llround(seconds * 1e12)));
  }
  /// The last moment that can be told apart from never().
  static constexpr SimTime latest() {
    return SimTime(std::numeric_limits<std::int64_t>::max() - 1);
  }
  /// Later than every time that can occur: "no such moment".
  static constexpr SimTime never() { return SimTime(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t picoseconds() const { return picoseconds_; }
  constexpr double seconds() const { return static_cast<double>(picoseconds_) * 1e-12; }
  constexpr double microseconds() const { return static_cast<double>(picoseconds_) * 1e-6; }

  constexpr auto operator<=>(const SimTime&) const = default;
  constexpr SimTime& operator+=(SimTime other) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(picoseconds_, other.picoseconds_, &sum)) {
      const bool no_moment = *this == never() || other == never();
      sum = no_moment ? never().picoseconds_ : saturated(other.picoseconds_ > 0);
    }
    picoseconds_ = sum;
    return *this;
  }
  constexpr SimTime& operator-=(SimTime other) {
    if (__builtin_sub_overflow(picoseconds_, other.picoseconds_, &picoseconds_)) {
      picoseconds_ = saturated(other.picoseconds_ < 0);
    }
    return *this;
  }
  friend constexpr SimTime operator+(SimTime a, SimTime b) { return a += b; }
  friend constexpr SimTime operator-(SimTime a, SimTime b) { return a -= b; }
  friend constexpr SimTime operator*(SimTime a, std::int64_t n) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a.picoseconds_, n, &product)) {
      product = saturated((a.picoseconds_ > 0) == (n > 0));
    }
    return SimTime(product);
  }

 private:
  static constexpr std::int64_t saturated(bool up) {
    constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max() - 1;
    return up ? largest : -largest;
  }
  explicit constexpr SimTime(std::int64_t picoseconds) : picoseconds_(picoseconds) {}
  std::int64_t picoseconds_ = 0;
};

}  // namespace shardsim::simcore
