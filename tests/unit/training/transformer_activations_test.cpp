// Saved activations and peaks against the published byte counts.

#include "transformer_fixture.hpp"

using namespace shardsim;
using namespace shardsim::training;
using cuda::MemoryKind;

namespace {

/// Bytes that one token keeps in one block.
std::int64_t per_token(const TransformerShape& shape, const WorkloadSpec& spec) {
  const std::int64_t tokens = *spec.sequence_length * spec.micro_batch_size;
  const std::int64_t bytes = saved_by_one_block(shape, spec);
  CHECK(bytes % tokens == 0);
  return bytes / tokens;
}

}  // namespace

TEST_CASE("an eager Llama block keeps 12 h + 4 g k + 8 f + 4 a bytes a token") {
  for (const char* model : {"llama-2-7b", "llama-2-70b", "llama-3-8b", "llama-3-70b"}) {
    CAPTURE(model);
    const TransformerShape shape = shipped_shape(model, 1024);
    CHECK(per_token(shape, sequences(1024)) ==
          12 * shape.hidden + 4 * shape.kv_width() + 8 * shape.ffn_hidden + 4 * shape.heads);
  }
}

TEST_CASE("activations of Llama blocks have the worked-out sizes") {
  const auto megabytes = [](const char* model, std::int64_t length) {
    const TransformerShape shape = shipped_shape(model, length);
    return static_cast<double>(saved_by_one_block(shape, sequences(length))) / 1e6;
  };
  CHECK(megabytes("llama-2-7b", 4096) == doctest::Approx(629.7).epsilon(1e-4));
  CHECK(megabytes("llama-3-8b", 8192) == doctest::Approx(1376.8).epsilon(1e-4));
  CHECK(megabytes("llama-3-70b", 8192) == doctest::Approx(2720.0).epsilon(1e-4));
}

