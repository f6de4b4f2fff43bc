// Into which pieces a channel cuts its data: steps of the FIFOs, slices and chunks.
//
// A step is one of eight slots of a connection's buffer. A chunk is what an algorithm hands on at a
// time; a slice is what it synchronises on. Only rings of the Simple protocol make chunks and
// slices of several steps.
// Source: NVIDIA/nccl v2.18.3-1 to v2.30.7-1, src/enqueue.cc (calcCollChunking and what preceded
// it), src/init.cc (computeBuffSizes).
#pragma once

#include <cstdint>

#include "models/nccl/choice_channels.hpp"
#include "models/nccl/environment.hpp"
#include "models/nccl/tuning_constants.hpp"
#include "models/nccl/tuning_types.hpp"

namespace shardsim::nccl {

inline constexpr int steps_per_buffer = 8;

/// What cutting depends on besides the operation.
struct ScheduleInputs {
  TuningRules rules;
  int ranks = 1;
  int nodes = 1;
  ChannelCounts channels;
  int nvls_heads = 0;  ///< GPUs of a node that reduce
  int collnet_heads = 0;
  int collnet_depth = 2;                   ///< of CollNetDirect: 1 with one rank a node
  double nvls_all_reduce_gbps = 0;         ///< bandwidth in the tuning table
  PerProtocol<std::int64_t> buffer_bytes;  ///< of a connection
};

/// Buffers by the environment, the version and the CPU.
PerProtocol<std::int64_t> buffer_sizes(const CommunicatorFacts& facts, const TuningRules& rules,
                                       const Environment& environment);

struct CutOperation {
  Collective collective = Collective::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
};

struct Chunking {
  std::int64_t chunk_bytes = 0;  ///< of data
  std::int64_t slice_bytes = 0;
  int chunk_steps = 1;
  int slice_steps = 1;
  /// Steps that the network proxy runs for one connection.
  std::int64_t proxy_steps = 0;
};

/// `bytes` of the larger side go through `channels` channels.
Chunking cut(const ScheduleInputs& inputs, const CutOperation& operation, std::int64_t bytes,
             int channels);

}  // namespace shardsim::nccl
