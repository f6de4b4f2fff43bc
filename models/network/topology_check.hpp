// What must hold of a topology beyond the single keys: references, counts, which keys go together.
#pragma once

#include <expected>
#include <string>

#include "models/network/graph.hpp"
#include "models/network/topology_spec.hpp"
#include "simcore/config/config_node.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::network {

/// Reports everything that is wrong; true if nothing is. `root` is the tree that the specification
/// was read from, to say where; null for one built in code.
bool check_topology(const TopologySpec& spec, const simcore::ConfigNode* root,
                    simcore::Diagnostics& diagnostics);

/// The kind of link that joins two kinds of device, or why there is none.
std::expected<LinkKind, std::string> link_kind_between(DeviceKind a, DeviceKind b);

/// Whether a topology of so many nodes, with so many GPUs in each, has the device (`every_node`:
/// whether each node has).
bool has_device(const TopologySpec& spec, const Vertex& device, std::int64_t nodes,
                std::int64_t gpus_per_node);

}  // namespace shardsim::network
