// One rank of the simulated CUDA runtime: a CPU cursor, its streams, communicators and allocator.
//
// Internal to models/cuda. The CPU part runs ahead of the simulated clock: it issues operations
// with future issue times until it meets something that depends on the GPU, so that no event is
// spent on a launch. Streams advance only at the clock's present.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/cuda/runtime.hpp"

namespace shardsim::cuda {

/// What all ranks of a runtime share.
struct RankContext {
  const RuntimeSpec& spec;
  simcore::EventQueue& queue;
  simcore::EventReceiver& receiver;
  CollectiveBackend& backend;
  const Runtime& probes;
  std::optional<OutOfMemory>& out_of_memory;
};

enum class RankEvent : std::uint32_t { kernel_end, stream_wake, cpu_wake };

class Rank {
 public:
  Rank(RankContext& context, const RankSetup& setup, std::uint32_t slot);

  /// Lets the CPU and the streams go as far as they can at the present time.
  void run();
  void on_event(RankEvent kind, std::uint32_t index);
  /// All members of the collective running on the communicator have arrived.
  void collective_moves(CommunicatorId id);
  /// The collective running on the communicator ends now.
  void collective_ended(CommunicatorId id);

  bool finished() const { return cpu_state_ == CpuState::finished && idle(); }
  /// See Runtime::can_go_on.
  bool can_go_on() const;
  std::string describe_wait() const;
  /// Name of the collective that its kernel is in on the communicator; empty: in none.
  std::string collective_on(CommunicatorId communicator) const;
  const std::string& role(CommunicatorId communicator) const {
    return program_.communicators[communicator];
  }
  const AllocatorStatistics& memory() const { return allocator_.statistics(); }
  std::vector<SegmentSnapshot> memory_snapshot() const { return allocator_.snapshot(); }
  /// From now on says what its allocator does.
  void record_allocator() { allocator_.record_actions(&actions_); }
  int rank() const { return setup_.rank; }

 private:
  /// An operation in a stream's queue.
  struct Issued {
    std::uint32_t op = 0;      ///< index into Program::ops, or an internal event (see below)
    std::uint32_t ticket = 0;  ///< order on the communicator
    simcore::SimTime first;    ///< its first launch call has returned
    simcore::SimTime last;     ///< its last launch call has returned
  };
  struct Stream {
    std::vector<Issued> ring;  ///< power-of-two ring buffer
    std::uint32_t head = 0;
    std::uint32_t count = 0;
    bool running = false;
    bool running_collective = false;
    bool wake_pending = false;
    bool endless = false;  ///< the running kernel never ends: the rank has died
    EventId blocked_event = UINT32_MAX;
    std::uint32_t blocked_communicator = UINT32_MAX;
    Issued current;
    simcore::SimTime started;
    // Progress of the running kernel: the share left at `updated`.
    double left = 0;
    double factor = 1;  ///< drawn for the kernel
    simcore::SimTime updated;
    simcore::SimTime floor;         ///< not before: its last launch has been issued and has run
    simcore::SimTime launch_bound;  ///< by how much `floor` delays the end
    simcore::EventHandle end_event;
  };
  struct Communicator {
    std::uint32_t issued = 0;
    std::uint32_t completed = 0;
    std::uint32_t stream = 0;
    bool moving = false;  ///< all members of the collective under way have arrived
  };
  enum class CpuState : std::uint8_t {
    running,
    waiting_event,
    waiting_idle,
    waiting_queue,
    waiting_time,     ///< needs to know the GPU's state at a CPU time still to come
    waiting_free,     ///< cudaFree waits for the device
    waiting_pending,  ///< the allocator needs every block in use on another stream back
    finished,
    failed,
    dead,
  };
  /// Ops with this bit are events recorded for the allocator, not part of the program.
  static constexpr std::uint32_t internal_bit = 0x80000000U;

  // CPU thread
  void advance_cpu();
  bool cpu_can_proceed() const;
  bool begin_step_anew();
  void resume_cpu();
  bool issue(const Op& op);
  bool issue_launch(const Op& op);
  void block(CpuState state);
  bool allocate(const Op& op);
  bool pass_over_allocation();
  bool charge(const DeviceCalls& calls);
  void release(const Op& op);
  void fail_out_of_memory(simcore::Bytes requested, StreamId stream);
  void collect_pending();
  void publish_memory();
  void publish_actions();

  // Streams
  void push(std::uint32_t index, const Issued& issued);
  void pop(Stream& stream);
  void progress(std::uint32_t index);
  bool try_start(std::uint32_t index, const Issued& front);
  bool start_kernel(std::uint32_t index, const Issued& front);
  void start_collective(std::uint32_t index, const Issued& front);
  void complete_event(EventId event);
  void complete_internal(std::uint32_t event);
  void finish_current(Stream& stream);
  void schedule_end(std::uint32_t index);
  /// From now on the GPU's load number is another; kernels that run go on at another pace.
  void change_load(std::uint32_t load);
  const LoadStep& load_step(std::uint32_t op) const;
  simcore::SimTime kernel_time(std::uint32_t op, double factor) const;
  void spend(simcore::SimTime cpu_time);
  bool idle() const;

  RankContext& context_;
  const RankSetup setup_;
  const Program& program_;
  const std::uint32_t slot_;

  CpuState cpu_state_ = CpuState::running;
  simcore::SimTime cpu_time_;
  simcore::SimTime wait_from_;
  std::uint32_t cursor_ = 0;
  std::uint32_t waiting_stream_ = 0;
  simcore::SimTime free_cost_;          ///< to pay when the device is idle
  std::uint32_t next_device_call_ = 0;  ///< in RankSetup::device_calls

  std::vector<Stream> streams_;
  std::uint64_t dirty_ = 0;  ///< streams to look at again, one bit each
  std::uint32_t busy_streams_ = 0;
  std::vector<Communicator> communicators_;
  std::vector<simcore::SimTime> event_times_;
  std::uint32_t load_ = 0;  ///< sum of the steps of collectives in flight, as in KernelTimes

  CachingAllocator allocator_;
  std::vector<AllocatorAction> actions_;  ///< not published yet
  std::vector<BlockId> blocks_;           ///< by tensor
  std::vector<simcore::SimTime> internal_times_;
  std::vector<std::uint32_t> free_internal_;
  std::uint32_t internal_open_ = 0;
};

}  // namespace shardsim::cuda
