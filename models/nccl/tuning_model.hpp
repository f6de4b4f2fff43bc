// NCCL's tuning model: latency and bandwidth of every collective, algorithm and protocol, from
// which it predicts times and chooses.
//
// Models: each pair of algorithm and protocol as latency + bytes / bandwidth, with NCCL's own
// constants and refinements; what the machine, the version and the environment rule out has no
// bandwidth. Assumes one operation at a time on idle links. Leaves out launch cost, contention, the
// fill of pipelines: it is NCCL's selector, not a clock. Tuner plugins are not modelled.
// Source: NVIDIA/nccl v2.18.3-1 to v2.30.7-1, src/graph/tuning.cc.
#pragma once

#include <cstdint>

#include "models/nccl/environment.hpp"
#include "models/nccl/tuning_constants.hpp"
#include "models/nccl/tuning_inputs.hpp"
#include "models/nccl/tuning_types.hpp"

namespace shardsim::nccl {

struct TuningCell {
  double latency_us = 0;
  double bandwidth_gbps = 0;  ///< GB/s of the collective's larger side; 0: not available
};

struct TuningTable {
  PerCollective<PerAlgorithm<PerProtocol<TuningCell>>> cells;
  /// Bandwidth of rings as it would be if nothing were ruled out (TuningRules::ring_fallback).
  PerCollective<PerProtocol<double>> ring_fallback_gbps;
  PerAlgorithm<PerProtocol<int>> most_threads;
};

/// The table that NCCL prints with NCCL_DEBUG_SUBSYS=TUNING. A communicator of one rank has none.
TuningTable tuning_table(const TuningInputs& inputs, const Environment& environment);

/// The graph that an algorithm runs on.
const GraphSummary& graph_of(const TuningInputs& inputs, Algorithm algorithm);

/// Does the algorithm carry out this collective at all, in this version?
bool carries_out(const TuningRules& rules, Algorithm algorithm, Collective collective);

/// An operation as the model sees it.
struct TimedOperation {
  Collective collective = Collective::all_reduce;
  std::int64_t bytes = 0;  ///< the larger side of one rank
  int pipelined = 1;       ///< operations of a group that share a channel
};

/// NCCL's prediction in us; negative if the pair is not available. `channels` are those of
/// collectives (choice_channels.hpp).
double predicted_us(const TuningInputs& inputs, const TuningConstants& constants,
                    const TuningCell& cell, const TimedOperation& operation, Algorithm algorithm,
                    Protocol protocol, int channels);

// The parts of the table, in files of their own.

/// Bandwidth before anything is ruled out.
double tuning_bandwidth_gbps(const TuningInputs& inputs, const TuningConstants& constants,
                             Collective collective, Algorithm algorithm, Protocol protocol);
double tuning_latency_us(const TuningInputs& inputs, const TuningConstants& constants,
                         const Environment& environment, Collective collective, Algorithm algorithm,
                         Protocol protocol);
/// Can the machine run the algorithm, and may it by the environment?
bool algorithm_enabled(const TuningInputs& inputs, const TuningConstants& constants,
                       const Environment& environment, Collective collective, Algorithm algorithm);
bool protocol_enabled(const TuningInputs& inputs, const TuningConstants& constants,
                      const Environment& environment, Collective collective, Algorithm algorithm,
                      Protocol protocol);

/// floor(log2(value)); -1 for 0.
int floor_log2(std::int64_t value);

}  // namespace shardsim::nccl
