// The order in which a program can be worked off for all its ranks at once, one operation after the
// other, instead of one event after the other.
//
// Holds for programs whose collectives are all on one communicator and whose memory does not depend
// on time. Then time is all that ranks differ in: each operation's time is a maximum over those
// before it plus a duration. A kernel's duration depends on the collectives beside it, so that it
// must be worked out after every collective that may run meanwhile, i.e. that does not wait for its
// end. Collectives of one communicator follow one another, so that there always is such an order:
// for each collective in turn, all that it waits for, then the collective. The plan is that order,
// cut into segments that end with a collective's start.
//
// Values that later operations need (when an operation was issued, when it left the launch queue,
// when an event completed) are kept in registers, one number for each rank, reused when no longer
// needed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/cuda/program.hpp"
#include "models/cuda/runtime.hpp"

namespace shardsim::cuda {

enum class LockstepCode : std::uint8_t {
  cpu_work,       ///< cpu += time
  cpu_wait,       ///< cpu = max(cpu, register a)
  cpu_wait_idle,  ///< cpu = max(cpu, ends of all streams)
  issue,          ///< register a = cpu
  step_begin,     ///< index: the step
  step_end,
  start,           ///< end of `stream` = max(it, register a + time); then register b = it
  start_after,     ///< the same, not before register c
  kernel,          ///< end of `stream` = when the kernel that starts there ends
  collective,      ///< as start, not before the collective before has ended; index: its number
  collective_end,  ///< end of `stream` = the end of collective `index`
};

/// Unused registers are UINT32_MAX.
struct LockstepStep {
  LockstepCode code = LockstepCode::cpu_work;
  StreamId stream = 0;
  std::uint32_t index = 0;  ///< kernel: of the program's operation; otherwise as said above
  std::uint32_t a = UINT32_MAX;
  std::uint32_t b = UINT32_MAX;
  std::uint32_t c = UINT32_MAX;
  simcore::SimTime time{};
};

struct LockstepPlan {
  std::vector<LockstepStep> steps;
  std::vector<std::size_t> segment_ends;   ///< into steps; one for each collective, then the rest
  std::vector<std::uint32_t> collectives;  ///< operations of the program, in order
  std::uint32_t registers = 0;
};

/// Nothing if the program cannot be worked off so. `calls`: what allocations cost (may be null).
std::optional<LockstepPlan> plan_lockstep(const Program& program, const RuntimeSpec& spec,
                                          const std::vector<DeviceCalls>* calls);

}  // namespace shardsim::cuda
