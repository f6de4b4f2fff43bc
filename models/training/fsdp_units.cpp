#include "models/training/fsdp_units.hpp"

#include <cassert>

#include "simcore/integer.hpp"

namespace shardsim::training {

using simcore::divide_up;
using simcore::round_up;

PerParameterUnit shard_per_parameter(const std::vector<ParameterShape>& parameters,
                                     std::int64_t ranks) {
  assert(ranks >= 1);
  PerParameterUnit unit;
  for (const ParameterShape& parameter : parameters) {
    const std::int64_t elements = parameter.elements();
    const std::int64_t rows = parameter.shape.empty() ? 1 : parameter.shape.front();
    const std::int64_t row_elements = rows == 0 ? 0 : elements / rows;
    const std::int64_t shard = divide_up(rows, ranks) * row_elements;
    unit.parameters.push_back({parameter.name, elements, shard, shard * ranks});
    unit.shard_elements += shard;
    unit.padded_elements += shard * ranks;
  }
  return unit;
}

FlatUnit flatten(const std::vector<ParameterShape>& parameters, std::int64_t ranks,
                 std::int64_t alignment) {
  assert(ranks >= 1 && alignment >= 1);
  FlatUnit unit;
  for (const ParameterShape& parameter : parameters) {
    unit.elements = round_up(unit.elements, alignment) + parameter.elements();
    ++unit.tensors;
  }
  unit.shard_elements = divide_up(unit.elements, ranks);
  unit.padded_elements = unit.shard_elements * ranks;
  if (alignment > 1) unit.elements = unit.padded_elements;
  return unit;
}

}  // namespace shardsim::training
