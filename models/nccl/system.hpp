// The machine as NCCL's planner sees it: devices, directed links, and the bandwidths that NCCL
// believes in.
//
// Models: the node graph of NCCL's graph/topo.cc - GPUs, PCIe switches, one merged NVSwitch, CPUs,
// NICs and network devices - with the constants of its version. Bandwidths are what NCCL plans
// with, not what the hardware does. Assumes one rank per GPU. Leaves out GPU partitions and the
// devices of NCCL's other transports (GIN, RMA).
//
// NCCL computes bandwidths in single precision and rounds them; so does this, because its
// decisions depend on it. They are in GB/s throughout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/machine.hpp"
#include "models/nccl/nccl_version.hpp"
#include "models/nccl/path_type.hpp"

namespace shardsim::nccl {

enum class NodeKind : std::uint8_t { gpu, pci, nvs, cpu, nic, net };

/// "GPU", "PCI", "NVS", "CPU", "NIC", "NET".
std::string_view node_kind_name(NodeKind kind);

struct SystemLink {
  int from = 0;
  int to = 0;
  PathType type = PathType::pix;  ///< loc, nvl, c2c, pix (PCIe), sys or net
  float gbytes_per_second = 0;
};

struct SystemNode {
  NodeKind kind = NodeKind::gpu;
  int index = 0;         ///< counted within its kind
  int host = 0;          ///< counted in the order of the description
  std::uint64_t id = 0;  ///< bus id, NUMA id or device number: unique within host and kind
  std::uint64_t pci_kind = 0;
  std::vector<int> links;  ///< that leave it, in the order in which NCCL tries them
};

struct SystemGpu {
  int node = 0;
  int device = 0;
  int rank = 0;
  int compute_capability = 0;
  bool gpu_direct = false;
};

struct SystemNet {
  int node = 0;
  int device = 0;
  std::uint64_t asic = 0;
  int port = 0;
  float gbytes_per_second = 0;
  float latency_us = 0;
  bool gpu_direct = false;
  bool collectives = false;
  std::optional<int> rail;
  std::optional<int> plane;
};

enum class CpuMaker : std::uint8_t { intel, amd, zhaoxin, arm, power, other };

struct SystemCpu {
  int node = 0;
  CpuMaker maker = CpuMaker::other;
};

struct System {
  NcclVersion version;
  std::vector<SystemNode> nodes;
  std::vector<SystemLink> links;
  std::vector<SystemGpu> gpus;  ///< in the order of the description
  std::vector<SystemNet> nets;
  std::vector<SystemCpu> cpus;
  std::optional<int> nvswitch;  ///< its node
  int hosts = 0;

  int least_compute_capability() const;
  /// The link of that type from one node to another, or -1.
  int find_link(int from, int to, PathType type) const;
};

/// Never fails: what a machine may hold is checked when it is read.
System build_system(const Machine& machine, NcclVersion version);

/// "GPU/0-10000", "NET/0-3": kind, host and id (hexadecimal), as NCCL logs them.
std::string node_name(const System& system, int node);

}  // namespace shardsim::nccl
