#include "models/gpu/kernel_model.hpp"

#include <array>
#include <utility>

#include <doctest/doctest.h>

#include "tests/unit/gpu/round_gpu.hpp"

namespace shardsim::gpu {
namespace {

using simcore::BitRate;
using simcore::Bytes;
using simcore::SimTime;

MemoryBoundWork traffic(MemoryBoundKind kind, std::int64_t bytes, int launches = 1) {
  MemoryBoundWork work;
  work.kind = kind;
  work.bytes = Bytes{bytes};
  work.launches = launches;
  return work;
}

TEST_CASE("a prescribed time is passed on") {
  const KernelModel model(round_gpu());
  const SimTime time = SimTime::nanoseconds(1234);
  CHECK(model.time(FixedWork{time}).duration == time);
  CHECK(model.time(FixedWork{time}, 10, BitRate{1e11}).duration == time);
}

TEST_CASE("each memory-bound kind takes its bytes over its share of the bandwidth") {
  const KernelModel model(round_gpu());
  using enum MemoryBoundKind;
  constexpr auto shares = std::to_array<std::pair<MemoryBoundKind, double>>({
      {stream, 0.8},
      {norm_forward, 0.7},
      {norm_backward, 0.35},
      {softmax, 0.75},
      {rotary, 0.74},
      {activation_forward, 0.73},
      {activation_backward, 0.72},
      {cross_entropy, 0.6},
      {embedding_forward, 0.3},
      {embedding_backward, 0.2},
      {optimizer, 0.5},
  });
  for (const auto& [kind, share] : shares) {
    const KernelTiming timing = model.time(traffic(kind, 1'000'000'000));
    CHECK(timing.duration.seconds() == doctest::Approx(1e9 / (share * 1e12)));
    CHECK(timing.memory_bound());
  }
}

TEST_CASE("each launch of a memory-bound kernel costs a gap, even for nothing") {
  GpuSpec spec = round_gpu();
  spec.memory_bound.fixed_time = SimTime::microseconds(2);
  const KernelModel model(spec);
  const SimTime one = model.time(traffic(MemoryBoundKind::stream, 8'000'000)).duration;
  CHECK(one == SimTime::microseconds(12));
  CHECK(model.time(traffic(MemoryBoundKind::stream, 8'000'000, 5)).duration ==
        SimTime::microseconds(20));
  CHECK(model.time(traffic(MemoryBoundKind::stream, 0)).duration == SimTime::microseconds(2));
  CHECK(model.time(traffic(MemoryBoundKind::stream, 0, 0)).duration == SimTime{});
}

TEST_CASE("the whole GPU is what a kernel gets by default") {
  const KernelModel model(round_gpu());
  const std::array<KernelWork, 3> works{GemmWork{}, AttentionWork{},
                                        traffic(MemoryBoundKind::softmax, 123456)};
  for (const KernelWork& work : works) {
    const SimTime time = model.time(work).duration;
    CHECK(model.time(work, 100, BitRate{1e12}).duration == time);
    CHECK(model.time(work, 1000, BitRate{1e13}).duration == time);  // never more than there is
  }
}

TEST_CASE("a kernel beside communication loses SMs and bandwidth") {
  const KernelModel model(round_gpu());
  GemmWork product;
  product.m = 25600;
  product.n = 1280;
  product.k = 8192;
  const KernelTiming alone = model.time(product);
  const KernelTiming beside = model.time(product, 80, BitRate{1e12});
  CHECK(beside.duration.seconds() > 1.24 * alone.duration.seconds());
  CHECK(beside.waves > alone.waves);
  CHECK(!alone.memory_bound());
  const KernelWork copy = traffic(MemoryBoundKind::stream, 1'000'000'000);
  CHECK(model.time(copy, 100, BitRate{5e11}).duration == model.time(copy).duration * 2);
  CHECK(model.time(copy, 0, BitRate{1e12}).duration == model.time(copy).duration);
}

TEST_CASE("types run at their own peak and borrow constants from their neighbours") {
  const GpuSpec spec = round_gpu();
  const KernelModel model(spec);
  GemmWork product;
  product.m = 25600;
  product.n = 1280;
  product.k = 65536;
  const double bf16 = model.time(product).duration.seconds();
  product.type = DataType::fp8;
  product.dynamic_scaling = false;
  CHECK(model.time(product).duration.seconds() == doctest::Approx(bf16 / 2).epsilon(0.01));
  product.type = DataType::fp16;  // no units: emulated at the fp32 rate
  CHECK(!spec.supports(DataType::fp16));
  CHECK(model.time(product).duration.seconds() == doctest::Approx(bf16 * 10).epsilon(0.01));
  product.type = DataType::fp32;
  CHECK(spec.supports(DataType::fp32));
  CHECK(model.time(product).duration.seconds() == doctest::Approx(bf16 * 10).epsilon(0.01));
}

TEST_CASE("an absurd kernel is cut at eleven days rather than overflowing") {
  const KernelModel model(round_gpu());
  GemmWork product;
  product.m = product.n = product.k = std::int64_t{1} << 31;
  product.batch = std::int64_t{1} << 31;
  CHECK(model.time(product).duration.seconds() == 1e6);
}

TEST_CASE("a model keeps its own copy of the specification") {
  GpuSpec spec = round_gpu();
  const KernelModel model(spec);
  const KernelWork copy = traffic(MemoryBoundKind::stream, 1'000'000);
  const SimTime before = model.time(copy).duration;
  spec.memory.bandwidth = BitRate{1};
  CHECK(model.time(copy).duration == before);
}

TEST_CASE("operations count multiply and add, the mask, and five products backward") {
  GemmWork product;
  product.m = 2;
  product.n = 3;
  product.k = 5;
  product.batch = 7;
  CHECK(flops(product) == 2.0 * 2 * 3 * 5 * 7);

  AttentionWork attention;
  attention.batch = 2;
  attention.heads = 3;
  attention.query_length = attention.key_length = 64;
  attention.head_size = 16;
  attention.causal = false;
  CHECK(flops(attention) == 4.0 * 6 * 64 * 64 * 16);
  attention.causal = true;
  CHECK(flops(attention) == 2.0 * 6 * 64 * 64 * 16);
  attention.backward = true;
  CHECK(flops(attention) == 5.0 * 6 * 64 * 64 * 16);
  attention.backward = false;
  attention.key_length = 128;  // 64 keys before the first query, seen by all
  CHECK(flops(attention) == 4.0 * 6 * 16 * (64 * 128 - 64 * 32));
  attention.key_length = 32;  // the first 32 queries see nothing
  CHECK(flops(attention) == 4.0 * 6 * 16 * (32 * 16));

  CHECK(flops(traffic(MemoryBoundKind::stream, 100)) == 0);
  CHECK(flops(FixedWork{SimTime::microseconds(1)}) == 0);
}

}  // namespace
}  // namespace shardsim::gpu
