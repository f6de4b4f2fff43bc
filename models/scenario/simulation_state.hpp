// What a simulation holds while it runs. Internal to simulation*.cpp: simulation.cpp sets it up and
// says why it failed, simulation_result.cpp makes the result.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/nccl/nccl_model.hpp"
#include "models/nccl/ring_backend.hpp"
#include "models/network/flow_network.hpp"
#include "models/scenario/kernel_times.hpp"
#include "models/scenario/memory_log.hpp"
#include "models/scenario/simulation.hpp"
#include "models/scenario/step_analysis.hpp"

namespace shardsim::scenario {

/// How a collective of one kind on one communicator was carried out, for the result.
struct CollectiveChoice {
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  std::int64_t bytes = -1;
};

struct Simulation::State {
  State(const Experiment& given, bool trace_allocator);

  std::uint32_t first_measured() const {
    return static_cast<std::uint32_t>(experiment.scenario.spec.steps.warmup);
  }

  std::uint32_t steps() const { return experiment.program->step_count; }

  // Setting up.
  /// What the program's collectives take from kernels, by communicator and kind.
  CollectiveLoads collective_loads();
  CollectiveLoad collective_load(const cuda::CollectiveSpec& spec);
  void set_up_ranks();
  void listen();
  void listen_to_allocator();
  void degrade_links();

  // Why there is no result.
  std::optional<RunFailure> failure() const;
  RunFailure out_of_memory(const cuda::OutOfMemory& what) const;

  // The result.
  RunOutput make_output();
  void add_transfer_starts(StepLog& log) const;
  void fill_collectives(Result& result, const StepLog& log, const StepAnalysis& analysis) const;
  void fill_links(Result& result) const;
  void fill_memory(Result& result, std::uint32_t slot, const StepLog* log) const;
  void warn_of_retries(Result& result, std::uint32_t slot) const;
  Result describe_run() const;
  void fill_throughput(Result& result) const;
  simcore::SimTime mean_step(std::uint32_t slot) const;
  std::uint32_t slowest_slot() const;
  std::vector<simcore::SimTime> lone_kernel_times(std::uint32_t slot) const;

  const Experiment& experiment;
  simcore::EventQueue queue;
  network::FlowNetwork flows;
  nccl::Planner planner;
  nccl::NcclModel model;
  nccl::RingBackend backend;
  cuda::KernelTimes times;
  std::vector<cuda::DeviceCalls> device_calls;  ///< of ranks that do not track memory
  std::vector<cuda::RankSetup> ranks;
  std::unique_ptr<cuda::Runtime> runtime;
  std::unique_ptr<StepLogger> logger;
  std::unique_ptr<MemoryLogger> memory_logger;
  std::vector<cuda::AllocatorRecord> allocator_records;  ///< of slot 0, if wanted

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
