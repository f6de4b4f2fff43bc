#include "models/nccl/machine_from_topology.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace shardsim::nccl {
namespace {

/// A standard PCIe link.
struct PcieLink {
  std::string speed;
  int lanes = 16;
};

/// Rates of a lane in GT/s, which is also Gbit/s.
constexpr auto lane_rates = std::to_array<std::pair<const char*, double>>({{"2.5 GT/s PCIe", 2.5},
                                                                           {"5.0 GT/s PCIe", 5},
                                                                           {"8.0 GT/s PCIe", 8},
                                                                           {"16.0 GT/s PCIe", 16},
                                                                           {"32.0 GT/s PCIe", 32},
                                                                           {"64.0 GT/s PCIe", 64}});

/// The fastest 16 lanes of PCIe, in bytes per second.
constexpr double fastest_pcie = 64.0 / 8 * 16 * 1e9;

/// The link whose bandwidth is nearest; of equal ones that with more lanes.
PcieLink standard_link(simcore::BitRate rate) {
  PcieLink best;
  double least = -1;
  for (const int lanes : {16, 8, 4, 2, 1}) {
    for (const auto& [name, gigabits] : lane_rates) {
      const double off = std::abs(gigabits * 1e9 * lanes - rate.bits_per_second());
      if (least >= 0 && off >= least) continue;
      least = off;
      best = {name, lanes};
    }
  }
  return best;
}

/// Model of the Intel CPU (family 6) whose sockets NCCL takes to be joined at that rate.
int intel_model(const network::CpuSpec& cpus) {
  constexpr int broadwell = 0x4f;
  if (!cpus.interconnect) return broadwell;
  const double gbytes = cpus.interconnect->bandwidth.bytes_per_second / 1e9;
  if (gbytes >= 40) return 0xcf;  // Emerald Rapids
  if (gbytes >= 22) return 0x8f;  // Sapphire Rapids
  return gbytes >= 10 ? 0x55 : broadwell;
}

CpuEntry cpu_entry(const network::NodeSpec& node) {
  CpuEntry cpu;
  cpu.architecture = "x86_64";
  cpu.vendor = "GenuineIntel";
  if (!node.cpus) return cpu;
  switch (node.cpus->vendor) {
    case network::CpuVendor::intel:
      cpu.family = 6;
      cpu.model = intel_model(*node.cpus);
      break;
    case network::CpuVendor::amd:
      cpu.vendor = "AuthenticAMD";
      break;
    case network::CpuVendor::arm:
      cpu.architecture = "arm64";
      cpu.vendor.clear();
      break;
    case network::CpuVendor::power:
      cpu.architecture = "ppc64";
      cpu.vendor.clear();
      break;
  }
  return cpu;
}

/// One host of the domain, built from the leaves of its PCIe tree up.
class HostBuilder {
 public:
  HostBuilder(const network::NodeSpec& node, const MachineChoice& choice, int host)
      : node_(node), choice_(choice), host_(host) {}

  std::vector<CpuEntry> build() {
    add_gpus();
    add_nics();
    add_switches();
    std::vector<CpuEntry> cpus;
    for (std::int64_t i = 0; i < std::max<std::int64_t>(node_.cpu_count(), 1); ++i) {
      CpuEntry cpu = cpu_entry(node_);
      cpu.host = static_cast<std::uint64_t>(host_);
      cpu.numa = static_cast<int>(i);
      cpu.devices = take(fmt::format("cpu[{}]", i));
      cpus.push_back(std::move(cpu));
    }
    return cpus;
  }

 private:
  std::int64_t gpu_count() const {
    return choice_.gpus_per_node > 0 ? std::min(choice_.gpus_per_node, node_.gpus) : node_.gpus;
  }

  /// Bus ids need only differ; the kind stands in the second part.
  static std::string bus_id(int kind, std::int64_t index) {
    return fmt::format("{:04x}:{:02x}:00.0", index, kind);
  }
  static std::string gpu_bus(std::int64_t gpu) { return bus_id(0x10, gpu); }

  std::string parent(const std::vector<std::string>& at, std::int64_t i, std::int64_t count) const {
    const auto [word, parents] = network::pcie_parents(node_);
    if (!node_.pcie || parents == 0) return "cpu[0]";
    return network::parent_name(at, i, count, word, parents);
  }

  void hang(const std::string& name, PciEntry device) { below_[name].push_back(std::move(device)); }

  std::vector<PciEntry> take(const std::string& name) {
    const auto found = below_.find(name);
    return found == below_.end() ? std::vector<PciEntry>{} : std::move(found->second);
  }

  void set_link(PciEntry& device, const std::optional<network::CableSpec>& own) const {
    if (!node_.pcie) return;
    const PcieLink link = standard_link(own.value_or(node_.pcie->link).bandwidth);
    device.link_speed = link.speed;
    device.link_width = link.lanes;
  }

