// What the user tells NCCL's planner, and whether several nodes take part.
#pragma once

#include <cstdint>
#include <optional>

#include "models/nccl/environment.hpp"
#include "models/nccl/path_type.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::nccl {

/// NCCL_NETDEVS_POLICY: how many of the NICs near a GPU it uses.
enum class NetDevicesPolicy : std::uint8_t {
  shared_out,  ///< AUTO: NICs over the GPUs that share them
  all,
  at_most,
};

struct PlanningOptions {
  bool several_nodes = false;
  int cross_nic = 2;                  ///< NCCL_CROSS_NIC: 0 never, 1 always, 2 where it helps
  std::optional<PathType> p2p_level;  ///< NCCL_P2P_LEVEL, NCCL_P2P_DISABLE
  std::optional<PathType> gdr_level;  ///< NCCL_NET_GDR_LEVEL
  std::optional<bool> gdr_read;       ///< NCCL_NET_GDR_READ
  bool gdr_c2c = true;                ///< NCCL_NET_GDR_C2C
  bool pxn = true;                    ///< NCCL_PXN_DISABLE=0
  std::optional<bool> pxn_c2c;        ///< NCCL_PXN_C2C; its default changed in 2.28
  bool nvb = true;                    ///< NCCL_NVB_DISABLE=0
  NetDevicesPolicy net_devices = NetDevicesPolicy::shared_out;
  int most_net_devices = 0;  ///< policy `at_most`
};

/// What the environment says to the planner.
PlanningOptions planning_options(const Environment& environment, bool several_nodes);

}  // namespace shardsim::nccl
