#include "models/nccl/schedule_chunks.hpp"

#include <algorithm>

#include "models/nccl/tuning_model.hpp"
#include "simcore/integer.hpp"

namespace shardsim::nccl {

using enum Algorithm;
using enum Collective;

namespace {

constexpr std::int64_t KiB = 1024;

/// Lines of LL128 hold 120 bytes of data in 128.
constexpr std::int64_t ll128_data(std::int64_t bytes) { return bytes / 16 * 15; }

struct Cut {
  const ScheduleInputs& inputs;
  const CutOperation& operation;
  std::int64_t bytes;
  std::int64_t channels;
};

/// Halves `chunk` down to `floor` while fewer than `least` rounds of it fit in the data.
template <class Count>
void halve(std::int64_t& chunk, std::int64_t bytes, std::int64_t per_round, Count least,
           std::int64_t floor) {
  const auto rounds = [&] { return bytes / (per_round * chunk); };
  while (static_cast<Count>(rounds()) < least && chunk > floor) chunk /= 2;
}

/// Sets `chunk` to `size` if it is larger and the data are fewer than `rounds` rounds of it.
void shrink(std::int64_t& chunk, std::int64_t bytes, std::int64_t per_round, std::int64_t rounds,
            std::int64_t size) {
  if (bytes < rounds * per_round * chunk && chunk > size) chunk = size;
}

std::int64_t nvls_chunk(const Cut& c, std::int64_t chunk) {
  const bool slow = c.inputs.rules.nvls_small_chunks_when_slow && c.inputs.nodes > 1 &&
                    c.inputs.nvls_all_reduce_gbps < 150;
  chunk = std::min(chunk, slow ? 32 * KiB : c.inputs.channels.nvls_chunk_bytes);
  const std::int64_t together = c.channels * c.inputs.nvls_heads;
  shrink(chunk, c.bytes, together, 64, 64 * KiB);
  shrink(chunk, c.bytes, together, 8, 32 * KiB);
  shrink(chunk, c.bytes, together, 2, 16 * KiB);
  return chunk;
}

std::int64_t nvls_tree_chunk(const Cut& c, std::int64_t chunk) {
  const ChannelCounts& limits = c.inputs.channels;
  if (c.inputs.rules.nvls_tree_chunk_limit) chunk = limits.nvls_chunk_bytes;
  chunk = std::min(chunk, limits.nvls_tree_chunk_bytes);
  const std::int64_t together = c.channels * c.inputs.nvls_heads;
  shrink(chunk, c.bytes, together, 32, 256 * KiB);
  shrink(chunk, c.bytes, together, 16, 128 * KiB);
  shrink(chunk, c.bytes, together, 4, 64 * KiB);
  shrink(chunk, c.bytes, together, 1, 32 * KiB);
  return chunk;
}

std::int64_t tree_chunk(const Cut& c, std::int64_t chunk) {
  const int depth = floor_log2(c.inputs.nodes);
  if (c.operation.protocol == Protocol::ll128) {
    // NCCL computes these in single precision.
    const float local = static_cast<float>(c.inputs.ranks) / static_cast<float>(c.inputs.nodes);
    const auto steps = static_cast<float>(1 + depth + 0.1 * static_cast<double>(local));
    halve(chunk, c.bytes, c.channels, steps * 64 / local, 128 * KiB);
    halve(chunk, c.bytes, c.channels, steps * 16 / local, 32 * KiB);
  } else if (c.operation.protocol == Protocol::simple && c.inputs.rules.tree_chunks_by_depth) {
    const std::int64_t length = c.inputs.ranks / c.inputs.nodes - 1 + depth;
    halve(chunk, c.bytes, c.channels, length * 8, 128 * KiB);
    halve(chunk, c.bytes, c.channels, length * 4, 64 * KiB);
    halve(chunk, c.bytes, c.channels, length, 32 * KiB);
  }
  return chunk;
}

std::int64_t collnet_chunk(const Cut& c, std::int64_t chunk) {
  if (c.operation.algorithm == collnet_chain) {
    chunk = std::min(256 * KiB, c.inputs.buffer_bytes[Protocol::simple] / steps_per_buffer);
    const std::int64_t depth = c.inputs.ranks / c.inputs.nodes;
    halve(chunk, c.bytes, c.channels, depth * 64, 128 * KiB);
    halve(chunk, c.bytes, c.channels, depth * 8, 64 * KiB);
    halve(chunk, c.bytes, c.channels, depth, 32 * KiB);
    return chunk;
  }
  const std::int64_t together = c.channels * c.inputs.collnet_heads;
  const std::int64_t depth = c.inputs.collnet_depth;
  halve(chunk, c.bytes, together, depth * 64, 128 * KiB);
  halve(chunk, c.bytes, together, depth * 8, 32 * KiB);
  return chunk;
}

std::int64_t pat_chunk(const Cut& c, std::int64_t chunk) {
  const std::int64_t rounds = c.operation.collective == all_gather ? 32 : 16;
  while (chunk * c.channels * rounds > c.bytes && chunk > 64 * KiB) chunk /= 2;
  return chunk;
}

std::int64_t chunk_of(const Cut& c, std::int64_t chunk) {
  switch (c.operation.algorithm) {
    case nvls:
      return nvls_chunk(c, chunk);
    case nvls_tree:
      return nvls_tree_chunk(c, chunk);
    case tree:
      return tree_chunk(c, chunk);
    case pat:
      return pat_chunk(c, chunk);
    case collnet_direct:
    case collnet_chain:
      return collnet_chunk(c, chunk);
    case ring:
      break;
  }
  return chunk;
}

std::int64_t grain(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return 16;
    case Protocol::ll128:
      return 1920;
    case Protocol::simple:
      break;
  }
  return 512;
}

/// Pieces that all ranks together move in one round of a channel.
std::int64_t chunks_per_round(const Cut& c) {
  const Collective collective = c.operation.collective;
  switch (c.operation.algorithm) {
    case nvls:
    case nvls_tree:
      return std::max(1, c.inputs.nvls_heads);
    case collnet_direct:
      return std::max(1, c.inputs.collnet_heads);
    case ring:
      return collective == all_reduce || has_part_per_rank(collective) ? c.inputs.ranks : 1;
    default:
      return 1;
  }
}

std::int64_t steps_per_round(const Cut& c) {
  if (c.operation.algorithm != ring) return 1;
  if (c.operation.collective == all_reduce) return std::int64_t{2} * (c.inputs.ranks - 1);
  return has_part_per_rank(c.operation.collective) ? c.inputs.ranks - 1 : 1;
}

}  // namespace

