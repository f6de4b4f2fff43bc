// How FSDP cuts the parameters of a unit: FSDP2 each parameter along dimension 0, FSDP1 one flat
// parameter.
//
// Source: PyTorch torch/distributed/fsdp/_fully_shard/_fsdp_param.py and
// torch/distributed/fsdp/_flat_param.py. Sharding along other dimensions is left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/training/workload.hpp"

namespace shardsim::training {

/// One parameter cut by FSDP2 into `ranks` chunks of ceil(rows / ranks) rows.
struct ShardedParameter {
  std::string name;
  std::int64_t elements = 0;         ///< of the whole parameter
  std::int64_t shard_elements = 0;   ///< held by each rank, padded to equal size
  std::int64_t padded_elements = 0;  ///< ranks x shard_elements: what an all-gather yields
};

/// A unit cut parameter by parameter; the sums run over its parameters.
struct PerParameterUnit {
  std::vector<ShardedParameter> parameters;
  std::int64_t shard_elements = 0;
  std::int64_t padded_elements = 0;
  std::int64_t tensors() const { return static_cast<std::int64_t>(parameters.size()); }
};

/// psi = sum of ranks * ceil(d0/ranks) * (elements/d0) over the parameters. A parameter with fewer
/// rows than ranks is inflated to `ranks` rows; a scalar counts as one row. `ranks` >= 1.
PerParameterUnit shard_per_parameter(const std::vector<ParameterShape>& parameters,
                                     std::int64_t ranks);

/// A unit's parameters joined into one, padded to a multiple of the ranks.
struct FlatUnit {
  std::int64_t elements = 0;         ///< of the flat parameter, with alignment between parameters
  std::int64_t shard_elements = 0;   ///< held by each rank
  std::int64_t padded_elements = 0;  ///< ranks x shard_elements
  std::int64_t tensors = 0;          ///< parameters joined
};

/// `alignment` > 1 (use_orig_params: 16 bytes in elements of the compute type) pads before each
/// parameter after the first; the whole then includes the padding to a multiple of `ranks`, so
/// that elements == padded_elements. With alignment 1 the flat parameter stays unpadded and each
/// rank's shard is ceil(elements / ranks).
FlatUnit flatten(const std::vector<ParameterShape>& parameters, std::int64_t ranks,
                 std::int64_t alignment = 1);

}  // namespace shardsim::training
