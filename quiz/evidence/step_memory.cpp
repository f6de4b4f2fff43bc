#include "quiz/evidence/step_memory.hpp"

#include <algorithm>

#include "models/scenario/memory_timeline.hpp"
#include "quiz/evidence/step_phases.hpp"

namespace shardsim::quiz {

int gathered_layer(const cuda::Program& program, std::uint32_t op) {
  const cuda::AllocationSpec& spec = program.allocations[program.ops[op].name];
  if (spec.kind != cuda::MemoryKind::gathered_parameters) return -1;
  return layer_of(scenario::operation_after(program, op));
}

int arriving_layer(const cuda::Program& program, std::uint32_t op) {
  const cuda::AllocationSpec& spec = program.allocations[program.ops[op].name];
  if (program.names[spec.name] != "all-gather output") return -1;
  return layer_of(scenario::operation_after(program, op));
}

StepMemory::StepMemory(const cuda::Program& program, std::uint32_t until)
    : program_(program), tensors_(program.tensor_count) {
  for (std::uint32_t op = 0; op < until; ++op) apply(op);
  most_gathered_.clear();
}

void StepMemory::apply(std::uint32_t op) {
  const cuda::Op& entry = program_.ops[op];
  if (entry.code == cuda::OpCode::allocate) {
    const int layer = std::max(gathered_layer(program_, op), arriving_layer(program_, op));
    tensors_[entry.index] = {entry.name, layer};
    add(program_.allocations[entry.name], layer, 1);
  } else if (entry.code == cuda::OpCode::free) {
    const Tensor& tensor = tensors_[entry.index];
    add(program_.allocations[tensor.allocation], tensor.layer, -1);
  }
}

void StepMemory::add(const cuda::AllocationSpec& spec, int layer, int sign) {
  const double change = sign * static_cast<double>(spec.bytes.count);
  by_kind_[static_cast<std::size_t>(spec.kind)] += change;
  if (layer < 0) return;
  if (spec.kind != cuda::MemoryKind::gathered_parameters) {
    arriving_[layer] += change;
    return;
  }
  double& held = gathered_[layer];
  held += change;
  most_gathered_[layer] = std::max(most_gathered_[layer], held);
}

bool StepMemory::whole(int layer) const {
  const auto found = gathered_.find(layer);
  return found != gathered_.end() && found->second > 0;
}

int StepMemory::whole_layers() const {
  return static_cast<int>(std::count_if(gathered_.begin(), gathered_.end(),
                                        [](const auto& entry) { return entry.second > 0; }));
}

int StepMemory::whole_or_arriving_layers() const {
  int layers = whole_layers();
  for (const auto& [layer, bytes] : arriving_) layers += bytes > 0 && !whole(layer) ? 1 : 0;
  return layers;
}

double StepMemory::most_of_layer(int layer) const {
  const auto found = most_gathered_.find(layer);
  return found == most_gathered_.end() ? 0 : found->second;
}

}  // namespace shardsim::quiz
