#include "models/training/zero3_coordinator.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace shardsim::training {

namespace {

constexpr std::int64_t no_use = std::numeric_limits<std::int64_t>::min();

bool contains(std::span<const ParameterId> set, ParameterId id) {
  return std::find(set.begin(), set.end(), id) != set.end();
}

}  // namespace

Zero3Coordinator::Zero3Coordinator(const CoordinatorLimits& limits,
                                   const std::vector<CoordinatedParameter>& parameters,
                                   ParameterActions& actions)
    : limits_(limits), actions_(actions) {
  for (const CoordinatedParameter& parameter : parameters) {
    parameters_.push_back(
        {.elements = parameter.elements, .persistent = parameter.persistent, .passed_use = no_use});
  }
}

void Zero3Coordinator::fetch(std::span<const ParameterId> module) {
  std::vector<ParameterId> missing;
  for (const ParameterId id : module) {
    if (parameters_[id].status == Status::partitioned) missing.push_back(id);
  }
  if (!missing.empty()) all_gather(missing, false);
  for (const ParameterId id : module) {
    if (parameters_[id].status == Status::in_flight) assemble(id);
  }
  actions_.wait(module);
  if (traced_) {
    assert(static_cast<std::size_t>(step_) < trace_.size());
    drop_from_queue(module);
    prefetch();
  } else {
    trace_.emplace_back(module.begin(), module.end());
  }
  ++step_;
}

void Zero3Coordinator::all_gather(const std::vector<ParameterId>& set, bool prefetch) {
  for (const ParameterId id : set) {
    parameters_[id].status = Status::in_flight;
    live_elements_ += parameters_[id].elements;
  }
  actions_.all_gather(set, prefetch);
}

void Zero3Coordinator::assemble(ParameterId id) {
  parameters_[id].status = Status::gathered;
  actions_.assemble(id);
}

/// Uses before this one, and this one itself, no longer have to be fetched for.
void Zero3Coordinator::drop_from_queue(std::span<const ParameterId> module) {
  auto expected = std::count_if(module.begin(), module.end(), [this](ParameterId id) {
    return parameters_[id].passed_use < step_;
  });
  for (; expected > 0 && !queue_.empty(); --expected) {
    const Use use = queue_.front();
    queue_.pop_front();
    assert(contains(module, use.parameter));
    parameters_[use.parameter].passed_use = use.step;
  }
}

/// Takes uses off the queue until a bucket is full; the last parameter may overfill it.
void Zero3Coordinator::prefetch() {
  const std::int64_t budget = std::min(limits_.max_live - live_elements_, limits_.prefetch_bucket);
  std::vector<ParameterId> chosen;
  std::int64_t elements = 0;
  while (!queue_.empty() && elements < budget) {
    const Use use = queue_.front();
    queue_.pop_front();
    Parameter& parameter = parameters_[use.parameter];
    parameter.passed_use = std::max(parameter.passed_use, use.step);
    if (parameter.status != Status::partitioned || contains(chosen, use.parameter)) continue;
    chosen.push_back(use.parameter);
    elements += parameter.elements;
  }
  if (!chosen.empty()) all_gather(chosen, true);
}

/// Within the next max_reuse_distance elements of the trace, whole modules at a time.
bool Zero3Coordinator::used_again_soon(ParameterId id) const {
  std::int64_t distance = 0;
  for (auto step = static_cast<std::size_t>(step_); step < trace_.size(); ++step) {
    if (distance >= limits_.max_reuse_distance) return false;
    if (contains(trace_[step], id)) return true;
    for (const ParameterId other : trace_[step]) distance += parameters_[other].elements;
  }
  return false;
}

void Zero3Coordinator::release(std::span<const ParameterId> module) {
  std::vector<ParameterId> released;
  for (const ParameterId id : module) {
    Parameter& parameter = parameters_[id];
    if (parameter.status != Status::gathered || parameter.persistent) continue;
    if (traced_ && (parameter.passed_use > step_ || used_again_soon(id))) continue;
    parameter.status = Status::partitioned;
    live_elements_ -= parameter.elements;
    released.push_back(id);
  }
  if (!released.empty()) actions_.release(released);
}

void Zero3Coordinator::end_micro_batch() {
  for (ParameterId id = 0; id < parameters_.size(); ++id) {
    if (parameters_[id].status == Status::in_flight) assemble(id);
  }
  traced_ = true;
  queue_.clear();
  for (std::size_t step = 0; step < trace_.size(); ++step) {
    for (const ParameterId id : trace_[step]) {
      queue_.push_back({id, static_cast<std::int64_t>(step)});
    }
  }
  for (Parameter& parameter : parameters_) parameter.passed_use = no_use;
  step_ = 0;
}

void Zero3Coordinator::release_all() {
  std::vector<ParameterId> released;
  for (ParameterId id = 0; id < parameters_.size(); ++id) {
    Parameter& parameter = parameters_[id];
    if (parameter.status != Status::partitioned) released.push_back(id);
    parameter.status = parameter.persistent ? Status::gathered : Status::partitioned;
  }
  live_elements_ = 0;
  if (!released.empty()) actions_.release(released);
}

}  // namespace shardsim::training