  void add_gpus() {
    static const std::vector<std::string> nowhere;
    for (std::int64_t i = 0; i < gpu_count(); ++i) {
      PciEntry device;
      device.bus_id = gpu_bus(i);
      std::optional<network::CableSpec> cable = node_.pcie ? node_.pcie->gpu_link : std::nullopt;
      GpuEntry gpu;
      gpu.device = static_cast<int>(i);
      gpu.compute_capability = choice_.compute_capability;
      gpu.rank = static_cast<int>(host_ * gpu_count() + i);
      gpu.gpu_direct = true;
      gpu.nvlinks = nvlinks_of(i);
      if (cable && cable->bandwidth.bytes_per_second > fastest_pcie) {
        gpu.c2c.push_back(
            {static_cast<int>(std::lround(cable->bandwidth.bytes_per_second / 1e6)), 1});
        cable.reset();
      }
      set_link(device, cable);
      device.gpu = std::move(gpu);
      hang(parent(node_.pcie ? node_.pcie->gpus_at : nowhere, i, node_.gpus), std::move(device));
    }
  }

  std::vector<NvlinkEntry> nvlinks_of(std::int64_t gpu) const {
    std::vector<NvlinkEntry> links;
    if (!node_.nvlink) return links;
    const network::NvlinkSpec& nvlink = *node_.nvlink;
    switch (nvlink.layout) {
      case network::NvlinkLayout::nvswitch:
        links.push_back(
            {"ffff:ff:00.0", NvlinkTarget::nvswitch, static_cast<int>(nvlink.links_per_gpu)});
        break;
      case network::NvlinkLayout::full_mesh:
        for (std::int64_t peer = 0; peer < gpu_count(); ++peer) {
          const std::int64_t each =
              nvlink.links_per_gpu / std::max<std::int64_t>(node_.gpus - 1, 1);
          if (peer != gpu) add_peer(links, peer, each);
        }
        break;
      case network::NvlinkLayout::pairs:
        for (const network::NvlinkPairSpec& pair : nvlink.pairs) {
          if (pair.gpus.size() != 2) continue;
          if (pair.gpus[0] == gpu) add_peer(links, pair.gpus[1], pair.links);
          if (pair.gpus[1] == gpu) add_peer(links, pair.gpus[0], pair.links);
        }
        break;
    }
    return links;
  }

  void add_peer(std::vector<NvlinkEntry>& links, std::int64_t peer, std::int64_t count) const {
    if (peer >= gpu_count() || count <= 0) return;
    links.push_back({gpu_bus(peer), NvlinkTarget::gpu, static_cast<int>(count)});
  }

  void add_nics() {
    if (!node_.nics || !node_.pcie) return;
    const std::int64_t group = std::max<std::int64_t>(choice_.nics_per_device, 1);
    const std::int64_t count = node_.nics->count;
    for (std::int64_t first = 0; first < count; first += group) {
      const std::int64_t members = std::min(group, count - first);
      const std::int64_t number = first / group;
      NetEntry net;
      net.name = fmt::format("mlx5_{}", number);  // the usual driver's, as in NCCL_IB_HCA
      net.device = static_cast<int>(number);
      const double megabits = node_.nics->link.bandwidth.bits_per_second() / 1e6;
      net.megabits_per_second = static_cast<int>(std::lround(megabits)) * static_cast<int>(members);
      net.port = 1;
      net.latency_us = static_cast<float>(node_.nics->plugin_latency.microseconds());
      net.guid = (static_cast<std::uint64_t>(host_) << 32) + static_cast<std::uint64_t>(number) + 1;
      net.gpu_direct = true;
      PciEntry device;
      device.bus_id = bus_id(0x80, number);
      device.nets.push_back(std::move(net));
      set_link(device, node_.pcie->nic_link);
      hang(parent(node_.pcie->nics_at, first, count), std::move(device));
    }
  }

  void add_switches() {
    if (!node_.pcie) return;
    for (std::int64_t i = 0; i < node_.pcie->switches; ++i) {
      PciEntry device;
      device.bus_id = bus_id(0x40, i);
      device.children = take(fmt::format("pcie_switch[{}]", i));
      set_link(device, node_.pcie->uplink);
      hang(network::parent_name(node_.pcie->switches_at, i, node_.pcie->switches, "cpu",
                                std::max<std::int64_t>(node_.cpu_count(), 1)),
           std::move(device));
    }
  }

  const network::NodeSpec& node_;
  const MachineChoice& choice_;
  int host_;
  std::map<std::string, std::vector<PciEntry>> below_;
};

}  // namespace

Machine machine_from_topology(const network::TopologySpec& spec, const MachineChoice& choice) {
  Machine machine;
  machine.name = spec.name;
  const std::int64_t domain = spec.node.nvlink ? spec.node.nvlink->nodes_per_domain : 1;
  const std::int64_t hosts = std::max<std::int64_t>(std::min(domain, choice.nodes), 1);
  for (std::int64_t host = 0; host < hosts; ++host) {
    auto cpus = HostBuilder(spec.node, choice, static_cast<int>(host)).build();
    machine.cpus.insert(machine.cpus.end(), std::make_move_iterator(cpus.begin()),
                        std::make_move_iterator(cpus.end()));
  }
  return machine;
}

}  // namespace shardsim::nccl
