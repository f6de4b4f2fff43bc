// Reading `workload` and its model: what is accepted, and what is said about the rest.

#include "models/training/workload_spec.hpp"
#include "transformer_fixture.hpp"

using namespace shardsim;
using namespace shardsim::training;

namespace {

struct Read {
  WorkloadSpec spec;
  simcore::ConfigNode node;
  simcore::Diagnostics diagnostics;
  std::string messages() const { return simcore::to_text(diagnostics); }
};

Read read(const std::string& text) {
  Read result;
  const auto source =
      std::make_shared<simcore::SourceText>(simcore::SourceText{"scenario.yaml", text});
  const auto node = simcore::read_yaml(source, result.diagnostics);
  REQUIRE(node.has_value());
  result.node = *node;
  result.spec = simcore::read_config<WorkloadSpec>(*node, result.diagnostics);
  return result;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string inline_model =
    "model:\n"
    "  family: llama\n"
    "  layers: 2\n"
    "  hidden: 64\n"
    "  heads: 4\n"
    "  vocabulary: 100\n";

}  // namespace

TEST_CASE("a workload names its model and takes the defaults") {
  const Read workload = read("{model: llama-2-7b, sequence_length: 4096}");
  CHECK_MESSAGE(!workload.diagnostics.has_errors(), workload.messages());
  REQUIRE(workload.spec.model.has_value());
  CHECK(workload.spec.model->name == "llama-2-7b");
  CHECK(workload.spec.sequence_length == 4096);
  CHECK(workload.spec.micro_batch_size == 1);
  CHECK(workload.spec.activation_checkpointing == Checkpointing::none);
  CHECK(workload.spec.precision == Precision::bf16);
  CHECK(workload.spec.attention == AttentionKind::flash);
}

TEST_CASE("a model may be written inline") {
  const Read workload =
      read(inline_model + "  kv_heads: 2\n  ffn_hidden: 96\nsequence_length: 8\n");
  CHECK_MESSAGE(!workload.diagnostics.has_errors(), workload.messages());
  REQUIRE(workload.spec.model->inline_spec.has_value());
  const TransformerShape shape = resolve(*workload.spec.model->inline_spec, 8);
  CHECK(shape.kv_heads == 2);
  CHECK(shape.head_size == 16);
  CHECK(shape.norm == NormKind::rms_norm);
  CHECK_FALSE(shape.tied_embeddings);
}

TEST_CASE("an inline model that cannot be is refused, each error at its place") {
  const Read heads = read(inline_model + "  kv_heads: 3\n  ffn_hidden: 96\nsequence_length: 8\n");
  CHECK(contains(heads.messages(), "scenario.yaml:7:13: error: "));
  CHECK(contains(heads.messages(), "4 heads cannot be shared out evenly to 3 key-value heads"));

  const Read width = read(
      "{model: {family: gpt, layers: 2, hidden: 65, heads: 4, vocabulary: 9}, "
      "sequence_length: 8}");
  CHECK(contains(width.messages(), "hidden size 65 is not a multiple of 4 heads"));

  CHECK(contains(read(inline_model + "sequence_length: 8\n").messages(), "ffn_hidden is missing"));
  CHECK(
      contains(read(inline_model + "  layer: 3\n  ffn_hidden: 96\nsequence_length: 8\n").messages(),
               "did you mean 'layers'?"));
  CHECK(read(inline_model + "  ffn_hidden: 0\nsequence_length: 8\n").diagnostics.has_errors());
  CHECK(read("{model: {family: bert, layers: 2, hidden: 64, heads: 4, vocabulary: 9}, "
             "sequence_length: 8}")
            .diagnostics.has_errors());
  CHECK(read("{model: [llama-2-7b], sequence_length: 8}").diagnostics.has_errors());
}

TEST_CASE("a workload has exactly one of model and explicit") {
  const std::string times = "explicit: {blocks: 2, block_forward: 1 ms, block_backward: 2 ms}";
  CHECK_FALSE(read("{" + times + "}").diagnostics.has_errors());
  CHECK(contains(read("{precision: bf16}").messages(), "expected either model or explicit"));
  const Read both = read("{model: gpt2, sequence_length: 8, " + times + "}");
  CHECK(contains(both.messages(), "scenario.yaml:1:35: error: "));
  CHECK(contains(both.messages(), "exclude each other"));
  CHECK(contains(read("{micro_batch_size: 2, " + times + "}").messages(),
                 "workload.micro_batch_size: has no meaning beside explicit times"));
  CHECK(contains(read("{model: gpt2}").messages(), "sequence_length is missing"));
}

TEST_CASE("fused attention in fp32 is refused") {
  CHECK(contains(read("{model: gpt2, sequence_length: 8, precision: fp32}").messages(),
                 "expected math for precision fp32"));
  CHECK_FALSE(read("{model: gpt2, sequence_length: 8, precision: fp32, attention: math}")
                  .diagnostics.has_errors());
}

TEST_CASE("a loss that holds less than its fp32 logits is refused") {
  const std::string fp32 =
      "model: llama-2-7b, sequence_length: 8, precision: fp32, attention: math";
  const Read held = read("{" + fp32 + ", loss_bytes_per_logit: 2}");
  CHECK(contains(held.messages(), "an fp32 logit alone takes 4 bytes"));
  CHECK_FALSE(read("{" + fp32 + ", loss_bytes_per_logit: 4}").diagnostics.has_errors());
}

TEST_CASE("a head larger than fused kernels take is refused, and math takes it") {
  const std::string wide =
      "{model: {family: gpt, layers: 2, hidden: 1028, heads: 4, vocabulary: 9}, "
      "sequence_length: 8, attention: ";
  for (const bool fused : {true, false}) {
    Read workload = read(wide + (fused ? "flash}" : "math}"));
    REQUIRE_MESSAGE(!workload.diagnostics.has_errors(), workload.messages());
    check_model_fits(workload.spec, *workload.spec.model->inline_spec, workload.node,
                     workload.diagnostics);
    CHECK(workload.diagnostics.has_errors() == fused);
    CHECK(contains(workload.messages(), "this model's is 257; expected attention: math") == fused);
  }
}

TEST_CASE("a sequence longer than a learned table of positions is refused") {
  const Read workload = read("{model: gpt2, sequence_length: 2048}");
  simcore::Diagnostics diagnostics;
  check_model_fits(workload.spec, shipped_model("gpt2"), workload.node, diagnostics);
  CHECK(contains(simcore::to_text(diagnostics), "1024 rows, too few for sequences of 2048 tokens"));
  CHECK(contains(simcore::to_text(diagnostics), "scenario.yaml:1:32"));

  simcore::Diagnostics none;
  check_model_fits(workload.spec, shipped_model("mpt-7b"), workload.node, none);
  check_model_fits(workload.spec, shipped_model("llama-2-7b"), workload.node, none);
  CHECK_FALSE(none.has_errors());
}

TEST_CASE("an unknown model is named with the nearest one that exists") {
  const auto load = [](const std::string& name, simcore::Diagnostics& diagnostics) {
    const ModelReference reference{.name = name, .inline_spec = {}, .where = {}};
    return load_model(reference, {.library = models_folder, .relative = models_folder},
                      diagnostics);
  };
  simcore::Diagnostics misspelt;
  CHECK_FALSE(load("lama-2-7b", misspelt).has_value());
  CHECK(contains(simcore::to_text(misspelt), "did you mean 'llama-2-7b'?"));
  simcore::Diagnostics missing;
  CHECK_FALSE(load("./nothing.yaml", missing).has_value());
  CHECK(contains(simcore::to_text(missing), "nothing.yaml"));
  simcore::Diagnostics path;
  CHECK(load("./gpt2.yaml", path).has_value());
  CHECK_FALSE(path.has_errors());
}
