#include "models/scenario/checks/run_checks.hpp"

#include "simcore/quantity.hpp"

namespace shardsim::scenario {

using simcore::SimTime;

RunChecks::RunChecks(const Experiment& experiment, network::FlowNetwork& flows,
                     nccl::RingBackend& backend, simcore::EventQueue& queue)
    : experiment_(experiment),
      flow_network_(flows),
      flows_(experiment.graph, log_),
      collectives_(experiment.graph, experiment.scenario.spec.fidelity == Fidelity::flow, log_) {
  for (const nccl::CommunicatorSpec& one : experiment.layout.communicators) {
    collectives_.add_communicator(one);
  }
  for (const JobPlan& other : experiment.others) {
    for (const nccl::CommunicatorSpec& one : other.layout.communicators) {
      collectives_.add_communicator(one);
    }
  }
  flows_.listen(flows, queue);
  collectives_.listen(backend, flows);
  watch(queue);
}

void RunChecks::watch(simcore::EventQueue& queue) {
  queue.event_due.listen([this](const SimTime& now, const SimTime& time) {
    if (log_.holds(Invariant::event_order, time >= now)) return;
    log_.violated({Invariant::event_order, now, "the run", "an event at " + simcore::to_text(time),
                   "none before the present, " + simcore::to_text(now)});
  });
}

void RunChecks::watch(cuda::Runtime& runtime, const std::vector<cuda::RankSetup>& ranks) {
  runtime_ = std::make_unique<RuntimeCheck>(ranks, experiment_.runtime.launch_latency,
                                            &collectives_, log_);
  runtime_->listen(runtime);
  allocators_.clear();
  allocator_of_slot_.assign(ranks.size(), nullptr);
  for (std::uint32_t slot = 0; slot < ranks.size() && slot < RuntimeCheck::most_ranks; ++slot) {
    if (!ranks[slot].tracks_memory) continue;
    allocators_.push_back({slot, std::make_unique<AllocatorCheck>(ranks[slot].rank, log_)});
    allocator_of_slot_[slot] = allocators_.back().check.get();
  }
  runtime.allocator_acted.listen([this](const cuda::AllocatorRecord& record) {
    AllocatorCheck* check = allocator_of_slot_[record.slot];
    if (check != nullptr) check->acted(record.time, record.action);
  });
  runtime.memory_changed.listen([this](const cuda::MemoryRecord& record) {
    AllocatorCheck* check = allocator_of_slot_[record.slot];
    if (check != nullptr) check->counted(record.time, record.allocated, record.reserved);
  });
}

void RunChecks::finish(SimTime now, const cuda::Runtime& runtime, std::size_t own) {
  flows_.compare(now, flow_network_);
  // Jobs beside the own go on for as long as it does.
  if (experiment_.others.empty()) flows_.all_ended(now);
  if (runtime_) runtime_->all_ended(now, own);
  for (const Allocator& one : allocators_) {
    one.check->compare(now, runtime.memory_snapshot(one.slot));
  }
}

}  // namespace shardsim::scenario
