// Records what every sharding strategy issues for a unit: copies, collectives and buffers, named
// after the unit (operation_names.hpp).
//
// Buffers may be empty: prescribed workloads have no sizes. An empty buffer is never allocated, and
// a cast, sum or scaling of nothing launches no kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/cuda/program_recorder.hpp"
#include "models/training/workload.hpp"

namespace shardsim::training {

/// A device buffer; nothing if its size is zero or it has been released.
using Buffer = std::optional<cuda::TensorId>;

class UnitRecorder {
 public:
  static constexpr cuda::StreamId compute = cuda::ProgramRecorder::compute_stream;

  UnitRecorder(cuda::ProgramRecorder& program, Workload& workload)
      : program_(program), workload_(workload) {}

  cuda::ProgramRecorder& program() { return program_; }
  Workload& workload() { return workload_; }

  Buffer allocate(simcore::Bytes bytes, cuda::StreamId stream, cuda::MemoryKind kind,
                  std::string_view name);
  /// Drops the buffer (if there is one) at this point of CPU time.
  void release(Buffer& buffer);
  /// Tells the allocator that `stream`, too, uses the buffer.
  void record_stream(const Buffer& buffer, cuda::StreamId stream);

  /// A copy that reads and writes `bytes` together, in `tensors` pieces, for `unit`.
  void copy(cuda::StreamId stream, CopyRole role, int unit, std::string_view operation,
            simcore::Bytes bytes, std::int64_t tensors = 1);
  /// A copy of `bytes` between host and GPU memory.
  void host_copy(cuda::StreamId stream, int unit, std::string_view operation, simcore::Bytes bytes,
                 std::int64_t tensors = 1);
  /// CPU offload: a shard of `bytes` and the gradient of its size, from which and to which the GPU
  /// copies. Both are pinned, each in a block of its own: the parameter by pin_memory(), the
  /// gradient because a copy to the host that does not block makes its target so. What further
  /// micro-batches copy beside it for a moment, to be added to it, is left out.
  void hold_shard_on_host(simcore::Bytes bytes);
  /// A collective for `unit`; `spec` without times.
  void collective(cuda::StreamId stream, CollectiveRole role, int unit, std::string_view operation,
                  const cuda::CollectiveSpec& spec);
  /// The CPU's work in the hooks before and after one pass through a unit.
  void hooks();

 private:
  cuda::ProgramRecorder& program_;
  Workload& workload_;
};

/// Size of `elements` elements of `type`.
constexpr simcore::Bytes size_of(std::int64_t elements, gpu::DataType type) {
  return simcore::Bytes{elements * gpu::bytes_per_element(type)};
}

}  // namespace shardsim::training
