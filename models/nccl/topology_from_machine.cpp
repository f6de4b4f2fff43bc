#include "models/nccl/topology_from_machine.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace shardsim::nccl {

using network::CableSpec;
using simcore::BitRate;
using simcore::Fraction;
using simcore::SimTime;

namespace {

// topologies/README.md: one efficiency for each generation of link.
struct NvlinkGeneration {
  double gbytes = 25;
  double efficiency = 0.78;
};
NvlinkGeneration nvlink_generation(int compute_capability) {
  if (compute_capability >= 100) return {50, 0.73};
  if (compute_capability >= 90) return {25, 0.78};
  if (compute_capability >= 80) return {25, 0.77};
  return compute_capability >= 70 ? NvlinkGeneration{25, 0.82} : NvlinkGeneration{20, 0.82};
}
constexpr double pcie_efficiency = 0.75;
constexpr double network_efficiency = 0.955;
constexpr SimTime nvlink_latency = SimTime::nanoseconds(300);
constexpr SimTime pcie_latency = SimTime::nanoseconds(250);
constexpr SimTime network_latency = SimTime::nanoseconds(850);

/// "16.0 GT/s PCIe" on 16 lanes is 32 GB/s: a byte takes eight transfers.
BitRate pcie_rate(const PciEntry& device) {
  double transfers = 8;
  std::from_chars(device.link_speed.data(), device.link_speed.data() + device.link_speed.size(),
                  transfers);
  const int lanes = device.link_width > 0 ? device.link_width : 16;
  return BitRate{transfers * lanes / 8 * 1e9};
}

CableSpec pcie_cable(const PciEntry& device) {
  return {pcie_rate(device), Fraction{pcie_efficiency}, pcie_latency};
}

/// Walks one host's PCIe trees.
class HostReader {
 public:
  std::expected<network::NodeSpec, std::string> read(const Machine& machine) {
    const std::uint64_t host = machine.cpus.front().host;
    for (const CpuEntry& cpu : machine.cpus) {
      if (cpu.host != host) {
        other_hosts_.insert(cpu.host);
        continue;
      }
      const std::string name = fmt::format("cpu[{}]", cpus_++);
      for (const PciEntry& device : cpu.devices) add(device, name, name);
      add_nets(cpu.nets, name);
    }
    if (gpus_.empty()) return std::unexpected("the file has no GPU");
    finish(machine.cpus.front());
    if (auto problem = add_nvlink()) return std::unexpected(std::move(*problem));
    return node_;
  }

 private:
  void add(const PciEntry& device, const std::string& parent, const std::string& cpu) {
    if (device.gpu) {
      gpus_.push_back(&device);
      pcie_.gpus_at.push_back(parent);
      pcie_.gpu_link = device.gpu->c2c.empty() ? pcie_cable(device) : c2c_cable(*device.gpu);
    } else if (!device.nets.empty()) {
      pcie_.nic_link = pcie_cable(device);
      add_nets(device.nets, parent);
    } else if (!device.children.empty()) {
      std::string own = parent;
      if (parent == cpu) {
        own = fmt::format("pcie_switch[{}]", pcie_.switches++);
        pcie_.switches_at.push_back(cpu);
        pcie_.uplink = pcie_cable(device);
      }
      for (const PciEntry& child : device.children) add(child, own, cpu);
    }
  }

  static CableSpec c2c_cable(const GpuEntry& gpu) {
    double gbytes = 0;
    for (const C2cEntry& link : gpu.c2c) gbytes += 1e-3 * link.megabytes_per_second * link.count;
    return {BitRate{gbytes * 1e9}, Fraction{pcie_efficiency}, pcie_latency};
  }

  /// Ports of one chip are one NIC with their rates added.
  void add_nets(const std::vector<NetEntry>& nets, const std::string& parent) {
    double megabits = 0;
    for (const NetEntry& net : nets) {
      megabits += net.megabits_per_second > 0 ? net.megabits_per_second : 10'000;
      plugin_latency_us_ = std::max(plugin_latency_us_, net.latency_us);
    }
    if (megabits <= 0) return;
    pcie_.nics_at.push_back(parent);
    nic_megabits_ = nic_megabits_ > 0 ? std::min(nic_megabits_, megabits) : megabits;
  }

