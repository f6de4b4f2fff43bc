// Which of several ways data takes through a fabric.
//
// Models: `target_port`, the static choice of D-mod-K routing: the port number of the receiving NIC
// deals receivers out over the switches above; `ecmp`, a hash of both ends, of the flow's number
// and of a seed at every switch, so that flows collide as they do behind real switches; `adaptive`,
// the way whose fullest link is least full when it is chosen; `spray`, every packet its own way, so
// that a switch deals a flow out evenly over all equally short ways; `table`, ways that are given.
// Assumes that all but tables use shortest ways only. Leaves out ways around a full group
// (Valiant), reordering and what it costs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simcore/config/fields.hpp"

namespace shardsim::network {

enum class RoutingPolicy : std::uint8_t { target_port, ecmp, adaptive, spray, table };

/// One way of a static table, from NIC to NIC.
struct StaticRouteSpec {
  std::string from;
  std::string to;
  std::vector<std::string> via;  ///< the switches passed, in order
  simcore::SourceLocation where{};
  static void describe(simcore::Fields<StaticRouteSpec>& fields);
};

/// Why one of `routes` cannot be.
struct RouteError {
  std::size_t route = 0;  ///< which of them
  std::string message;
};

struct RoutingSpec {
  RoutingPolicy policy = RoutingPolicy::target_port;
  std::int64_t seed = 0;                ///< of `ecmp`
  std::vector<StaticRouteSpec> routes;  ///< of `table`; other pairs go by the target's port
  static void describe(simcore::Fields<RoutingSpec>& fields);
  static void check(const RoutingSpec& spec, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

}  // namespace shardsim::network

namespace shardsim::simcore {

template <>
struct EnumNames<network::RoutingPolicy> {
  static constexpr auto values = std::to_array<EnumName<network::RoutingPolicy>>(
      {{"target_port", network::RoutingPolicy::target_port},
       {"ecmp", network::RoutingPolicy::ecmp},
       {"adaptive", network::RoutingPolicy::adaptive},
       {"spray", network::RoutingPolicy::spray},
       {"table", network::RoutingPolicy::table}});
};

}  // namespace shardsim::simcore
