// Small samples of published kernel times (their sources are in the files): the model's median
// error on them must stay where it was when the constants were fitted.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/gpu/kernel_model.hpp"
#include "tests/unit/gpu/csv_table.hpp"
#include "tests/unit/gpu/serving_copy.hpp"

namespace shardsim::gpu {
namespace {

const std::filesystem::path source(SHARDSIM_SOURCE_DIR);

CsvTable sample(const char* file) {
  return CsvTable::read(source / "tests" / "unit" / "gpu" / "data" / file);
}

class Models {
 public:
  const KernelModel& operator[](const std::string& name) {
    const auto known = models_.find(name);
    if (known != models_.end()) return known->second;
    simcore::Diagnostics diagnostics;
    const auto spec = load_gpu(name, {source / "topologies" / "gpus"}, diagnostics);
    REQUIRE_MESSAGE(spec.has_value(), simcore::to_text(diagnostics));
    return models_.emplace(name, KernelModel(*spec, PowerState::benchmark())).first->second;
  }

 private:
  std::map<std::string, KernelModel> models_;
};

/// Errors of a sample, as shares.
class Errors {
 public:
  void add(double predicted, double measured) {
    errors_.push_back(std::abs(predicted / measured - 1));
    std::ranges::sort(errors_);
  }
  std::size_t count() const { return errors_.size(); }
  double median() const { return errors_[errors_.size() / 2]; }
  double largest() const { return errors_.back(); }

 private:
  std::vector<double> errors_;
};

std::int64_t whole(const CsvTable& table, std::size_t row, const char* column) {
  return static_cast<std::int64_t>(table.number(row, column));
}

TEST_CASE("predicted products stay near published ones") {
  const CsvTable table = sample("gemm_sample.csv");
  Models models;
  std::map<std::string, Errors> by_gpu;
  Errors all;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    GemmWork work;
    work.m = whole(table, row, "m");
    work.n = whole(table, row, "n");
    work.k = whole(table, row, "k");
    if (table.text(row, "type") == "fp8") work.type = DataType::fp8;
    const std::string& gpu = table.text(row, "gpu");
    const double predicted = models[gpu].time(work).duration.microseconds();
    all.add(predicted, table.number(row, "time_us"));
    by_gpu[gpu].add(predicted, table.number(row, "time_us"));
  }
  REQUIRE(all.count() == 40);
  MESSAGE("median error " << all.median() << ", largest " << all.largest());
  CHECK(all.median() < 0.05);
  CHECK(all.largest() < 0.30);
  for (const auto& [gpu, errors] : by_gpu) {
    CAPTURE(gpu);
    CHECK(errors.median() < 0.08);
  }
}

std::optional<AttentionImplementation> implementation_of(const std::string& name) {
  for (const auto& [spelling, value] : simcore::EnumNames<AttentionImplementation>::values) {
    if (spelling == name) return value;
  }
  return std::nullopt;
}

TEST_CASE("predicted attention stays near published measurements") {
  const CsvTable table = sample("attention_sample.csv");
  Models models;
  Errors all;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto implementation = implementation_of(table.text(row, "implementation"));
    REQUIRE(implementation);
    AttentionWork work;
    work.implementation = *implementation;
    work.causal = table.text(row, "causal") == "1";
    work.batch = whole(table, row, "batch");
    work.query_length = work.key_length = whole(table, row, "sequence");
    work.heads = whole(table, row, "heads");
    work.kv_heads = whole(table, row, "kv_heads");
    work.head_size = whole(table, row, "head_size");
    const std::string& pass = table.text(row, "pass");
    work.backward = pass == "bwd";
    const KernelModel& model = models[table.text(row, "gpu")];
    double operations = flops(work);
    double predicted = model.time(work).duration.seconds();
    if (pass == "fwd+bwd") {
      work.backward = true;
      operations += flops(work);
      predicted += model.time(work).duration.seconds();
    }
    all.add(predicted, operations / (table.number(row, "tflops") * 1e12));
  }
  REQUIRE(all.count() == 28);
  MESSAGE("median error " << all.median() << ", largest " << all.largest());
  CHECK(all.median() < 0.04);
  CHECK(all.largest() < 0.15);
}

/// Mean errors that a fit of two constants and a throttle to each whole set leaves without the copy
/// into the cache.
double fit_to_the_set(const std::string& gpu, const std::string& framework, int head_size) {
  if (gpu == "a100-sxm4-80gb") return 0.094;
  if (gpu == "b200-sxm-180gb") return 0.126;
  if (gpu == "l40s") return 0.102;
  if (framework == "sglang") return 0.081;
  return head_size == 64 ? 0.143 : 0.108;
}

TEST_CASE(
    "prefill is predicted from kernels and the copy into the cache, not worse than by a fit") {
  const CsvTable table = sample("prefill_sample.csv");
  Models models;
  std::map<std::string, std::vector<double>> errors;
  std::map<std::string, double> allowed;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto implementation = implementation_of(table.text(row, "implementation"));
    REQUIRE(implementation);
    AttentionWork work;
    work.implementation = *implementation;
    work.batch = whole(table, row, "batch");
    work.query_length = work.key_length = whole(table, row, "sequence");
    work.heads = whole(table, row, "heads");
    work.kv_heads = whole(table, row, "kv_heads");
    work.head_size = whole(table, row, "head_size");
    const std::string& gpu = table.text(row, "gpu");
    const std::string& framework = table.text(row, "framework");
    const KernelModel& model = models[gpu];
    const simcore::Bytes copied = serving_copy_bytes(work);
    const double copy = framework == "vllm"
                            ? vllm_copy_seconds(copied, model.spec().memory.bandwidth)
                            : model.time(MemoryBoundWork{.bytes = copied}).duration.seconds();
    const double predicted = model.time(work).duration.seconds() + copy;
    const std::string group = gpu + " " + framework + " " + table.text(row, "head_size");
    errors[group].push_back(std::abs(predicted * 1e6 / table.number(row, "time_us") - 1));
    allowed[group] = fit_to_the_set(gpu, framework, static_cast<int>(work.head_size));
  }
  REQUIRE(errors.size() == 9);
  for (const auto& [group, all] : errors) {
    CAPTURE(group);
    CHECK(all.size() == 24);
    const double mean = std::accumulate(all.begin(), all.end(), 0.0) / 24;
    CHECK(mean <= allowed.at(group));
  }
}

TEST_CASE("predicted memory-bound kernels stay near published ones") {
  const CsvTable table = sample("memory_bound_sample.csv");
  const std::map<std::string, MemoryBoundKind> kinds{
      {"stream", MemoryBoundKind::stream},
      {"norm_forward", MemoryBoundKind::norm_forward},
      {"softmax", MemoryBoundKind::softmax},
      {"activation_forward", MemoryBoundKind::activation_forward}};
  Models models;
  Errors all;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    MemoryBoundWork work;
    work.kind = kinds.at(table.text(row, "kind"));
    work.bytes = simcore::Bytes{whole(table, row, "bytes")};
    all.add(models[table.text(row, "gpu")].time(work).duration.microseconds(),
            table.number(row, "time_us"));
  }
  REQUIRE(all.count() == 24);
  MESSAGE("median error " << all.median() << ", largest " << all.largest());
  CHECK(all.median() < 0.02);
  CHECK(all.largest() < 0.30);
}

}  // namespace
}  // namespace shardsim::gpu
