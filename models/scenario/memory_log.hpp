// What the caching allocator of each simulated rank did in one step: the raw material of the memory
// timeline.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cuda/allocator_statistics.hpp"
#include "models/cuda/program.hpp"
#include "models/cuda/runtime.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::scenario {

/// The allocator's state after one allocation or free.
struct MemoryChange {
  std::uint32_t op = 0;   ///< index into Program::ops
  simcore::SimTime time;  ///< of the CPU's call
  simcore::Bytes allocated;
  simcore::Bytes reserved;
};

/// One rank's latest step.
struct MemoryLog {
  const cuda::Program* program = nullptr;
  std::uint32_t step = 0;
  std::uint32_t first_op = 0;  ///< the step's step_begin
  simcore::SimTime begin;
  simcore::Bytes reserved_at_begin;
  cuda::BytesByKind allocated_at_begin{};
  std::vector<MemoryChange> changes;
  /// Of the whole run: the most that was allocated, and the allocation that first reached it.
  simcore::Bytes peak;
  std::uint32_t peak_op = 0;
};

/// Listens to a runtime and keeps each rank's log of the step it is in, or was in last.
class MemoryLogger {
 public:
  MemoryLogger(cuda::Runtime& runtime, const std::vector<cuda::RankSetup>& ranks);
  MemoryLogger(const MemoryLogger&) = delete;
  MemoryLogger& operator=(const MemoryLogger&) = delete;

  const MemoryLog& log(std::uint32_t slot) const { return logs_[slot]; }

 private:
  std::vector<MemoryLog> logs_;  ///< by slot
};

}  // namespace shardsim::scenario