PerProtocol<std::int64_t> buffer_sizes(const CommunicatorFacts& facts, const TuningRules& rules,
                                       const Environment& environment) {
  const bool small = rules.small_buffers_on_arm && facts.cpu_architecture == CpuArchitecture::arm;
  PerProtocol<std::int64_t> bytes;
  // 512 threads with 8 lines of 16 bytes, 640 threads with 120 words of 8 bytes; 8 steps of both.
  bytes[Protocol::ll] = environment.ll_buffer_bytes.value_or(std::int64_t{8} * 512 * 8 * 16);
  bytes[Protocol::ll128] = environment.ll128_buffer_bytes.value_or(std::int64_t{8} * 120 * 640 * 8);
  bytes[Protocol::simple] = environment.buffer_bytes.value_or((small ? 1 : 4) * KiB * KiB);
  return bytes;
}

Chunking cut(const ScheduleInputs& inputs, const CutOperation& operation, std::int64_t bytes,
             int channels) {
  const Cut c{inputs, operation, bytes, channels};
  const bool large_chunks = operation.algorithm == ring && operation.protocol == Protocol::simple &&
                            operation.collective != broadcast && operation.collective != reduce;
  Chunking result;
  result.chunk_steps = large_chunks ? 4 : 1;
  result.slice_steps = large_chunks ? 2 : 1;
  std::int64_t chunk =
      inputs.buffer_bytes[operation.protocol] / steps_per_buffer * result.chunk_steps;
  if (operation.protocol == Protocol::ll) chunk /= 2;
  const bool with_flags =
      operation.protocol == Protocol::ll128 && !inputs.rules.chunks_counted_in_data;
  if (operation.protocol == Protocol::ll128 && !with_flags) chunk = ll128_data(chunk);
  chunk = chunk_of(c, chunk);
  if (with_flags) chunk = ll128_data(chunk);
  if (inputs.rules.chunks_of_whole_grains) {
    const std::int64_t whole = grain(operation.protocol);
    chunk = chunk / whole * whole;
  }
  const std::int64_t round = channels * chunks_per_round(c) * chunk;
  const std::int64_t rounds = round > 0 ? simcore::divide_up(bytes, round) : 0;
  result.chunk_bytes = chunk;
  result.slice_bytes = chunk / result.chunk_steps * result.slice_steps;
  result.proxy_steps = rounds * steps_per_round(c) * result.chunk_steps;
  return result;
}

}  // namespace shardsim::nccl
