#include "models/gpu/gpu_spec.hpp"

#include <array>
#include <cassert>
#include <type_traits>

namespace shardsim::gpu {
namespace {

using simcore::Fraction;
using simcore::SimTime;

/// What a table has for a type; null: nothing.
template <class Entry, class Table>
const Entry* entry_of(const Table& table, DataType type) {
  const auto given = [](const std::optional<Entry>& entry) { return entry ? &*entry : nullptr; };
  switch (type) {
    case DataType::fp32:
      break;
    case DataType::tf32:
      return given(table.tf32);
    case DataType::bf16:
      return given(table.bf16);
    case DataType::fp16:
      return given(table.fp16);
    case DataType::fp8:
      return given(table.fp8);
  }
  if constexpr (std::is_same_v<Entry, decltype(table.fp32)>) {
    return &table.fp32;  // required
  } else {
    return given(table.fp32);
  }
}

/// The type itself, then its neighbours from near to far.
constexpr std::array<DataType, 5> nearest_types(DataType type) {
  using enum DataType;
  switch (type) {
    case fp32:
      break;
    case tf32:
      return {tf32, bf16, fp16, fp32, fp8};
    case bf16:
      return {bf16, fp16, tf32, fp8, fp32};
    case fp16:
      return {fp16, bf16, tf32, fp8, fp32};
    case fp8:
      return {fp8, bf16, fp16, tf32, fp32};
  }
  return {fp32, tf32, bf16, fp16, fp8};
}

template <class Options>
void share(Options options) {
  options.above(Fraction{0}).at_most(Fraction{1});
}

template <class T>
void evidence(simcore::Fields<T>& fields) {
  fields.required("basis", &T::basis,
                  "What the constants rest on: `fitted`, `assumed` or `borrowed from NAME`.");
  fields.required("expected_error", &T::expected_error, "Mean absolute error to expect of a time.")
      .above(Fraction{0});
}

}  // namespace

void PeakRates::describe(simcore::Fields<PeakRates>& fields) {
  constexpr simcore::FlopRate none{0};
  fields.required("fp32", &PeakRates::fp32, "Dense fp32 peak without tensor cores.").above(none);
  fields.optional("tf32", &PeakRates::tf32, "Dense tf32 peak.").above(none);
  fields.optional("bf16", &PeakRates::bf16, "Dense bf16 peak, fp32 accumulation.").above(none);
  fields.optional("fp16", &PeakRates::fp16, "Dense fp16 peak, fp32 accumulation.").above(none);
  fields.optional("fp8", &PeakRates::fp8, "Dense fp8 peak, fp32 accumulation.").above(none);
}

void MemorySpec::describe(simcore::Fields<MemorySpec>& fields) {
  fields.required("capacity", &MemorySpec::capacity, "Total memory as CUDA reports it.")
      .above(simcore::Bytes{0});
  fields.required("bandwidth", &MemorySpec::bandwidth, "Peak bandwidth.")
      .above(simcore::BitRate{0});
  fields.required("l2", &MemorySpec::l2, "Size of the second-level cache.")
      .above(simcore::Bytes{0});
}

void GemmConstants::describe(simcore::Fields<GemmConstants>& fields) {
  evidence(fields);
  share(fields.required("efficiency", &GemmConstants::efficiency,
                        "Share of the peak that large products reach at full clock."));
  fields
      .required("throttle", &GemmConstants::throttle,
                "Share of the rate that power management takes in a benchmark that repeats a long "
                "product.")
      .at_least(Fraction{0})
      .below(Fraction{1});
  fields
      .optional("training_throttle", &GemmConstants::training_throttle,
                "The same in a training run, where all GPUs of a node, their memory and links are "
                "busy for hours; by default as `throttle`.")
      .at_least(Fraction{0})
      .below(Fraction{1});
  fields
      .required("tile_penalty", &GemmConstants::tile_penalty,
                "Extra cost of a small output tile, per unit of (m + n) / (m n).")
      .range(0, 1e4);
  fields
      .required("prologue_depth", &GemmConstants::prologue_depth,
                "Prologue and epilogue of a tile, in units of K.")
      .range(0, 1e5);
  share(fields.required("memory_efficiency", &GemmConstants::memory_efficiency,
                        "Share of the peak bandwidth that operands and result reach."));
  fields.required("fixed_time", &GemmConstants::fixed_time, "Gap between kernels on the device.")
      .at_least(SimTime{});
  fields
      .required("knee_exponent", &GemmConstants::knee_exponent,
                "Sharpness of the crossing from memory-bound to compute-bound.")
      .range(1, 100);
  fields.required("split_cost", &GemmConstants::split_cost, "Fixed cost of splitting K.")
      .at_least(SimTime{});
}

void GemmTable::describe(simcore::Fields<GemmTable>& fields) {
  fields.optional("fp32", &GemmTable::fp32, "Constants of fp32 products.");
  fields.optional("tf32", &GemmTable::tf32, "Constants of tf32 products.");
  fields.optional("bf16", &GemmTable::bf16, "Constants of bf16 products.");
  fields.optional("fp16", &GemmTable::fp16, "Constants of fp16 products.");
  fields.optional("fp8", &GemmTable::fp8, "Constants of fp8 products, scaling pass included.");
}

void GemmTable::check(const GemmTable& table, const simcore::ConfigNode& node,
                      simcore::Diagnostics& diagnostics) {
  if (!table.fp32 && !table.tf32 && !table.bf16 && !table.fp16 && !table.fp8) {
    diagnostics.error(node.where(), "gemm: expected constants for one data type at least");
  }
}

void AttentionConstants::describe(simcore::Fields<AttentionConstants>& fields) {
  fields.required("implementation", &AttentionConstants::implementation,
                  "Whose kernel: `flash_attention_2` is PyTorch's flash backend.");
  fields.required("pass", &AttentionConstants::pass,
                  "`both` was measured as forward and backward together.");
  fields.required("head_size", &AttentionConstants::head_size, "Mean of the Q and V head sizes.")
      .range(1, 4096);
  evidence(fields);
  share(fields.required("efficiency", &AttentionConstants::efficiency,
                        "Share of the data type's peak: sustained, or with `throttle` at full "
                        "clock."));
  fields
      .optional("throttle", &AttentionConstants::throttle,
                "How far long kernels fall below it for lack of power, as for matrix products.")
      .range(simcore::Fraction{0}, simcore::Fraction{0.9});
  fields
      .required("block_overhead", &AttentionConstants::block_overhead,
                "Fixed cost of a block of 128 queries, in keys.")
      .range(0, 1e5);
}

void AttentionTable::describe(simcore::Fields<AttentionTable>& fields) {
  fields.required("fixed_time", &AttentionTable::fixed_time, "Launch gap of a kernel.")
      .at_least(SimTime{});
  fields
      .required("kernels", &AttentionTable::kernels,
                "Constants by implementation, pass and head size; the nearest entry serves.")
      .not_empty();
}

void MemoryBoundTable::describe(simcore::Fields<MemoryBoundTable>& fields) {
  using Table = MemoryBoundTable;
  evidence(fields);
  fields.required("fixed_time", &Table::fixed_time, "Gap of each launch.").at_least(SimTime{});
  share(fields.required("stream", &Table::stream, "Copies, additions, casts."));
  share(fields.required("norm_forward", &Table::norm_forward, "Fused layer or RMS norm."));
  share(fields.required("norm_backward", &Table::norm_backward, "Its backward pass."));
  share(fields.required("softmax", &Table::softmax, "Softmax over rows."));
  share(fields.required("rotary", &Table::rotary, "Fused rotary embedding."));
  share(fields.required("activation_forward", &Table::activation_forward, "GELU, SwiGLU."));
  share(fields.required("activation_backward", &Table::activation_backward, "Their gradient."));
  share(fields.required("cross_entropy", &Table::cross_entropy, "Fused loss over rows."));
  share(fields.required("embedding_forward", &Table::embedding_forward, "Gather of rows."));
  share(fields.required("embedding_backward", &Table::embedding_backward, "Scatter of rows."));
  share(fields.required("optimizer", &Table::optimizer, "Fused multi-tensor update."));
}

Fraction MemoryBoundTable::efficiency(MemoryBoundKind kind) const {
  switch (kind) {
    case MemoryBoundKind::stream:
      return stream;
    case MemoryBoundKind::norm_forward:
      return norm_forward;
    case MemoryBoundKind::norm_backward:
      return norm_backward;
    case MemoryBoundKind::softmax:
      return softmax;
    case MemoryBoundKind::rotary:
      return rotary;
    case MemoryBoundKind::activation_forward:
      return activation_forward;
    case MemoryBoundKind::activation_backward:
      return activation_backward;
    case MemoryBoundKind::cross_entropy:
      return cross_entropy;
    case MemoryBoundKind::embedding_forward:
      return embedding_forward;
    case MemoryBoundKind::embedding_backward:
      return embedding_backward;
    case MemoryBoundKind::optimizer:
      return optimizer;
  }
  return stream;
}

void GpuSpec::describe(simcore::Fields<GpuSpec>& fields) {
  fields.required("name", &GpuSpec::name, "Product name.");
  fields.required("architecture", &GpuSpec::architecture, "Generation.");
  fields
      .optional("compute_capability", &GpuSpec::compute_capability,
                "CUDA's compute capability; 9.0 for sm_90.")
      .range(1.0, 100.0);
  fields.required("sms", &GpuSpec::sms, "Streaming multiprocessors.").range(1, 100'000);
  fields.optional("base_clock", &GpuSpec::base_clock, "Guaranteed SM clock.");
  fields.optional("boost_clock", &GpuSpec::boost_clock, "SM clock that the peaks are quoted at.");
  fields.required("power_limit", &GpuSpec::power_limit, "Board power limit.");
  fields.required("memory", &GpuSpec::memory, "Device memory and its caches.");
  fields.required("peak", &GpuSpec::peak, "Dense peak by data type.");
  fields.required("gemm", &GpuSpec::gemm, "Constants of matrix products by data type.");
  fields.required("attention", &GpuSpec::attention, "Constants of fused attention.");
  fields.required("memory_bound", &GpuSpec::memory_bound,
                  "Share of the bandwidth that memory-bound kernels reach.");
}

bool GpuSpec::supports(DataType type) const {
  return entry_of<simcore::FlopRate>(peak, type) != nullptr;
}

simcore::FlopRate GpuSpec::peak_rate(DataType type) const {
  const simcore::FlopRate* rate = entry_of<simcore::FlopRate>(peak, type);
  return rate != nullptr ? *rate : peak.fp32;
}

const GemmConstants& GpuSpec::gemm_constants(DataType type) const {
  const GemmConstants* found = nullptr;
  for (const DataType candidate : nearest_types(type)) {
    if (found == nullptr) found = entry_of<GemmConstants>(gemm, candidate);
  }
  assert(found != nullptr);
  return *found;
}

}  // namespace shardsim::gpu

namespace shardsim::simcore {

std::optional<gpu::Basis> Codec<gpu::Basis>::read(const ConfigNode& node, ReadContext& context) {
  using Kind = gpu::Basis::Kind;
  constexpr std::string_view borrowed = "borrowed from ";
  const std::string& text = node.text();
  if (node.is_scalar() && text == "fitted") return gpu::Basis{Kind::fitted, {}};
  if (node.is_scalar() && text == "assumed") return gpu::Basis{Kind::assumed, {}};
  if (node.is_scalar() && text.starts_with(borrowed) && text.size() > borrowed.size()) {
    return gpu::Basis{Kind::borrowed, text.substr(borrowed.size())};
  }
  context.expected(node, "`fitted`, `assumed` or `borrowed from NAME`",
                   nearest_spelling(text, {"fitted", "assumed", "borrowed from"}));
  return std::nullopt;
}

std::string Codec<gpu::Basis>::print(const gpu::Basis& value) {
  switch (value.kind) {
    case gpu::Basis::Kind::fitted:
      return "fitted";
    case gpu::Basis::Kind::borrowed:
      return print_scalar("borrowed from " + value.lender);
    case gpu::Basis::Kind::assumed:
      return "assumed";
  }
  return {};
}

TypeSchema Codec<gpu::Basis>::schema() {
  TypeSchema schema = schema_of<std::string>();
  schema.name = "`fitted`, `assumed` or `borrowed from NAME`";
  return schema;
}

}  // namespace shardsim::simcore
