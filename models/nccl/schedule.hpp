// Which channels carry which part of the operations of one launch.
//
// Models: since 2.22, operations are cut into cells of at least 32 KiB of traffic, which fill one
// channel after the other up to an equal quota; an operation so takes a run of channels whose first
// and last hold other amounts than those between, and may share its first with the one before.
// Before, each operation was spread evenly. Leaves out the limit of work that one kernel launch
// carries, and buffers registered by users.
// Source: NVIDIA/nccl v2.18.3-1 to v2.30.7-1, src/enqueue.cc (scheduleCollTasksToPlan).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/nccl/schedule_chunks.hpp"
#include "models/nccl/tuning_types.hpp"

namespace shardsim::nccl {

/// An operation with its algorithm; operations of one kind (see below) follow each other.
struct ScheduledOperation {
  CutOperation choice;
  std::int64_t elements = 0;  ///< a rank's part for all-gather, reduce-scatter; else the buffer
  int element_bytes = 1;      ///< all-gather and broadcast are counted in bytes
  int most_channels = 1;
  int threads = 512;
};

/// What one channel carries.
struct ChannelPart {
  std::int64_t elements = 0;  ///< 0: there is no such channel
  Chunking chunking;
};

/// Channels first ... last: the first carries `low`, the last `high`, those between `middle`.
/// A single channel carries `low`.
struct ChannelRange {
  int first = 0;
  int last = 0;
  ChannelPart low;
  ChannelPart middle;
  ChannelPart high;

  int channels() const { return last - first + 1; }
  const ChannelPart& part(int channel) const;
};

/// All that channels carry over what the fullest one carries.
double equal_channels(const ChannelRange& range);

/// Kinds have channels of their own and are scheduled apart: by NVLS or not, by CollNet or not.
struct OperationKind {
  bool collnet = false;
  bool nvls = false;
  bool operator==(const OperationKind&) const = default;
};
OperationKind kind_of(Algorithm algorithm, int nodes);

/// Ranges in the order of `operations`, none of which is empty.
std::vector<ChannelRange> schedule(const ScheduleInputs& inputs,
                                   std::span<const ScheduledOperation> operations);

/// Bytes that cross links for each byte counted by `ScheduledOperation::elements`, as NCCL weighs
/// operations against each other; LL counts four times as much.
std::int64_t traffic_per_byte(Collective collective, Protocol protocol, int ranks);

}  // namespace shardsim::nccl
