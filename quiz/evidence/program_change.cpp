#include "quiz/evidence/program_change.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "quiz/evidence/step_memory.hpp"
#include "quiz/evidence/step_phases.hpp"

namespace shardsim::quiz {

using cuda::CollectiveKind;
using cuda::OpCode;
using simcore::Bytes;
using simcore::SimTime;

namespace {

std::vector<StepPhases> all_phases(const cuda::Program& program) {
  std::vector<StepPhases> phases;
  for (std::uint32_t op = 0; op < program.ops.size(); ++op) {
    if (program.ops[op].code == OpCode::step_begin) phases.push_back(phases_of(program, op));
  }
  return phases;
}

/// Backward and update issue nothing; allocations and events stay as they are.
void drop_backward(cuda::Program& program) {
  const auto nothing = static_cast<cuda::TableIndex>(program.cpu_works.size());
  program.cpu_works.emplace_back();
  for (const StepPhases& step : all_phases(program)) {
    for (std::uint32_t op = step.turn; op < step.end; ++op) {
      cuda::Op& entry = program.ops[op];
      const bool works = entry.code == OpCode::kernel || entry.code == OpCode::collective ||
                         entry.code == OpCode::cpu_work;
      if (works) entry = {.code = OpCode::cpu_work, .stream = 0, .index = nothing, .name = 0};
    }
  }
}

void change_kind(cuda::Program& program, CollectiveKind from, CollectiveKind to) {
  for (cuda::CollectiveSpec& spec : program.collectives) {
    if (spec.kind == from) spec.kind = to;
  }
}

/// What remains of a collective that moves nothing: its ranks meet.
void empty(cuda::CollectiveSpec& spec) {
  spec.bytes = Bytes{0};
  spec.fixed_time = SimTime::microseconds(10);
}

void empty_kind(cuda::Program& program, CollectiveKind kind) {
  for (cuda::CollectiveSpec& spec : program.collectives) {
    if (spec.kind == kind) empty(spec);
  }
}

void shrink_to_one_bit(cuda::Program& program) {
  for (cuda::CollectiveSpec& spec : program.collectives) {
    if (spec.kind != CollectiveKind::all_gather) continue;
    const std::int64_t elements = spec.bytes.count / gpu::bytes_per_element(spec.type);
    spec.bytes = Bytes{(elements + 7) / 8};
  }
}

/// Gives the tensor that lives from `first` to `last` an id that no other tensor takes meanwhile.
void rename_tensor(cuda::Program& program, std::uint32_t first, std::uint32_t last) {
  const cuda::TensorId old = program.ops[first].index;
  const auto fresh = static_cast<cuda::TensorId>(program.tensor_count++);
  for (std::uint32_t op = first; op <= last; ++op) {
    cuda::Op& entry = program.ops[op];
    const bool of_tensor = entry.code == OpCode::allocate || entry.code == OpCode::free ||
                           entry.code == OpCode::record_stream;
    if (of_tensor && entry.index == old) entry.index = fresh;
  }
}

/// Gathered weights of odd layers are freed at the end of forward instead of after their layer.
void keep_odd_layers(cuda::Program& program, const StepPhases& step) {
  const std::uint32_t first_fresh = program.tensor_count;
  std::map<cuda::TensorId, std::uint32_t> kept;  // where it was allocated
  std::vector<cuda::Op> order;
  std::vector<cuda::Op> late;
  for (std::uint32_t op = step.begin; op < step.turn; ++op) {
    const cuda::Op entry = program.ops[op];
    if (entry.code == OpCode::allocate) {
      const int layer = gathered_layer(program, op);
      if (layer >= 0 && layer % 2 == 1) kept[entry.index] = op;
    }
    const auto found = kept.find(entry.index);
    if (entry.code != OpCode::free || found == kept.end()) continue;
    rename_tensor(program, found->second, op);
    kept.erase(found);
  }
  for (std::uint32_t op = step.begin; op < step.turn; ++op) {
    const cuda::Op& entry = program.ops[op];
    const bool renamed = entry.index >= first_fresh;
    (entry.code == OpCode::free && renamed ? late : order).push_back(entry);
  }
  order.insert(order.end(), late.begin(), late.end());
  std::copy(order.begin(), order.end(), program.ops.begin() + step.begin);
}

}  // namespace

void apply(ProgramChange change, cuda::Program& program) {
  switch (change) {
    case ProgramChange::none:
    case ProgramChange::cpu:
      return;
    case ProgramChange::forward_only:
      return drop_backward(program);
    case ProgramChange::one_bit_weights:
      return shrink_to_one_bit(program);
    case ProgramChange::one_stream:
      for (cuda::Op& op : program.ops) op.stream = 0;
      return;
    case ProgramChange::broadcast_weights:
      return change_kind(program, CollectiveKind::all_gather, CollectiveKind::broadcast);
    case ProgramChange::scatter_weights:
      return change_kind(program, CollectiveKind::all_gather, CollectiveKind::reduce_scatter);
    case ProgramChange::barrier_weights:
      return empty_kind(program, CollectiveKind::all_gather);
    case ProgramChange::exchange_gradients:
      return change_kind(program, CollectiveKind::reduce_scatter, CollectiveKind::alltoall);
    case ProgramChange::gather_gradients:
      return change_kind(program, CollectiveKind::reduce_scatter, CollectiveKind::all_gather);
    case ProgramChange::drop_gradients:
      return empty_kind(program, CollectiveKind::reduce_scatter);
    case ProgramChange::keep_odd_layers:
      for (const StepPhases& step : all_phases(program)) keep_odd_layers(program, step);
      return;
    case ProgramChange::no_activations:
      for (cuda::AllocationSpec& spec : program.allocations) {
        if (spec.kind == cuda::MemoryKind::activations) spec.bytes = Bytes{0};
      }
      return;
    case ProgramChange::no_communication:
      for (cuda::CollectiveSpec& spec : program.collectives) empty(spec);
      return;
  }
}

scenario::HardwareChanges hardware_of(ProgramChange change) {
  scenario::HardwareChanges changes;
  if (change != ProgramChange::cpu) return changes;
  constexpr double socket_flops = 229e12;
  constexpr double socket_bytes_per_s = 307.2e9;
  constexpr double sockets_per_gpu = 2.0 / 8.0;
  changes.arithmetic_rate = socket_flops * sockets_per_gpu / 989e12;
  changes.memory_bandwidth = socket_bytes_per_s * sockets_per_gpu / 4.8e12;
  return changes;
}

}  // namespace shardsim::quiz
