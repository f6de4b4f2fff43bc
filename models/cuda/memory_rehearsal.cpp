#include "models/cuda/memory_rehearsal.hpp"

#include "models/cuda/caching_allocator.hpp"

namespace shardsim::cuda {

std::vector<DeviceCalls> rehearse_memory(const Program& program, const RuntimeSpec& spec) {
  std::vector<DeviceCalls> calls;
  CachingAllocator allocator(spec.allocator, spec.memory_capacity);
  std::vector<BlockId> blocks(program.tensor_count);
  for (std::uint32_t index = 0; index < program.ops.size(); ++index) {
    const Op& op = program.ops[index];
    if (op.code == OpCode::free) allocator.free(blocks[op.index]);
    if (op.code != OpCode::allocate) continue;
    const AllocationSpec& wanted = program.allocations[op.name];
    const auto result = allocator.allocate(wanted.bytes, op.stream, wanted.kind);
    if (result.outcome != CachingAllocator::Outcome::allocated) break;
    blocks[op.index] = result.block;
    if (result.device_malloc || result.freed_segments > 0) {
      calls.push_back({index, result.device_malloc ? 1 : 0, result.freed_segments});
    }
  }
  return calls;
}

}  // namespace shardsim::cuda
