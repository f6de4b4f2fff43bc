// A program's allocations without a clock: what a rank's allocator will ask of the driver.
//
// Assumes that no block is used by a second stream (record_stream); then the allocator's decisions
// follow from the program alone, and one rehearsal stands for every rank that runs it.
#pragma once

#include <vector>

#include "models/cuda/program.hpp"
#include "models/cuda/runtime.hpp"

namespace shardsim::cuda {

/// The allocations that call the driver, by op, up to the first that fails.
std::vector<DeviceCalls> rehearse_memory(const Program& program, const RuntimeSpec& spec);

}  // namespace shardsim::cuda
