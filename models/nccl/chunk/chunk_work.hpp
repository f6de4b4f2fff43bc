// What NCCL's host hands to its kernels for one operation: which channel carries which part of the
// data, in chunks and slices of which size, along which ring or tree, or in which rounds.
//
// A kernel that is given this needs nothing else to move the data. The order in which it does so,
// its primitives, is not part of it; docs/chunk-trace.md says what it is.
#pragma once

#include <cstdint>
#include <vector>

#include "models/nccl/chunk/message_schedule.hpp"
#include "models/nccl/connect.hpp"
#include "models/nccl/tuning_types.hpp"

namespace shardsim::nccl {

struct ChannelWork {
  int channel = 0;
  std::int64_t offset_bytes = 0;  ///< in each rank's part for all-gather and reduce-scatter
  std::int64_t bytes = 0;         ///< likewise
  std::int64_t chunk_bytes = 0;
  int slices = 1;               ///< of a chunk
  int slice_steps = 1;          ///< FIFO steps of a slice
  std::vector<int> ring;        ///< ranks by position
  std::vector<TreeLinks> tree;  ///< by rank
};

/// All-to-all and send-receive.
struct MessageWork {
  std::int64_t bytes = 0;  ///< of each message
  MessageCut cut;
  int channels = 0;    ///< a part lies on channel (first of its round + number) modulo these
  int group_size = 1;  ///< ranks that a round's `distance` is within
  std::vector<MessageRound> rounds;
};

struct ChunkWork {
  Algorithm algorithm = Algorithm::ring;  ///< ring or tree; without meaning for messages
  Protocol protocol = Protocol::simple;
  int ranks = 0;
  int element_bytes = 1;        ///< by which the operation is counted
  std::int64_t step_bytes = 0;  ///< of a FIFO step, with flags
  int root = 0;
  std::vector<ChannelWork> channels;  ///< empty for messages
  MessageWork messages;
};

}  // namespace shardsim::nccl
