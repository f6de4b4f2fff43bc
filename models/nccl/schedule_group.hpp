// The operations between ncclGroupStart and ncclGroupEnd: chosen together, launched together.
//
// Models: operations alike in collective, type and reduction are put in order of their traffic;
// neighbours within four times of the first are chosen as if they were one. All then share the
// channels of one launch.
// Source: NVIDIA/nccl v2.22.3-1 to v2.30.7-1, src/enqueue.cc (ncclPrepareTasks).
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "models/nccl/choice.hpp"
#include "models/nccl/schedule.hpp"

namespace shardsim::nccl {

struct PlannedOperation {
  std::size_t operation = 0;  ///< its place in the group
  Choice choice;
  ChannelRange range;
};

/// In the order of launch. Operations without elements are left out.
std::expected<std::vector<PlannedOperation>, std::string> plan_group(
    const Selector& selector, std::span<const Operation> operations);

}  // namespace shardsim::nccl
