// How long a collective takes, given what NCCL chose for it: latency before the data, and the data
// as a coupled flow.
//
// Models, for S bytes on n ranks of k nodes with c channels, wire rate R of the pattern, and in
// each step of a channel C = min(chunk, S/(c n)) bytes:
//   Ring      steps = n-1, all-reduce 2(n-1); of the n hops of a ring k lie between nodes, so that
//             a rank that repeats the operation waits for such a hop in k/n of its steps
//     LL, LL128  start + steps (cables + synchronising) + steps S/(n R); each step also takes in
//             min(C, burst) bytes before it hands any on
//     Simple  start + steps max(T + exposed, T/2 + synchronising) for each round of chunks, with
//             T = C c/R; the rank's own part is copied besides, S/n; the last slice comes late
//   Tree      up and down a chain in each node and a binary tree between them:
//             2 (n/k - 1) + 2 log2 k steps, each with part of a chunk in flight; S/R
//   NVLS      scatter, reduce and gather as a pipeline: some rounds of chunks to fill it, S/R
//   NVLSTree  the same, with 2 log2 k steps between nodes
//   PAT       log2 k steps between nodes, S/R
//   messages  start + one step + S (n-1)/(n R), and the rank's own part copied; between nodes, a
//             proxy's time for each
// A flow is capped by what its channels copy. Assumes that all ranks start together and end
// together. Leaves out the skew of slices between channels.
#pragma once

#include "models/cuda/program.hpp"
#include "models/nccl/choice.hpp"
#include "models/nccl/communicator_plan.hpp"
#include "models/nccl/timing_constants.hpp"

namespace shardsim::nccl {

/// Once the latency is over, `flow_bytes` (on the wire) move at `cap_gbps` at most (0: no limit).
struct FlowTiming {
  double latency_us = 0;
  double flow_bytes = 0;
  double cap_gbps = 0;
};

/// What data an operation moves, and where.
struct TimedTransfer {
  double bytes = 0;  ///< S: the larger side of a rank
  int ranks = 1;
  int nodes = 1;
  const Traffic* traffic = nullptr;  ///< of pattern_of()
  bool byte_type = false;            ///< elements of 8 bits
};

/// The traffic that an algorithm makes.
Pattern pattern_of(cuda::CollectiveKind kind, Algorithm algorithm);

FlowTiming flow_timing(const TimingConstants& constants, cuda::CollectiveKind kind,
                       const Choice& choice, const TimedTransfer& transfer, int nvls_heads);

/// LL for a message of few bytes, else Simple.
Protocol message_protocol(const TimingConstants& constants, double bytes);

/// All-to-all and send-receive.
FlowTiming message_timing(const TimingConstants& constants, cuda::CollectiveKind kind,
                          const TimedTransfer& transfer);

}  // namespace shardsim::nccl
