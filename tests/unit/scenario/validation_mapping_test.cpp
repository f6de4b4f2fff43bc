#include "models/scenario/validation/run_mapping.hpp"
#include "simcore/config/override.hpp"
#include "validation_fixture.hpp"

namespace shardsim::scenario {
namespace {

using testing::Cells;
using testing::complete_run;
using testing::shipped_rules;
using testing::with;

std::expected<LoadedScenario, std::string> map(const Cells& cells) {
  const TrainingTable table = testing::table_of({cells});
  return map_run(TrainingRun(table, 0), shipped_rules(), testing::shipped_rules_file());
}

ScenarioSpec mapped(const Cells& changes) {
  const auto scenario = map(with(complete_run(), changes));
  REQUIRE_MESSAGE(scenario, scenario.error());
  return scenario->spec;
}

std::string refused(const Cells& changes) {
  const auto scenario = map(with(complete_run(), changes));
  CHECK_FALSE(scenario);
  return scenario ? "" : scenario.error();
}

TEST_CASE("patterns match whole texts, with '*' for any part and regardless of case") {
  CHECK(matches("FSDP2*", "fsdp2 (torchtitan)"));
  CHECK(matches("*", ""));
  CHECK(matches("", ""));
  CHECK(matches("a*b*c", "a--b-bc"));
  CHECK_FALSE(matches("a*b*c", "a--b-bd"));
  CHECK_FALSE(matches("FSDP", "FSDP2"));
  CHECK_FALSE(matches("", "x"));
}

TEST_CASE("a run may have any name") {
  for (const char* name : {"it's", "<b>", "a: b", "# c", "\\ [x", "*", "-"}) {
    CHECK(mapped({{"row_id", name}}).name == name);
  }
}

TEST_CASE("sizes come from the columns") {
  const ScenarioSpec spec = mapped({});
  CHECK(spec.name == "run-1");
  CHECK(spec.workload.sequence_length == 2048);
  CHECK(spec.workload.micro_batch_size == 2);
  CHECK(spec.workload.gradient_accumulation == 1);
  REQUIRE(spec.workload.model->inline_spec);
  const training::ModelSpec& model = *spec.workload.model->inline_spec;
  CHECK(model.family == training::ModelFamily::llama);
  CHECK(model.layers == 2);
  CHECK(model.hidden == 1024);
  CHECK(model.ffn_hidden == 2816);
  CHECK(model.vocabulary == 32000);
}

TEST_CASE("GPUs fill nodes, and a part of one node where they are fewer") {
  CHECK(mapped({{"gpus", "64"}}).cluster.nodes == 8);
  CHECK(mapped({{"gpus", "4"}}).cluster.nodes == 1);
  CHECK(mapped({{"gpus", "4"}}).cluster.gpus_per_node == 4);
  CHECK(mapped({{"gpus", "16"}, {"gpus_per_node", "1"}}).cluster.nodes == 16);
  CHECK(mapped({{"gpus", "8"}, {"gpus_per_node", ""}, {"gpu", "GB200"}}).cluster.nodes == 2);
  CHECK(refused({{"gpus", "12"}}) == "12 GPUs do not fill nodes of 8");
}

TEST_CASE("frameworks, sharding and checkpointing become the strategy's settings") {
  using training::Checkpointing;
  using training::Sharding;
  using training::Strategy;
  CHECK(mapped({}).training.strategy == Strategy::fsdp2);
  CHECK(mapped({{"framework", "FSDP1"}}).training.strategy == Strategy::fsdp1);
  CHECK(mapped({{"framework", "SimpleFSDP (torchtitan)"}}).training.strategy == Strategy::fsdp2);
  CHECK(mapped({{"framework", "DDP"}, {"sharding", "DDP"}}).training.strategy == Strategy::ddp);
  CHECK(
      mapped({{"framework", "DeepSpeed ZeRO-3"}, {"sharding", "zero_stage=3"}}).training.strategy ==
      Strategy::zero3);
  CHECK(mapped({{"sharding", "HYBRID_SHARD"}}).training.sharding == Sharding::hybrid_shard);
  CHECK(mapped({{"sharding", "SHARD_GRAD_OP"}}).training.sharding == Sharding::shard_grad_op);
  CHECK(mapped({{"act_ckpt", "full"}}).workload.activation_checkpointing == Checkpointing::full);
  CHECK(mapped({{"act_ckpt", "selective (per-op)"}}).workload.activation_checkpointing ==
        Checkpointing::selective);
  CHECK(mapped({{"act_ckpt", "selective (every 2nd layer)"}}).workload.checkpoint_every == 2);
  CHECK(mapped({{"compile", "yes"}}).workload.compile);
}

TEST_CASE("element types: llm-foundry's PURE reduces in bf16, its DEFAULT in fp32") {
  using training::ElementType;
  const Cells foundry{
      {"source_id", "llmfoundry-2024"}, {"framework", "FSDP1"}, {"model", "MPT-7b"}};
  const auto reduces = [&](const char* precision) {
    return mapped(with(foundry, {{"precision", precision}})).training.reduce_dtype;
  };
  CHECK(reduces("bf16/FSDP mixed_precision=PURE") == ElementType::bf16);
  CHECK(reduces("bf16/FSDP mixed_precision=DEFAULT") == ElementType::fp32);
  CHECK(mapped({{"precision", "fp8 tensorwise"}}).workload.precision == training::Precision::fp8);
}

TEST_CASE("a network that the source names chooses the machine") {
  const auto topology = [](const char* gpu, const char* network) {
    return mapped({{"gpu", gpu}, {"internode_net", network}}).cluster.topology;
  };
  CHECK(topology("A100-40GB", "") == "dgx-a100-40gb");
  CHECK(topology("A100-40GB", "1600 Gbps RoCE per node") == "oci-a100-40gb");
  CHECK(topology("H100-80GB", "") == "dgx-h100");
  CHECK(topology("H100-80GB", "800 Gbps") == "hgx-h100-80gb-800g");
}

TEST_CASE("what cannot be simulated says why") {
  CHECK(refused({{"framework", "Megatron-LM"}}).find("Megatron") != std::string::npos);
  CHECK(refused({{"framework", "DeepSpeed 3D"}}).find("DeepSpeed") != std::string::npos);
  CHECK(refused({{"framework", "InternEvo"}}).find("InternEvo") != std::string::npos);
  CHECK(refused({{"tp", "2"}}) == "tensor parallelism is not simulated (tp = 2)");
  CHECK(refused({{"cp", "4"}}) == "context parallelism is not simulated (cp = 4)");
  CHECK(refused({{"model", "Mixtral-8x7B"}}).find("experts") != std::string::npos);
  CHECK(refused({{"task", "finetune-lora"}}).find("LoRA") != std::string::npos);
}

TEST_CASE("a GPU, a framework and a model are known by their usual other names") {
  using training::Strategy;
  for (const char* name : {"A100-SXM4-80GB", "A100 80GB", "A100 SXM4 80GB"}) {
    CHECK(mapped({{"gpu", name}}).cluster.topology == "dgx-a100-80gb");
  }
  for (const char* name : {"H100-SXM5-80GB", "H100 80GB", "H100 SXM"}) {
    CHECK(mapped({{"gpu", name}}).cluster.topology == "dgx-h100");
  }
  CHECK(mapped({{"gpu", "H200-141GB"}}).cluster.topology == "dgx-h200");
  CHECK(mapped({{"gpu", "GH200-96GB"}, {"gpus_per_node", ""}}).cluster.nodes == 2);
  // What only borders on a known GPU is another one.
  for (const char* name :
       {"H100 NVL", "H100-PCIe-80GB", "H20-96GB", "B300-288GB", "MI300X-192GB"}) {
    CHECK(refused({{"gpu", name}}).starts_with(std::string("no rule for gpu '") + name + "'"));
  }
  CHECK(mapped({{"framework", "PyTorch FSDP"}}).training.strategy == Strategy::fsdp1);
  CHECK(mapped({{"framework", "Lightning (FSDP)"}}).training.strategy == Strategy::fsdp1);
  CHECK(mapped({{"framework", "PyTorch FSDP2"}}).training.strategy == Strategy::fsdp2);
  for (const char* name : {"Mistral-7B", "CodeLlama-34b", "Yi-34B", "TinyLlama-1.1B"}) {
    CHECK(mapped({{"model", name}}).workload.model->inline_spec->family ==
          training::ModelFamily::llama);
  }
}

TEST_CASE("offload of parameters is FSDP's, and DeepSpeed's is refused") {
  CHECK(mapped({{"framework", "FSDP1"}, {"sharding", "FULL_SHARD + CPU offload"}})
            .training.cpu_offload);
  CHECK(refused({{"framework", "DeepSpeed ZeRO-3"}, {"sharding", "zero_stage=3, offload"}})
            .find("offload") != std::string::npos);
}

TEST_CASE("torchtitan's units and checkpointing follow the date of the run") {
  const auto at = [](const char* date, const char* gpu) {
    return mapped({{"notes", date}, {"gpu", gpu}, {"act_ckpt", "selective (per-op)"}});
  };
  CHECK_FALSE(at("2025-06-01", "H100-80GB").training.embedding_and_head_units);
  CHECK(at("2025-08-01", "H100-80GB").training.embedding_and_head_units);
  CHECK(at("2025-08-01", "H100-80GB").workload.selective_keeps_attention);
  CHECK_FALSE(at("2025-08-01", "B200-180GB").workload.selective_keeps_attention);
  CHECK(at("2026-01-01", "B200-180GB").workload.selective_keeps_attention);
}

TEST_CASE("an unknown power limit leaves the run's memory to be forecast") {
  const Cells limited = with(complete_run(), {{"notes", "B200 machine power limited"}});
  CHECK(map(limited));
  const TrainingTable table =
      testing::table_of({limited, with(complete_run(), {{"row_id", "run-2"}})});
  const auto reason = shipped_rules().why_no_time(TrainingRun(table, 0));
  REQUIRE(reason);
  CHECK(reason->find("power") != std::string::npos);
  CHECK_FALSE(shipped_rules().why_no_time(TrainingRun(table, 1)));
}

TEST_CASE("what the source leaves out is not guessed") {
  for (const char* column : {"seq_len", "micro_batch", "grad_accum", "layers", "act_ckpt",
                             "compile", "gpus", "precision"}) {
    CAPTURE(column);
    CHECK(refused({{column, ""}}) == std::string("the source does not say: ") + column);
  }
  CHECK(refused({{"gpu", "TPU v5p"}}) == "no rule for gpu 'TPU v5p'");
  CHECK(refused({{"framework", "homemade"}}) == "no rule for framework 'homemade'");
}

TEST_CASE("a scenario that makes no sense is a refusal, too") {
  CHECK(refused({{"heads", "7"}}).find("heads") != std::string::npos);
}

/// Errors of the complete run with the rule's settings and this strategy.
std::string errors_of(const MappingRule& rule, const char* strategy) {
  const auto base = map(with(complete_run(), {{"framework", "FSDP2"}}));
  REQUIRE(base);
  simcore::ConfigNode root = base->root;
  simcore::Diagnostics diagnostics;
  for (const auto& [key, value] : rule.set) {
    simcore::apply_override(root, key + "=" + value, diagnostics);
  }
  simcore::apply_override(root, std::string("training.strategy=") + strategy, diagnostics);
  simcore::read_config<ScenarioSpec>(root, diagnostics);
  return diagnostics.has_errors() ? simcore::to_text(diagnostics) : "";
}

TEST_CASE("every setting of the shipped rules is a key and a value that scenarios have") {
  for (const MappingRule& rule : shipped_rules().rules) {
    const std::string fsdp2 = errors_of(rule, "fsdp2");
    const std::string fsdp1 = errors_of(rule, "fsdp1");  // some keys have values of one strategy
    CHECK_MESSAGE((fsdp1.empty() || fsdp2.empty()), fsdp1);
  }
}

TEST_CASE("a rule either sets or refuses") {
  const auto errors = [](const char* text) {
    simcore::Diagnostics diagnostics;
    const auto root = simcore::read_yaml(testing::source_of(text), diagnostics);
    REQUIRE(root);
    simcore::read_config<MappingRules>(*root, diagnostics);
    return diagnostics.error_count();
  };
  CHECK(errors("rules: [{when: {gpu: [x]}, set: {steps.measure: 2}}]") == 0);
  CHECK(errors("rules: [{refuse: because}]") == 0);
  CHECK(errors("rules: [{when: {gpu: [x]}}]") == 1);
  CHECK(errors("rules: [{refuse: because, set: {steps.measure: 2}}]") == 1);
}

TEST_CASE("rules that look at columns which the table lacks are reported") {
  MappingRules rules;
  rules.rules.push_back({{{"colour", {"*"}}}, "because", {}, {}});
  simcore::Diagnostics diagnostics;
  check_rules(rules, testing::table_of({complete_run()}), diagnostics);
  CHECK(diagnostics.error_count() == 1);
}

}  // namespace
}  // namespace shardsim::scenario