  void finish(const CpuEntry& cpu) {
    network::CpuSpec cpus;
    cpus.count = cpus_;
    cpus.vendor = cpu.architecture == "arm64"    ? network::CpuVendor::arm
                  : cpu.architecture == "ppc64"  ? network::CpuVendor::power
                  : cpu.vendor == "AuthenticAMD" ? network::CpuVendor::amd
                                                 : network::CpuVendor::intel;
    if (cpus_ > 1) {
      cpus.interconnect = CableSpec{BitRate{16e9}, Fraction{1}, SimTime::nanoseconds(100)};
    }
    node_.cpus = cpus;
    node_.gpus = static_cast<std::int64_t>(gpus_.size());
    pcie_.link = pcie_.gpu_link.value_or(CableSpec{BitRate{32e9}, Fraction{0.75}, pcie_latency});
    if (!pcie_.nics_at.empty()) {
      network::NicSpec nics;
      nics.count = static_cast<std::int64_t>(pcie_.nics_at.size());
      nics.link = {BitRate::from_bits_per_second(nic_megabits_ * 1e6), Fraction{network_efficiency},
                   network_latency};
      nics.plugin_latency =
          SimTime::nanoseconds(static_cast<std::int64_t>(plugin_latency_us_ * 1e3F));
      node_.nics = nics;
    }
    node_.pcie = pcie_;
  }

  std::optional<std::string> add_nvlink() {
    network::NvlinkSpec nvlink;
    const NvlinkGeneration generation = nvlink_generation(gpus_.front()->gpu->compute_capability);
    nvlink.link = {BitRate{generation.gbytes * 1e9}, Fraction{generation.efficiency},
                   nvlink_latency};
    nvlink.nodes_per_domain = 1 + static_cast<std::int64_t>(other_hosts_.size());
    std::int64_t to_switch = 0;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> pairs;
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      std::int64_t own = 0;
      for (const NvlinkEntry& link : gpus_[g]->gpu->nvlinks) {
        if (link.kind == NvlinkTarget::nvswitch) own += link.count;
        if (link.kind != NvlinkTarget::gpu) continue;
        const auto other = std::ranges::find(gpus_, link.target, &PciEntry::bus_id) - gpus_.begin();
        if (other > static_cast<std::ptrdiff_t>(g) &&
            other < static_cast<std::ptrdiff_t>(gpus_.size())) {
          pairs[{static_cast<std::int64_t>(g), other}] += link.count;
        }
      }
      if (g > 0 && own != to_switch) return "GPUs with unequal numbers of NVLinks to the switches";
      to_switch = own;
    }
    if (to_switch > 0) {
      nvlink.layout = network::NvlinkLayout::nvswitch;
      nvlink.links_per_gpu = to_switch;
      node_.nvlink = nvlink;
    } else if (!pairs.empty()) {
      nvlink.layout = network::NvlinkLayout::pairs;
      std::vector<std::int64_t> of_gpu(gpus_.size(), 0);
      for (const auto& [pair, links] : pairs) {
        nvlink.pairs.push_back({{pair.first, pair.second}, links});
        of_gpu[static_cast<std::size_t>(pair.first)] += links;
        of_gpu[static_cast<std::size_t>(pair.second)] += links;
      }
      nvlink.links_per_gpu = std::ranges::max(of_gpu);
      node_.nvlink = nvlink;
    }
    return std::nullopt;
  }

  network::NodeSpec node_;
  network::PcieSpec pcie_;
  std::vector<const PciEntry*> gpus_;
  std::set<std::uint64_t> other_hosts_;
  std::int64_t cpus_ = 0;
  double nic_megabits_ = 0;
  float plugin_latency_us_ = 0;
};

}  // namespace

std::expected<network::TopologySpec, std::string> topology_from_machine(const Machine& machine) {
  if (machine.cpus.empty()) return std::unexpected("the file has no CPU");
  auto node = HostReader().read(machine);
  if (!node) return std::unexpected(std::move(node.error()));
  network::TopologySpec spec;
  spec.name = machine.name;
  spec.node = std::move(*node);
  spec.fabric.kind =
      spec.node.nics ? network::FabricKind::single_switch : network::FabricKind::none;
  return spec;
}

}  // namespace shardsim::nccl
