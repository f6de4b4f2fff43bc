#include "models/gpu/gemm_model.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "tests/unit/gpu/round_gpu.hpp"

namespace shardsim::gpu {
namespace {

constexpr GpuShare whole{100, 1e12, 1e15};  // memory never binds

GemmWork product(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmWork work;
  work.m = m;
  work.n = n;
  work.k = k;
  return work;
}

double seconds(const GemmWork& work, const GemmConstants& constants, const GpuShare& share = whole,
               PowerState power = PowerState::steady()) {
  return gemm_time(work, constants, share, power).total;
}

TEST_CASE("a product that fills whole waves takes its operations over the peak") {
  const GemmWork work = product(25600, 1280, 8192);  // 100 x 10 tiles of 256 x 128
  const GemmTime time = gemm_time(work, ideal_gemm(), whole, PowerState::steady());
  CHECK(time.total == doctest::Approx(2.0 * 25600 * 1280 * 8192 / 100e12).epsilon(1e-12));
  CHECK(time.tile_m == 256);
  CHECK(time.waves == 10);
  CHECK(time.split == 1);
}

TEST_CASE("efficiency, prologue and sustained throttling stretch the arithmetic") {
  const GemmWork work = product(25600, 1280, 8192);
  const double ideal = seconds(work, ideal_gemm());
  GemmConstants constants = ideal_gemm();
  constants.efficiency = {0.8};
  CHECK(seconds(work, constants) == doctest::Approx(ideal / 0.8));
  constants.prologue_depth = 512;
  CHECK(seconds(work, constants) == doctest::Approx(ideal / 0.8 * (8192 + 512) / 8192));
  constants.prologue_depth = 0;
  constants.throttle = {0.2};
  CHECK(seconds(work, constants) == doctest::Approx(ideal / 0.8 / 0.8));
  CHECK(seconds(work, constants, whole, PowerState::steady(0.5)) ==
        doctest::Approx(ideal / 0.8 / 0.9));
  CHECK(seconds(work, constants, whole, PowerState::steady(0)) == doctest::Approx(ideal / 0.8));
}

TEST_CASE("training has a throttle of its own where one is given, benchmarks do not look at it") {
  const GemmWork work = product(25600, 1280, 8192);
  GemmConstants constants = ideal_gemm();
  constants.throttle = {0.1};
  const double benchmark = seconds(work, constants, whole, PowerState::benchmark());
  constants.training_throttle = simcore::Fraction{0.3};
  CHECK(seconds(work, constants) == doctest::Approx(seconds(work, ideal_gemm()) / 0.7));
  CHECK(seconds(work, constants, whole, PowerState::benchmark()) == benchmark);
}

TEST_CASE("in a benchmark the throttle grows with the kernel's length") {
  GemmConstants constants = ideal_gemm();
  constants.throttle = {0.2};
  const auto slowdown = [&](std::int64_t k) {
    const GemmWork work = product(25600, 1280, k);
    return seconds(work, constants, whole, PowerState::benchmark()) / seconds(work, ideal_gemm());
  };
  CHECK(slowdown(64) < 1.01);
  CHECK(slowdown(1'000'000) > 1.24);
  CHECK(slowdown(8192) > slowdown(4096));
  CHECK(slowdown(1'000'000) < 1.25);
}

TEST_CASE("a thin product takes the time of moving its matrices") {
  const GemmWork work = product(8192, 8192, 16);
  const GpuShare slow_memory{100, 1e15, 1e12};
  const double bytes = 2.0 * (8192.0 * 16 * 2 + 8192.0 * 8192);
  const GemmTime time = gemm_time(work, ideal_gemm(), slow_memory, PowerState::steady());
  CHECK(time.memory == doctest::Approx(bytes / 1e12));
  CHECK(time.total == doctest::Approx(bytes / 1e12));
}

TEST_CASE("one tile more than there are SMs costs a second wave") {
  GemmConstants constants = ideal_gemm();
  constants.tile_penalty = 5000;  // smaller tiles, which quantise finer, are out of the question
  const GemmTime full = gemm_time(product(25600, 128, 4096), constants, whole, {});
  const GemmTime over = gemm_time(product(25601, 128, 4096), constants, whole, {});
  CHECK(full.waves == 1);
  CHECK(over.waves == 2);
  CHECK(over.total == doctest::Approx(2 * full.total));

  SUBCASE("and less where smaller tiles are free") {
    const double finer = seconds(product(25601, 128, 4096), ideal_gemm());
    CHECK(finer > full.total);
    CHECK(finer < 1.3 * full.total);
  }
}

TEST_CASE("few tiles with a deep K are split over the idle SMs") {
  GemmConstants constants = ideal_gemm();
  constants.split_cost = simcore::SimTime::microseconds(1);
  const GemmWork work = product(256, 256, 65536);
  const GemmTime split = gemm_time(work, constants, whole, {});
  CHECK(split.split > 1);
  CHECK(split.total < seconds(work, ideal_gemm()) / 2);
  CHECK(split.overhead >= 1e-6);
  CHECK(gemm_time(product(256, 256, 511), constants, whole, {}).split == 1);
}

TEST_CASE("an empty product takes no time, a product over nothing writes zeros") {
  GemmConstants constants = ideal_gemm();
  constants.fixed_time = simcore::SimTime::microseconds(3);
  CHECK(seconds(product(0, 128, 128), constants) == 0);
  CHECK(seconds(product(128, 0, 128), constants) == 0);
  GemmWork none = product(128, 128, 128);
  none.batch = 0;
  CHECK(seconds(none, constants) == 0);
  const GpuShare share{100, 1e12, 1e9};
  CHECK(seconds(product(1000, 1000, 0), constants, share) == doctest::Approx(2e6 / 1e9 + 3e-6));
}

TEST_CASE("the smallest product takes the fixed time and one tile") {
  GemmConstants constants = ideal_gemm();
  constants.fixed_time = simcore::SimTime::microseconds(3);
  const double tile = 2.0 * 64 * 32 * 64 / 1e12;  // the smallest tile, one step of K
  CHECK(seconds(product(1, 1, 1), constants) == doctest::Approx(3e-6 + tile));
}

TEST_CASE("products of astronomic size stay finite and in proportion") {
  const double one = seconds(product(1 << 20, 1 << 20, 1 << 20), ideal_gemm());
  CHECK(one == doctest::Approx(std::ldexp(1.0, 61) / 100e12).epsilon(1e-6));
  GemmWork many = product(1 << 20, 1 << 20, 1 << 20);
  many.batch = 1 << 20;
  CHECK(seconds(many, ideal_gemm()) == doctest::Approx(one * (1 << 20)).epsilon(1e-6));
}

TEST_CASE("doubling any dimension never makes a product faster") {
  GemmConstants constants = ideal_gemm();
  constants.tile_penalty = 10;
  constants.prologue_depth = 100;
  constants.split_cost = simcore::SimTime::microseconds(2);
  constants.knee_exponent = 3;
  const GpuShare share{100, 1e12, 1e12};
  for (std::int64_t m = 1; m <= 1 << 14; m *= 4) {
    for (std::int64_t n = 3; n <= 1 << 14; n *= 5) {
      for (std::int64_t k = 7; k <= 1 << 14; k *= 6) {
        const double time = seconds(product(m, n, k), constants, share);
        CHECK(seconds(product(2 * m, n, k), constants, share) >= time);
        CHECK(seconds(product(m, 2 * n, k), constants, share) >= time);
        CHECK(seconds(product(m, n, 2 * k), constants, share) >= time);
      }
    }
  }
}

TEST_CASE(
    "a product is never faster than its operations at the peak or its bytes at the bandwidth") {
  const GpuShare share{100, 1e12, 1e12};
  for (std::int64_t m = 1; m <= 1 << 14; m = m * 3 + 1) {
    for (std::int64_t n = 1; n <= 1 << 14; n = n * 5 + 2) {
      const GemmWork work = product(m, n, 4096);
      const double time = seconds(work, ideal_gemm(), share);
      CHECK(time >= flops(work) / 100e12 * (1 - 1e-12));
      CHECK(time >= 2.0 * static_cast<double>(m * 4096 + 4096 * n + m * n) / 1e12 * (1 - 1e-12));
    }
  }
}

TEST_CASE("a batch multiplies the tiles, not the kernels") {
  GemmConstants constants = ideal_gemm();
  constants.fixed_time = simcore::SimTime::microseconds(3);
  GemmWork batch = product(256, 128, 4096);
  const double one = seconds(batch, constants);
  CHECK(one > 3e-6);
  batch.batch = 1000;
  const double ten_waves = 10 * 2.0 * 256 * 128 * 4096 / 1e12;
  CHECK(seconds(batch, constants) == doctest::Approx(ten_waves + 3e-6));
}

TEST_CASE("fewer SMs and less bandwidth slow a product") {
  const GemmWork compute = product(25600, 1280, 8192);
  CHECK(seconds(compute, ideal_gemm(), {50, 1e12, 1e15}) ==
        doctest::Approx(2 * seconds(compute, ideal_gemm())));
  CHECK(seconds(compute, ideal_gemm(), {99, 1e12, 1e15}) > seconds(compute, ideal_gemm()));
  const GemmWork thin = product(8192, 8192, 16);
  CHECK(seconds(thin, ideal_gemm(), {100, 1e15, 5e11}) ==
        doctest::Approx(2 * seconds(thin, ideal_gemm(), {100, 1e15, 1e12})));
}

TEST_CASE("fp8 products pay for scaling their activations unless it is done elsewhere") {
  GemmConstants constants = ideal_gemm();
  constants.fixed_time = simcore::SimTime::microseconds(3);
  const GpuShare share{100, 1e12, 1e12};
  GemmWork work = product(8192, 1024, 1024);
  work.type = DataType::fp8;
  const double scaled = seconds(work, constants, share);
  work.dynamic_scaling = false;
  const double plain = seconds(work, constants, share);
  CHECK(scaled - plain == doctest::Approx(5.0 * 8192 * 1024 / 1e12 + 6e-6));
  work.type = DataType::bf16;
  work.dynamic_scaling = true;
  const double bf16 = seconds(work, constants, share);
  work.dynamic_scaling = false;
  CHECK(seconds(work, constants, share) == bf16);
}

}  // namespace
}  // namespace shardsim::gpu
