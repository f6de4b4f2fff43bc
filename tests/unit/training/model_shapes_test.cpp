// Parameter counts and shapes of the shipped models against what their makers publish.

#include <set>

#include "models/training/transformer_parameters.hpp"
#include "transformer_fixture.hpp"

using namespace shardsim;
using namespace shardsim::training;

namespace {

struct Published {
  const char* model;
  std::int64_t parameters;
};

std::vector<std::string> names(const std::vector<ParameterShape>& parameters) {
  std::vector<std::string> result;
  result.reserve(parameters.size());
  for (const ParameterShape& parameter : parameters) result.push_back(parameter.name);
  return result;
}

std::vector<std::int64_t> shape_of(const std::vector<ParameterShape>& parameters,
                                   const std::string& name) {
  for (const ParameterShape& parameter : parameters) {
    if (parameter.name == name) return parameter.shape;
  }
  return {};
}

}  // namespace

TEST_CASE("every shipped model has exactly its published number of parameters") {
  // MPT with the learned positions and biases of llm-foundry's benchmarks, 2048 positions.
  constexpr Published published[] = {
      {"gpt2", 124'439'808},
      {"gpt2-medium", 354'823'168},
      {"gpt2-large", 774'030'080},
      {"gpt2-xl", 1'557'611'200},
      {"mpt-125m", 125'311'488},
      {"mpt-350m", 355'985'408},
      {"mpt-760m", 760'470'528},
      {"mpt-1b", 1'315'950'592},
      {"mpt-3b", 2'651'837'440},
      {"mpt-7b", 6'658'859'008},
      {"mpt-13b", 12'853'954'560},
      {"mpt-30b", 29'975'214'080},
      {"mpt-70b", 64'862'437'376},
      {"llama-2-7b", 6'738'415'616},
      {"llama-2-13b", 13'015'864'320},
      {"llama-2-34b", 33'743'970'304},
      {"llama-2-70b", 68'976'648'192},
      {"llama-3-8b", 8'030'261'248},
      {"llama-3-70b", 70'553'706'496},
      {"llama-3-405b", 405'853'388'800},
      {"llama-3.1-8b", 8'030'261'248},
      {"llama-3.1-70b", 70'553'706'496},
      {"llama-3.1-405b", 405'853'388'800},
      {"qwen3-32b", 32'762'123'264},
  };
  std::set<std::string> covered;
  for (const Published& row : published) {
    CAPTURE(row.model);
    covered.insert(std::string(row.model) + ".yaml");
    CHECK(parameter_count(shipped_shape(row.model, 2048)) == row.parameters);
  }
  std::set<std::string> shipped;
  for (const auto& entry : std::filesystem::directory_iterator(models_folder)) {
    shipped.insert(entry.path().filename().string());
  }
  CHECK(shipped == covered);
}

TEST_CASE("a learned table without a stated length is as long as the sequences") {
  const std::int64_t at_512 = parameter_count(shipped_shape("mpt-7b", 512));
  const std::int64_t at_65536 = parameter_count(shipped_shape("mpt-7b", 65'536));
  CHECK(at_512 == 6'652'567'552);
  CHECK(at_65536 == 6'918'905'856);
  CHECK(at_65536 - at_512 == (65'536 - 512) * 4096);
}

TEST_CASE("per-block and root parameters of Llama models are those of the memory formulas") {
  const TransformerShape llama2 = shipped_shape("llama-2-7b", 4096);
  CHECK(element_count(block_parameters(llama2)) == 202'383'360);
  CHECK(element_count(root_parameters(llama2)) == 262'148'096);
  const TransformerShape llama3 = shipped_shape("llama-3-70b", 8192);
  CHECK(element_count(block_parameters(llama3)) == 855'654'400);
  CHECK(element_count(root_parameters(llama3)) == 2'101'354'496);
}

TEST_CASE("a Llama block registers attention, feed-forward and then its norms") {
  const std::vector<ParameterShape> block = block_parameters(shipped_shape("llama-3-8b", 8192));
  CHECK(names(block) == std::vector<std::string>{"attention.wq.weight", "attention.wk.weight",
                                                 "attention.wv.weight", "attention.wo.weight",
                                                 "feed_forward.w1.weight", "feed_forward.w2.weight",
                                                 "feed_forward.w3.weight", "attention_norm.weight",
                                                 "ffn_norm.weight"});
  // Weights are (outputs, inputs): grouped queries shrink dimension 0 of k and v.
  CHECK(shape_of(block, "attention.wq.weight") == std::vector<std::int64_t>{4096, 4096});
  CHECK(shape_of(block, "attention.wk.weight") == std::vector<std::int64_t>{1024, 4096});
  CHECK(shape_of(block, "feed_forward.w2.weight") == std::vector<std::int64_t>{4096, 14336});
  CHECK(names(root_parameters(shipped_shape("llama-3-8b", 8192))) ==
        std::vector<std::string>{"tok_embeddings.weight", "norm.weight", "output.weight"});
}

TEST_CASE("a GPT-2 block has one layer for q, k and v, biases, and a head tied to the embedding") {
  const TransformerShape shape = shipped_shape("gpt2", 1024);
  const std::vector<ParameterShape> block = block_parameters(shape);
  CHECK(block.size() == 12);
  CHECK(block.front().name == "ln_1.weight");
  CHECK(shape_of(block, "attn.c_attn.weight") == std::vector<std::int64_t>{2304, 768});
  CHECK(shape_of(block, "attn.c_attn.bias") == std::vector<std::int64_t>{2304});
  CHECK(names(root_parameters(shape)) ==
        std::vector<std::string>{"wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias"});
}

TEST_CASE("heads wider than hidden / heads widen q and the output projection") {
  const TransformerShape shape = shipped_shape("qwen3-32b", 4096);
  const std::vector<ParameterShape> block = block_parameters(shape);
  CHECK(shape_of(block, "attention.wq.weight") == std::vector<std::int64_t>{8192, 5120});
  CHECK(shape_of(block, "attention.wo.weight") == std::vector<std::int64_t>{5120, 8192});
  CHECK(shape_of(block, "attention.q_norm.weight") == std::vector<std::int64_t>{128});
}

TEST_CASE("single keys override what the family chooses") {
  ModelSpec spec = shipped_model("mpt-7b");
  spec.positions = PositionKind::alibi;
  spec.biases = false;
  // The released MPT-7B: 50432 rows, ALiBi, no biases.
  spec.vocabulary = 50'432;
  CHECK(parameter_count(resolve(spec, 2048)) == 6'649'286'656);
}
