// Which changes are worth a try when memory runs out.
#include "models/scenario/memory_advice.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace shardsim::scenario {
namespace {

ScenarioSpec model_scenario() {
  ScenarioSpec spec;
  spec.workload.model.emplace();
  spec.workload.sequence_length = 4096;
  spec.workload.micro_batch_size = 4;
  spec.cluster.nodes = 2;
  return spec;
}

/// Values to try of one key, in their order.
std::vector<std::string> values(const ScenarioSpec& spec, const std::string& key,
                                const OutOfMemoryResult& shortage = {}) {
  std::vector<std::string> found;
  for (const auto& changes : changes_to_try(spec, shortage)) {
    for (const ScenarioChange& change : changes) {
      if (change.key == key) found.push_back(change.value);
    }
  }
  return found;
}

using Values = std::vector<std::string>;

TEST_CASE("stronger checkpointing than now, from mild to strong") {
  ScenarioSpec spec = model_scenario();
  CHECK(values(spec, "workload.activation_checkpointing") == Values{"selective", "full"});
  spec.workload.activation_checkpointing = training::Checkpointing::selective;
  CHECK(values(spec, "workload.activation_checkpointing") == Values{"full"});
  spec.workload.activation_checkpointing = training::Checkpointing::full;
  CHECK(values(spec, "workload.activation_checkpointing").empty());
}

TEST_CASE("every smaller micro-batch is worth a try, the largest first") {
  ScenarioSpec spec = model_scenario();
  CHECK(values(spec, "workload.micro_batch_size") == Values{"3", "2", "1"});
  spec.workload.micro_batch_size = 1;
  CHECK(values(spec, "workload.micro_batch_size").empty());
}

TEST_CASE("more nodes are tried only where they make shards smaller") {
  ScenarioSpec spec = model_scenario();
  const Values small = values(spec, "cluster.nodes");
  CHECK(Values(small.begin(), small.begin() + 4) == Values{"3", "4", "5", "6"});
  CHECK(Values(small.begin() + 13, small.begin() + 16) == Values{"16", "18", "20"});
  CHECK(small.back() == "128");
  spec.cluster.nodes = 1000;
  CHECK(values(spec, "cluster.nodes").size() == 56);
  CHECK(values(spec, "cluster.nodes").front() == "1125");
  CHECK(values(spec, "cluster.nodes").back() == "8000");
  spec.training.sharding = training::Sharding::hybrid_shard;
  CHECK(values(spec, "cluster.nodes").empty());
  CHECK(values(spec, "training.sharding") == Values{"full_shard"});
  spec.training = {};
  spec.training.strategy = training::Strategy::ddp;
  CHECK(values(spec, "cluster.nodes").empty());
  CHECK(values(spec, "training.strategy") == Values{"fsdp2"});
}

TEST_CASE("resharding after forward is tried where it was turned off") {
  ScenarioSpec spec = model_scenario();
  CHECK(values(spec, "training.reshard_after_forward").empty());
  spec.training.reshard_after_forward = training::ReshardAfterForward{false};
  CHECK(values(spec, "training.reshard_after_forward") == Values{"true"});
  spec.training.reshard_after_forward = training::ReshardAfterForward{std::int64_t{8}};
  CHECK(values(spec, "training.reshard_after_forward") == Values{"true"});
  spec.training.reshard_after_forward = training::ReshardAfterForward{true};
  CHECK(values(spec, "training.reshard_after_forward").empty());
}

TEST_CASE("expandable segments are tried where fragments would hold the request") {
  ScenarioSpec spec = model_scenario();
  OutOfMemoryResult shortage;
  shortage.shortage.requested = simcore::Bytes{1 << 30};
  shortage.shortage.cached = simcore::Bytes{(1 << 30) - 1};
  CHECK(values(spec, "allocator.expandable_segments", shortage).empty());
  shortage.shortage.cached = simcore::Bytes{1 << 30};
  CHECK(values(spec, "allocator.expandable_segments", shortage) == Values{"true"});
  spec.allocator.expandable_segments = true;
  CHECK(values(spec, "allocator.expandable_segments", shortage).empty());
}

TEST_CASE("CPU offload is tried last, and only where FSDP can") {
  ScenarioSpec spec = model_scenario();
  CHECK(values(spec, "training.cpu_offload") == Values{"true"});
  CHECK(changes_to_try(spec, {}).back().front().key == "training.cpu_offload");
  spec.training.cpu_offload = true;
  CHECK(values(spec, "training.cpu_offload").empty());
  spec.training.cpu_offload = false;
  spec.training.strategy = training::Strategy::zero3;
  CHECK(values(spec, "training.cpu_offload").empty());
}

TEST_CASE("short host memory is met with what leaves less on each host") {
  ScenarioSpec spec = model_scenario();
  spec.training.cpu_offload = true;
  OutOfMemoryResult shortage;
  shortage.on_host = true;
  CHECK(values(spec, "cluster.nodes", shortage).front() == "3");
  CHECK(values(spec, "training.master_dtype", shortage) == Values{"bf16"});
  CHECK(values(spec, "training.cpu_offload", shortage) == Values{"false"});
  CHECK(values(spec, "workload.micro_batch_size", shortage).empty());
  spec.training.sharding = training::Sharding::hybrid_shard;
  CHECK(values(spec, "training.sharding", shortage) == Values{"full_shard"});
}

TEST_CASE("a workload without a model has nothing to change") {
  ScenarioSpec spec = model_scenario();
  spec.workload.model.reset();
  CHECK(changes_to_try(spec, {}).empty());
}

}  // namespace
}  // namespace shardsim::scenario
