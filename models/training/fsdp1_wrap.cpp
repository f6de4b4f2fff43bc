// FSDP1's units under wrapping by size: modules anywhere in the model, whose hooks follow from
// those of the modules inside them.
#include <ranges>

#include "models/training/fsdp1.hpp"

namespace shardsim::training {

void Fsdp1::wrap() {
  Workload& model = recorder_.workload();
  wrapping_ = wrap_by_size(model, spec_.min_num_params);
  for (const WrappedUnit& wrapped : wrapping_->units) {
    std::vector<ParameterShape> shapes;
    for (const ParameterRef& ref : wrapped.parameters) {
      shapes.push_back(model.parameters(ref.unit)[ref.parameter]);
      unit_of_parameter_[{ref.unit, ref.parameter}] = units_.size();
    }
    add_unit(shapes);
    units_.back().modules = wrapped.modules;
    units_.back().parameters = wrapped.parameters.size();
  }
  model.set_module_hook([this](const ModulePass& pass) { at_module(pass); });
  model.set_gradient_hook(
      [this](cuda::ProgramRecorder&, const Gradient& gradient) { gradient_ready(gradient); });
}

/// A unit's forward begins with its first module and ends with its last; its backward begins with
/// the last.
void Fsdp1::at_module(const ModulePass& pass) {
  if (pass.parameters.empty()) return;
  const std::vector<std::size_t>& around =
      wrapping_->units_around.at({pass.unit, pass.parameters.front()});
  if (pass.point == ModulePoint::pre_forward) {
    for (const std::size_t index : around) {
      Unit& unit = units_[index];
      if (unit.modules_left > 0) continue;
      unit.modules_left = unit.modules;
      before_forward(unit);
    }
  } else if (pass.point == ModulePoint::post_forward) {
    for (const std::size_t index : around | std::views::reverse) {
      if (--units_[index].modules_left == 0) after_forward(units_[index]);
    }
  } else if (pass.point == ModulePoint::pre_backward) {
    for (const std::size_t index : around) {
      if (std::exchange(units_[index].in_backward, true)) continue;
      before_backward(units_[index]);
    }
  }
}

/// The hook of the flat parameter's accumulation node: the last gradient ends a unit's backward.
void Fsdp1::gradient_ready(const Gradient& gradient) {
  Unit& unit = units_[unit_of_parameter_.at({gradient.unit, gradient.parameter})];
  unit.fresh.push_back(gradient.tensor);
  if (unit.index != root_unit && unit.fresh.size() == unit.parameters) after_backward(unit);
}

std::vector<cuda::TensorId> Fsdp1::take_gradients(Unit& unit) {
  if (wrapping_) return std::exchange(unit.fresh, {});
  std::vector<cuda::TensorId> tensors;
  for (const Gradient& gradient : recorder_.workload().take_gradients(unit.index)) {
    tensors.push_back(gradient.tensor);
  }
  return tensors;
}

}  // namespace shardsim::training
