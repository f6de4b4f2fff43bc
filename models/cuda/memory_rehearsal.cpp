#include "models/cuda/memory_rehearsal.hpp"

#include <algorithm>

#include "models/cuda/caching_allocator.hpp"

namespace shardsim::cuda {

namespace {

/// Runs through the allocations and tells `visit` of each that was served, with its op. The
/// allocation that was not, if there is one.
template <class Visit>
std::optional<std::uint32_t> rehearse(const Program& program, CachingAllocator& allocator,
                                      Visit&& visit) {
  std::vector<BlockId> blocks(program.tensor_count);
  for (std::uint32_t index = 0; index < program.ops.size(); ++index) {
    const Op& op = program.ops[index];
    if (op.code == OpCode::free) allocator.free(blocks[op.index]);
    if (op.code != OpCode::allocate) continue;
    const AllocationSpec& wanted = program.allocations[op.name];
    const auto result = allocator.allocate(wanted.bytes, op.stream, wanted.kind);
    if (result.outcome != CachingAllocator::Outcome::allocated) return index;
    blocks[op.index] = result.block;
    visit(index, result);
  }
  return std::nullopt;
}

}  // namespace

std::vector<DeviceCalls> rehearse_memory(const Program& program, const RuntimeSpec& spec) {
  std::vector<DeviceCalls> calls;
  CachingAllocator allocator(spec.allocator, spec.memory_capacity);
  rehearse(program, allocator, [&](std::uint32_t index, const auto& result) {
    if (result.device_malloc || result.freed_segments > 0) {
      calls.push_back({index, result.device_malloc ? 1 : 0, result.freed_segments});
    }
  });
  return calls;
}

std::optional<RehearsedShortage> rehearse_shortage(const Program& program,
                                                   const RuntimeSpec& spec) {
  CachingAllocator allocator(spec.allocator, spec.memory_capacity);
  const auto failed = rehearse(program, allocator, [](std::uint32_t, const auto&) {});
  if (!failed) return std::nullopt;
  RehearsedShortage shortage;
  shortage.op = *failed;
  shortage.requested = program.allocations[program.ops[*failed].name].bytes;
  shortage.allocated = allocator.statistics().allocated;
  shortage.reserved = allocator.statistics().reserved;
  const bool held_longer = std::ranges::any_of(
      program.ops, [](const Op& op) { return op.code == OpCode::record_stream; });
  if (held_longer && shortage.allocated + shortage.requested <= spec.memory_capacity) {
    return std::nullopt;
  }
  return shortage;
}

}  // namespace shardsim::cuda
