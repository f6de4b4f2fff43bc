// A collective at chunk level: every channel of a communicator, its program and its clock.
//
// Models: channels run side by side, each at its share of the links (chunk_costs.hpp). Channels
// that carry equally much along alike rings or trees take equally long, and one of them is
// simulated for all; a trace holds all of them. Ranks are numbered node by node.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "models/nccl/chunk/channel_engine.hpp"
#include "models/nccl/chunk/chunk_costs.hpp"
#include "models/nccl/chunk/chunk_result.hpp"
#include "models/nccl/chunk/chunk_work.hpp"
#include "models/nccl/chunk/ring_program.hpp"
#include "models/nccl/connect.hpp"
#include "models/nccl/planner.hpp"

namespace shardsim::nccl {

class ChunkedCollective {
 public:
  /// `choice` is what the planned communicator's selector chooses for `operation`, of `kind`; not
  /// CollNet. `transfer` as for flow_timing(). The planned communicator must outlive the
  /// collective.
  ChunkedCollective(const PlannedCommunicator& planned, const TimingConstants& constants,
                    cuda::CollectiveKind kind, const Operation& operation, const Choice& choice,
                    const TimedTransfer& transfer);

  ChunkResult run(SteadyState steady = SteadyState::skip) const;
  /// Every message, in the order of the trace. Times count from the start of the kernels.
  void trace(const TraceVisitor& visit) const;
  /// What the kernels are told; rings and trees only.
  ChunkWork work() const;

 private:
  template <class Visit>
  void with_program(int channel, const Visit& visit) const;
  ChannelLoad load_of(int channel) const;
  std::vector<std::int64_t> likeness(int channel) const;

  const PlannedCommunicator& planned_;
  Operation operation_;
  Choice choice_;
  ChunkCosts costs_;
  ScheduledOperation scheduled_;
  ChannelRange range_;
  NodeRanks nodes_;
  std::vector<std::vector<int>> rings_;
  std::vector<std::vector<TreeLinks>> trees_;
  std::array<std::vector<NvlsTreeLinks>, 2> nvls_trees_;
};

}  // namespace shardsim::nccl
