#include "models/cuda/program_recorder.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <type_traits>
#include <utility>
#include <variant>

#include "models/cuda/allocator_sizes.hpp"

namespace shardsim::cuda {

namespace {

/// 1 PiB for each kind of memory: more than there is, and little enough to be summed over a node.
constexpr simcore::Bytes most_on_host{std::int64_t{1} << 50};

/// Order-dependent mix of integers; only the spread matters, equality decides.
class Hash {
 public:
  template <class T>
  Hash& add(T value) {
    if constexpr (std::is_same_v<T, double>) {
      state_ = (state_ ^ std::hash<double>{}(value)) * 0x100000001b3ULL;
    } else {
      state_ = (state_ ^ static_cast<std::uint64_t>(value)) * 0x100000001b3ULL;
    }
    state_ ^= state_ >> 29;
    return *this;
  }
  std::size_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

void mix(Hash& hash, const gpu::FixedWork& work) { hash.add(work.time.picoseconds()); }
void mix(Hash& hash, const gpu::GemmWork& work) {
  hash.add(work.m).add(work.n).add(work.k).add(work.batch).add(static_cast<int>(work.type));
}
void mix(Hash& hash, const gpu::AttentionWork& work) {
  hash.add(work.batch).add(work.heads).add(work.query_length).add(work.head_size);
  hash.add(static_cast<int>(work.backward));
}
void mix(Hash& hash, const gpu::MemoryBoundWork& work) {
  hash.add(static_cast<int>(work.kind)).add(work.bytes.count).add(work.launches);
}

std::size_t hash_of(const KernelSpec& kernel) {
  Hash hash;
  hash.add(static_cast<int>(kernel.category)).add(kernel.cpu_cost.picoseconds());
  hash.add(kernel.work.index());
  std::visit([&hash](const auto& work) { mix(hash, work); }, kernel.work);
  return hash.value();
}

std::size_t hash_of(const CollectiveSpec& spec) {
  Hash hash;
  hash.add(static_cast<int>(spec.kind)).add(spec.communicator).add(spec.bytes.count);
  hash.add(static_cast<int>(spec.type));
  return hash.value();
}

std::size_t hash_of(const AllocationSpec& spec) {
  return Hash().add(spec.bytes.count).add(static_cast<int>(spec.kind)).add(spec.name).value();
}

/// Index of `value` in `table`, appended if it is not there yet.
template <class T>
TableIndex find_or_add(std::vector<T>& table, DistinctIndex& ids, const T& value) {
  return ids.find_or_add(table, hash_of(value), value);
}

}  // namespace

ProgramRecorder::ProgramRecorder() { create_stream("compute"); }

StreamId ProgramRecorder::create_stream(std::string_view name, int priority) {
  program_.streams.push_back(StreamSpec{std::string(name), priority});
  return static_cast<StreamId>(program_.streams.size() - 1);
}

CommunicatorId ProgramRecorder::create_communicator(std::string_view role) {
  program_.communicators.emplace_back(role);
  return static_cast<CommunicatorId>(program_.communicators.size() - 1);
}

NameId ProgramRecorder::intern(std::string_view name) {
  return name_ids_.find_or_add(program_.names, std::hash<std::string_view>{}(name), name);
}

void ProgramRecorder::emit(OpCode code, StreamId stream, TableIndex index, NameId name) {
  assert(stream < program_.streams.size());
  program_.ops.push_back(Op{code, stream, index, name});
}

void ProgramRecorder::launch(StreamId stream, std::string_view name, const KernelSpec& kernel) {
  emit(OpCode::kernel, stream, find_or_add(program_.kernels, kernel_ids_, kernel), intern(name));
}

void ProgramRecorder::launch(StreamId stream, std::string_view name,
                             const CollectiveSpec& collective) {
  assert(collective.communicator < program_.communicators.size());
  emit(OpCode::collective, stream, find_or_add(program_.collectives, collective_ids_, collective),
       intern(name));
}

EventId ProgramRecorder::record_event(StreamId stream) {
  const EventId event = program_.event_count++;
  emit(OpCode::record_event, stream, event);
  return event;
}

void ProgramRecorder::wait_event(StreamId stream, EventId event) {
  assert(event < program_.event_count);
  emit(OpCode::stream_wait_event, stream, event);
}

void ProgramRecorder::wait_stream(StreamId waiting, StreamId awaited) {
  if (waiting == awaited) return;
  wait_event(waiting, record_event(awaited));
}

void ProgramRecorder::synchronize_event(EventId event, std::string_view name) {
  assert(event < program_.event_count);
  emit(OpCode::cpu_wait_event, compute_stream, event, intern(name));
}

void ProgramRecorder::synchronize_device() { emit(OpCode::device_synchronize, compute_stream, 0); }

TensorId ProgramRecorder::allocate(simcore::Bytes bytes, StreamId stream, MemoryKind kind,
                                   std::string_view name) {
  TensorId tensor = 0;
  if (free_tensors_.empty()) {
    tensor = program_.tensor_count++;
  } else {
    tensor = free_tensors_.back();
    free_tensors_.pop_back();
  }
  const AllocationSpec spec{bytes, kind, intern(name)};
  emit(OpCode::allocate, stream, tensor, find_or_add(program_.allocations, allocation_ids_, spec));
  return tensor;
}

void ProgramRecorder::free(TensorId tensor) {
  assert(tensor < program_.tensor_count);
  emit(OpCode::free, compute_stream, tensor);
  free_tensors_.push_back(tensor);
}

void ProgramRecorder::record_stream(TensorId tensor, StreamId stream) {
  assert(tensor < program_.tensor_count);
  emit(OpCode::record_stream, stream, tensor);
}

void ProgramRecorder::cpu_work(simcore::SimTime time, CpuWorkKind kind) {
  if (time == simcore::SimTime{}) return;
  program_.cpu_works.push_back({time, kind});
  emit(OpCode::cpu_work, compute_stream, static_cast<TableIndex>(program_.cpu_works.size() - 1));
}

void ProgramRecorder::hold_on_host(simcore::Bytes bytes, MemoryKind kind, HostPages pages) {
  if (bytes.count == 0) return;
  simcore::Bytes& held = program_.host_memory[static_cast<std::size_t>(kind)];
  held += pages == HostPages::pinned ? pinned_block_size(bytes) : bytes;
  held = std::min(held, most_on_host);
}

void ProgramRecorder::begin_step() {
  emit(OpCode::step_begin, compute_stream, program_.step_count);
}

void ProgramRecorder::end_step() {
  synchronize_device();
  emit(OpCode::step_end, compute_stream, program_.step_count++);
}

Program ProgramRecorder::finish() {
  Program finished = std::move(program_);
  *this = ProgramRecorder();
  return finished;
}

}  // namespace shardsim::cuda
