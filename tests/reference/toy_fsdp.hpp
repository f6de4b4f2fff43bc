// A network small enough to check, trained on several ranks by two strategies whose collectives
// really happen: on the CPU twin.
//
// Model: y = W2 tanh(W1 x), squared error, plain gradient descent with momentum; every rank has its
// own part of the batch. DDP keeps all weights on every rank and all-reduces gradients. Full
// sharding keeps 1/n of each layer's weights and momentum on each rank, all-gathers a layer before
// its forward and again before its backward pass, and reduce-scatters its gradient. Both do the
// same arithmetic but for the order of sums.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardsim::reference {

struct ToyNetwork {
  int ranks = 4;
  int inputs = 24;
  int hidden = 40;
  int outputs = 6;
  int samples_per_rank = 8;
  int steps = 25;
  float rate = 0.05F;
  float momentum = 0.9F;
};

/// A collective as it happened.
struct ToyCollective {
  std::string kind;
  int layer = 0;
  std::int64_t bytes = 0;
  std::int64_t slices = 0;  ///< rows of the twin's log
};

struct ToyResult {
  std::vector<float> weights;  ///< both layers
  std::vector<double> losses;  ///< by step, over the whole batch
  std::vector<ToyCollective> collectives;
  std::int64_t persistent_floats = 0;  ///< weights and momentum that a rank holds between steps
};

ToyResult train_with_ddp(const ToyNetwork& network);
ToyResult train_fully_sharded(const ToyNetwork& network);
/// One rank with the whole batch, in double precision.
ToyResult train_alone(const ToyNetwork& network);

}  // namespace shardsim::reference
