// The records behind flows: flat, pooled, 32-bit names.
//
// A variable's flows have one rate, so one number - the bytes that each of them would have moved
// since the variable was last idle - tells the progress of all: a flow that began when the number
// was b ends when it reaches b + bytes. Flows wait for that in a pairing heap, linked through their
// records.
#pragma once

#include <cstdint>
#include <vector>

#include "models/network/sharing_graph.hpp"
#include "simcore/time.hpp"

namespace shardsim::network {

struct Flow {
  double target = 0;  ///< value of its variable's progress at which it ends
  double begin = 0;   ///< value at which it began
  double bytes = 0;
  std::uint64_t sequence = 0;  ///< order of start
  std::uint64_t token = 0;
  FlowListener* listener = nullptr;
  VariableId variable = none;
  FlowId child = none;    ///< first of those that end no earlier
  FlowId sibling = none;  ///< next child of the same parent
};

class FlowPool {
 public:
  FlowId add(const Flow& flow);
  void remove(FlowId id) { free_.push_back(id); }
  Flow& operator[](FlowId id) { return flows_[id]; }
  const Flow& operator[](FlowId id) const { return flows_[id]; }

  /// Pairing heap ordered by (target, sequence); all return the new root.
  FlowId insert(FlowId root, FlowId flow) { return root == none ? flow : meld(root, flow); }
  FlowId remove_root(FlowId root);
  /// Any flow of the heap; looks at all of them.
  FlowId take_out(FlowId root, FlowId flow);

 private:
  FlowId meld(FlowId a, FlowId b);

  LargeArray<Flow> flows_;
  LargeArray<FlowId> free_;
};

/// Progress of a variable; its rate as the solver sees it is in the SharingGraph's load. One cache
/// line, for every rate that changes touches one.
struct alignas(64) VariableProgress {
  double rate = 0;   ///< bytes/s in force since base_time
  double moved = 0;  ///< progress at base_time
  simcore::SimTime base_time;
  double next_target = infinity;  ///< of the flow that ends first; infinity without flows
  double begins = 0;              ///< sum of `begin` over running flows
  double completed = 0;  ///< bytes of flows that have ended, not yet in the links' statistics
  std::uint32_t solved_count : 31 = 0;  ///< running flows when rates were last found
  std::uint32_t changed : 1 = 0;        ///< flows came or went since rates were last found
  FlowId first_to_end = none;           ///< root of the heap
  LinkSetId set = none;
  VariableId next_in_set = none;

  double moved_at(simcore::SimTime now) const { return moved + rate * (now - base_time).seconds(); }
  /// Picosecond nearest to the moment at which the first flow ends; never if none does.
  simcore::SimTime first_end() const;
};
static_assert(sizeof(VariableProgress) == 64);

inline simcore::SimTime VariableProgress::first_end() const {
  constexpr double picoseconds_per_second = 1e12;
  constexpr double latest_picosecond = 4e18;  // half of what SimTime holds: sums stay in range
  if (rate <= 0) return simcore::SimTime::never();
  const double wait = (next_target - moved) / rate * picoseconds_per_second;
  if (wait > latest_picosecond) return simcore::SimTime::never();
  const auto whole = static_cast<std::int64_t>(wait);
  const bool up = wait - static_cast<double>(whole) >= 0.5;
  return base_time + simcore::SimTime::picoseconds(up ? whole + 1 : whole);
}

}  // namespace shardsim::network
