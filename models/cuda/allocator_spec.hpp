// Options of the caching allocator, named as in PYTORCH_CUDA_ALLOC_CONF.
//
// Leaves out `roundup_power2_divisions` given per size class, and options that change only how
// fast the host code runs (thread counts, lock release, pinned memory).
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "simcore/config/fields.hpp"
#include "simcore/diagnostics.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::cuda {

struct AllocatorSpec {
  /// One growing segment per stream and pool instead of one segment per cudaMalloc.
  bool expandable_segments = false;
  /// Blocks of at least this size are never split; none: every block may be.
  std::optional<simcore::Bytes> max_split_size;
  /// A request of at least max_split_size takes a cached block that is less than this larger.
  simcore::Bytes max_non_split_rounding{20 << 20};
  /// Sizes are rounded up to one of this many steps between powers of two; 1: off.
  std::int64_t roundup_power2_divisions = 1;
  /// Share of the device's memory that the pools may take, as set by PyTorch's
  /// set_per_process_memory_fraction; none: all of it.
  std::optional<simcore::Fraction> memory_fraction;
  /// Share of the allowed memory above which old cached segments are freed before a cudaMalloc.
  /// Without `memory_fraction` PyTorch ignores it.
  std::optional<simcore::Fraction> garbage_collection_threshold;

  static void describe(simcore::Fields<AllocatorSpec>& fields) {
    using simcore::Bytes;
    using simcore::Fraction;
    fields.optional("expandable_segments", &AllocatorSpec::expandable_segments,
                    "Grow one segment per stream and pool instead of allocating many.");
    fields
        .optional("max_split_size", &AllocatorSpec::max_split_size,
                  "Blocks of at least this size are not split.")
        .at_least(Bytes{20 << 20});
    fields
        .optional("max_non_split_rounding", &AllocatorSpec::max_non_split_rounding,
                  "A request of at least `max_split_size` takes a cached block that is less than "
                  "this larger.")
        .at_least(Bytes{20 << 20});
    fields
        .optional("roundup_power2_divisions", &AllocatorSpec::roundup_power2_divisions,
                  "Steps between powers of two to which sizes are rounded up; 1 turns it off.")
        .range(1, 64);
    fields
        .optional("memory_fraction", &AllocatorSpec::memory_fraction,
                  "Share of the device's memory that the allocator may take.")
        .above(Fraction{0})
        .at_most(Fraction{1});
    fields
        .optional("garbage_collection_threshold", &AllocatorSpec::garbage_collection_threshold,
                  "Share of the allowed memory above which old cached segments are freed; needs "
                  "`memory_fraction`.")
        .above(Fraction{0})
        .below(Fraction{1});
  }

  static void check(const AllocatorSpec& spec, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics) {
    if (!std::has_single_bit(static_cast<std::uint64_t>(spec.roundup_power2_divisions))) {
      diagnostics.error(node.where_value("roundup_power2_divisions"),
                        "roundup_power2_divisions must be a power of two");
    }
    if (spec.garbage_collection_threshold && !spec.memory_fraction) {
      diagnostics.warning(node.where_key("garbage_collection_threshold"),
                          "garbage_collection_threshold has no effect without memory_fraction");
    }
    if (node.has("max_non_split_rounding") && !spec.max_split_size) {
      diagnostics.warning(node.where_key("max_non_split_rounding"),
                          "max_non_split_rounding has no effect without max_split_size");
    }
  }

  bool operator==(const AllocatorSpec&) const = default;
};

}  // namespace shardsim::cuda
