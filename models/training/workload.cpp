#include "models/training/workload.hpp"

namespace shardsim::training {

std::vector<ParameterRef> registration_order(const Workload& workload) {
  std::vector<ParameterRef> order;
  const std::size_t before = workload.parameters_before_blocks();
  for (std::size_t i = 0; i < before; ++i) order.push_back({root_unit, i});
  for (int block = 0; block < workload.blocks(); ++block) {
    const std::size_t count = workload.parameters(block).size();
    for (std::size_t i = 0; i < count; ++i) order.push_back({block, i});
  }
  const std::size_t count = workload.parameters(root_unit).size();
  for (std::size_t i = before; i < count; ++i) order.push_back({root_unit, i});
  return order;
}

}  // namespace shardsim::training
