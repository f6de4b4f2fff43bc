// Collectives as pipelined rings.
//
// Models, for n ranks on k nodes, a buffer of S bytes (the larger side) and ring bandwidth B:
//     all-gather, reduce-scatter   (n-1)/n S/B + base + (n-1) steps
//     all-reduce                   2(n-1)/n S/B + base + 2(n-1) steps
//     broadcast, reduce            S/B + base + (n-1) steps, from or to the group's first rank
//     send-receive                 S/B + base + 1 step, each rank to the next
//     all-to-all                   S/n to each peer, all at once, + base + 1 step
// of which k-1 (twice that for all-reduce) of the steps are between nodes if k > 1. Data move as
// one coupled flow, so S/B is what the links give while others use them. Of LL, LL128 and Simple,
// and of the multicast of NVLink switches (NVLS) for an all-reduce within one, the one that would
// be fastest alone is taken; a tie goes to the earlier.
// Assumes that all ranks end together. Leaves out trees, PAT, NVLS for other collectives, the fill
// of the pipeline by chunks, NCCL's own estimate by which it chooses, and the GPU's local copies.
#pragma once

#include <expected>
#include <vector>

#include "models/nccl/collective_model.hpp"
#include "models/nccl/ring_tuning.hpp"

namespace shardsim::nccl {

class RingModel final : public CollectiveModel {
 public:
  explicit RingModel(RingTuning tuning) : tuning_(std::move(tuning)) {}

  std::expected<CollectiveTiming, NoRoute> timing(const cuda::CollectiveSpec& spec,
                                                  CommunicatorPlan& plan) const override;

 private:
  RingTuning tuning_;
};

}  // namespace shardsim::nccl
