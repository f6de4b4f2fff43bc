// Errors of the GPU model against published kernel times.
//
//   gpu_validation TABLE.csv...
//
// Tables of matrix products (columns m, n, k and lat or time_ms or tflops), fused attention
// (seq_q, seq_kv, hd_qk, ...) and memory-bound kernels (model_bytes, time_ms) are told apart by
// their columns. Times are those of benchmark loops, so the clocks follow each kernel's length.
// Prints for each group how far predictions lie from the published times, and what was left out.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "models/gpu/kernel_model.hpp"
#include "tests/unit/gpu/csv_table.hpp"
#include "tests/unit/gpu/serving_copy.hpp"

namespace {

using namespace shardsim;
using namespace shardsim::gpu;

struct Name {
  std::string_view published;
  std::string_view file;
};

constexpr auto gpu_names = std::to_array<Name>({
    {"a100_sxm", "a100-sxm4-80gb"},
    {"NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"},
    {"NVIDIA A100 80GB SXM4", "a100-sxm4-80gb"},
    {"NVIDIA A100 SXM", "a100-sxm4-80gb"},
    {"A100-SXM4-80GB", "a100-sxm4-80gb"},
    {"h100_sxm", "h100-sxm5-80gb"},
    {"h100_fp8", "h100-sxm5-80gb"},
    {"NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"},
    {"NVIDIA H100 80GB SXM5", "h100-sxm5-80gb"},
    {"NVIDIA H100 SXM", "h100-sxm5-80gb"},
    {"NVIDIA H100", "h100-sxm5-80gb"},
    {"H100 80GB HBM3 SXM", "h100-sxm5-80gb"},
    {"h200_sxm", "h200-sxm-141gb"},
    {"NVIDIA H200", "h200-sxm-141gb"},
    {"b200_sxm", "b200-sxm-180gb"},
    {"b200_fp8", "b200-sxm-180gb"},
    {"NVIDIA B200", "b200-sxm-180gb"},
    {"NVIDIA B200 SXM", "b200-sxm-180gb"},
    {"gb200", "gb200-186gb"},
    {"GB200", "gb200-186gb"},
    {"NVIDIA GB200", "gb200-186gb"},
    {"NVIDIA GB200 SXM", "gb200-186gb"},
    {"l40s", "l40s"},
    {"NVIDIA L40S", "l40s"},
    {"NVIDIA L4", "l4"},
    {"v100", "v100-sxm2-16gb"},
    {"NVIDIA V100 (DGX-1)", "v100-sxm2-16gb"},
    {"Tesla V100-PCIE-32GB", "v100-sxm2-32gb"},
});

/// Predicted over published times of one group.
class Errors {
 public:
  void add(double ratio) { ratios_.push_back(ratio); }
  std::string summary() const {
    std::vector<double> errors;
    double sum = 0;
    double logarithms = 0;
    for (const double ratio : ratios_) {
      errors.push_back(std::abs(ratio - 1) * 100);
      sum += errors.back();
      logarithms += std::log(ratio);
    }
    std::ranges::sort(errors);
    const double count = static_cast<double>(errors.size());
    return fmt::format("{:6} {:7.1f} {:7.1f} {:7.1f} {:+7.1f}", errors.size(), sum / count,
                       errors[errors.size() / 2], errors[errors.size() * 9 / 10],
                       (std::exp(logarithms / count) - 1) * 100);
  }

 private:
  std::vector<double> ratios_;
};

class Report {
 public:
  void add(const std::string& group, double predicted, double measured) {
    groups_[group].add(predicted / measured);
  }
  void leave_out(const std::string& why) { ++left_out_[why]; }
  void print(std::string_view title) const {
    fmt::print("\n{}\n{:58} {:>6} {:>7} {:>7} {:>7} {:>7}\n", title, "group", "rows", "MAPE %",
               "median", "p90", "bias");
    for (const auto& [group, errors] : groups_) fmt::print("{:58} {}\n", group, errors.summary());
    for (const auto& [why, rows] : left_out_) fmt::print("left out: {} ({} rows)\n", why, rows);
  }

