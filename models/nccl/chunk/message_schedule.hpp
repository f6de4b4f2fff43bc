// Which channel carries which part of a message between two ranks, and in which order.
//
// Models: ranks of a node form groups of up to eight; a round is a distance between groups and one
// within them, at which every rank sends and receives. Rounds go through the distances between
// groups in triangular steps and, for each, through those within a group. A message is cut into
// parts, one a channel; the round decides on which channel the first lies. A channel works through
// its rounds in order, sending and receiving side by side.
// Assumes that a channel sends one message at a time, at its whole pace, and receives one; NCCL's
// works on up to eight with a share of its threads each. Leaves out buffers registered by users.
// Source: NVIDIA/nccl 2.30.7, src/enqueue.cc (addP2pToPlan), src/init.cc (p2pSchedule),
// src/graph/paths.cc (ncclTopoComputeP2pChannels).
#pragma once

#include <cstdint>
#include <vector>

#include "models/nccl/environment.hpp"
#include "models/nccl/planner.hpp"

namespace shardsim::nccl {

/// What a communicator's messages have in common.
struct MessageRules {
  int nodes = 1;
  int ranks_per_node = 1;
  int channels = 1;           ///< a power of two
  int channels_per_peer = 1;  ///< a power of two
  int group_size = 1;         ///< ranks of a node that are scheduled together
  std::int64_t chunk_bytes = 0;
  std::int64_t ll_bytes = 0;  ///< of a part, at most, for LL

  int ranks() const { return nodes * ranks_per_node; }
  int groups() const { return ranks() / group_size; }
};

MessageRules message_rules(const PlannedCommunicator& planned, const Environment& environment);

/// How one message is cut.
struct MessageCut {
  int parts = 1;
  std::int64_t part_bytes = 0;  ///< of all but the last
  Protocol protocol = Protocol::simple;
  std::int64_t chunk_bytes = 0;
};

MessageCut cut_message(const MessageRules& rules, std::int64_t bytes);

/// One round of all ranks.
struct MessageRound {
  int group_distance = 0;
  int distance = 0;
  int first_channel = 0;
};

std::vector<MessageRound> message_rounds(const MessageRules& rules);

/// The rank to which `rank` sends in a round, and from which it receives.
int receiver_of(const MessageRules& rules, const MessageRound& round, int rank);
int sender_to(const MessageRules& rules, const MessageRound& round, int rank);

}  // namespace shardsim::nccl