TEST_CASE("a compiled Llama block recomputes silu: 2 (4 h + 2 (a + g) d + 3 f) + 4 a") {
  const TransformerShape shape = shipped_shape("llama-3-8b", 1024);
  WorkloadSpec spec = sequences(1024);
  spec.compile = true;
  CHECK(per_token(shape, spec) == 139'392);
}

TEST_CASE("a GPT block keeps 32 h bytes a token and the softmax statistic") {
  TransformerShape shape = small_gpt();
  CHECK(per_token(shape, sequences(64)) == 32 * shape.hidden + 4 * shape.heads);
  shape.dropout = true;
  CHECK(per_token(shape, sequences(64)) == 34 * shape.hidden + 4 * shape.heads);
}

TEST_CASE("unfused attention with dropout keeps 34 h + 5 a s bytes a token") {
  TransformerShape shape = small_gpt();
  shape.dropout = true;
  WorkloadSpec spec = sequences(64, 2);
  spec.attention = AttentionKind::math;
  CHECK(per_token(shape, spec) == 34 * shape.hidden + 5 * shape.heads * 64);
}

TEST_CASE("full checkpointing keeps the block's input alone") {
  WorkloadSpec spec = sequences(128);
  spec.activation_checkpointing = Checkpointing::full;
  CHECK(per_token(small_llama(), spec) == 2 * small_llama().hidden);
  CHECK(per_token(small_gpt(), spec) == 2 * small_gpt().hidden);
}

TEST_CASE("selective checkpointing keeps the input, attention and every second linear layer") {
  const TransformerShape shape = small_llama();
  WorkloadSpec spec = sequences(128);
  spec.activation_checkpointing = Checkpointing::selective;
  const std::int64_t q = 2 * shape.attention_width();
  const std::int64_t v = 2 * shape.kv_width();
  const std::int64_t attention = 2 * shape.attention_width() + 4 * shape.heads;
  const std::int64_t gate = 2 * shape.ffn_hidden;
  const std::int64_t down = 2 * shape.hidden;
  CHECK(per_token(shape, spec) == 2 * shape.hidden + q + v + attention + gate + down);
}

TEST_CASE("a policy that does not name the attention kernel computes it again") {
  const TransformerShape shape = small_llama();
  WorkloadSpec spec = sequences(128);
  spec.activation_checkpointing = Checkpointing::selective;
  const std::int64_t kept = per_token(shape, spec);
  spec.selective_keeps_attention = false;
  CHECK(kept - per_token(shape, spec) == 2 * shape.attention_width() + 4 * shape.heads);
}

TEST_CASE("compiled selective checkpointing drops the output that backward never looks at") {
  const TransformerShape shape = small_llama();
  WorkloadSpec spec = sequences(128);
  spec.activation_checkpointing = Checkpointing::selective;
  const std::int64_t eager = per_token(shape, spec);
  spec.compile = true;
  CHECK(eager - per_token(shape, spec) == 2 * shape.hidden);  // of the last linear layer
}

TEST_CASE("checkpointing every second block keeps every other block whole") {
  TransformerShape shape = small_llama();
  shape.layers = 4;
  WorkloadSpec spec = sequences(128);
  const auto held = [&](Checkpointing checkpointing, std::int64_t every) {
    spec.activation_checkpointing = checkpointing;
    spec.checkpoint_every = every;
    TransformerWorkload workload(shape, spec, {});
    cuda::ProgramRecorder recorder;
    workload.embedding_forward(recorder);
    for (int block = 0; block < 4; ++block) workload.block_forward(recorder, block);
    return Replay(recorder.finish()).live(MemoryKind::activations);
  };
  const std::int64_t none = held(Checkpointing::none, 1);
  const std::int64_t full = held(Checkpointing::full, 1);
  CHECK(2 * held(Checkpointing::full, 2) == none + full);
}

TEST_CASE("peaks order none > selective > full, and recomputation costs the reverse") {
  const TransformerShape shape = shipped_shape("llama-2-7b", 2048);
  WorkloadSpec spec = sequences(2048);
  std::int64_t last_peak = 0;
  double last_flops = 0;
  for (const Checkpointing checkpointing :
       {Checkpointing::full, Checkpointing::selective, Checkpointing::none}) {
    spec.activation_checkpointing = checkpointing;
    const cuda::Program program = record_step(shape, spec);
    const std::int64_t peak = Replay(program).peak(MemoryKind::activations);
    const double flops = hardware_flops(program).total;
    CHECK(peak > last_peak);
    if (last_peak > 0) CHECK(flops < last_flops);
    last_peak = peak;
    last_flops = flops;
  }
}

TEST_CASE("every activation is freed by the end of backward, whatever is checkpointed") {
  for (TransformerShape shape : {small_llama(), small_gpt()}) {
    for (const AttentionKind attention : {AttentionKind::flash, AttentionKind::math}) {
      for (const Checkpointing checkpointing :
           {Checkpointing::none, Checkpointing::selective, Checkpointing::full}) {
        for (const int variant : {0, 1, 2, 3}) {
          WorkloadSpec spec = sequences(64, 2);
          spec.attention = attention;
          spec.activation_checkpointing = checkpointing;
          spec.compile = variant % 2 == 1;
          spec.recompute_early_stop = variant < 2;
          shape.dropout = variant >= 2;
          shape.qk_norm = variant >= 2;
          const Replay replay(record_step(shape, spec));
          CHECK(replay.live() == 0);
          CHECK(replay.tensors() == 0);
        }
      }
    }
  }
}

TEST_CASE("after a block's backward nothing it saved is left") {
  const TransformerShape shape = small_llama();
  TransformerWorkload workload(shape, sequences(128), {});
  cuda::ProgramRecorder recorder;
  record_forward(recorder, workload);
  workload.loss_backward(recorder);
  workload.head_backward(recorder);
  workload.block_backward(recorder, 2);
  const cuda::Program program = recorder.finish();
  // Two blocks' activations and the gradient that block 1 will start from.
  const std::int64_t block = saved_by_one_block(shape, sequences(128));
  const std::int64_t stream = shape.hidden * 2 * 128;
  CHECK(Replay(program).live(MemoryKind::activations) == 2 * block + stream);
}

TEST_CASE("backward frees each operator's saved values as soon as it has run") {
  const TransformerShape shape = small_llama();
  const cuda::Program program = record_step(shape, sequences(128));
  const std::int64_t first = live_activations_at(program, "layers.2.feed_forward.w2.dgrad");
  const std::int64_t later = live_activations_at(program, "layers.2.attention.backward");
  // By then the feed-forward network's values, its norm's input and output and the product's
  // gradient are gone; the gradients of output, q, k and v have come, and what the kernel works in.
  const std::int64_t width = shape.attention_width();
  const std::int64_t gone = 8 * shape.ffn_hidden + 4 * shape.hidden + 2 * shape.ffn_hidden;
  const std::int64_t come = 2 * width + 2 * width + 4 * shape.kv_width();
  const std::int64_t workspace = 4 * (width + shape.heads) + 4 * width;
  CHECK(later - first == 128 * (come + workspace - gone));
}

TEST_CASE("logits and loss hold 12 bytes a logit beside the rest of the head") {
  TransformerShape shape = small_llama();
  shape.vocabulary = 50'000;
  const auto peak = [&](std::optional<double> bytes_per_logit, bool compiled) {
    WorkloadSpec spec = sequences(128);
    spec.loss_bytes_per_logit = bytes_per_logit;
    spec.compile = compiled;
    return static_cast<double>(Replay(record_step(shape, spec)).peak(MemoryKind::activations));
  };
  const double logits = 128 * 50'000;
  // Blocks, the first block's input, the final norm's output, and the loss.
  const std::int64_t blocks = shape.layers * saved_by_one_block(shape, sequences(128));
  const double rest = static_cast<double>(blocks + shape.hidden * 4 * 128);
  CHECK(peak({}, false) == 12 * logits + rest);
  CHECK(peak(14, false) == 14 * logits + rest);
  CHECK(peak(2, false) == doctest::Approx(2 * logits + rest).epsilon(0.01));
  CHECK(peak({}, true) < peak({}, false) - 7 * logits);
}

TEST_CASE("grouped queries shrink k and v and leave the attention's arithmetic alone") {
  TransformerShape grouped = small_llama();
  TransformerShape full = grouped;
  full.kv_heads = full.heads;
  const WorkloadSpec spec = sequences(128);
  CHECK(per_token(full, spec) - per_token(grouped, spec) ==
        4 * (full.kv_width() - grouped.kv_width()));
  CHECK(attention_flops(record_step(full, spec)) == attention_flops(record_step(grouped, spec)));
}

TEST_CASE("activations, products and traffic scale with the micro-batch, the CPU's work does not") {
  const TransformerShape shape = small_llama();
  CHECK(saved_by_one_block(shape, sequences(128, 4)) ==
        4 * saved_by_one_block(shape, sequences(128, 1)));
  const cuda::Program one = record_step(shape, sequences(128, 1));
  const cuda::Program four = record_step(shape, sequences(128, 4));
  CHECK(gemm_flops(four) == 4 * gemm_flops(one));
  CHECK(attention_flops(four) == 4 * attention_flops(one));
  CHECK(cpu_time(four) == cpu_time(one));
}
