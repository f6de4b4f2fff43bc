#include "models/network/routing_spec.hpp"

#include <limits>

namespace shardsim::network {

void StaticRouteSpec::describe(simcore::Fields<StaticRouteSpec>& fields) {
  fields.required("from", &StaticRouteSpec::from, "The NIC that sends.").example("node[0].nic[0]");
  fields.required("to", &StaticRouteSpec::to, "The NIC that receives.").example("node[5].nic[0]");
  fields.required("via", &StaticRouteSpec::via, "The switches that are passed, in order.")
      .example("[\"leaf[0]\", \"spine[1]\", \"leaf[2]\"]");
}

void RoutingSpec::describe(simcore::Fields<RoutingSpec>& fields) {
  fields.optional("policy", &RoutingSpec::policy,
                  "Which of several equally short ways is taken. `target_port`: fixed, receivers "
                  "dealt out by their port; `ecmp`: by a hash of both ends, with its collisions; "
                  "`adaptive`: the least loaded; `spray`: evenly over all; `table`: as `routes` "
                  "says.");
  fields.optional("seed", &RoutingSpec::seed, "Of the hash, for `ecmp`.")
      .range(0, std::numeric_limits<std::int64_t>::max());
  fields.optional("routes", &RoutingSpec::routes,
                  "Ways from NIC to NIC, for `table`; pairs that it does not name go as with "
                  "`target_port`.");
}

void RoutingSpec::check(const RoutingSpec& spec, const simcore::ConfigNode& node,
                        simcore::Diagnostics& diagnostics) {
  const bool table = spec.policy == RoutingPolicy::table;
  if (table && spec.routes.empty()) {
    diagnostics.error(node.where_value("policy"), "the policy 'table' needs the list 'routes'");
  } else if (!table && !spec.routes.empty()) {
    diagnostics.error(node.where_key("routes"), "only the policy 'table' has a list of routes");
  }
}

}  // namespace shardsim::network
