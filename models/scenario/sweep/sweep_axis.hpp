// One axis of a sweep: a key of the scenario and the values that it takes, or several keys that
// take theirs together.
//
// In a scenario's `sweep:` section, a list of axes:
//
//   sweep:
//     - cluster.nodes: 1..64*2                        # a range
//     - workload.micro_batch_size: [1, 2, 4]          # crossed with the first
//     - {training.strategy: [fsdp2, zero3],           # zipped: two keys, one axis
//        training.reduce_dtype: [fp32, bf16]}
//     - training: [{strategy: ddp}, {strategy: fsdp2, sharding: hybrid_shard}]   # whole maps
//
// A value replaces what the scenario has under its key, as `--set` does.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simcore/config/fields.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::scenario {

struct AxisKey {
  std::string key;                  ///< dotted, as for `--set`
  std::vector<std::string> values;  ///< YAML on one line
  simcore::SourceLocation where{};  ///< of the key, for messages
  bool operator==(const AxisKey& other) const { return key == other.key && values == other.values; }
};

struct SweepAxis {
  std::vector<AxisKey> keys;  ///< all with equally many values
  std::size_t size() const { return keys.empty() ? 0 : keys.front().values.size(); }
  bool operator==(const SweepAxis&) const = default;
};

/// Reads `KEY=V1,V2,...` of the command line; commas within brackets and quotes belong to values,
/// and each value may be a range. `option` names the option in messages.
std::optional<AxisKey> parse_axis_key(std::string_view text, std::string_view option,
                                      simcore::Diagnostics& diagnostics);

}  // namespace shardsim::scenario

namespace shardsim::simcore {

template <>
struct Codec<scenario::SweepAxis> {
  static std::optional<scenario::SweepAxis> read(const ConfigNode& node, ReadContext& context);
  static std::string print(const scenario::SweepAxis& value);
  static TypeSchema schema();
};

}  // namespace shardsim::simcore
