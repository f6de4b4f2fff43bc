#include "models/scenario/memory_advice.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

namespace shardsim::scenario {

using training::Checkpointing;
using training::Sharding;
using training::Strategy;
using training::TrainingSpec;

namespace {

using Changes = std::vector<ScenarioChange>;

constexpr std::string_view nodes_key = "cluster.nodes";
constexpr std::string_view offload_key = "training.cpu_offload";

Changes values_of(std::string_view key, std::vector<std::string> values) {
  Changes changes;
  for (std::string& value : values) changes.push_back({std::string(key), std::move(value)});
  return changes;
}

Changes checkpointing(Checkpointing now) {
  std::vector<std::string> stronger;
  if (now == Checkpointing::none) stronger.emplace_back("selective");
  if (now != Checkpointing::full) stronger.emplace_back("full");
  return values_of("workload.activation_checkpointing", std::move(stronger));
}

bool is_fsdp(const TrainingSpec& training) {
  return training.strategy == Strategy::fsdp1 || training.strategy == Strategy::fsdp2;
}

/// All states of a parameter on as few ranks as possible.
Changes sharding(const TrainingSpec& training) {
  if (training.strategy == Strategy::ddp) return values_of("training.strategy", {"fsdp2"});
  if (training.strategy == Strategy::zero1 || training.strategy == Strategy::zero2) {
    return values_of("training.strategy", {"zero3"});
  }
  if (is_fsdp(training) && training.sharding != Sharding::full_shard) {
    return values_of("training.sharding", {"full_shard"});
  }
  return {};
}

Changes resharding(const TrainingSpec& training) {
  if (training.strategy != Strategy::fsdp2 || !training.reshard_after_forward) return {};
  const bool* whole = std::get_if<bool>(&training.reshard_after_forward->value);
  if (whole != nullptr && *whole) return {};
  return values_of("training.reshard_after_forward", {"true"});
}

/// All that are smaller: the advisor finds the largest that fits with few looks.
Changes smaller(std::string_view key, std::int64_t now) {
  constexpr std::int64_t most = 4096;
  std::vector<std::string> values;
  for (std::int64_t value = std::min(now - 1, most); value >= 1; --value) {
    values.push_back(std::to_string(value));
  }
  return values_of(key, std::move(values));
}

Changes half(std::string_view key, std::int64_t now) {
  if (now < 2 || now % 2 != 0) return {};
  return values_of(key, {std::to_string(now / 2)});
}

/// More ranks hold smaller shards, if a shard group is not tied to a node.
Changes nodes(const ScenarioSpec& spec) {
  const TrainingSpec& training = spec.training;
  const bool grows = !training.hybrid() && training.sharding != Sharding::no_shard &&
                     training.strategy != Strategy::ddp && !training.shard_group;
  if (!grows) return {};
  // In steps of an eighth of what there are now up to eight times as many, then in steps of an
  // eighth of what was reached: seven looks find one.
  constexpr std::int64_t parts = 8;
  constexpr std::int64_t most = 4096;  // larger clusters take long to build
  const std::int64_t now = spec.cluster.nodes;
  std::vector<std::string> values;
  for (std::int64_t count = now; values.size() < 100;) {
    const std::int64_t step = count < parts * now ? now / parts : count / parts;
    count += std::max<std::int64_t>(1, step);
    if (count > parts * parts * now || count > std::max(parts * now, most)) break;
    values.push_back(std::to_string(count));
  }
  return values_of(nodes_key, std::move(values));
}

/// More GPUs of each node hold smaller shards; those that a node lacks make no scenario.
Changes more_of_a_node(const ScenarioSpec& spec) {
  const TrainingSpec& training = spec.training;
  const bool grows = training.sharding != Sharding::no_shard &&
                     training.strategy != Strategy::ddp && !training.shard_group;
  if (!grows || !spec.cluster.gpus_per_node) return {};
  constexpr std::int64_t most = 16;
  std::vector<std::string> values;
  for (std::int64_t count = 2 * *spec.cluster.gpus_per_node; count <= most; count *= 2) {
    values.push_back(std::to_string(count));
  }
  return values_of("cluster.gpus_per_node", std::move(values));
}

/// Parameters, gradients and the optimizer's state in half the bytes.
Changes narrower(const TrainingSpec& training) {
  if (training.master_dtype != training::ElementType::fp32) return {};
  return values_of("training.master_dtype", {"bf16"});
}

/// Helps only where the free parts of segments would hold the request if they were one.
Changes expandable(const ScenarioSpec& spec, const OutOfMemoryResult& shortage) {
  const bool fragmented = shortage.shortage.cached >= shortage.shortage.requested;
  if (spec.allocator.expandable_segments || !fragmented) return {};
  return values_of("allocator.expandable_segments", {"true"});
}

/// Leaves the GPU little more than activations, at the price of an optimizer on the CPU.
Changes offload(const TrainingSpec& training) {
  if (!is_fsdp(training) || training.cpu_offload) return {};
  return values_of(offload_key, {"true"});
}

std::vector<Changes> changes_for_host(const ScenarioSpec& spec) {
  return {sharding(spec.training), nodes(spec), narrower(spec.training),
          values_of(offload_key, {"false"})};
}

std::vector<Changes> changes_for_device(const ScenarioSpec& spec,
                                        const OutOfMemoryResult& shortage) {
  return {expandable(spec, shortage),
          resharding(spec.training),
          sharding(spec.training),
          checkpointing(spec.workload.activation_checkpointing),
          smaller("workload.micro_batch_size", spec.workload.micro_batch_size),
          nodes(spec),
          more_of_a_node(spec),
          narrower(spec.training),
          half("workload.sequence_length", spec.workload.sequence_length.value_or(0)),
          offload(spec.training)};
}

}  // namespace

std::vector<Changes> changes_to_try(const ScenarioSpec& spec, const OutOfMemoryResult& shortage) {
  if (!spec.workload.model) return {};
  std::vector<Changes> all =
      shortage.on_host ? changes_for_host(spec) : changes_for_device(spec, shortage);
  std::erase_if(all, [](const Changes& changes) { return changes.empty(); });
  return all;
}

MemoryAdvisor::MemoryAdvisor(const Experiment& failed, ExperimentOptions options,
                             const OutOfMemoryResult& shortage)
    : failed_(failed), options_(std::move(options)) {
  options_.exact_ranks = false;
  for (Changes& changes : changes_to_try(failed.scenario.spec, shortage)) {
    const std::size_t count = changes.size();
    chains_.push_back({std::move(changes), 0, count, {}});
  }
}

MemoryAdvisor::~MemoryAdvisor() = default;

bool MemoryAdvisor::build(const ScenarioChange& change, bool first_step) {
  // A change that other keys forbid is none; what is wrong with it is nobody's concern.
  simcore::Diagnostics ignored;
  auto scenario = with_override(failed_.scenario, change.key + "=" + change.value, ignored);
  if (!scenario) return false;
  if (first_step) scenario->spec.steps = {.warmup = 0, .measure = 1};
  experiment_ = build_experiment(std::move(*scenario), options_, ignored);
  return experiment_.has_value() && !ignored.has_errors();
}

/// Short lists are walked from their mild end; of long ones the middle of what is left is next.
std::size_t MemoryAdvisor::Chain::next() const {
  constexpr std::size_t walked = 3;
  return changes.size() <= walked ? first : first + (last - first) / 2;
}

bool MemoryAdvisor::begin_try() {
  if (tried_ >= most_tries || events_ >= most_events) return false;
  for (std::size_t passed = 0; passed < chains_.size();) {
    turn_ %= chains_.size();
    Chain& chain = chains_[turn_];
    if (chain.first == chain.last) {
      ++turn_;
      ++passed;
      continue;
    }
    at_ = chain.next();
    const StepsSpec& steps = failed_.scenario.spec.steps;
    screening_ = steps.warmup + steps.measure > 1;
    if (!build(chain.changes[at_], screening_)) {
      // What has no place for so many nodes has none for more; other keys' values may just not
      // suit.
      if (chain.changes[at_].key == nodes_key) {
        chain.last = at_;
      } else {
        chain.first = at_ + 1;
      }
      continue;
    }
    simulation_ = std::make_unique<Simulation>(*experiment_);
    return true;
  }
  return false;
}

void MemoryAdvisor::end_try() {
  const auto output = simulation_->finish();
  Chain& chain = chains_[turn_];
  if (output && screening_) {
    screening_ = false;
    simulation_.reset();
    experiment_.reset();
    if (build(chain.changes[at_], false)) {
      simulation_ = std::make_unique<Simulation>(*experiment_);
    } else {
      chain.first = at_ + 1;
    }
    return;
  }
  ++tried_;
  events_ += simulation_->events();
  if (output) {
    add_suggestion(chain, output->result);
    chain.last = at_;
  } else {
    chain.first = at_ + 1;
  }
  ++turn_;
  simulation_.reset();
  experiment_.reset();
}

/// A milder change of the same key takes the place of what fitted before.
void MemoryAdvisor::add_suggestion(Chain& chain, const Result& result) {
  const ScenarioChange& change = chain.changes[at_];
  MemorySuggestion made{
      change.key,
      change.value,
      result.memory.peak_reserved + result.memory.outside,
      result.memory.host ? std::optional(result.memory.host->used()) : std::nullopt,
      result.step.time,
      result.throughput.tokens_per_s_per_gpu};
  if (chain.suggestion) {
    suggestions_[*chain.suggestion] = std::move(made);
    return;
  }
  chain.suggestion = suggestions_.size();
  suggestions_.push_back(std::move(made));
}

bool MemoryAdvisor::advance(std::uint64_t events) {
  if (!simulation_) return begin_try();
  const std::uint64_t used = events_ + simulation_->events();
  if (used >= most_events) {  // stopped short, so it says nothing
    simulation_.reset();
    events_ = most_events;
    return false;
  }
  if (!simulation_->advance(std::min(events, most_events - used))) end_try();
  return true;
}

std::vector<MemorySuggestion> MemoryAdvisor::suggestions() const {
  std::vector<MemorySuggestion> ordered = suggestions_;
  std::ranges::stable_partition(ordered,
                                [](const MemorySuggestion& one) { return one.key != offload_key; });
  return ordered;
}

double MemoryAdvisor::progress() const { return static_cast<double>(tried_) / most_tries; }

}  // namespace shardsim::scenario
