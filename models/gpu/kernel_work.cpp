#include "models/gpu/kernel_work.hpp"

#include <algorithm>

namespace shardsim::gpu {
namespace {

double real(std::int64_t count) { return static_cast<double>(count); }

/// Pairs of query and key that one head computes. The causal mask is aligned at the last query and
/// the last key; half of the diagonal counts, as the field's FLOP formulas do (s^2 / 2).
double attended_pairs(const AttentionWork& work) {
  const double queries = real(work.query_length);
  const double keys = real(work.key_length);
  if (!work.causal) return queries * keys;
  const double diagonal = std::min(queries, keys);
  return queries >= keys ? diagonal * diagonal / 2 : queries * keys - diagonal * diagonal / 2;
}

double operations(const FixedWork&) { return 0; }
double operations(const MemoryBoundWork&) { return 0; }

double operations(const GemmWork& work) {
  return 2 * real(work.batch) * real(work.m) * real(work.n) * real(work.k);
}

double operations(const AttentionWork& work) {
  const double forward =
      4 * real(work.batch) * real(work.heads) * real(work.head_size) * attended_pairs(work);
  return work.backward ? 2.5 * forward : forward;
}

}  // namespace

double flops(const KernelWork& work) {
  return std::visit([](const auto& kernel) { return operations(kernel); }, work);
}

}  // namespace shardsim::gpu
