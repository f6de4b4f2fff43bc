// NCCL_IB_HCA and NCCL_SOCKET_IFNAME: which NICs NCCL may use, by name.
#pragma once

#include <string_view>

#include "models/nccl/machine.hpp"

namespace shardsim::nccl {

/// Takes away the network devices that `list` does not name. It is "NAME,NAME,...", where NAME is
/// the beginning of a device's name, after "=" the whole name; a leading "^" keeps the others
/// instead; ":PORT" after a name asks for that port. An empty list keeps everything.
/// Returns whether any is left. Source: NCCL's user guide, NCCL_IB_HCA.
bool keep_nics(Machine& machine, std::string_view list);

}  // namespace shardsim::nccl
