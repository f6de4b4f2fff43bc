// NCCL's topology files, as NCCL_TOPO_FILE reads and NCCL_TOPO_DUMP_FILE writes them.
//
// Format: <system> of <cpu> of nested <pci>, with <gpu> (<nvlink>, <c2c>) or <nic> (<net>) inside;
// a link's attributes describe the link to the parent. Elements that this does not know are passed
// over with a warning, as NCCL passes over them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/nccl/machine.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::nccl {

/// GPUs without a `rank` are not part of the communicator and left out; if none has one, they are
/// numbered in the order of the file. Every error has line and column.
std::optional<Machine> read_topology_xml(const std::shared_ptr<const simcore::SourceText>& source,
                                         simcore::Diagnostics& diagnostics);

/// True if the text looks like a topology file, by its outermost element.
bool is_topology_xml(std::string_view text);

std::string write_topology_xml(const Machine& machine);

}  // namespace shardsim::nccl
