// A machine in NCCL's description as a topology of ours, so that data can flow on it.
//
// Models: NVLink through switches or from GPU to GPU, PCIe switches, CPUs and NICs of one host, as
// often as asked for, with one ideal switch between the NICs. Nominal rates are what the file says;
// efficiencies and latencies are those of topologies/README.md for the kind of link. Assumes that
// all NICs are alike, and all PCIe links but those given apart; nested PCIe switches count as one.
// Leaves out the hosts of an NVLink domain beyond their number.
#pragma once

#include <expected>
#include <string>

#include "models/nccl/machine.hpp"
#include "models/network/topology_spec.hpp"

namespace shardsim::nccl {

/// The error says what has no place in a topology.
std::expected<network::TopologySpec, std::string> topology_from_machine(const Machine& machine);

}  // namespace shardsim::nccl
