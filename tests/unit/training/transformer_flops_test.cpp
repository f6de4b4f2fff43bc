// Arithmetic of recorded steps against the field's formulas.

#include "transformer_fixture.hpp"

using namespace shardsim;
using namespace shardsim::training;

TEST_CASE("matrix products of a step are 6 operations a weight and token") {
  for (const char* model : {"gpt2", "mpt-350m", "llama-2-7b", "llama-3-8b", "qwen3-32b"}) {
    CAPTURE(model);
    const TransformerShape shape = shipped_shape(model, 512);
    for (const bool compiled : {false, true}) {
      WorkloadSpec spec = sequences(512, 2);
      spec.compile = compiled;
      const double tokens = 2 * 512;
      CHECK(gemm_flops(record_step(shape, spec)) ==
            6 * static_cast<double>(matmul_parameters(shape)) * tokens);
    }
  }
}

TEST_CASE("weights that multiply activations are all but tables, norms and biases") {
  const TransformerShape llama = shipped_shape("llama-2-7b", 4096);
  const std::int64_t norms = (2 * llama.layers + 1) * llama.hidden;
  const std::int64_t table = llama.vocabulary * llama.hidden;
  CHECK(matmul_parameters(llama) == parameter_count(llama) - norms - table);
}

TEST_CASE("fused attention counts the causal half, and backward five products for two") {
  const TransformerShape shape = shipped_shape("llama-3-8b", 4096);
  const double tokens = 2 * 4096;
  const double layer = static_cast<double>(shape.attention_width()) * 4096;
  const cuda::Program program = record_step(shape, sequences(4096, 2));
  CHECK(attention_flops(program) ==
        doctest::Approx(tokens * static_cast<double>(shape.layers) * layer * 7));
}

TEST_CASE("model FLOPs a token are 6 N + 6 L a d s, twice that attention without the causal half") {
  const TransformerShape shape = shipped_shape("llama-2-7b", 4096);
  const ModelFlops flops = training_flops_per_token(shape, 4096);
  const double linear = 6.0 * 6'607'077'376.0;  // 32 blocks of 202,375,168 and the head
  CHECK(flops.causal == linear + 6.0 * 32 * 4096 * 4096);
  CHECK(flops.full_attention == linear + 12.0 * 32 * 4096 * 4096);
}

TEST_CASE("hardware FLOPs are the model's, the fifth product, and what is recomputed") {
  const TransformerShape shape = small_llama();
  WorkloadSpec spec = sequences(128);
  const HardwareFlops plain = hardware_flops(record_step(shape, spec));
  CHECK(plain.recomputed == 0);
  const double tokens = 128;
  const double attention = static_cast<double>(shape.layers * shape.attention_width() * 128);
  CHECK(plain.total ==
        doctest::Approx(tokens * (training_flops_per_token(shape, 128).causal + attention)));

  spec.activation_checkpointing = Checkpointing::full;
  spec.recompute_early_stop = false;
  const HardwareFlops full = hardware_flops(record_step(shape, spec));
  const std::int64_t blocks = matmul_parameters(shape) - shape.vocabulary * shape.hidden;
  const double forward = tokens * (2 * static_cast<double>(blocks) + 2 * attention);
  CHECK(full.recomputed == doctest::Approx(forward));
  CHECK(full.total == doctest::Approx(plain.total + forward));

  // Early stop spares each block's last linear layer.
  spec.recompute_early_stop = true;
  const HardwareFlops early = hardware_flops(record_step(shape, spec));
  const double spared =
      tokens * 2 * static_cast<double>(shape.layers * shape.hidden * shape.ffn_hidden);
  CHECK(full.recomputed - early.recomputed == doctest::Approx(spared));
}

TEST_CASE("selective checkpointing recomputes every second linear layer and no attention") {
  const TransformerShape shape = small_llama();
  WorkloadSpec spec = sequences(128);
  spec.activation_checkpointing = Checkpointing::selective;
  const cuda::Program program = record_step(shape, spec);
  // Of q, k, v, output, gate, up, down: k, output and up.
  const std::int64_t again =
      shape.hidden * (shape.kv_width() + shape.attention_width() + shape.ffn_hidden);
  CHECK(hardware_flops(program).recomputed ==
        doctest::Approx(2.0 * 128 * static_cast<double>(shape.layers * again)));
}

TEST_CASE("unfused attention computes the whole square in six products") {
  const TransformerShape shape = small_llama();
  WorkloadSpec spec = sequences(64, 2);
  spec.attention = AttentionKind::math;
  const cuda::Program program = record_step(shape, spec);
  CHECK(attention_flops(program) == 0);
  const double linear = 6.0 * static_cast<double>(matmul_parameters(shape)) * 128;
  const double attention =
      12.0 * static_cast<double>(shape.layers * shape.attention_width() * 64) * 128;
  CHECK(gemm_flops(program) == doctest::Approx(linear + attention));
}

TEST_CASE("fp8 linear layers keep the head, attention and all outputs in bf16") {
  WorkloadSpec spec = sequences(64);
  spec.precision = Precision::fp8;
  const TransformerShape shape = small_llama();
  const cuda::Program program = record_step(shape, spec);
  const double fp8 =
      sum_of<gpu::GemmWork>(program, [](const cuda::KernelSpec&, const gpu::GemmWork& work) {
        CHECK(work.output_type == gpu::DataType::bf16);
        return work.type == gpu::DataType::fp8 ? gpu::flops(work) : 0.0;
      });
  const std::int64_t blocks = matmul_parameters(shape) - shape.vocabulary * shape.hidden;
  CHECK(fp8 == 6.0 * static_cast<double>(blocks) * 64);
}
