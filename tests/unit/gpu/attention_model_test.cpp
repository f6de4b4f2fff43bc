#include "models/gpu/attention_model.hpp"

#include <doctest/doctest.h>

#include "tests/unit/gpu/round_gpu.hpp"

namespace shardsim::gpu {
namespace {

using enum AttentionImplementation;

constexpr GpuShare whole{100, 1e12, 1e15};  // memory never binds

AttentionWork self_attention(std::int64_t length, bool causal) {
  AttentionWork work;
  work.batch = 2;
  work.heads = 50;
  work.kv_heads = 50;
  work.query_length = length;
  work.key_length = length;
  work.head_size = 128;
  work.causal = causal;
  return work;
}

double seconds(const AttentionWork& work, double block_overhead = 0,
               const GpuShare& share = whole) {
  AttentionConstants constants = ideal_attention(flash_attention_2, AttentionPass::both, 128);
  constants.block_overhead = block_overhead;
  return attention_time(work, constants, {}, share).total;
}

TEST_CASE("full attention in whole waves takes its operations over the peak") {
  const AttentionWork work = self_attention(4096, false);
  CHECK(seconds(work) == doctest::Approx(4.0 * 100 * 4096 * 4096 * 128 / 100e12));
  CHECK(seconds(work) == doctest::Approx(flops(work) / 100e12));
}

TEST_CASE("a causal mask halves long sequences and saves nothing within one block") {
  const auto ratio = [](std::int64_t length) {
    return seconds(self_attention(length, true)) / seconds(self_attention(length, false));
  };
  CHECK(ratio(32768) == doctest::Approx(0.5).epsilon(0.02));
  CHECK(ratio(4096) > ratio(32768));
  CHECK(ratio(128) >= 1);
}

TEST_CASE("the cost of a block weighs on short sequences") {
  const auto slowdown = [](std::int64_t length) {
    return seconds(self_attention(length, true), 200) / seconds(self_attention(length, true));
  };
  CHECK(slowdown(512) > 1.5);
  CHECK(slowdown(65536) < 1.01);
}

TEST_CASE("the backward pass does five products where the forward pass does two") {
  AttentionWork work = self_attention(2048, true);
  const double forward = seconds(work);
  work.backward = true;
  CHECK(seconds(work) == doctest::Approx(2.5 * forward));
}

TEST_CASE("one head is bound by its longest block") {
  AttentionWork work = self_attention(4096, true);
  work.batch = 1;
  work.heads = 1;
  CHECK(seconds(work) == doctest::Approx(4.0 * 128 * 128 * 4096 / 1e12));
}

TEST_CASE("a causal mask is aligned at the last key") {
  AttentionWork work = self_attention(128, true);
  work.batch = 1000;
  work.key_length = 8192;
  const double decoding = seconds(work);
  work.causal = false;
  CHECK(decoding == doctest::Approx(seconds(work)).epsilon(0.01));  // all keys are in the past
  work = self_attention(8192, true);
  work.key_length = 128;  // only the last 128 queries see a key
  CHECK(seconds(work) == doctest::Approx(4.0 * 128 * 128 * 128 / 1e12).epsilon(0.02));
}

TEST_CASE("grouped keys change the bytes and not the arithmetic") {
  AttentionWork work = self_attention(1024, true);
  const double bytes = attention_bytes(work);
  CHECK(bytes == doctest::Approx(100.0 * 1024 * (4 * 128 * 2 + 4)));
  work.kv_heads = 5;
  CHECK(attention_bytes(work) < 0.6 * bytes);
  CHECK(seconds(work) == seconds(self_attention(1024, true)));
  work.backward = true;
  CHECK(attention_bytes(work) > 2 * bytes);
}

TEST_CASE("slow memory is a floor") {
  const AttentionWork work = self_attention(256, true);
  CHECK(seconds(work, 0, {100, 1e12, 1e9}) == doctest::Approx(attention_bytes(work) / 1e9));
}

TEST_CASE("a throttle slows long kernels in a benchmark and all kernels in a step") {
  AttentionConstants constants = ideal_attention(flash_attention_2, AttentionPass::both, 128);
  constants.throttle = {0.2};
  const auto slowdown = [&](std::int64_t length, PowerState power) {
    const AttentionWork work = self_attention(length, true);
    return attention_time(work, constants, {}, whole, power).total / seconds(work);
  };
  CHECK(slowdown(128, PowerState::benchmark()) == doctest::Approx(1).epsilon(0.01));
  CHECK(slowdown(65536, PowerState::benchmark()) == doctest::Approx(1 / 0.8).epsilon(0.01));
  CHECK(slowdown(128, PowerState::steady()) == doctest::Approx(1 / 0.8));
}

TEST_CASE("fewer SMs slow attention in proportion") {
  const AttentionWork work = self_attention(8192, true);
  CHECK(seconds(work, 100, {50, 1e12, 1e15}) ==
        doctest::Approx(2 * seconds(work, 100)).epsilon(0.02));
}

TEST_CASE("attention without queries launches nothing") {
  AttentionConstants constants = ideal_attention(flash_attention_2, AttentionPass::both, 128);
  const simcore::SimTime gap = simcore::SimTime::microseconds(5);
  AttentionWork work = self_attention(0, true);
  CHECK(attention_time(work, constants, gap, whole).total == 0);
  work = self_attention(128, true);
  work.batch = 0;
  CHECK(attention_time(work, constants, gap, whole).total == 0);
  work = self_attention(1, true);
  CHECK(attention_time(work, constants, gap, whole).total >= 5e-6);
}

TEST_CASE("the first FlashAttention takes its successor's constants and twice the arithmetic") {
  AttentionWork work = self_attention(4096, true);
  const double successor = seconds(work, 100);
  work.implementation = flash_attention_1;
  CHECK(seconds(work, 100) == doctest::Approx(2 * successor));
  AttentionTable table;
  table.kernels = {ideal_attention(cudnn, AttentionPass::forward, 128),
                   ideal_attention(flash_attention_2, AttentionPass::backward, 64)};
  CHECK(choose_constants(table, work).implementation == flash_attention_2);
  table.kernels.push_back(ideal_attention(flash_attention_1, AttentionPass::both, 128));
  CHECK(choose_constants(table, work).implementation == flash_attention_1);
  CHECK(attention_time(work, table.kernels[2], {}, whole).total ==
        doctest::Approx(seconds(self_attention(4096, true))));
}

TEST_CASE("longer sequences never take less time") {
  double previous = 0;
  for (std::int64_t length = 1; length < 20000; length += 61) {
    const double time = seconds(self_attention(length, true), 150);
    CHECK(time >= previous);
    previous = time;
  }
}

TEST_CASE("the nearest constants serve: implementation, then pass, then head size") {
  AttentionTable table;
  table.kernels = {
      ideal_attention(flash_attention_2, AttentionPass::both, 64),
      ideal_attention(flash_attention_2, AttentionPass::forward, 128),
      ideal_attention(flash_attention_2, AttentionPass::forward, 256),
      ideal_attention(cudnn, AttentionPass::backward, 128),
  };
  const auto chosen = [&](AttentionImplementation implementation, bool backward,
                          std::int64_t size) {
    AttentionWork work;
    work.implementation = implementation;
    work.backward = backward;
    work.head_size = size;
    return &choose_constants(table, work) - table.kernels.data();
  };
  CHECK(chosen(flash_attention_2, false, 128) == 1);
  CHECK(chosen(flash_attention_2, false, 64) == 1);   // the pass counts before the size
  CHECK(chosen(flash_attention_2, false, 192) == 2);  // the larger of two equally near
  CHECK(chosen(flash_attention_2, false, 1000) == 2);
  CHECK(chosen(flash_attention_2, true, 128) == 0);  // measured over both passes
  CHECK(chosen(cudnn, false, 64) == 3);              // the other pass, the right library
  CHECK(chosen(flash_attention_3, true, 64) == 3);   // another library, the right pass
  CHECK(chosen(flash_attention_3, false, 64) == 1);
}

}  // namespace
}  // namespace shardsim::gpu
