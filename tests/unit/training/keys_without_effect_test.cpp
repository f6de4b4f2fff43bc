#include "models/training/keys_without_effect.hpp"

#include <memory>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace shardsim::training {
namespace {

/// The warnings of a scenario's three sections, given as one YAML map.
std::string warnings(std::string_view text) {
  simcore::Diagnostics diagnostics;
  const auto source =
      std::make_shared<const simcore::SourceText>(simcore::SourceText{"test", std::string(text)});
  const auto node = simcore::read_yaml(source, diagnostics);
  REQUIRE(node);
  const auto workload = simcore::read_config<WorkloadSpec>(*node->find("workload"), diagnostics);
  const auto training = simcore::read_config<TrainingSpec>(*node->find("training"), diagnostics);
  REQUIRE(!diagnostics.has_errors());
  simcore::Diagnostics found;
  warn_of_keys_without_effect(workload, training, *node, found);
  CHECK(!found.has_errors());
  return simcore::to_text(found);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

const std::string model = "workload: {model: gpt2, sequence_length: 1024";
const std::string prescribed =
    "workload: {explicit: {blocks: 1, block_forward: 1 ms, block_backward: 1 ms";

TEST_CASE("a key of checkpointing says nothing without checkpointing, and is warned of") {
  const std::string fsdp2 = "}\ntraining: {strategy: fsdp2}\n";
  CHECK(warnings(model + fsdp2).empty());
  for (const std::string key :
       {"checkpoint_every: 2", "recompute_early_stop: false", "selective_keeps_attention: false"}) {
    CAPTURE(key);
    const std::string none = warnings(model + ", " + key + fsdp2);
    CHECK(has(none, "workload." + key.substr(0, key.find(':')) + " has no effect"));
    CHECK(has(none, "test:1:"));
    CHECK(warnings(model + ", activation_checkpointing: selective, " + key + fsdp2).empty());
  }
}

TEST_CASE("keys of training that others switch off are warned of") {
  const auto with = [](const std::string& keys) {
    return warnings(model + "}\ntraining: {" + keys + "}\n");
  };
  CHECK(has(with("strategy: fsdp1, gradient_sync: last_micro_batch"), "training.gradient_sync"));
  CHECK(has(with("strategy: fsdp2, shard_group: 4"), "training.shard_group"));
  CHECK(with("strategy: fsdp2, sharding: hybrid_shard, shard_group: 4").empty());
  CHECK(has(with("strategy: fsdp2, root_rule: follow"), "training.root_rule"));
  CHECK(with("strategy: fsdp2, root_rule: follow, reshard_after_forward: true").empty());
  CHECK(warnings(model + ", gradient_accumulation: 2}\ntraining: "
                         "{strategy: fsdp2, gradient_sync: last_micro_batch}\n")
            .empty());
}

TEST_CASE("costs of a CPU that does not do this work are warned of") {
  const auto with = [](const std::string& strategy, const std::string& key) {
    return warnings(model + "}\ntraining: {strategy: " + strategy + "}\ncpu: {" + key +
                    ": 1 ms}\n");
  };
  CHECK(has(with("ddp", "hook"), "cpu.hook has no effect with strategy ddp"));
  CHECK(with("fsdp1", "hook").empty());
  CHECK(has(with("zero2", "module_hook"), "cpu.module_hook"));
  CHECK(with("zero3", "module_hook").empty());
  CHECK(has(with("fsdp1", "dtensor_foreach"), "cpu.dtensor_foreach"));
  CHECK(with("fsdp2", "dtensor_foreach").empty());
  CHECK(has(with("fsdp2", "dtensor_fused"), "cpu.dtensor_fused"));
  CHECK(with("fsdp2, optimizer_implementation: fused", "dtensor_fused").empty());
  CHECK(has(with("fsdp2", "host_optimizer"), "without training.cpu_offload"));
  CHECK(with("fsdp2, cpu_offload: true", "host_optimizer").empty());
}

TEST_CASE("beside explicit times, what would make times says nothing") {
  const auto with = [](const std::string& strategy, const std::string& cpu) {
    return warnings(prescribed + "}}\ntraining: {strategy: " + strategy + "}\ncpu: {" + cpu +
                    ": 1 ms}\n");
  };
  CHECK(with("fsdp2", "launch").empty());
  CHECK(has(with("fsdp2", "hook"), "cpu.hook has no effect beside explicit times"));
  CHECK(has(with("fsdp2, master_dtype: bf16", "launch"), "training.master_dtype"));
  CHECK(has(with("fsdp1, cpu_offload: true", "launch"), "without host_copy"));
  CHECK(has(with("ddp, bucket_cap: 1 MiB", "launch"), "training.bucket_cap"));
  CHECK(with("zero1, master_dtype: bf16", "launch").empty());
  CHECK(warnings(prescribed + ", host_copy: 1 us}}\ntraining: {strategy: fsdp2, cpu_offload: true}")
            .empty());
}

}  // namespace
}  // namespace shardsim::training
