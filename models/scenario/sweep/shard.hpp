// A sweep cut into parts for several machines: part I of N takes every N-th point, so that points
// that grow along an axis are spread evenly.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace shardsim::scenario {

struct Shard {
  std::int64_t number = 1;  ///< 1..of
  std::int64_t of = 1;

  bool has(std::int64_t index) const { return index % of == number - 1; }
  /// How many of `points` points it has.
  std::int64_t size(std::int64_t points) const { return (points - number + of) / of; }
  bool operator==(const Shard&) const = default;
};

/// "2/8"; the error says what was expected.
std::expected<Shard, std::string> parse_shard(std::string_view text);

}  // namespace shardsim::scenario
