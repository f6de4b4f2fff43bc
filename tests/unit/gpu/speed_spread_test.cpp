#include "models/gpu/speed_spread.hpp"

#include <doctest/doctest.h>

#include "models/gpu/kernel_model.hpp"
#include "round_gpu.hpp"

namespace shardsim::gpu {
namespace {

TEST_CASE("the slowest of N normal draws, on average") {
  CHECK(expected_largest_normal(1) == 0);
  // Tables of order statistics: H. L. Harter, Biometrika 48 (1961), 151-165.
  CHECK(expected_largest_normal(2) == doctest::Approx(0.56419).epsilon(0.05));
  CHECK(expected_largest_normal(8) == doctest::Approx(1.42360).epsilon(0.01));
  CHECK(expected_largest_normal(100) == doctest::Approx(2.50759).epsilon(0.01));
  double last = 0;
  for (std::int64_t count = 2; count <= std::int64_t{1} << 20; count *= 2) {
    const double largest = expected_largest_normal(count);
    CHECK(largest > last);
    last = largest;
  }
  CHECK(last < 6);
}

TEST_CASE("products and attention take the slowest GPU's pace, memory-bound kernels do not") {
  const GpuSpec one = round_gpu();
  const simcore::Fraction spread{0.02};
  const GpuSpec slow = slowest_of(one, 64, spread);
  const double longer = 1 + 0.02 * expected_largest_normal(64);
  const auto ratio = [&](const KernelWork& work) {
    return KernelModel(slow).time(work).duration.seconds() /
           KernelModel(one).time(work).duration.seconds();
  };
  CHECK(ratio(GemmWork{.m = 8192, .n = 8192, .k = 8192}) == doctest::Approx(longer).epsilon(1e-3));
  CHECK(ratio(AttentionWork{.batch = 8,
                            .heads = 32,
                            .kv_heads = 32,
                            .query_length = 4096,
                            .key_length = 4096,
                            .head_size = 128}) == doctest::Approx(longer).epsilon(1e-3));
  CHECK(ratio(MemoryBoundWork{.bytes = simcore::Bytes{1'000'000'000}}) == 1);
}

TEST_CASE("one GPU, or GPUs that are all alike, are as fast as the specification") {
  const KernelWork work = GemmWork{.m = 4096, .n = 4096, .k = 4096};
  const auto time = [&](const GpuSpec& spec) { return KernelModel(spec).time(work).duration; };
  CHECK(time(slowest_of(round_gpu(), 1, {0.1})) == time(round_gpu()));
  CHECK(time(slowest_of(round_gpu(), 512, {0})) == time(round_gpu()));
}

}  // namespace
}  // namespace shardsim::gpu
