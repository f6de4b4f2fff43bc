#include "models/gpu/attention_model.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "simcore/integer.hpp"

namespace shardsim::gpu {
namespace {

constexpr std::int64_t block_rows = 128;

double real(std::int64_t count) { return static_cast<double>(count); }

/// FlashAttention-2 takes about half the time of its predecessor, at all lengths (arXiv 2307.08691:
/// "around 2x"; 1.7 to 3.0 times as fast as its CUDA, 1.3 to 2.5 times as fast as its Triton code).
constexpr double first_generation_factor = 2;

/// Blocks of one head and the keys that each of them visits.
struct BlockRow {
  double blocks = 0;
  double total_keys = 0;
  double longest_keys = 0;
};

BlockRow full_blocks(std::int64_t queries, std::int64_t keys) {
  const double blocks = real(simcore::divide_up(queries, block_rows));
  return {blocks, blocks * real(keys), real(keys)};
}

/// The mask is aligned at the last query and the last key: block i sees min(keys, lead + 128 (i+1))
/// keys with lead = keys - queries, so only the last block is cut. Rows before the first key see
/// none, but their blocks are launched.
BlockRow causal_blocks(std::int64_t queries, std::int64_t keys) {
  const BlockRow all = full_blocks(queries, keys);
  const std::int64_t lead = std::max<std::int64_t>(keys - queries, 0);
  const BlockRow seeing = full_blocks(std::min(queries, keys), keys);
  const double n = seeing.blocks;
  const double uncut = n * real(lead) + block_rows * n * (n + 1) / 2;
  const double cut = block_rows * n - real(std::min(queries, keys));
  return {all.blocks, uncut - cut, real(keys)};
}

/// Operations per query row, key and head element: two products forward, five backward.
double products(const AttentionWork& work) { return work.backward ? 10 : 4; }

/// Causal blocks of unequal length are issued longest first, so that the tail is half a mean block;
/// equal ones run in whole waves.
double busy_time(const AttentionWork& work, double overhead_keys, double sm_rate, double sms) {
  const BlockRow row = work.causal ? causal_blocks(work.query_length, work.key_length)
                                   : full_blocks(work.query_length, work.key_length);
  const double seconds_per_key = products(work) * block_rows * real(work.head_size) / sm_rate;
  const double blocks = real(work.batch) * real(work.heads) * row.blocks;
  const double mean = (row.total_keys / row.blocks + overhead_keys) * seconds_per_key;
  if (!work.causal) return std::ceil(blocks / sms) * mean;
  const double longest = (row.longest_keys + overhead_keys) * seconds_per_key;
  return std::max(blocks * mean / sms + mean / 2, longest);
}

/// 0 for the implementation asked for; version 2 stands in for version 1 before any other does.
int unlikeness(AttentionImplementation listed, AttentionImplementation wanted) {
  if (listed == wanted) return 0;
  const bool successor = wanted == AttentionImplementation::flash_attention_1 &&
                         listed == AttentionImplementation::flash_attention_2;
  return successor ? 1 : 2;
}

}  // namespace

double attention_bytes(const AttentionWork& work) {
  const double width = static_cast<double>(bytes_per_element(work.type));
  const double query_rows = real(work.batch) * real(work.heads) * real(work.query_length);
  const double key_rows = real(work.batch) * real(work.kv_heads) * real(work.key_length);
  const double head = real(work.head_size);
  // Forward: Q in, O out, K and V in, one fp32 statistic a row.
  if (!work.backward) return width * head * (2 * query_rows + 2 * key_rows) + 4 * query_rows;
  // Backward: Q, O, dO in, dQ out; K and V in, dK and dV out; the statistic and the row sums of
  // O dO; the fp32 accumulator of dQ written and read.
  return width * head * (4 * query_rows + 4 * key_rows) + 8 * query_rows + 8 * head * query_rows;
}

AttentionTime attention_time(const AttentionWork& work, const AttentionConstants& constants,
                             simcore::SimTime fixed_time, const GpuShare& share, PowerState power) {
  assert(work.batch >= 0 && work.heads >= 0 && work.kv_heads >= 0 && work.head_size >= 0);
  assert(work.query_length >= 0 && work.key_length >= 0);
  if (work.batch == 0 || work.heads == 0 || work.query_length == 0) return {};

  AttentionTime time;
  time.arithmetic = busy_time(work, constants.block_overhead,
                              share.flops_per_sm * constants.efficiency.value, share.sms);
  if (work.implementation == AttentionImplementation::flash_attention_1 &&
      constants.implementation == AttentionImplementation::flash_attention_2) {
    time.arithmetic *= first_generation_factor;
  }
  time.arithmetic /= 1 - constants.throttle.value * power.depth(time.arithmetic);
  time.memory = attention_bytes(work) / share.bandwidth;
  time.overhead = fixed_time.seconds();
  time.total = std::max(time.arithmetic, time.memory) + time.overhead;
  return time;
}

const AttentionConstants& choose_constants(const AttentionTable& table, const AttentionWork& work) {
  assert(!table.kernels.empty());
  const AttentionPass wanted = work.backward ? AttentionPass::backward : AttentionPass::forward;
  const auto distance = [&](const AttentionConstants& entry) {
    const int implementation = unlikeness(entry.implementation, work.implementation);
    const int pass = entry.pass == wanted ? 0 : entry.pass == AttentionPass::both ? 1 : 2;
    const std::int64_t size = std::abs(entry.head_size - work.head_size);
    return std::tuple(implementation, pass, size, -entry.head_size);
  };
  return *std::ranges::min_element(table.kernels, {}, distance);
}

}  // namespace shardsim::gpu
