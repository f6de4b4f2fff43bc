// What messages of a collective cost at chunk level, from the same constants as its flow
// (timing_constants.hpp, collective_timing.hpp).
//
// Models, with c channels and wire rate R of the pattern's links, shared alike by the channels:
//   pace      of a channel: R / c, what it copies at most, and the protocol's efficiency; every hop
//             of a channel moves at the pace of its narrowest link, as credits make it do. Where
//             channels carry unequal parts, c is all that they carry over the largest part: when
//             the others are done, its channel has their share of the links too.
//   a chunk   is handed over with the protocol's synchronisation and the cables' latency
//   Simple    a chunk that is not handed on is copied out of its FIFO
//   NVLS      a loop of a channel takes as long as the switches take for its data; scattering and
//             gathering beside it add up to the fill of the pipeline
//   messages  see message_program.hpp
// The longest way of a piece round a ring of k nodes crosses k hops between nodes, where the
// constants count k - 1 (NCCL's own count): see share_network_hops().
#pragma once

#include "models/nccl/chunk/channel_engine.hpp"
#include "models/nccl/collective_timing.hpp"

namespace shardsim::nccl {

/// All that channels carry over what the fullest one carries.
double equal_channels(const ChannelRange& range);

struct ChunkCosts {
  double start_us = 0;  ///< before the first byte
  ChannelCosts channel;
};

/// What a hop between nodes costs beyond one inside a node is charged so that it is paid nodes - 1
/// times where a piece crosses `crossings` of them.
void share_network_hops(int nodes, int crossings, ChannelCosts& costs);

/// `channels` that carry equally much.
ChunkCosts chunk_costs(const TimingConstants& constants, Collective collective,
                       const Choice& choice, double channels, const TimedTransfer& transfer,
                       int nvls_heads);

}  // namespace shardsim::nccl
