#include "models/scenario/checks/check_log.hpp"

#include <bit>
#include <utility>

#include <fmt/format.h>

#include "simcore/quantity.hpp"

namespace shardsim::scenario {

std::string_view name_of(Invariant invariant) {
  switch (invariant) {
    case Invariant::event_order:
      return "no event in the past";
    case Invariant::flow_bytes:
      return "bytes of a flow";
    case Invariant::flow_end:
      return "every flow ends";
    case Invariant::link_capacity:
      return "link capacity";
    case Invariant::flow_cap:
      return "cap of a flow";
    case Invariant::link_bytes:
      return "bytes of a link";
    case Invariant::collective_members:
      return "members of a collective";
    case Invariant::collective_order:
      return "order within a collective";
    case Invariant::collective_bytes:
      return "bytes of a collective";
    case Invariant::collective_parts:
      return "bytes of a collective's ranks";
    case Invariant::collective_at_ranks:
      return "a collective as its ranks see it";
    case Invariant::launch_order:
      return "no start before the launch";
    case Invariant::stream_order:
      return "no start before what it waits for";
    case Invariant::event_order_on_cpu:
      return "no CPU wait ends before its event";
    case Invariant::operation_end:
      return "every operation ends once";
    case Invariant::step_order:
      return "order of steps";
    case Invariant::allocator_blocks:
      return "blocks of the allocator";
    case Invariant::allocator_balance:
      return "balance of the allocator";
    case Invariant::allocator_tiles:
      return "blocks tile segments";
    case Invariant::message_bytes:
      return "bytes of a connection";
    case Invariant::message_order:
      return "no message before it is sent";
    case Invariant::message_credit:
      return "room in a connection's buffer";
    case Invariant::closed_form:
      return "the time in closed form";
  }
  return "unknown";
}

std::string to_text(const Violation& violation) {
  return fmt::format("invariant '{}' does not hold at {} for {}: found {}, expected {}",
                     name_of(violation.invariant), simcore::to_text(violation.time),
                     violation.where, violation.found, violation.expected);
}

void CheckLog::violated(Violation violation) {
  if (!first_) first_ = std::move(violation);
}

CheckSummary CheckLog::summary(std::uint64_t events) const {
  CheckSummary made{0, events};
  for (std::size_t i = 0; i < invariant_count; ++i) {
    if (compared_[i] > 0) made.invariants |= std::uint32_t{1} << i;
  }
  return made;
}

std::string to_text(const CheckSummary& summary) {
  return fmt::format("{} invariants held over {} events", std::popcount(summary.invariants),
                     summary.events);
}

}  // namespace shardsim::scenario
