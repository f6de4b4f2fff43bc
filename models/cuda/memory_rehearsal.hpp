// A program's allocations without a clock: what a rank's allocator will ask of the driver.
//
// Assumes that no block is used by a second stream (record_stream); then the allocator's decisions
// follow from the program alone, and one rehearsal stands for every rank that runs it.
#pragma once

#include <optional>
#include <vector>

#include "models/cuda/memory_shortage.hpp"
#include "models/cuda/program.hpp"
#include "models/cuda/runtime.hpp"

namespace shardsim::cuda {

/// The allocations that call the driver, by op, up to the first that fails.
std::vector<DeviceCalls> rehearse_memory(const Program& program, const RuntimeSpec& spec);

struct RehearsedShortage {
  std::uint32_t op = 0;  ///< the allocation that fails
  simcore::Bytes requested;
  simcore::Bytes allocated;  ///< live beside it
  simcore::Bytes reserved;
};

/// The first allocation for which the device is certainly too small; nothing if the program may
/// fit. Where blocks are used by second streams, which holds them longer than is known here, only
/// live bytes count, and not how they lie.
std::optional<RehearsedShortage> rehearse_shortage(const Program& program, const RuntimeSpec& spec);

}  // namespace shardsim::cuda
