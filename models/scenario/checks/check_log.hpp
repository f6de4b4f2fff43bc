// What the checks of a run have looked at, and the first thing that was wrong.
//
// An invariant is something that holds in every run, whatever is simulated: if it does not, the
// simulator is wrong and its result is worth nothing. Checks learn of the run through probes alone,
// keep their own books and compare; they change nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "simcore/time.hpp"

namespace shardsim::scenario {

enum class Invariant : std::uint8_t {
  event_order,
  flow_bytes,
  flow_end,
  link_capacity,
  flow_cap,
  link_bytes,
  collective_members,
  collective_order,
  collective_bytes,
  collective_parts,
  collective_at_ranks,
  launch_order,
  stream_order,
  event_order_on_cpu,
  operation_end,
  step_order,
  allocator_blocks,
  allocator_balance,
  allocator_tiles,
  message_bytes,
  message_order,
  message_credit,
  closed_form,
};
inline constexpr std::size_t invariant_count = static_cast<std::size_t>(Invariant::closed_form) + 1;
static_assert(invariant_count <= 32);

/// As messages name it: "link capacity".
std::string_view name_of(Invariant invariant);

/// An invariant that does not hold.
struct Violation {
  Invariant invariant = Invariant::event_order;
  simcore::SimTime time;
  std::string where;     ///< the link, rank or collective
  std::string found;     ///< a number with its unit
  std::string expected;  ///< another, or a condition that names it
};

/// One sentence with all of that.
std::string to_text(const Violation& violation);

/// What was looked at, of one run or of several together.
struct CheckSummary {
  std::uint32_t invariants = 0;  ///< a bit for each that something was compared for
  std::uint64_t events = 0;

  void add(const CheckSummary& other) {
    invariants |= other.invariants;
    events += other.events;
  }
};
/// "18 invariants held over 1234 events".
std::string to_text(const CheckSummary& summary);

class CheckLog {
 public:
  /// Counts a comparison and returns its outcome; if it is false, violated() must follow.
  bool holds(Invariant invariant, bool outcome) {
    ++compared_[static_cast<std::size_t>(invariant)];
    return outcome;
  }
  /// Only the first violation is kept: what follows may be its consequence.
  void violated(Violation violation);

  const std::optional<Violation>& violation() const { return first_; }
  std::uint64_t compared(Invariant invariant) const {
    return compared_[static_cast<std::size_t>(invariant)];
  }
  CheckSummary summary(std::uint64_t events) const;

 private:
  std::array<std::uint64_t, invariant_count> compared_{};
  std::optional<Violation> first_;
};

}  // namespace shardsim::scenario
