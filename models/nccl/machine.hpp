// One node of a cluster as NCCL's topology files describe it: CPUs, what hangs on their PCIe, and
// the NVLinks. The same in every version of NCCL; `build_system` makes of it what a version sees.
//
// Models: NUMA domains of one host, or of the several hosts of an NVLink domain; the PCIe tree
// below them; GPUs with NVLink and C2C; NICs with their network devices. Leaves out devices that
// NCCL ignores, and partitioned GPUs (`mlopart`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardsim::nccl {

/// What the far end of an NVLink is.
enum class NvlinkTarget : std::uint8_t { gpu, nvswitch, cpu };

struct NvlinkEntry {
  std::string target;  ///< bus id
  NvlinkTarget kind = NvlinkTarget::nvswitch;
  int count = 1;
};

struct C2cEntry {
  int megabytes_per_second = 0;  ///< of one link
  int count = 1;
};

struct GpuEntry {
  int device = 0;              ///< number on its host
  int compute_capability = 0;  ///< times ten: 90 for sm_90
  int rank = 0;                ///< within the node
  bool gpu_direct = false;     ///< can a NIC reach its memory
  std::vector<NvlinkEntry> nvlinks;
  std::vector<C2cEntry> c2c;
};

struct NetEntry {
  std::string name;
  int device = 0;               ///< number on its host
  int megabits_per_second = 0;  ///< 0: unknown
  int port = 0;
  float latency_us = 0;
  std::optional<std::uint64_t> guid;  ///< one for all ports of a chip
  int max_connections = 0;            ///< 0: unknown
  bool gpu_direct = false;
  bool collectives = false;  ///< can the network reduce
  std::optional<int> rail;
  std::optional<int> plane;
};

struct PciEntry {
  std::string bus_id;
  std::uint64_t kind = 0;  ///< vendor, device, subsystem vendor, subsystem device: 16 bits each
  std::string link_speed;  ///< of the link to the parent, as Linux prints it: "16.0 GT/s PCIe"
  int link_width = 0;      ///< lanes; 0: unknown
  std::optional<GpuEntry> gpu;
  std::vector<NetEntry> nets;      ///< if it is a NIC
  std::vector<PciEntry> children;  ///< if it is a switch
  std::vector<std::string> peers;  ///< bus ids of switches that it has a direct link to
};

struct CpuEntry {
  std::uint64_t host = 0;  ///< hosts of an NVLink domain differ in it
  int numa = 0;
  std::string architecture;  ///< "x86_64", "arm64", "ppc64"
  std::string vendor;        ///< "GenuineIntel", "AuthenticAMD", ...
  int family = 0;
  int model = 0;
  std::vector<PciEntry> devices;
  std::vector<NetEntry> nets;  ///< network devices that are not on PCIe
};

struct Machine {
  std::string name;
  std::vector<CpuEntry> cpus;
};

/// GPUs of a machine in the order of the description.
std::vector<const GpuEntry*> gpus_of(const Machine& machine);

}  // namespace shardsim::nccl
