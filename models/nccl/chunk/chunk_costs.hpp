// What messages of a collective cost at chunk level, from the same constants as its flow
// (timing_constants.hpp, collective_timing.hpp).
//
// Models, with c channels and wire rate R of the pattern's links, shared alike by the channels:
//   pace      of a channel: R / c, what it copies at most, and the protocol's efficiency; every hop
//             of a channel moves at the pace of its narrowest link, as credits make it do. Where
//             channels carry unequal parts, c is all that they carry over the largest part: when
//             the others are done, its channel has their share of the links too.
//   rings     Simple hands on the first of two slices while the second is moved; what the thread
//             block itself must do is not hidden. LL and LL128 synchronise on the side for a share
//             of the moving. The last primitive of a loop copies the rank's own part.
//   chains    broadcast, reduce and trees: LL and LL128 hand a burst on while the chunk still comes
//             in, Simple part of a chunk
//   NVLS      a loop of a channel takes as long as the switches take for its data; scattering and
//             gathering beside it add up to the fill of the pipeline
#pragma once

#include "models/nccl/chunk/channel_engine.hpp"
#include "models/nccl/collective_timing.hpp"

namespace shardsim::nccl {

struct ChunkCosts {
  double start_us = 0;  ///< before the first byte
  double end_us = 0;    ///< after the last
  ChannelCosts channel;
};

ChunkCosts chunk_costs(const TimingConstants& constants, cuda::CollectiveKind kind,
                       const Choice& choice, const TimedTransfer& transfer, int nvls_heads);

}  // namespace shardsim::nccl
