// Full sharding is the same training as DDP, by collectives that really happen.
#include "tests/reference/toy_fsdp.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <doctest/doctest.h>

namespace shardsim::reference {
namespace {

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
  }
  return most;
}

std::map<std::string, int> counts(const ToyResult& result) {
  std::map<std::string, int> made;
  for (const ToyCollective& one : result.collectives) {
    ++made[one.kind];
    CHECK(one.slices > 0);
  }
  return made;
}

std::int64_t bytes_of(const ToyResult& result, const std::string& kind) {
  std::int64_t sum = 0;
  for (const ToyCollective& one : result.collectives) sum += one.kind == kind ? one.bytes : 0;
  return sum;
}

}  // namespace

TEST_CASE("DDP and full sharding end in the same weights, those of training alone, to rounding") {
  for (const int ranks : {2, 3, 4}) {
    ToyNetwork network;
    network.ranks = ranks;
    const ToyResult ddp = train_with_ddp(network);
    const ToyResult sharded = train_fully_sharded(network);
    const ToyResult alone = train_alone(network);
    CAPTURE(ranks);
    // Weights are up to 1; float has 6e-8 of that, which 25 steps with momentum carry on.
    CHECK(largest_difference(ddp.weights, sharded.weights) < 2e-6);
    CHECK(largest_difference(sharded.weights, alone.weights) < 5e-6);
    CHECK(alone.losses.back() < 0.7 * alone.losses.front());  // there was something to learn
    CHECK(ddp.losses.back() == doctest::Approx(alone.losses.back()).epsilon(1e-4));
  }
}

TEST_CASE("full sharding gathers each layer for its passes and scatters its gradients") {
  ToyNetwork network;
  network.steps = 3;
  const ToyResult ddp = train_with_ddp(network);
  const ToyResult sharded = train_fully_sharded(network);
  const auto of_ddp = counts(ddp);
  auto of_sharded = counts(sharded);
  CHECK(of_ddp.size() == 1);
  CHECK(of_ddp.at("all_reduce") == 2 * network.steps);
  // Three gathers a step: the last layer stays between its passes. Two more show the weights.
  CHECK(of_sharded.at("all_gather") == 3 * network.steps + 2);
  CHECK(of_sharded.at("reduce_scatter") == 2 * network.steps);
  // Each gradient byte is reduced once by either.
  CHECK(bytes_of(ddp, "all_reduce") == bytes_of(sharded, "reduce_scatter"));
  CHECK(sharded.persistent_floats * network.ranks == ddp.persistent_floats);
}

}  // namespace shardsim::reference
