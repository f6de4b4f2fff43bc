#include "models/training/keys_without_effect.hpp"

#include <initializer_list>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace shardsim::training {

using simcore::ConfigNode;
using simcore::Diagnostics;

namespace {

/// One section of the scenario.
class Section {
 public:
  Section(const ConfigNode& scenario, std::string_view name, Diagnostics& diagnostics)
      : node_(scenario.find(name)), name_(name), diagnostics_(diagnostics) {}

  /// `why` completes "... has no effect".
  void without_effect(std::initializer_list<std::string_view> keys, std::string_view why) {
    if (node_ == nullptr) return;
    for (const std::string_view key : keys) {
      if (!node_->has(key)) continue;
      diagnostics_.warning(node_->where_key(key),
                           fmt::format("{}.{} has no effect {}", name_, key, why));
    }
  }

 private:
  const ConfigNode* node_;
  std::string_view name_;
  Diagnostics& diagnostics_;
};

void check_workload(const WorkloadSpec& workload, Section section) {
  if (workload.explicit_times) return;  // its own check refuses the keys of models
  if (workload.activation_checkpointing == Checkpointing::none) {
    section.without_effect({"checkpoint_every", "recompute_early_stop"},
                           "without activation_checkpointing");
  }
  if (workload.activation_checkpointing != Checkpointing::selective) {
    section.without_effect({"selective_keeps_attention"},
                           "unless activation_checkpointing is selective");
  }
}

void check_training(const WorkloadSpec& workload, const TrainingSpec& training, Section section) {
  const bool fsdp = training.strategy == Strategy::fsdp1 || training.strategy == Strategy::fsdp2;
  if (workload.gradient_accumulation == 1 && !training.is_zero()) {
    section.without_effect({"gradient_sync"}, "without workload.gradient_accumulation");
  }
  if (fsdp && !training.hybrid()) {
    section.without_effect({"shard_group"},
                           "unless sharding is hybrid_shard or hybrid_shard_zero2");
  }
  if (training.strategy == Strategy::fsdp2 && !training.reshard_after_forward) {
    section.without_effect({"root_rule"}, "without reshard_after_forward");
  }
  if (!workload.explicit_times || training.is_zero()) return;
  constexpr std::string_view prescribed = "beside explicit times";
  section.without_effect({"master_dtype", "optimizer", "optimizer_implementation"}, prescribed);
  if (fsdp) {
    section.without_effect({"reduce_dtype"}, prescribed);
    if (workload.explicit_times->host_copy == simcore::SimTime{}) {
      section.without_effect({"cpu_offload"}, "beside explicit times without host_copy");
    }
  } else {
    section.without_effect({"bucket_cap", "gradient_as_bucket_view", "static_graph",
                            "find_unused_parameters", "gradient_clipping"},
                           prescribed);
  }
}

void check_cpu(const WorkloadSpec& workload, const TrainingSpec& training, Section section) {
  if (workload.explicit_times) {
    section.without_effect(
        {"launch_latency", "host_link", "host_optimizer", "forward_op", "backward_op", "hook",
         "module_hook", "collective", "optimizer_step", "optimizer_tensor", "dtensor_foreach",
         "dtensor_fused", "device_malloc", "device_free"},
        "beside explicit times");
    return;
  }
  const std::string strategy = simcore::print_value(training.strategy);
  const std::string of_strategy = fmt::format("with strategy {}", strategy);
  if (!training.cpu_offload) {
    section.without_effect({"host_link", "host_optimizer"}, "without training.cpu_offload");
  }
  if (training.strategy != Strategy::fsdp1 && training.strategy != Strategy::fsdp2) {
    section.without_effect({"hook"}, of_strategy);
  }
  if (training.strategy != Strategy::zero3) section.without_effect({"module_hook"}, of_strategy);
  if (training.strategy != Strategy::fsdp2) {
    section.without_effect({"dtensor_foreach", "dtensor_fused"}, of_strategy);
  } else if (training.optimizer_implementation == OptimizerImplementation::foreach) {
    section.without_effect({"dtensor_fused"}, "unless optimizer_implementation is fused");
  } else {
    section.without_effect({"dtensor_foreach"}, "unless optimizer_implementation is foreach");
  }
}

}  // namespace

void warn_of_keys_without_effect(const WorkloadSpec& workload, const TrainingSpec& training,
                                 const ConfigNode& node, Diagnostics& diagnostics) {
  check_workload(workload, Section(node, "workload", diagnostics));
  check_training(workload, training, Section(node, "training", diagnostics));
  check_cpu(workload, training, Section(node, "cpu", diagnostics));
}

}  // namespace shardsim::training
