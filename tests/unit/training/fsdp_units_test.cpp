#include "models/training/fsdp_units.hpp"

#include <doctest/doctest.h>

namespace shardsim::training {
namespace {

TEST_CASE("per-parameter sharding of even sizes pads nothing") {
  const PerParameterUnit unit = shard_per_parameter({{"w", {64, 10}}, {"b", {64}}}, 8);
  CHECK(unit.padded_elements == 704);
  CHECK(unit.shard_elements == 88);
  CHECK(unit.tensors() == 2);
}

TEST_CASE("per-parameter sharding rounds rows up to the next multiple of the ranks") {
  const PerParameterUnit unit = shard_per_parameter({{"w", {65, 10}}}, 8);
  CHECK(unit.shard_elements == 9 * 10);
  CHECK(unit.padded_elements == 8 * 9 * 10);
  CHECK(unit.parameters[0].elements == 650);
}

TEST_CASE("a parameter with fewer rows than ranks is inflated to one row a rank") {
  const PerParameterUnit unit = shard_per_parameter({{"w", {3, 1000}}}, 64);
  CHECK(unit.shard_elements == 1000);
  CHECK(unit.padded_elements == 64'000);
}

TEST_CASE("per-parameter sharding over one rank is the parameter itself; a scalar is one row") {
  CHECK(shard_per_parameter({{"w", {7, 3}}}, 1).padded_elements == 21);
  CHECK(shard_per_parameter({{"scale", {}}}, 4).padded_elements == 4);
  CHECK(shard_per_parameter({}, 4).padded_elements == 0);
}

TEST_CASE("a flat parameter wastes fewer elements than there are ranks") {
  for (const std::int64_t ranks : {1, 2, 3, 7, 8, 64, 1000}) {
    const FlatUnit unit = flatten({{"w", {65, 10}}, {"b", {7}}}, ranks);
    CHECK(unit.elements == 657);
    CHECK(unit.padded_elements >= unit.elements);
    CHECK(unit.padded_elements - unit.elements < ranks);
    CHECK(unit.shard_elements * ranks == unit.padded_elements);
  }
}

TEST_CASE("aligned flat parameters pad between parameters and include the padding at the end") {
  // 8 bf16 elements are 16 bytes: 7 -> 8, +9 -> 17 -> 24, +1 -> 25, over 4 ranks -> 28.
  const FlatUnit unit = flatten({{"a", {7}}, {"b", {9}}, {"c", {1}}}, 4, 8);
  CHECK(unit.padded_elements == 28);
  CHECK(unit.elements == 28);
  CHECK(unit.shard_elements == 7);
}

}  // namespace
}  // namespace shardsim::training
