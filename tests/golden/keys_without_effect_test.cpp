// What is said to have no effect has none: the key is given, the warning read, and the result held
// to the one without it.
#include <array>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

const std::string small =
    "name: small\ncluster: {topology: dgx-h100, nodes: 1}\n"
    "workload: {model: gpt2, sequence_length: 256}\n";

struct Outcome {
  int status = 0;
  bool without_effect = false;  ///< it was said
  std::string figures;          ///< all but what was asked for and said
};

Outcome outcome_of(const std::string& file, const std::string& strategy, const std::string& key) {
  const ProgramRun run =
      run_program("run " + file + " --quiet --json - --set training.strategy=" + strategy +
                  (key.empty() ? "" : " --set " + key));
  Outcome made{run.status, run.messages.find("has no effect") != std::string::npos, {}};
  if (run.status != 0) return made;
  Json json = Json::parse(run.output);
  for (const char* part : {"scenario", "simulator"}) json.erase(part);
  made.figures = json.dump();
  return made;
}

TEST_CASE("a key that is said to have no effect has none") {
  constexpr std::array keys{"training.sharding=shard_grad_op",
                            "training.shard_group=4",
                            "training.reshard_after_forward=false",
                            "training.root_rule=follow",
                            "training.reshard_after_backward=false",
                            "training.backward_prefetch=none",
                            "training.forward_prefetch=1",
                            "training.limit_all_gathers=false",
                            "training.use_orig_params=true",
                            "training.fsdp1_v113=true",
                            "training.pre_unshard_waits_for_compute=true",
                            "training.separate_reduce_scatter_group=true",
                            "training.embedding_and_head_units=true",
                            "training.wrap_policy=size",
                            "training.min_num_params=1000",
                            "training.gradient_sync=last_micro_batch",
                            "training.reduce_dtype=bf16",
                            "training.bucket_cap='1 MiB'",
                            "training.gradient_as_bucket_view=true",
                            "training.static_graph=true",
                            "training.find_unused_parameters=true",
                            "training.optimizer_implementation=fused",
                            "training.cpu_offload=true",
                            "training.zero.allgather_bucket_size=100000",
                            "training.zero.stage3_prefetch_bucket_size=1000",
                            "training.zero.sub_group_size=1000000",
                            "workload.checkpoint_every=2",
                            "workload.recompute_early_stop=false",
                            "workload.selective_keeps_attention=false",
                            "cpu.hook='2 ms'",
                            "cpu.module_hook='1 ms'",
                            "cpu.dtensor_foreach='1 ms'",
                            "cpu.dtensor_fused='1 ms'",
                            "cpu.host_link='1 GB/s'",
                            "cpu.host_optimizer='1 ms'",
                            "allocator.max_non_split_rounding='200 MiB'",
                            "cluster.routing.seed=7"};
  const ScratchFolder scratch;
  const std::string file = scratch.write("small.yaml", small);
  int said = 0;
  for (const std::string strategy : {"fsdp2", "fsdp1", "ddp", "zero1", "zero2", "zero3"}) {
    const Outcome plain = outcome_of(file, strategy, {});
    REQUIRE(plain.status == 0);
    REQUIRE_FALSE(plain.without_effect);
    for (const std::string key : keys) {
      CAPTURE(strategy);
      CAPTURE(key);
      const Outcome changed = outcome_of(file, strategy, key);
      if (!changed.without_effect) continue;
      ++said;
      CHECK(changed.status == 0);
      CHECK((changed.figures == plain.figures));
    }
  }
  CHECK(said > 100);
}

}  // namespace
}  // namespace shardsim
