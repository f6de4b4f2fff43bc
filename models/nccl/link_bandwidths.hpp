// What NCCL believes that links carry, in GB/s: graph/topo.h and graph/topo.cc of each version.
#pragma once

#include <string_view>

#include "models/nccl/machine.hpp"
#include "models/nccl/nccl_version.hpp"
#include "models/nccl/system.hpp"

namespace shardsim::nccl {

/// Of a device to itself: no limit.
inline constexpr float local_gbytes_per_second = 5000;

/// One NVLink, one direction.
float nvlink_gbytes_per_second(int compute_capability, NcclVersion version);

/// `speed` as Linux prints it, e.g. "16.0 GT/s PCIe"; an unknown one counts as PCIe 3, an unknown
/// width as 16 lanes.
float pcie_gbytes_per_second(std::string_view speed, int lanes);

CpuMaker cpu_maker(const CpuEntry& cpu);

/// Between two sockets.
float cpu_gbytes_per_second(const CpuEntry& cpu, NcclVersion version);

/// A network device; without a speed it counts as 10 Gbit/s.
float net_gbytes_per_second(int megabits_per_second);

}  // namespace shardsim::nccl
