#include "quiz/evidence/step_phases.hpp"

#include <algorithm>
#include <charconv>

#include "models/scenario/memory_timeline.hpp"

namespace shardsim::quiz {

using cuda::OpCode;

namespace {

bool is_backward(const std::string& name) {
  return name.ends_with(".backward") || name.ends_with(".dgrad") || name.ends_with(".wgrad");
}

}  // namespace

StepPhases phases_of(const cuda::Program& program, std::uint32_t begin) {
  StepPhases phases;
  phases.begin = begin;
  std::uint32_t end = begin;
  while (program.ops[end].code != OpCode::step_end) ++end;
  phases.turn = phases.update = phases.end = end;
  for (std::uint32_t op = begin; op < end; ++op) {
    const cuda::Op& entry = program.ops[op];
    if (entry.code != OpCode::kernel) continue;
    if (phases.turn == end && is_backward(program.names[entry.name])) phases.turn = op;
    const bool updates = program.kernels[entry.index].category == cuda::KernelCategory::optimizer;
    if (phases.update == end && updates) phases.update = op;
  }
  phases.turn = std::min(phases.turn, phases.update);
  return phases;
}

int layer_of(const std::string& name) {
  const std::string unit = scenario::unit_in_name(name);
  int layer = -1;
  const char* const last = unit.data() + unit.size();
  const auto [stop, problem] = std::from_chars(unit.data(), last, layer);
  return problem == std::errc{} && stop == last ? layer : -1;
}

}  // namespace shardsim::quiz
