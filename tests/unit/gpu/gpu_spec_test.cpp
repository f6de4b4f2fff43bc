#include "models/gpu/gpu_spec.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/gpu/kernel_model.hpp"

namespace shardsim::gpu {
namespace {

namespace fs = std::filesystem;

const fs::path library = fs::path(SHARDSIM_SOURCE_DIR) / "topologies" / "gpus";

constexpr std::string_view small_gpu = R"(name: Small
architecture: Test
sms: 10
power_limit: 0.1 kW
memory: {capacity: 1 GiB, bandwidth: 100 GB/s, l2: 1 MiB}
peak: {fp32: 1 TFLOP/s, bf16: 10 TFLOP/s}
gemm:
  bf16: {basis: borrowed from Large, expected_error: 5 %, efficiency: 90 %, throttle: 0.1,
         tile_penalty: 1, prologue_depth: 100, memory_efficiency: 0.8, fixed_time: 3 us,
         knee_exponent: 4, split_cost: 2 us}
attention:
  fixed_time: 5 us
  kernels:
    - {implementation: cudnn, pass: both, head_size: 128, basis: fitted, expected_error: 5 %,
       efficiency: 0.6, block_overhead: 200}
memory_bound: {basis: assumed, expected_error: 20 %, fixed_time: 3 us, stream: 0.8,
  norm_forward: 0.8, norm_backward: 0.4, softmax: 0.8, rotary: 0.8, activation_forward: 0.8,
  activation_backward: 0.8, cross_entropy: 0.6, embedding_forward: 0.3, embedding_backward: 0.2,
  optimizer: 0.8}
)";

GpuSpec read(std::string text, simcore::Diagnostics& diagnostics) {
  auto source = std::make_shared<simcore::SourceText>();
  source->name = "small.yaml";
  source->text = std::move(text);
  const auto root = simcore::read_yaml(source, diagnostics);
  return root ? simcore::read_config<GpuSpec>(*root, diagnostics) : GpuSpec{};
}

/// Diagnostics of the small GPU with the first `from` replaced by `to`.
std::string errors_with(std::string_view from, std::string_view to) {
  std::string text(small_gpu);
  const std::size_t place = text.find(from);
  REQUIRE(place != std::string::npos);
  text.replace(place, from.size(), to);
  simcore::Diagnostics diagnostics;
  read(std::move(text), diagnostics);
  CHECK(diagnostics.has_errors());
  return simcore::to_text(diagnostics);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> shipped_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(library)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

GpuSpec load(const std::string& name) {
  simcore::Diagnostics diagnostics;
  const auto spec = load_gpu(name, {library}, diagnostics);
  CHECK_MESSAGE(spec.has_value(), simcore::to_text(diagnostics));
  return spec.value_or(GpuSpec{});
}

TEST_CASE("a specification is read with its units") {
  simcore::Diagnostics diagnostics;
  const GpuSpec spec = read(std::string(small_gpu), diagnostics);
  REQUIRE_MESSAGE(!diagnostics.has_errors(), simcore::to_text(diagnostics));
  CHECK(spec.sms == 10);
  CHECK(spec.power_limit.watts == 100);
  CHECK(!spec.boost_clock);
  CHECK(spec.memory.bandwidth.bytes_per_second == 100e9);
  CHECK(spec.peak_rate(DataType::bf16).flops_per_second == 10e12);
  const GemmConstants& gemm = spec.gemm_constants(DataType::fp16);
  CHECK(gemm.efficiency.value == doctest::Approx(0.9));
  CHECK(gemm.fixed_time == simcore::SimTime::microseconds(3));
  CHECK(gemm.basis == Basis{Basis::Kind::borrowed, "Large"});
  CHECK(spec.attention.kernels.at(0).basis == Basis{Basis::Kind::fitted, {}});
  CHECK(spec.attention.kernels.at(0).implementation == AttentionImplementation::cudnn);
}

TEST_CASE("a printed specification reads back as the same") {
  simcore::Diagnostics diagnostics;
  const GpuSpec spec = read(std::string(small_gpu), diagnostics);
  const std::string printed = simcore::print_value(spec);
  const GpuSpec again = read(printed, diagnostics);
  CHECK_MESSAGE(!diagnostics.has_errors(), simcore::to_text(diagnostics));
  CHECK(simcore::print_value(again) == printed);
}

TEST_CASE("bad specifications are refused and the message says where and why") {
  CHECK(contains(errors_with("sms: 10", "sms: 0"), "small.yaml:3:"));
  CHECK(contains(errors_with("sms: 10", "sm: 10"), "sms"));
  CHECK(contains(errors_with("100 GB/s", "100"), "bandwidth"));
  CHECK(contains(errors_with("10 TFLOP/s", "10 TB"), "bf16"));
  CHECK(contains(errors_with("0.1 kW", "100 V"), "power"));
  CHECK(contains(errors_with("0.1 kW", "0 W"), "above 0"));
  CHECK(contains(errors_with("0.1 kW", "[100 W]"), "power"));
  CHECK(contains(errors_with("efficiency: 90 %", "efficiency: 190 %"), "efficiency"));
  CHECK(contains(errors_with("throttle: 0.1", "throttle: 1"), "throttle"));
  CHECK(contains(errors_with("knee_exponent: 4", "knee_exponent: 0.5"), "knee_exponent"));
  CHECK(contains(errors_with("borrowed from Large", "borrowed from "), "borrowed from NAME"));
  CHECK(contains(errors_with("basis: fitted", "basis: fited"), "did you mean 'fitted'"));
  CHECK(contains(errors_with("cudnn", "cudn"), "did you mean 'cudnn'"));
  CHECK(contains(errors_with("stream: 0.8,", ""), "stream"));
}

TEST_CASE("a specification without constants for any data type is refused") {
  std::string text(small_gpu);
  const std::size_t begin = text.find("gemm:");
  text.replace(begin, text.find("attention:") - begin, "gemm: {}\n");
  simcore::Diagnostics diagnostics;
  read(text, diagnostics);
  CHECK(contains(simcore::to_text(diagnostics), "one data type at least"));
}

TEST_CASE("every shipped GPU loads, and its file is its name in lower case") {
  const std::vector<std::string> names = shipped_names();
  CHECK(names.size() >= 13);
  for (const std::string& name : names) {
    std::string lower = load(name).name;
    for (char& letter : lower) letter = static_cast<char>(std::tolower(letter));
    CHECK(lower == name);
  }
}

TEST_CASE("every shipped GPU has sane constants") {
  for (const std::string& name : shipped_names()) {
    CAPTURE(name);
    const GpuSpec spec = load(name);
    CHECK(spec.memory.capacity > simcore::Bytes{std::int64_t{15} << 30});
    // A full SM does fewer than 20,000 bf16 or fp16 operations a clock on anything built so far.
    REQUIRE(spec.boost_clock);
    const double type_rate = spec.peak_rate(DataType::fp16).flops_per_second;
    CHECK(type_rate / static_cast<double>(spec.sms) / spec.boost_clock->hertz < 20'000);
    CHECK(type_rate > spec.peak.fp32.flops_per_second);
    // A large product at sustained clock reaches 25 to 95 % of the peak.
    GemmWork product;
    product.m = product.n = product.k = 16384;
    product.type = product.output_type = DataType::fp16;
    const double reached = flops(product) / KernelModel(spec).time(product).duration.seconds();
    CHECK(reached / type_rate > 0.25);
    CHECK(reached / type_rate < 0.95);
  }
}

TEST_CASE("lenders of borrowed constants are shipped GPUs") {
  std::vector<std::string> known;
  for (const std::string& name : shipped_names()) known.push_back(load(name).name);
  const auto check = [&](const Basis& basis) {
    if (basis.kind == Basis::Kind::borrowed) {
      CHECK_MESSAGE(std::ranges::count(known, basis.lender) == 1, basis.lender);
    }
  };
  for (const std::string& name : shipped_names()) {
    const GpuSpec spec = load(name);
    for (const auto& entry :
         {spec.gemm.fp32, spec.gemm.tf32, spec.gemm.bf16, spec.gemm.fp16, spec.gemm.fp8}) {
      if (entry) check(entry->basis);
    }
    for (const AttentionConstants& entry : spec.attention.kernels) check(entry.basis);
    check(spec.memory_bound.basis);
  }
}

TEST_CASE("an unknown GPU is an error with the nearest name") {
  simcore::Diagnostics diagnostics;
  simcore::SourceLocation where;
  where.source =
      std::make_shared<simcore::SourceText>(simcore::SourceText{"node.yaml", "gpu: x\n"});
  where.line = 1;
  where.column = 6;
  CHECK(!load_gpu("h100-sxm5-80g", {library}, diagnostics, where));
  REQUIRE(diagnostics.error_count() == 1);
  CHECK(diagnostics.all()[0].suggestion == "h100-sxm5-80gb");
  CHECK(contains(simcore::to_text(diagnostics), "node.yaml:1:6"));
  CHECK(contains(simcore::to_text(diagnostics), "a100-sxm4-80gb"));
}

TEST_CASE("folders are searched in order, and missing ones do not matter") {
  simcore::Diagnostics diagnostics;
  CHECK(load_gpu("l4", {"/no/such/folder", library}, diagnostics));
  CHECK(!diagnostics.has_errors());
  CHECK(!load_gpu("l4", {"/no/such/folder"}, diagnostics));
  CHECK(contains(simcore::to_text(diagnostics), "no specifications were found"));
}

TEST_CASE("a path is taken as it is") {
  simcore::Diagnostics diagnostics;
  CHECK(load_gpu((library / "l40s.yaml").string(), {}, diagnostics));
  CHECK(!diagnostics.has_errors());
  CHECK(!load_gpu("./no-such-gpu.yaml", {library}, diagnostics));
  CHECK(diagnostics.has_errors());
}

}  // namespace
}  // namespace shardsim::gpu
