// Names of devices: "node[2].nic[0]", "node[0].gpu[3]", "leaf[1]", "nvswitch[0]".
//
// A device of a node is "node[N].KIND[I]" with KIND one of gpu, nvswitch, pcie_switch, cpu, nic.
// A device of the fabric is "TIER[I]" with TIER one of leaf, spine, core, or "nvswitch[I]" for an
// NVLink switch that several nodes share. Numbers are decimal, without sign or leading zeros.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "models/network/graph.hpp"

namespace shardsim::network {

/// Node of a name written "node[*]...": the device of that kind and index in each node.
inline constexpr std::int32_t every_node = -2;

std::string device_name(const Vertex& device);

/// The device that `name` spells; the error says what was expected. `node[*]` is understood and
/// gives `every_node`.
std::expected<Vertex, std::string> parse_device_name(std::string_view name);

/// "gpu", "leaf": the word before the index.
std::string_view device_word(DeviceKind kind, std::int32_t tier);

/// Every word that may stand before an index, in a fixed order.
std::vector<std::string> device_words();

}  // namespace shardsim::network
