// A program against the simulated CUDA runtime: what one CPU thread issues, in order.
//
// A training strategy records the program once for each kind of rank (see ProgramRecorder); every
// rank then interprets the same flat list with a few cursors. Nothing in it depends on time: what
// depends on time (may this stream proceed, has that block been released) is decided by the Runtime
// while the program runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/gpu/kernel_work.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::cuda {

using StreamId = std::uint16_t;
using CommunicatorId = std::uint16_t;
using EventId = std::uint32_t;
using TensorId = std::uint32_t;
using NameId = std::uint32_t;
using TableIndex = std::uint32_t;

enum class OpCode : std::uint8_t {
  cpu_work,            ///< CPU busy; index into Program::cpu_works
  kernel,              ///< launch; index into Program::kernels
  collective,          ///< launch; index into Program::collectives
  record_event,        ///< index is the EventId
  stream_wait_event,   ///< later ops of the stream wait for the EventId
  cpu_wait_event,      ///< the CPU blocks until the EventId is complete
  device_synchronize,  ///< the CPU blocks until every stream is idle
  allocate,            ///< index is the TensorId; sizes in Program::allocations[name]
  free,                ///< index is the TensorId
  record_stream,       ///< the tensor `index` is also used by `stream`
  step_begin,          ///< index counts steps from 0
  step_end,
};

struct Op {
  OpCode code = OpCode::cpu_work;
  StreamId stream = 0;
  TableIndex index = 0;
  /// Name of a kernel or collective ("AG0"); for `allocate` the index into Program::allocations.
  NameId name = 0;
};

/// What a kernel is for: the unit of attribution on the critical path and in traces.
enum class KernelCategory : std::uint8_t {
  gemm,
  attention,
  elementwise,
  normalization,
  embedding,
  loss,
  optimizer,
  copy,     ///< copies and casts that exist because of sharding
  compute,  ///< prescribed times of whole blocks
};

struct KernelSpec {
  KernelCategory category = KernelCategory::compute;
  gpu::KernelWork work;
  simcore::SimTime cpu_cost;  ///< CPU time to issue it, all its launches together
  bool recompute = false;     ///< repeats forward work (activation checkpointing)
  bool operator==(const KernelSpec&) const = default;
};

enum class CollectiveKind : std::uint8_t {
  all_gather,
  reduce_scatter,
  all_reduce,
  broadcast,
  reduce,
  alltoall,
  sendrecv,
};

struct CollectiveSpec {
  CollectiveKind kind = CollectiveKind::all_gather;
  CommunicatorId communicator = 0;
  /// The larger side of one rank's buffers: ranks x per-rank bytes for all-gather and
  /// reduce-scatter, the buffer for the others.
  simcore::Bytes bytes;
  gpu::DataType type = gpu::DataType::bf16;
  /// Prescribed duration, counted from the arrival of the last rank.
  std::optional<simcore::SimTime> fixed_time;
  simcore::SimTime cpu_cost;
  bool operator==(const CollectiveSpec&) const = default;
};

/// What memory is held for; the parts of the peak.
enum class MemoryKind : std::uint8_t {
  parameters,
  gradients,
  optimizer,
  activations,
  gathered_parameters,
  communication_buffers,
  other,
};
inline constexpr int memory_kind_count = 7;
/// Bytes held for each MemoryKind; index is the kind's value.
using BytesByKind = std::array<simcore::Bytes, memory_kind_count>;

struct AllocationSpec {
  simcore::Bytes bytes;
  MemoryKind kind = MemoryKind::other;
  NameId name = 0;
  bool operator==(const AllocationSpec&) const = default;
};

/// What the CPU thread is busy with between launches.
enum class CpuWorkKind : std::uint8_t {
  issue,      ///< Python, hooks, whatever leads to the next launch
  optimizer,  ///< the optimizer's arithmetic, on parameters in host memory
};

struct CpuWork {
  simcore::SimTime time;
  CpuWorkKind kind = CpuWorkKind::issue;
};

struct StreamSpec {
  std::string name;
  int priority = 0;
};

struct Program {
  std::vector<Op> ops;
  std::vector<StreamSpec> streams;          ///< stream 0 is the compute stream
  std::vector<std::string> communicators;   ///< roles: "shard", "repl", "world"
  std::vector<KernelSpec> kernels;          ///< each distinct one once
  std::vector<CollectiveSpec> collectives;  ///< each distinct one once
  std::vector<CpuWork> cpu_works;
  std::vector<AllocationSpec> allocations;
  std::vector<std::string> names;
  BytesByKind host_memory{};  ///< what the rank holds in host memory from its first step on
  std::uint32_t event_count = 0;
  std::uint32_t tensor_count = 0;  ///< tensors alive at once, at most
  std::uint32_t step_count = 0;
};

}  // namespace shardsim::cuda
