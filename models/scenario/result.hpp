// The result of a run, in the shape of the `shardsim.result/1` schema: times per step, after
// warm-up, on the slowest rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/cuda/memory_shortage.hpp"
#include "models/cuda/program.hpp"
#include "models/scenario/memory_timeline.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::scenario {

struct StepResult {
  simcore::SimTime time;
  simcore::SimTime compute;                ///< kernels on the compute stream
  simcore::SimTime communication;          ///< at least one collective moves data
  simcore::SimTime exposed_communication;  ///< the compute stream waits for communication
  simcore::SimTime cpu_bound;              ///< the compute stream waits for the CPU
  simcore::SimTime interference;           ///< part of compute: what collectives beside kernels add
  /// Share of communication that is hidden, 0..1; 1 without communication.
  double overlap_fraction = 1;
};

struct Throughput {
  double tokens_per_s = 0;
  double tokens_per_s_per_gpu = 0;
  double model_tflops_per_gpu = 0;
  double mfu = 0;  ///< model FLOPs against the dense peak of the compute type
  double hfu = 0;  ///< the same with recomputation
};

/// Host memory of one node, of what the job's ranks on it hold there (training.cpu_offload).
struct HostMemoryResult {
  int node = 0;
  int gpus = 0;                            ///< ranks of the job on the node
  cuda::BytesByKind by_kind{};             ///< of all of them
  std::optional<simcore::Bytes> capacity;  ///< nothing: the topology does not say
  simcore::Bytes used() const;
  bool fits() const { return !capacity || used() <= *capacity; }
};

struct MemoryResult {
  simcore::Bytes persistent;  ///< held between steps
  simcore::Bytes peak_allocated;
  simcore::Bytes peak_reserved;
  simcore::Bytes capacity;
  /// Outside the allocator: CUDA context and NCCL's buffers.
  simcore::Bytes outside;
  bool fits = true;
  simcore::Bytes by_kind[cuda::memory_kind_count];  ///< at the peak
  MemoryTimeline timeline;                          ///< of the measured step, thinned out
  std::optional<HostMemoryResult> host;             ///< of the fullest node, where ranks use any
  /// Most allocated in equal stretches of the step, for pictures; not part of the JSON.
  std::vector<simcore::Bytes> over_step;
};

struct CollectiveResult {
  std::string kind;
  std::string group;
  int group_size = 0;
  std::int64_t count = 0;
  simcore::Bytes bytes;  ///< of all of them
  simcore::SimTime time;
  simcore::SimTime exposed;
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  double algbw_gbytes_per_s = 0;
  double busbw_gbytes_per_s = 0;
};

struct LinkResult {
  std::string name;
  simcore::Bytes bytes;
  double busy_fraction = 0;
  double peak_share = 0;
};

struct PathShare {
  std::string what;
  simcore::SimTime time;
  double share = 0;
};

/// How busy a stream was over the step: shares of equal stretches of time, for pictures.
struct StreamOccupancy {
  std::string name;
  std::vector<double> busy;
};

/// A change of one key with which a run that lacks memory fits, found by running it.
struct MemorySuggestion {
  std::string key;  ///< dotted
  std::string value;
  simcore::Bytes used;                      ///< of the GPU's capacity at the peak
  std::optional<simcore::Bytes> host_used;  ///< of the fullest node's host memory, if any
  simcore::SimTime step_time;
  double tokens_per_s_per_gpu = 0;
};

/// Why a run ended early: an allocation that the device could not serve, or host memory that the
/// node does not have.
struct OutOfMemoryResult {
  /// If so, `kind` is the part of what the node's ranks hold on the host that no longer fits, in
  /// the order in which a run allocates them, and `shortage` counts the node's host memory.
  bool on_host = false;
  int rank = 0;
  std::uint32_t step = 0;
  std::string operation;   ///< the kernel or collective that it is for; empty between steps
  std::string unit;        ///< as in MemoryPeak
  std::string allocation;  ///< its name
  cuda::MemoryKind kind = cuda::MemoryKind::other;
  cuda::MemoryShortage shortage;
  std::vector<MemorySuggestion> suggestions;  ///< empty, too, if nothing was tried
  int tried = 0;                              ///< changes that were run
};

/// An operation of a rank, in simulated time.
struct OperationTime {
  std::string stream;
  std::string name;
  simcore::SimTime start;
  simcore::SimTime end;
};

/// Why a run ended early: its user's budget was used up.
struct StoppedResult {
  std::string why;
  simcore::SimTime reached;               ///< simulated time
  std::uint32_t step = 0;                 ///< that rank 0 was in, from 0
  std::uint32_t steps = 0;                ///< of the run
  std::vector<OperationTime> operations;  ///< the last ones of rank 0, in the order of their ends
  std::vector<std::string> waiting;       ///< who waits for what, a line each
};

/// Where the step time is likely to be measured, by what published runs measured.
struct StepInterval {
  simcore::SimTime low;
  simcore::SimTime high;
  std::size_t runs = 0;             ///< that it is drawn from
  std::size_t comparable_runs = 0;  ///< that `what` names
  bool comparable = false;          ///< false: there are none that are, and these are the nearest
  std::string what;                 ///< which
};

/// The step on other hardware.
struct WhatIf {
  std::string key;
  std::string text;
  std::optional<simcore::SimTime> step;  ///< nothing if that run fails
};

/// A job, or traffic, that shared the cluster while the scenario's own job ran.
struct JobResult {
  std::string name;
  bool background = false;
  int gpus = 0;
  int nodes = 0;
  int steps = 0;               ///< whole ones after its first, in the time of the own job
  simcore::SimTime step_time;  ///< mean over them; of background traffic, of an exchange and a gap
  double tokens_per_s = 0;     ///< 0 for prescribed workloads and traffic
  int rank_classes = 0;
};

struct SimulatorResult {
  std::string version;
  std::uint64_t events = 0;
  double wall_s = 0;
  std::int64_t peak_rss_bytes = 0;
  int simulated_ranks = 0;
  int rank_classes = 0;
  std::string fidelity;
};

struct Result {
  std::string scenario_name;
  std::string scenario_file;
  std::vector<std::string> overrides;
  int gpus = 0;
  int nodes = 0;
  std::string gpu;
  std::string topology;  ///< its name
  int rank = 0;          ///< whose figures these are: the slowest
  StepResult step;
  std::optional<StepInterval> interval;  ///< 90 %; nothing where no run is comparable
  Throughput throughput;
  MemoryResult memory;
  /// If set, the run ended there: only `memory` tells of it, and there is no step.
  std::optional<OutOfMemoryResult> out_of_memory;
  std::optional<StoppedResult> stopped;  ///< the same
  std::vector<CollectiveResult> collectives;
  std::vector<LinkResult> links;
  std::vector<PathShare> critical_path;
  std::vector<JobResult> jobs;  ///< the others on the cluster
  std::vector<WhatIf> what_if;  ///< where asked for
  std::vector<std::string> warnings;
  std::vector<StreamOccupancy> streams;  ///< not part of the JSON
  SimulatorResult simulator;
};

/// Names of MemoryKind in results and summaries, e.g. "gathered_parameters".
const char* memory_kind_name(cuda::MemoryKind kind);

/// The result as JSON text, ending with a newline. Equal results give equal bytes; only the
/// `simulator` object depends on the machine.
std::string to_json(const Result& result);

}  // namespace shardsim::scenario