 private:
  std::map<std::string, Errors> groups_;
  std::map<std::string, int> left_out_;
};

class Models {
 public:
  /// Null if the GPU has no specification.
  const KernelModel* find(std::string_view published) {
    const auto name = std::ranges::find(gpu_names, published, &Name::published);
    if (name == gpu_names.end()) return nullptr;
    const auto known = models_.find(name->file);
    if (known != models_.end()) return &known->second;
    simcore::Diagnostics diagnostics;
    const auto spec = load_gpu(name->file, {SHARDSIM_SOURCE_DIR "/topologies/gpus"}, diagnostics);
    if (!spec) {
      fmt::print("{}", simcore::to_text(diagnostics));
      return nullptr;
    }
    const KernelModel model(*spec, PowerState::benchmark());
    return &models_.emplace(name->file, model).first->second;
  }

 private:
  std::map<std::string, KernelModel, std::less<>> models_;
};

std::int64_t whole(const CsvTable& table, std::size_t row, std::string_view column) {
  return static_cast<std::int64_t>(table.number(row, column));
}

/// Published time in seconds, 0 if the row has none.
double published_time(const CsvTable& table, std::size_t row, double operations) {
  if (table.has("lat")) return table.number(row, "lat") * 1e-3;
  const double time = table.number(row, "time_ms");
  const double rate = table.number(row, "tflops");
  return time > 0 ? time * 1e-3 : rate > 0 ? operations / (rate * 1e12) : 0;
}

void compare_gemm(const CsvTable& table, std::size_t row, Models& models, Report& report) {
  const std::string& gpu = table.text(row, "gpu");
  const std::string& type = table.text(row, "dtype");
  const KernelModel* model = models.find(gpu);
  if (!model) return report.leave_out("no specification of " + gpu);
  GemmWork work;
  work.m = whole(table, row, "m");
  work.n = whole(table, row, "n");
  work.k = whole(table, row, "k");
  work.batch = static_cast<std::int64_t>(table.number(row, "batch", 1));
  if (gpu.ends_with("_fp8") || type == "fp8") work.type = DataType::fp8;
  if (type.starts_with("fp16")) work.type = work.output_type = DataType::fp16;
  // "Maximum achievable" products get their operands in fp8 already.
  if (table.text(row, "source") == "MAMF") work.dynamic_scaling = false;
  const double measured = published_time(table, row, flops(work));
  if (measured <= 0) return report.leave_out("no time published");

  const double predicted = model->time(work).duration.seconds();
  const std::string& origin = table.text(row, "source");
  const std::string source = origin.substr(0, origin.find(':'));
  const std::string group =
      fmt::format("{} {} {}", model->spec().name, work.type == DataType::fp8 ? "fp8" : "16-bit",
                  source.empty() ? "medians" : source);
  if (std::min({work.m, work.n, work.k}) < 256) {
    report.add(group + ", a dimension < 256", predicted, measured);
    return;
  }
  report.add(group + ", all >= 256", predicted, measured);
  if (std::min({work.m, work.n, work.k}) >= 1024) {
    report.add(group + ", all >= 1024", predicted, measured);
  }
}

std::optional<AttentionImplementation> implementation_of(std::string_view name) {
  using enum AttentionImplementation;
  if (name == "flash_attention_2" || name.ends_with("fa2")) return flash_attention_2;
  if (name == "sglang:flash_attention") return flash_attention_2;
  if (name == "flash_attention_3" || name.ends_with("fa3")) return flash_attention_3;
  if (name == "cudnn") return cudnn;
  if (name.ends_with("trtllmprefill")) return tensorrt_llm;
  return std::nullopt;
}

/// Prefill times of serving frameworks are those of the whole attention layer: it copies the new
/// keys and values into the paged cache before it attends to them. Zero for plain kernels.
double serving_copy_seconds(const KernelModel& model, std::string_view name,
                            const AttentionWork& work) {
  const simcore::Bytes moved = serving_copy_bytes(work);
  if (name.starts_with("sglang:")) {
    return model.time(MemoryBoundWork{.bytes = moved}).duration.seconds();
  }
  if (!name.starts_with("vllm:")) return 0;
  return vllm_copy_seconds(moved, model.spec().memory.bandwidth);
}

void compare_attention(const CsvTable& table, std::size_t row, Models& models, Report& report) {
  const std::string& gpu = table.text(row, "gpu");
  const std::string& name = table.text(row, "impl");
  const std::string& pass = table.text(row, "pass");
  const KernelModel* model = models.find(gpu);
  const auto implementation = implementation_of(name);
  if (!model) return report.leave_out("no specification of " + gpu);
  if (!implementation) return report.leave_out("no model of " + name);
  if (!table.text(row, "window").empty()) return report.leave_out("sliding window");
  if (table.text(row, "determ") == "True") return report.leave_out("deterministic backward");
  if (table.text(row, "dtype").find("fp8") != std::string::npos) return report.leave_out("fp8");
  if (table.number(row, "heads_q") <= 0) return report.leave_out("shape or pass not stated");

  AttentionWork work;
  work.implementation = *implementation;
  work.batch = whole(table, row, "batch");
  work.heads = whole(table, row, "heads_q");
  work.kv_heads = whole(table, row, "heads_kv");
  work.query_length = whole(table, row, "seq_q");
  work.key_length = whole(table, row, "seq_kv");
  work.head_size = (whole(table, row, "hd_qk") + whole(table, row, "hd_v")) / 2;
  work.causal = table.number(row, "causal") > 0;
  work.backward = pass == "bwd";
  if (work.batch * work.heads * ((work.query_length + 127) / 128) < model->spec().sms) {
    return report.leave_out("less than one wave of blocks");
  }
  double operations = flops(work);
  double predicted =
      model->time(work).duration.seconds() + serving_copy_seconds(*model, name, work);
  if (pass == "fwd+bwd") {
    work.backward = true;
    operations += flops(work);
    predicted += model->time(work).duration.seconds();
  }
  const double measured = published_time(table, row, operations);
  const std::string group =
      fmt::format("{} {} {} {}", model->spec().name, name.substr(0, 28), pass, work.head_size);
  report.add(group, predicted, measured);
  if (work.query_length >= 2048) report.add(group + ", >= 2048", predicted, measured);
}

std::optional<MemoryBoundKind> kind_of(std::string_view op, std::string_view pass) {
  using enum MemoryBoundKind;
  const bool backward = pass.starts_with("b");
  if (op == "ln" || op.find("norm") != std::string_view::npos) {
    return backward ? norm_backward : norm_forward;
  }
  if (op == "softmax") return softmax;
  if (op == "rope") return rotary;
  if (op == "gelu" || op.find("swiglu") != std::string_view::npos) {
    return backward ? activation_backward : activation_forward;
  }
  if (op.find("cross_entropy") != std::string_view::npos) return cross_entropy;
  if (op == "embedding") return std::nullopt;
  return stream;
}

void compare_memory_bound(const CsvTable& table, std::size_t row, Models& models, Report& report) {
  const std::string& gpu = table.text(row, "gpu");
  const std::string& name = table.text(row, "impl");
  const KernelModel* model = models.find(gpu);
  const auto kind = kind_of(table.text(row, "op"), table.text(row, "pass"));
  const double measured = table.number(row, "time_ms") * 1e-3;
  const double bytes = table.number(row, "model_bytes");
  if (!model) return report.leave_out("no specification of " + gpu);
  const std::string& op = table.text(row, "op");
  const std::string& pass = table.text(row, "pass");
  if (name == "huggingface" || name == "megatron") return report.leave_out("unfused: " + name);
  if (name == "torch") return report.leave_out("unfused: torch");
  if (op == "megatron_swiglu" && pass == "backward") {
    return report.leave_out("SwiGLU backward, whose times include the forward pass");
  }
  if (!kind || measured <= 0 || bytes <= 0) return report.leave_out("bytes or time not stated");
  // Shorter kernels measure the launch in these benchmarks, and autograd costs more.
  if (measured < (pass == "backward" ? 5e-4 : 2e-4)) return report.leave_out("launch-bound");
  MemoryBoundWork work;
  work.kind = *kind;
  work.bytes = simcore::Bytes{static_cast<std::int64_t>(bytes)};
  report.add(fmt::format("{} {} {} {}", model->spec().name, op, name, pass),
             model->time(work).duration.seconds(), measured);
}

using Comparison = void (*)(const CsvTable&, std::size_t, Models&, Report&);

Comparison comparison_for(const CsvTable& table) {
  if (table.has("seq_q")) return compare_attention;
  if (table.has("model_bytes")) return compare_memory_bound;
  if (table.has("m") && table.has("n") && table.has("k")) return compare_gemm;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print("usage: gpu_validation TABLE.csv...\n");
    return 2;
  }
  Models models;
  for (int i = 1; i < argc; ++i) {
    const CsvTable table = CsvTable::read(argv[i]);
    const Comparison compare = comparison_for(table);
    if (!compare) {
      fmt::print("{}: not a table of kernel times\n", argv[i]);
      return 2;
    }
    Report report;
    for (std::size_t row = 0; row < table.rows(); ++row) compare(table, row, models, report);
    report.print(argv[i]);
  }
  return 0;
}
