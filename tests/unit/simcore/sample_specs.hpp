// A small specification with every kind of field, and shortcuts to read it from text.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simcore/config/fields.hpp"

namespace sample {

namespace simcore = shardsim::simcore;

enum class Strategy : std::uint8_t { fsdp2, fsdp1, ddp };

/// `true | false | depth`.
struct Reshard {
  bool on = true;
  std::int64_t depth = 0;
  bool operator==(const Reshard&) const = default;
};

struct Nic {
  std::string name;
  simcore::BitRate bandwidth = simcore::BitRate::from_bits_per_second(400e9);
  bool operator==(const Nic&) const = default;
  static void describe(simcore::Fields<Nic>& fields);
};

struct Cluster {
  std::string topology;
  std::int64_t nodes = 1;
  int gpus = 8;
  std::optional<simcore::Bytes> limit;
  std::vector<Nic> nics;
  bool operator==(const Cluster&) const = default;
  static void describe(simcore::Fields<Cluster>& fields);
  static void check(const Cluster& cluster, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

struct Spec {
  std::string name = "unnamed";
  Cluster cluster;
  Strategy strategy = Strategy::fsdp2;
  bool compile = false;
  double share = 0.5;
  simcore::SimTime launch = simcore::SimTime::nanoseconds(2500);
  simcore::FlopRate peak{989e12};
  simcore::Fraction efficiency{0.75};
  Reshard reshard;
  std::vector<std::int64_t> sizes{1, 2};
  std::map<std::string, std::string> env;
  bool operator==(const Spec&) const = default;
  static void describe(simcore::Fields<Spec>& fields);
};

/// A type that contains itself.
struct Tree {
  std::string label;
  std::vector<Tree> children;
  static void describe(simcore::Fields<Tree>& fields);
};

std::shared_ptr<const simcore::SourceText> source(std::string text);
/// Every message as "line:column: message" or "... -> suggestion", a line each.
std::string problems(const simcore::Diagnostics& diagnostics);
/// The same, of reading `text` as YAML and then as a Spec.
std::string problems_of(std::string text);
/// The Spec that `text` holds; the test fails if anything in it is wrong.
Spec read_spec(std::string text);

}  // namespace sample

template <>
struct shardsim::simcore::EnumNames<sample::Strategy> {
  static constexpr auto values =
      std::to_array<EnumName<sample::Strategy>>({{"fsdp2", sample::Strategy::fsdp2},
                                                 {"fsdp1", sample::Strategy::fsdp1},
                                                 {"ddp", sample::Strategy::ddp}});
};

template <>
struct shardsim::simcore::Codec<sample::Reshard> {
  static std::optional<sample::Reshard> read(const ConfigNode& node, ReadContext& context);
  static std::string print(const sample::Reshard& value);
  static TypeSchema schema();
};
