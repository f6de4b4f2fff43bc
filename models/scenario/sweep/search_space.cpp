#include "models/scenario/sweep/search_space.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "simcore/config/flow_text.hpp"

namespace shardsim::scenario {

using training::Strategy;

namespace {

constexpr const char* training_key = "training";

/// The scenario's training section with other values for some keys, as YAML on one line.
class TrainingVariant {
 public:
  explicit TrainingVariant(const simcore::ConfigNode* section) {
    if (section != nullptr && section->is_map()) node_ = *section;
    if (!node_.is_map()) node_ = simcore::ConfigNode::make_map({});
  }

  TrainingVariant& set(const std::string& key, const std::string& value) {
    remove(key);
    node_.entries().push_back({key, {}, simcore::ConfigNode::make_scalar({}, value, false)});
    return *this;
  }
  TrainingVariant& remove(const std::string& key) {
    std::erase_if(node_.entries(), [&](const auto& entry) { return entry.key == key; });
    return *this;
  }
  std::string text() const { return simcore::to_flow_text(node_); }

 private:
  simcore::ConfigNode node_;
};

class Space {
 public:
  Space(const LoadedScenario& scenario, const ClusterShape& cluster)
      : scenario_(scenario), cluster_(cluster) {}

  std::vector<SweepAxis> axes() {
    add_sharded();
    add_others();
    return {
        SweepAxis{{AxisKey{training_key, std::move(variants_)}}},
        SweepAxis{{AxisKey{"workload.activation_checkpointing", {"none", "selective", "full"}}}},
        batches()};
  }

 private:
  TrainingVariant variant() const {
    TrainingVariant made(scenario_.root.find(training_key));
    return made.remove("shard_group").remove("reshard_after_forward").remove("sharding");
  }

  /// Kept if the scenario's other keys allow it.
  void add(const TrainingVariant& variant) {
    const std::string text = variant.text();
    simcore::Diagnostics ignored;
    if (std::ranges::find(variants_, text) != variants_.end()) return;
    if (with_overrides(scenario_, {fmt::format("{}={}", training_key, text)}, ignored)) {
      variants_.push_back(text);
    }
  }

  void add_sharded() {
    const bool first = scenario_.spec.training.strategy == Strategy::fsdp1;
    const std::string strategy = first ? "fsdp1" : "fsdp2";
    for (const char* sharding : {"full_shard", "shard_grad_op"}) {
      add(variant().set("strategy", strategy).set("sharding", sharding));
    }
    if (cluster_.nodes == 1) return;
    for (const char* sharding : {"hybrid_shard", "hybrid_shard_zero2"}) {
      add(variant().set("strategy", strategy).set("sharding", sharding));
      for (std::int64_t nodes = 2; nodes * 2 <= cluster_.nodes; nodes *= 2) {
        if (cluster_.nodes % nodes != 0) break;
        add(variant()
                .set("strategy", strategy)
                .set("sharding", sharding)
                .set("shard_group", std::to_string(nodes * cluster_.gpus_per_node)));
      }
    }
  }

  void add_others() {
    for (const char* strategy : {"ddp", "zero1", "zero2", "zero3"}) {
      TrainingVariant made(nullptr);
      made.set("strategy", strategy)
          .set("optimizer", simcore::print_value(scenario_.spec.training.optimizer));
      add(made);
    }
  }

  SweepAxis batches() const {
    const training::WorkloadSpec& work = scenario_.spec.workload;
    constexpr std::int64_t largest = 64;
    AxisKey micro{"workload.micro_batch_size", {}};
    AxisKey accumulation{"workload.gradient_accumulation", {}};
    const std::int64_t sequences = work.micro_batch_size * work.gradient_accumulation;
    const bool held = work.gradient_accumulation > 1;
    for (std::int64_t size = 1; size <= largest; ++size) {
      const bool power_of_two = (size & (size - 1)) == 0;
      const bool wanted =
          held ? sequences % size == 0 : power_of_two || size == work.micro_batch_size;
      if (!wanted) continue;
      micro.values.push_back(std::to_string(size));
      accumulation.values.push_back(std::to_string(held ? sequences / size : 1));
    }
    return held ? SweepAxis{{micro, accumulation}} : SweepAxis{{micro}};
  }

  const LoadedScenario& scenario_;
  ClusterShape cluster_;
  std::vector<std::string> variants_;
};

std::int64_t largest_divisor_up_to(std::int64_t number, std::int64_t most) {
  for (std::int64_t divisor = std::min(number, most); divisor > 1; --divisor) {
    if (number % divisor == 0) return divisor;
  }
  return 1;
}

}  // namespace

std::vector<SweepAxis> search_space(const LoadedScenario& scenario, const ClusterShape& cluster) {
  if (!scenario.spec.workload.model) return {};
  return Space(scenario, cluster).axes();
}

SweepAxis growing_clusters(const ScenarioSpec& spec, const ClusterShape& cluster, Hold hold,
                           std::int64_t most) {
  AxisKey nodes{"cluster.nodes", {}};
  AxisKey micro{"workload.micro_batch_size", {}};
  AxisKey accumulation{"workload.gradient_accumulation", {}};
  const training::WorkloadSpec& work = spec.workload;
  const std::int64_t batch = cluster.gpus() * work.micro_batch_size * work.gradient_accumulation;
  for (std::int64_t count = 1; count <= most; ++count) {
    if (hold == Hold::global_batch) {
      const std::int64_t gpus = count * cluster.gpus_per_node;
      if (batch % gpus != 0) continue;
      const std::int64_t sequences = batch / gpus;
      const std::int64_t size = largest_divisor_up_to(sequences, work.micro_batch_size);
      micro.values.push_back(std::to_string(size));
      accumulation.values.push_back(std::to_string(sequences / size));
    }
    nodes.values.push_back(std::to_string(count));
  }
  if (hold == Hold::micro_batch) return SweepAxis{{nodes}};
  return SweepAxis{{nodes, micro, accumulation}};
}

}  // namespace shardsim::scenario
