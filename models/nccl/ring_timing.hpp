// How long a ring takes in closed form: the longest way through its steps.
//
// Models: ranks carry out their steps one after another, each of which moves a chunk; a piece comes
// one hop further in each step. The last rank ends after the longest way through all of that, which
// at every step
//   goes on to the next rank: moving and synchronising, inside a node or between two; a ring that
//     leaves a node after each r ranks crosses 1 + floor((s - 1) / r) such hops in s steps at most
//   stays at the rank: moving alone
//   waits for room: a sender may be so many chunks ahead of its receiver on another node; the
//   way
//     goes there and back, and saves as many steps
//   or waits for its NIC, where that asks receivers message by message
// With chunks that take T, what the ways add to moving follows from the protocol's synchronisation.
// Rounds of chunks follow each other on the same ways.
#pragma once

#include <cstdint>

#include "models/nccl/collective_timing.hpp"

namespace shardsim::nccl {

/// What a step takes beyond moving its chunk, in us.
struct RingWays {
  double inside = 0;  ///< negative: the next rank begins before the sender is through
  double between = 0;
  double room = 0;  ///< of going to another node and back instead of `chunks` steps
  double chunks = 1;
  double asking = 0;       ///< of a chunk that waits for the chunk before to have been asked for
  double asking_last = 0;  ///< the same of the last of its messages alone
};

/// A part goes on where another has come to: it crosses no hop more than steps lead to.
enum class Way : std::uint8_t { whole, part };

/// What `steps` steps take beyond moving, on the longest way.
double longest_way_us(const RingWays& ways, const TimedTransfer& transfer, double steps,
                      Way way = Way::whole);

/// The same of rounds of full chunks and a round of a smaller one after them.
struct RoundsWays {
  double full = 0;
  double rest = 0;
};
RoundsWays longest_ways_us(const RingWays& full, double full_steps, const RingWays& rest,
                           double rest_steps, const TimedTransfer& transfer);

FlowTiming ring_timing(const TimingConstants& constants, cuda::CollectiveKind kind,
                       const Choice& choice, const TimedTransfer& transfer);

}  // namespace shardsim::nccl
