#include "models/training/wrap_policy.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

namespace shardsim::training {

namespace {

struct Module {
  std::string name;
  std::vector<ParameterRef> parameters;
  std::vector<std::unique_ptr<Module>> children;

  Module& child(std::string_view child_name) {
    const auto found = std::find_if(children.begin(), children.end(),
                                    [&](const auto& child) { return child->name == child_name; });
    if (found != children.end()) return **found;
    children.push_back(std::make_unique<Module>());
    children.back()->name = child_name;
    return *children.back();
  }
};

class Wrapper {
 public:
  Wrapper(const Workload& workload, std::int64_t min_num_params)
      : workload_(workload), min_num_params_(min_num_params) {
    for (const ParameterRef& ref : registration_order(workload)) place(ref);
  }

  Wrapping wrap() {
    wrapping_.units.emplace_back();
    visit_children(root_);
    take(root_, wrapping_.units.front(), {});
    return std::move(wrapping_);
  }

 private:
  const ParameterShape& shape(const ParameterRef& ref) const {
    return workload_.parameters(ref.unit)[ref.parameter];
  }

  /// "attention.wq.weight" of block 3 belongs to module "wq" in "attention" in "3".
  void place(const ParameterRef& ref) {
    Module* module = &root_;
    if (ref.unit != root_unit) module = &module->child(std::to_string(ref.unit));
    std::string_view path = shape(ref).name;
    for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
      module = &module->child(path.substr(0, dot));
      path.remove_prefix(dot + 1);
    }
    if (module == &root_) module = &root_.child(path);  // a name without a module is one
    module->parameters.push_back(ref);
  }

  std::int64_t elements(const Module& module) const {
    std::int64_t sum = 0;
    for (const ParameterRef& ref : module.parameters) sum += shape(ref).elements();
    for (const auto& child : module.children) sum += elements(*child);
    return sum;
  }

  /// Returns the elements that units inside the module have taken.
  std::int64_t visit_children(Module& module) {
    std::int64_t wrapped = 0;
    for (const auto& child : module.children) wrapped += visit(*child);
    return wrapped;
  }
  std::int64_t visit(Module& module) {
    const std::int64_t all = elements(module);
    if (all < min_num_params_) return 0;
    const std::int64_t wrapped = visit_children(module);
    if (all - wrapped < min_num_params_) return wrapped;
    unit_of_[&module] = wrapping_.units.size();
    wrapping_.units.emplace_back();
    return all;
  }

  /// Hands out parameters, and the units around each module. Returns the modules with parameters.
  std::size_t take(const Module& module, WrappedUnit& outer, std::vector<std::size_t> around) {
    const auto found = unit_of_.find(&module);
    if (found != unit_of_.end()) around.push_back(found->second);
    WrappedUnit& unit = found != unit_of_.end() ? wrapping_.units[found->second] : outer;
    std::size_t modules = 0;
    if (!module.parameters.empty()) {
      const ParameterRef& first = module.parameters.front();
      wrapping_.units_around[{first.unit, first.parameter}] = around;
      unit.parameters.insert(unit.parameters.end(), module.parameters.begin(),
                             module.parameters.end());
      modules = 1;
    }
    for (const auto& child : module.children) modules += take(*child, unit, around);
    if (found != unit_of_.end()) unit.modules = modules;
    return modules;
  }

  const Workload& workload_;
  std::int64_t min_num_params_;
  Module root_;
  std::map<const Module*, std::size_t> unit_of_;  // looked up, never walked
  Wrapping wrapping_;
};

}  // namespace

Wrapping wrap_by_size(const Workload& workload, std::int64_t min_num_params) {
  return Wrapper(workload, min_num_params).wrap();
}

}  // namespace shardsim::training
