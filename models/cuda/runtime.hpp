// The simulated CUDA runtime: every rank's CPU thread, streams, events and caching allocator.
//
// Models: a CPU thread that issues its program in order, each call at its cost, and blocks only
// where CUDA would (event and device synchronisation, a full launch queue, an allocator that must
// wait for memory or give some back); streams as queues in issue order; events; kernels with given
// durations that may be slower while a collective runs on the same GPU; communicators that run one
// collective at a time in issue order; allocation decided at the CPU's time, not the GPU's. Assumes
// kernels of one rank on different streams do not slow each other except as given. Leaves out copy
// engines, graph launches and multi-threaded issue.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/cuda/allocator_action.hpp"
#include "models/cuda/allocator_snapshot.hpp"
#include "models/cuda/allocator_spec.hpp"
#include "models/cuda/caching_allocator.hpp"
#include "models/cuda/collective_backend.hpp"
#include "models/cuda/program.hpp"
#include "models/cuda/rank_pace.hpp"
#include "simcore/event_queue.hpp"
#include "simcore/probe.hpp"

namespace shardsim::cuda {

/// A rank's place in a communicator instance.
struct Membership {
  std::uint32_t instance = 0;
  std::uint32_t member = 0;
};

/// What a collective in flight adds to a GPU's load number, by its phase.
struct LoadStep {
  std::uint32_t waiting = 0;  ///< its kernel waits for peers: it holds SMs and moves nothing
  std::uint32_t moving = 0;   ///< from the last peer's arrival to its end
  bool operator==(const LoadStep&) const = default;
};

/// How long each kernel of a program takes on one kind of device, alone and beside collectives.
struct KernelTimes {
  /// [load][kernel]. The load is the sum of the steps of the collectives in flight; load 0 is the
  /// kernel alone.
  std::vector<std::vector<simcore::SimTime>> by_load;
  /// By index into Program::collectives; empty if no collective slows kernels down. A communicator
  /// runs one collective at a time, so that only sums over different communicators occur.
  std::vector<LoadStep> steps;
};

/// What an allocation asks of the driver.
struct DeviceCalls {
  std::uint32_t op = 0;  ///< index into Program::ops
  int mallocs = 0;       ///< cudaMalloc, or a mapping of pages
  int frees = 0;         ///< cudaFree, or unmappings
};

struct RankSetup {
  int rank = 0;
  std::string job{};  ///< names ranks of jobs beside the first; empty: none other
  const Program* program = nullptr;
  const KernelTimes* kernel_times = nullptr;
  double compute_slowdown = 1;  ///< factor on every kernel's time, > 0
  /// Jitter, pauses and death; null: none. Must outlive the runtime.
  const RankPace* pace = nullptr;
  /// False: its allocations are those of another rank with the same program, and are passed over.
  /// That holds where no block is used by a second stream (record_stream): then the allocator's
  /// decisions do not depend on time.
  bool tracks_memory = true;
  /// For a rank that does not track memory: what its allocations cost all the same, by op (see
  /// rehearse_memory). Null: nothing.
  const std::vector<DeviceCalls>* device_calls = nullptr;
  /// At the end of its program the last step begins anew, without end. Events of that step must
  /// have been awaited within it. Only for ranks that do not track memory.
  bool repeats_last_step = false;
  std::vector<Membership> communicators;  ///< index as Program::communicators
};

struct RuntimeSpec {
  /// From the end of the launch call until the GPU can start.
  simcore::SimTime launch_latency;
  /// Launches that a stream holds before the CPU blocks.
  std::uint32_t launch_queue_depth = 1024;
  AllocatorSpec allocator;
  simcore::SimTime device_malloc;  ///< CPU time of a cudaMalloc
  simcore::SimTime device_free;    ///< of a cudaFree, once the device is idle
  /// Device memory that the allocator may take.
  simcore::Bytes memory_capacity{INT64_MAX / 4};
};

/// A kernel or collective that has ended. For collectives `start` is when this rank's kernel began
/// to wait for its peers.
struct OpRecord {
  std::uint32_t slot = 0;  ///< index into the ranks given to the runtime
  std::uint32_t op = 0;    ///< index into Program::ops
  simcore::SimTime cpu_issue;
  simcore::SimTime start;
  simcore::SimTime end;
  /// Part of the duration in which the GPU waited for the operation's later launches.
  simcore::SimTime launch_bound;
};

struct CpuWaitRecord {
  std::uint32_t slot = 0;
  std::uint32_t op = 0;
  simcore::SimTime from;
  simcore::SimTime to;
};

struct StepRecord {
  std::uint32_t slot = 0;
  std::uint32_t step = 0;
  bool begins = false;
  simcore::SimTime time;
};

struct MemoryRecord {
  std::uint32_t slot = 0;
  std::uint32_t op = 0;
  simcore::SimTime time;
  simcore::Bytes allocated;
  simcore::Bytes reserved;
};

/// One action of a rank's allocator, at the CPU's time.
struct AllocatorRecord {
  std::uint32_t slot = 0;
  std::uint32_t op = 0;  ///< the allocation or free being issued
  simcore::SimTime time;
  AllocatorAction action;
};

struct OutOfMemory {
  std::uint32_t slot = 0;
  std::uint32_t op = 0;  ///< the allocation that failed
  simcore::SimTime time;
  MemoryShortage shortage;
  AllocatorStatistics statistics;
};

class Runtime final : private simcore::EventReceiver, private CollectiveListener {
 public:
  /// All arguments must outlive the runtime.
  Runtime(const RuntimeSpec& spec, std::vector<RankSetup> ranks, CollectiveBackend& backend,
          simcore::EventQueue& queue);
  ~Runtime() override;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Issues the first operations; events then carry the run. Call once.
  void start();
  /// True when every rank has come to the end of its program and its streams are idle.
  bool finished() const;
  const std::optional<OutOfMemory>& out_of_memory() const;
  /// Whether anything is under way in the rank that ends without another rank's doing: a kernel, a
  /// launch, the CPU's work, or a collective that all its members have come to.
  bool can_go_on(std::uint32_t slot) const;
  /// Who waits for whom, one line a rank; empty when finished.
  std::vector<std::string> deadlock_report() const;
  const AllocatorStatistics& memory(std::uint32_t slot) const;
  /// Every segment of the rank's allocator with its blocks, by address.
  std::vector<SegmentSnapshot> memory_snapshot(std::uint32_t slot) const;

  simcore::Probe<OpRecord> op_finished;
  simcore::Probe<CpuWaitRecord> cpu_waited;
  simcore::Probe<StepRecord> step_boundary;
  simcore::Probe<MemoryRecord> memory_changed;
  simcore::Probe<AllocatorRecord> allocator_acted;

 private:
  void on_event(const simcore::Event& event) override;
  void collective_began(std::uint32_t instance) override;
  void member_finished(std::uint32_t instance, std::uint32_t member) override;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardsim::cuda
