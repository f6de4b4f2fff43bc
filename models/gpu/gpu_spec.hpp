// A GPU as data: what its datasheet says and the constants that turn work into time.
//
// Models: one device of `topologies/gpus/`. Rates are dense (no structured sparsity).
// Assumes: constants hold for the GPU at its power limit with the library versions of their
// sources; every set of constants says what it rests on and what error to expect of it.
// Leaves out: links (NVLink, PCIe belong to the node) and prices.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/gpu/kernel_work.hpp"
#include "models/gpu/physical_quantity.hpp"
#include "simcore/config/fields.hpp"
#include "simcore/diagnostics.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::gpu {

/// What a set of constants rests on. Written "fitted" (to measurements on this GPU), "assumed", or
/// "borrowed from NAME" (fitted to another GPU, perhaps scaled).
struct Basis {
  enum class Kind : std::uint8_t { fitted, borrowed, assumed };
  Kind kind = Kind::assumed;
  std::string lender;  ///< the other GPU's name; empty unless borrowed
  bool operator==(const Basis&) const = default;
};

/// Dense peak of each data type at boost clock; absent where the GPU has no such unit.
struct PeakRates {
  simcore::FlopRate fp32;
  std::optional<simcore::FlopRate> tf32;
  std::optional<simcore::FlopRate> bf16;
  std::optional<simcore::FlopRate> fp16;
  std::optional<simcore::FlopRate> fp8;
  static void describe(simcore::Fields<PeakRates>& fields);
};

struct MemorySpec {
  simcore::Bytes capacity;  ///< what CUDA reports as total memory
  simcore::BitRate bandwidth;
  simcore::Bytes l2;
  static void describe(simcore::Fields<MemorySpec>& fields);
};

/// Constants of gemm_time for one data type.
struct GemmConstants {
  Basis basis;
  simcore::Fraction expected_error;  ///< mean absolute error of a kernel's time
  simcore::Fraction efficiency;      ///< of the peak, at full clock
  simcore::Fraction throttle;        ///< depth of the fall in a benchmark's loop
  /// Depth of the fall in training, where the whole node runs hot for hours; absent: as `throttle`.
  std::optional<simcore::Fraction> training_throttle;
  double tile_penalty = 0;              ///< cost of small tiles, in elements
  double prologue_depth = 0;            ///< prologue and epilogue of a tile, in units of K
  simcore::Fraction memory_efficiency;  ///< of the peak bandwidth
  simcore::SimTime fixed_time;          ///< gap between kernels on the device
  double knee_exponent = 1;             ///< p of soft_maximum
  simcore::SimTime split_cost;          ///< of reducing a split K
  static void describe(simcore::Fields<GemmConstants>& fields);
};

/// At least one entry; see GpuSpec::gemm_constants for what serves the others.
struct GemmTable {
  std::optional<GemmConstants> fp32;
  std::optional<GemmConstants> tf32;
  std::optional<GemmConstants> bf16;
  std::optional<GemmConstants> fp16;
  std::optional<GemmConstants> fp8;
  static void describe(simcore::Fields<GemmTable>& fields);
  static void check(const GemmTable& table, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

enum class AttentionPass : std::uint8_t { forward, backward, both };

/// Constants of attention_time for one implementation, pass and head size.
struct AttentionConstants {
  AttentionImplementation implementation = AttentionImplementation::flash_attention_2;
  AttentionPass pass = AttentionPass::forward;
  std::int64_t head_size = 128;
  Basis basis;
  simcore::Fraction expected_error;
  simcore::Fraction efficiency;  ///< of the data type's peak, sustained unless `throttle` is given
  /// Depth of the fall in clocks, as for matrix products; 0 where `efficiency` is what is left.
  simcore::Fraction throttle;
  double block_overhead = 0;  ///< fixed cost of a block of 128 queries, in keys
  static void describe(simcore::Fields<AttentionConstants>& fields);
};

struct AttentionTable {
  simcore::SimTime fixed_time;
  std::vector<AttentionConstants> kernels;
  static void describe(simcore::Fields<AttentionTable>& fields);
};

/// Share of the peak bandwidth that each kind of kernel reaches, counted on the bytes that it has
/// to move at least.
struct MemoryBoundTable {
  Basis basis;
  simcore::Fraction expected_error;
  simcore::SimTime fixed_time;  ///< per launch
  simcore::Fraction stream;
  simcore::Fraction norm_forward;
  simcore::Fraction norm_backward;
  simcore::Fraction softmax;
  simcore::Fraction rotary;
  simcore::Fraction activation_forward;
  simcore::Fraction activation_backward;
  simcore::Fraction cross_entropy;
  simcore::Fraction embedding_forward;
  simcore::Fraction embedding_backward;
  simcore::Fraction optimizer;
  simcore::Fraction efficiency(MemoryBoundKind kind) const;
  static void describe(simcore::Fields<MemoryBoundTable>& fields);
};

struct GpuSpec {
  std::string name;
  std::string architecture;
  double compute_capability = 8.0;  ///< of CUDA: 9.0 for sm_90
  std::int64_t sms = 1;
  std::optional<Frequency> base_clock;
  std::optional<Frequency> boost_clock;
  Power power_limit;
  MemorySpec memory;
  PeakRates peak;
  GemmTable gemm;
  AttentionTable attention;
  MemoryBoundTable memory_bound;

  /// Whether the GPU has units for `type`. Emulation is not support.
  bool supports(DataType type) const;
  /// Dense peak for `type`; for a type without units the fp32 rate, at which it is emulated.
  simcore::FlopRate peak_rate(DataType type) const;
  /// Constants for `type`, else of the nearest type that has some: tf32, bf16 and fp16 stand in
  /// for one another, then for fp32 and fp8.
  const GemmConstants& gemm_constants(DataType type) const;

  static void describe(simcore::Fields<GpuSpec>& fields);
};

/// The specification called `name_or_path`: a path if it holds a '/' or ends in ".yaml", else the
/// file NAME.yaml in the first folder of `search_path` that has it. Unknown names, unreadable files
/// and every error in the file go to `diagnostics`, the name at `where`; then the result is empty.
std::optional<GpuSpec> load_gpu(std::string_view name_or_path,
                                const std::vector<std::filesystem::path>& search_path,
                                simcore::Diagnostics& diagnostics,
                                const simcore::SourceLocation& where = {});

}  // namespace shardsim::gpu

template <>
struct shardsim::simcore::Codec<shardsim::gpu::Basis> {
  static std::optional<gpu::Basis> read(const ConfigNode& node, ReadContext& context);
  static std::string print(const gpu::Basis& value);
  static TypeSchema schema();
};

template <>
struct shardsim::simcore::EnumNames<shardsim::gpu::AttentionImplementation> {
  static constexpr auto values = std::to_array<EnumName<gpu::AttentionImplementation>>(
      {{"flash_attention_1", gpu::AttentionImplementation::flash_attention_1},
       {"flash_attention_2", gpu::AttentionImplementation::flash_attention_2},
       {"flash_attention_3", gpu::AttentionImplementation::flash_attention_3},
       {"cudnn", gpu::AttentionImplementation::cudnn},
       {"tensorrt_llm", gpu::AttentionImplementation::tensorrt_llm}});
};

template <>
struct shardsim::simcore::EnumNames<shardsim::gpu::AttentionPass> {
  static constexpr auto values =
      std::to_array<EnumName<gpu::AttentionPass>>({{"forward", gpu::AttentionPass::forward},
                                                   {"backward", gpu::AttentionPass::backward},
                                                   {"both", gpu::AttentionPass::both}});
};
