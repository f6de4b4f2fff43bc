// How long a collective takes, given what NCCL chose for it: latency before the data, and the data
// as a coupled flow.
//
// Models, for S bytes on n ranks of k nodes with c channels (as many as carry all if each carried
// what the fullest does), wire rate R of the pattern, and in
// each step of a channel C = min(chunk, S/(c n)) bytes:
//   Ring      steps = n-1, all-reduce 2(n-1), for each round of chunks (ring_timing.hpp)
//     LL, LL128  start + steps (cables + synchronising) + steps S/(n R); each step also takes in
//             min(C, burst) bytes before it hands any on
//     Simple  start + steps max(T + exposed, T/2 + synchronising), with T = C c/R; the rank's own
//             part is copied besides, S/n; the last slice comes late
//   Tree      up and down a chain in each node and a binary tree between them:
//             2 (n/k - 1) + 2 log2 k steps (the logarithm rounded up), each with part of a chunk
//             in flight; S/R
//   NVLS      scatter, reduce and gather as a pipeline: some rounds of chunks to fill it, S/R
//   NVLSTree  the same, with 2 log2 k steps between nodes
//   PAT       what one rank does, message by message (all do the same); S (n-1)/(n R) of it
//   messages  start + one step + S (n-1)/(n R), and the rank's own part copied; between nodes, a
//             proxy's time for each
// A flow is capped by what its channels copy. Assumes that all ranks start together and end
// together. Leaves out the skew of slices between channels.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "models/cuda/program.hpp"
#include "models/nccl/channel_graph.hpp"
#include "models/nccl/choice.hpp"
#include "models/nccl/communicator_plan.hpp"
#include "models/nccl/planner.hpp"
#include "models/nccl/timing_constants.hpp"

namespace shardsim::nccl {

/// Once the latency is over, `flow_bytes` (on the wire) move at `cap_gbps` at most (0: no limit).
struct FlowTiming {
  double latency_us = 0;
  double flow_bytes = 0;
  double cap_gbps = 0;

