// PAT: all-gather and reduce-scatter in a logarithmic number of messages, one rank a node.
//
// Models: ranks exchange over distances 2^d, dimension d. What an all-gather's message of dimension
// d carries for relative offset s (lowest set bit d) is the part of rank + s as its receiver counts
// it, sent to rank - 2^d; it must have come in before as offset s - 2^d. A reduce-scatter sends, to
// rank + 2^d, its sum for rank + s, after the sums of offsets s + 2^j, j < d, have come in. Small
// parts share messages; parts larger than a step of the FIFO take several rounds.
// Source: NVIDIA/nccl 2.30.7, src/include/collectives.h (PatAGAlgorithm, PatRSAlgorithm).
#pragma once

#include <cstdint>
#include <vector>

#include "models/nccl/tuning_types.hpp"

namespace shardsim::nccl {

struct PatMessage {
  int dimension = 0;         ///< the peer is 2^dimension ranks away
  std::vector<int> offsets;  ///< one chunk each
};

struct PatPlan {
  Collective collective = Collective::all_gather;
  int ranks = 1;
  int aggregation = 1;  ///< chunks that a message holds at most
  int workers = 1;      ///< chunks that are worked on at once
  int rounds = 1;       ///< each moves one chunk of every rank's part
  /// Messages that a rank sends in one round, in this order.
  std::vector<PatMessage> messages;
  /// Times that the schedule is advanced in one round, idle ones included.
  int slots = 0;
};

/// Work of one dimension over all rounds.
struct PatDimension {
  std::int64_t messages = 0;
  std::int64_t chunks = 0;      ///< on the wire
  std::int64_t operations = 0;  ///< by the GPU: chunks copied, or added to a sum before it is sent
};

/// `collective` is all_gather or reduce_scatter. `channel_bytes` of each rank's part go through the
/// channel, in chunks of `chunk_bytes`.
PatPlan pat_plan(Collective collective, int ranks, std::int64_t channel_bytes,
                 std::int64_t chunk_bytes);

/// Chunks that share a message.
int pat_aggregation(int ranks, std::int64_t channel_bytes, std::int64_t chunk_bytes);

std::vector<PatDimension> pat_dimensions(const PatPlan& plan);

}  // namespace shardsim::nccl
