// What a simulation holds while it runs. Internal to simulation*.cpp: simulation.cpp sets it up and
// says why it failed, simulation_result.cpp makes the result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/cuda/lockstep_run.hpp"
#include "models/cuda/replay_backend.hpp"
#include "models/nccl/ring_backend.hpp"
#include "models/network/flow_network.hpp"
#include "models/network/link_schedule.hpp"
#include "models/scenario/checks/run_checks.hpp"
#include "models/scenario/kernel_times.hpp"
#include "models/scenario/memory_log.hpp"
#include "models/scenario/simulation.hpp"
#include "models/scenario/step_analysis.hpp"

namespace shardsim::scenario {

/// A run stops here: sums of times stay exact below it.
inline constexpr simcore::SimTime latest_moment = simcore::SimTime::microseconds(4'000'000'000'000);

/// More steps than any job does in the time of another's: simulating them all takes too long.
inline constexpr std::uint32_t endless_steps = 10'000;

/// How a collective of one kind on one communicator was carried out, for the result.
struct CollectiveChoice {
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  std::int64_t bytes = -1;
};

struct Simulation::State {
  State(const Experiment& given, const SimulationOptions& wishes);

  std::uint32_t first_measured() const {
    return static_cast<std::uint32_t>(experiment.scenario.spec.steps.warmup);
  }

  std::uint32_t steps() const { return experiment.program->step_count; }

  // Setting up.
  /// What a program's collectives take from kernels, by communicator and kind. `first_instance`:
  /// of the job's communicators in the backend.
  CollectiveLoads collective_loads(const cuda::Program& program, const RankLayout& layout,
                                   std::uint32_t first_instance);
  void set_up_ranks();
  void start_runtime(cuda::CollectiveBackend& collectives, simcore::EventQueue& events);
  /// All ranks at once, where that is possible; then some of them again for the details.
  bool start_lockstep();
  bool advance_lockstep();
  void replay_some();
  std::vector<std::uint32_t> slots_to_replay() const;
  /// Slots of rank 0, of the ranks that were asked for and of some that perturbations name.
  std::set<std::uint32_t> named_slots() const;
  /// Handles an event; false if there is none.
  bool step() { return replay ? replay_queue.step() : queue.step(); }
  simcore::SimTime now() const { return std::max(queue.now(), replay_queue.now()); }
  std::uint64_t events() const;
  void add_job(const cuda::Program& program, const RankLayout& layout, int job);
  void note_step(const cuda::StepRecord& record);
  void note_other_step(const cuda::StepRecord& record);
  bool own_job_finished() const { return own_left == 0; }
  std::optional<RunFailure> shortage_of_others() const;
  /// A run on such a node ends in its first step: what it does later is nobody's concern.
  bool host_short() const { return host && !host->fits(); }
  bool own_job_stands_still() const;
  std::optional<std::uint32_t> failed_of(int job) const;
  void listen();
  void listen_to_collectives();
  void listen_to_allocator();

  // Why there is no result.
  std::optional<RunFailure> failure() const;
  RunFailure too_long() const;
  bool own_job_may_use(const std::string& link) const;
  RunFailure invariant_failure() const;
  RunFailure stopped(const std::string& why) const;
  void keep_recent();
  bool violated() const { return checks && checks->violation(); }
  RunFailure out_of_memory(const cuda::OutOfMemory& what) const;
  RunFailure out_of_host_memory() const;

  // The result.
  RunOutput make_output();
  void add_transfer_starts(StepLog& log) const;
  void fill_collectives(Result& result, const StepLog& log, const StepAnalysis& analysis) const;
  void fill_links(Result& result) const;
  void fill_jobs(Result& result) const;
  void fill_memory(Result& result, std::uint32_t slot, const StepLog* log) const;
  void warn_of_retries(Result& result, std::uint32_t slot) const;
  void warn_of_unequal_steps(Result& result, simcore::SimTime shown) const;
  void warn_of_unseen_perturbations(Result& result) const;
  Result describe_run() const;
  void fill_throughput(Result& result) const;
  simcore::SimTime mean_step(std::uint32_t slot) const;
  std::uint32_t slowest_slot() const;
  /// The slowest of those whose log is kept.
  const StepLog& slowest_log(const std::vector<StepLog>& logs) const;
  std::vector<simcore::SimTime> lone_kernel_times(std::uint32_t slot) const;

  const Experiment& experiment;
  const SimulationOptions options;
  simcore::EventQueue queue;
  network::FlowNetwork flows;
  nccl::RingBackend backend;
  std::unique_ptr<RunChecks> checks;  ///< if wanted
  std::unique_ptr<network::LinkSchedule> link_schedule;
  std::vector<std::unique_ptr<cuda::KernelTimes>> times;  ///< by job, the scenario's own first
  std::vector<cuda::DeviceCalls> device_calls;            ///< of ranks that do not track memory
  std::vector<cuda::RankSetup> ranks;  ///< those of the own job first, then the others'
  std::size_t own_slots = 0;
  std::size_t own_left = 0;          ///< own ranks that have steps to do
  std::vector<int> job_of_slot;      ///< 0: own; i: Experiment::others[i - 1]
  std::vector<int> job_of_instance;  ///< of communicators, the same
  struct OtherSteps {
    std::uint32_t slot = 0;  ///< whose steps are counted: the job's first
    simcore::SimTime begin;
    std::vector<simcore::SimTime> times;  ///< without those of the warm-up
    std::uint32_t seen = 0;
    std::uint32_t since_own = 0;  ///< since the own job last came to a step's end
  };
  std::vector<OtherSteps> other_steps;  ///< by job beside the own
  /// The last job to be heard of goes on without end if the own job can not.
  bool given_up = false;
  std::optional<HostMemoryResult> host;  ///< of the own job
  std::optional<RunFailure> others_short;
  std::optional<std::size_t> outrun;       ///< the job that did too many steps in the time of one
  std::unique_ptr<cuda::Runtime> runtime;  ///< null while the lockstep runs

  std::vector<cuda::RankSetup> lockstep_ranks;
  std::unique_ptr<cuda::LockstepRun> lockstep;
  std::size_t first_measured_collective = 0;
  simcore::EventQueue replay_queue;
  std::unique_ptr<cuda::ReplayBackend> replay;
  std::vector<std::uint32_t> replayed;  ///< the layout's slot of each of `ranks`; empty: the same

  std::unique_ptr<StepLogger> logger;
  std::unique_ptr<MemoryLogger> memory_logger;
  std::vector<cuda::AllocatorRecord> allocator_records;  ///< of slot 0, if wanted

  std::deque<cuda::OpRecord> recent;  ///< of slot 0, the latest last

  bool memory_depends_on_time = false;  ///< otherwise slot 0 tracks it for all
  std::uint32_t finished_steps = 0;
  simcore::SimTime statistics_begin;
  std::vector<std::int64_t> retries_in_warmup;            ///< by slot
  std::vector<simcore::SimTime> step_begin;               ///< by slot
  std::vector<std::vector<simcore::SimTime>> step_times;  ///< measured, by slot
  std::vector<simcore::Bytes> persistent;                 ///< allocated before the step, by slot
  std::vector<std::vector<simcore::SimTime>> transfers;   ///< by instance, in order
  std::map<std::pair<std::uint32_t, cuda::CollectiveKind>, CollectiveChoice> choices;
};

}  // namespace shardsim::scenario