  /// Adds a limit to the rate.
  void limit(double gbps) { cap_gbps = cap_gbps > 0 ? std::min(cap_gbps, gbps) : gbps; }
};

/// Steps of one byte of data.
struct Steps {
  double inside = 0;
  double between = 0;
  double all() const { return inside + between; }
};

/// Channels that carry alike.
struct ChannelKind {
  double bytes = 0;  ///< of each, of a rank's part for all-gather and reduce-scatter
  double chunk_bytes = 0;
};

/// What data an operation moves, and where.
struct TimedTransfer {
  double bytes = 0;  ///< S: the larger side of a rank
  int ranks = 1;
  int nodes = 1;
  const Traffic* traffic = nullptr;  ///< of pattern_of()
  bool byte_type = false;            ///< elements of 8 bits
  std::optional<Steps> tree =
      std::nullopt;  ///< hops from a tree's root to the rank farthest from it
  /// Hops between nodes of a broadcast's or reduction's chain; without: nodes - 1.
  std::optional<int> chain_crossings = std::nullopt;
  double channels = 0;     ///< all that channels carry over what the fullest one does; 0: as chosen
  double chunk_bytes = 0;  ///< of the fullest channel; 0: as chosen
  std::array<ChannelKind, 3> kinds{};       ///< of channels; unused ones are empty
  double channels_per_nic = 1;              ///< that leave a node by the same NIC, at most
  double driven_gbps = 0;                   ///< of the flow, by what drives its NICs; 0: no limit
  double message_chunk_bytes = 512 * 1024;  ///< NCCL_P2P_NVL_CHUNKSIZE or another's
};

// The parts that the closed forms below and the clock of single messages (chunk/) share.

/// us for so many bytes at so many GB/s.
double us_of(double bytes, double gbps);
/// Of the pattern's links, and the same if only a share of NVLink's rate can be used.
double wire_gbps(const TimedTransfer& transfer);
double wire_gbps(const TimedTransfer& transfer, double nvlink_share);
/// Does every step move a part of the data for each rank, rather than all of it?
bool in_parts(cuda::CollectiveKind kind);
double equal_channels(const Choice& choice, const TimedTransfer& transfer);
double chunk_of(const Choice& choice, const TimedTransfer& transfer);
/// Hops between nodes of so many steps around a ring, at most.
double ring_crossings(const TimedTransfer& transfer, double steps);
/// Of the piece that crosses most hops between nodes, in one round.
Steps ring_steps(cuda::CollectiveKind kind, const TimedTransfer& transfer);
/// Hops between nodes from the first rank to the last or back, over that of the first so many
/// channels that has most: rings that enter the first rank's node before that rank come back to it.
int chain_crossings(const PlannedCommunicator& planned, cuda::CollectiveKind kind, int channels);
/// Up and down: as `tree` says, else a chain in a node and binary trees.
Steps tree_steps(const TimedTransfer& transfer);
/// Hops from the root of the trees that a communicator's channels use to the farthest rank.
Steps tree_path(const PlannedCommunicator& planned);
/// Levels of a binary tree over so many nodes, below its root.
int tree_levels(int nodes);
/// Cables and synchronisation of a step within a node, and of one between nodes that carries so
/// many bytes on the wire.
double inside_us(const ProtocolTiming& protocol, const Traffic& traffic);
double between_us(const TimingConstants& constants, const ProtocolTiming& protocol,
                  const Traffic& traffic, double wire_bytes);
double steps_us(const TimingConstants& constants, const ProtocolTiming& protocol,
                const Steps& steps, const Traffic& traffic, double wire_bytes);
/// Channels, the first so many of a graph's, that leave a node by the same network device, at most.
double channels_per_nic(const ChannelGraph& graph, int channels);
/// us for which a message of one channel to another node keeps the next from arriving, of so many
/// that the operation sends there: libraries that ask the receiver first do so message by message,
/// for all channels of a NIC, once a connection's messages are more than the receives that NCCL
/// posts ahead.
double asking_us(const TimingConstants& constants, const TimedTransfer& transfer, double wire_bytes,
                 double messages);
/// Messages of a ring's channel from one node to the next.
double ring_messages(cuda::CollectiveKind kind, const Choice& choice,
                     const TimedTransfer& transfer);
/// The same of a tree's.
double tree_messages(const Choice& choice, const TimedTransfer& transfer);
/// In how many slices, each a message, a ring of the protocol hands on a chunk.
double slices_of(Protocol protocol, double chunk);
/// Messages that a NIC sends for each chunk of a channel of trees: in one of two trees a node has a
/// parent and two children, in the other a parent.
double tree_sends(const TimedTransfer& transfer);
/// Of `bytes` in chunks the messages that must be asked for.
double asked_messages(const TimingConstants& constants, double bytes, double chunk,
                      double wire_factor);
/// What `count` chunks on a channel that come `apart_us` apart take beyond `moving`, which is all
/// of their data's.
double queue_us(double count, double apart_us, double moving);
/// LL and LL128: what is left of steps, each with `chunk` in flight, that are in part hidden by
/// data that take `moving` to move.
double flagged_steps_us(const TimingConstants& constants, const ProtocolTiming& protocol,
                        const Steps& steps, const Traffic& traffic, double chunk, double moving);
/// GB/s of the copies of a rank's own part that one channel makes while its links rest.
double own_copy_gbps(const TimingConstants& constants, cuda::CollectiveKind kind, bool byte_type);

/// The traffic that an algorithm makes.
Pattern pattern_of(cuda::CollectiveKind kind, Algorithm algorithm);

FlowTiming flow_timing(const TimingConstants& constants, cuda::CollectiveKind kind,
                       const Choice& choice, const TimedTransfer& transfer, int nvls_heads);

/// LL for a message of few bytes, else Simple.
Protocol message_protocol(const TimingConstants& constants, double bytes);

/// Links are shared by connections: of a rank's `peers` each gets a share of `connections`, which
/// work at a time, where all of a ring's bytes go by `ring_channels`. CollectiveTiming::share, to
/// the nearest power of two, so that a flow alone takes the same time to the bit.
double share_of_peer(double connections, double peers, double ring_channels);

/// All-to-all and send-receive.
FlowTiming message_timing(const TimingConstants& constants, cuda::CollectiveKind kind,
                          const TimedTransfer& transfer);

}  // namespace shardsim::nccl
