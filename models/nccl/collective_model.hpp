// The seam for how a collective is carried out: what one operation costs before its data flow, and
// which coupled flow its data are.
#pragma once

#include <expected>
#include <string_view>

#include "models/cuda/program.hpp"
#include "models/nccl/communicator.hpp"
#include "models/nccl/communicator_plan.hpp"
#include "models/nccl/traffic.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::nccl {

/// Once the last rank has arrived, `latency` passes; then `flow_bytes` move as one flow over
/// `traffic`, at `cap` at most; then all ranks are done.
struct CollectiveTiming {
  simcore::SimTime latency;
  double flow_bytes = 0;             ///< on the wire, protocol's flags included
  const Traffic* traffic = nullptr;  ///< of the plan; null: nothing moves
  simcore::BitRate cap;              ///< in bytes of the flow; 0: none
  /// The flow's rate where a link is full, for a ring's flow on it that reaches 1; a power of two.
  double share = 1;
  std::string_view algorithm;  ///< "Ring", "NVLS"; text with static storage
  std::string_view protocol;   ///< "LL", "LL128", "Simple"
  int channels = 0;
};

class CollectiveModel {
 public:
  virtual ~CollectiveModel() = default;
  /// How `spec` is carried out on the communicator; called once for each distinct operation.
  virtual std::expected<CollectiveTiming, NoRoute> timing(const cuda::CollectiveSpec& spec,
                                                          CommunicatorPlan& plan) const = 0;
};

}  // namespace shardsim::nccl
