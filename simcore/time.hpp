// Simulated time: an integer count of picoseconds, used for instants and for durations.
//
// 64 signed bits hold 106 days, far beyond any training step. Integers make every sum exact, so a
// run gives the same bits whatever the order in which equal times were computed.
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
  /// Nearest picosecond to `seconds` (finite, below 9.2e6 s).
  static SimTime from_seconds(double seconds) {
    return SimTime(static_cast<std::int64_t>(std::llround(seconds * 1e12)));
  }
  /// Later than every time that can occur: "no such moment".
  static constexpr SimTime never() { return SimTime(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t picoseconds() const { return picoseconds_; }
  constexpr double seconds() const { return static_cast<double>(picoseconds_) * 1e-12; }
  constexpr double microseconds() const { return static_cast<double>(picoseconds_) * 1e-6; }

  constexpr auto operator<=>(const SimTime&) const = default;
  constexpr SimTime& operator+=(SimTime other) {
    picoseconds_ += other.picoseconds_;
    return *this;
  }
  constexpr SimTime& operator-=(SimTime other) {
    picoseconds_ -= other.picoseconds_;
    return *this;
  }
  friend constexpr SimTime operator+(SimTime a, SimTime b) { return a += b; }
  friend constexpr SimTime operator-(SimTime a, SimTime b) { return a -= b; }
  friend constexpr SimTime operator*(SimTime a, std::int64_t n) {
    return SimTime(a.picoseconds_ * n);
  }

 private:
  explicit constexpr SimTime(std::int64_t picoseconds) : picoseconds_(picoseconds) {}
  std::int64_t picoseconds_ = 0;
};

}  // namespace shardsim::simcore
