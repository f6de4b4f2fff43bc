#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "models/nccl/link_bandwidths.hpp"
#include "models/nccl/system.hpp"

namespace shardsim::nccl {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// The hexadecimal digits of "0000:10:00.0" read as one number.
std::uint64_t bus_number(std::string_view text) {
  std::uint64_t number = 0;
  int digits = 0;
  for (const char c : text) {
    if (c == '.' || c == ':') continue;
    int digit = 0;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      digit = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = c - 'A' + 10;
    } else {
      break;
    }
    if (++digits > 16) break;
    number = (number << 4) | static_cast<std::uint64_t>(digit);
  }
  return number;
}

class SystemBuilder {
 public:
  explicit SystemBuilder(NcclVersion version) { system_.version = version; }

  System build(const Machine& machine) {
    for (const CpuEntry& cpu : machine.cpus) add_cpu(cpu);
    for (const CpuEntry& cpu : machine.cpus) add_nvlinks(host_of(cpu), cpu.devices);
    for (const CpuEntry& cpu : machine.cpus) add_c2c(host_of(cpu), cpu.devices);
    for (const CpuEntry& cpu : machine.cpus) add_peers(host_of(cpu), cpu.devices);
    flatten_switches();
    connect_cpus(machine);
    for (const SystemCpu& cpu : system_.cpus) put_parent_last(cpu.node, -1);
    system_.hosts = static_cast<int>(hosts_.size());
    return std::move(system_);
  }

 private:
  using Key = std::pair<int, std::uint64_t>;  ///< host, bus number

  int host_of(const CpuEntry& cpu) {
    const auto found = std::find(hosts_.begin(), hosts_.end(), cpu.host);
    if (found == hosts_.end()) hosts_.push_back(cpu.host);
    return static_cast<int>(std::find(hosts_.begin(), hosts_.end(), cpu.host) - hosts_.begin());
  }

  int add_node(NodeKind kind, std::size_t index, int host, std::uint64_t id) {
    SystemNode node;
    node.kind = kind;
    node.index = static_cast<int>(index);
    node.host = host;
    node.id = id;
    system_.nodes.push_back(std::move(node));
    return static_cast<int>(system_.nodes.size()) - 1;
  }

  /// Links between the same two nodes add up; a node's links stand by falling bandwidth.
  void connect(int from, int to, PathType type, float gbytes_per_second) {
    int link = system_.find_link(from, to, type);
    std::vector<int>& links = system_.nodes[at(from)].links;
    if (link < 0) {
      link = static_cast<int>(system_.links.size());
      system_.links.push_back({from, to, type, 0});
      links.push_back(link);
    }
    system_.links[at(link)].gbytes_per_second += gbytes_per_second;
    auto place = std::find(links.begin(), links.end(), link);
    while (place != links.begin() && bandwidth(*(place - 1)) < bandwidth(link)) {
      std::iter_swap(place - 1, place);
      --place;
    }
  }

  void connect_both(int a, int b, PathType type, float gbytes_per_second) {
    connect(a, b, type, gbytes_per_second);
    connect(b, a, type, gbytes_per_second);
  }

  float bandwidth(int link) const { return system_.links[at(link)].gbytes_per_second; }

  void add_cpu(const CpuEntry& cpu) {
    const int host = host_of(cpu);
    const int node = add_node(NodeKind::cpu, system_.cpus.size(), host,
                              static_cast<std::uint64_t>(std::max(cpu.numa, 0)));
    system_.cpus.push_back({node, cpu_maker(cpu)});
    for (const PciEntry& device : cpu.devices) add_device(device, node, host);
    if (cpu.nets.empty()) return;
    const int nic = add_node(NodeKind::nic, nic_count_++, host, 0);
    connect_both(nic, node, PathType::pix, local_gbytes_per_second);
    for (const NetEntry& net : cpu.nets) add_net(net, nic, host);
  }

  void add_device(const PciEntry& pci, int parent, int host) {
    const std::uint64_t bus = bus_number(pci.bus_id);
    const float link = pcie_gbytes_per_second(pci.link_speed, pci.link_width);
    if (pci.gpu) {
      const int node = add_node(NodeKind::gpu, system_.gpus.size(), host, bus);
      system_.gpus.push_back(
          {node, pci.gpu->device, pci.gpu->rank, pci.gpu->compute_capability, pci.gpu->gpu_direct});
      gpu_at_.emplace(Key{host, bus}, node);
      connect_both(node, parent, PathType::pix, link);
    }
    if (!pci.nets.empty()) {
      add_nic(pci, bus, link, parent, host);
    } else if (!pci.gpu) {
      const int node = add_node(NodeKind::pci, switch_count_++, host, bus);
      system_.nodes[at(node)].pci_kind = pci.kind;
      switch_at_.emplace(Key{host, bus}, node);
      for (const PciEntry& child : pci.children) add_device(child, node, host);
      connect_both(node, parent, PathType::pix, link);
    }
  }

  void add_nic(const PciEntry& pci, std::uint64_t bus, float link, int parent, int host) {
    // The ports of one card are one device, until 2.24.
    if (system_.version < NcclVersion{24, 0}) bus &= ~std::uint64_t{0xf};
    auto [place, is_new] = nic_at_.try_emplace({host, bus}, -1);
    if (is_new) place->second = add_node(NodeKind::nic, nic_count_++, host, bus);
    const int nic = place->second;
    for (const NetEntry& net : pci.nets) add_net(net, nic, host);
    if (is_new) connect_both(nic, parent, PathType::pix, link);
  }

  void add_net(const NetEntry& entry, int nic, int host) {
    const auto id = static_cast<std::uint64_t>(entry.device);
    SystemNet net;
    net.node = add_node(NodeKind::net, system_.nets.size(), host, id);
    net.device = entry.device;
    net.asic = entry.guid.value_or((static_cast<std::uint64_t>(host) << 56) + id);
    net.port = entry.port;
    net.gbytes_per_second = net_gbytes_per_second(entry.megabits_per_second);
    net.latency_us = entry.latency_us;
    net.gpu_direct = entry.gpu_direct;
    net.collectives = entry.collectives;
    if (entry.rail != -1) net.rail = entry.rail;
    if (entry.plane != -1) net.plane = entry.plane;
    connect_both(nic, net.node, PathType::net, net.gbytes_per_second);
    system_.nets.push_back(net);
  }

  template <class Visit>
  void each_gpu(int host, const std::vector<PciEntry>& devices, const Visit& visit) {
    for (const PciEntry& device : devices) {
      if (device.gpu) visit(*device.gpu, gpu_at_.at({host, bus_number(device.bus_id)}));
      each_gpu(host, device.children, visit);
    }
  }

  void add_nvlinks(int host, const std::vector<PciEntry>& devices) {
    each_gpu(host, devices, [&](const GpuEntry& gpu, int node) {
      const float one = nvlink_gbytes_per_second(gpu.compute_capability, system_.version);
      for (const NvlinkEntry& link : gpu.nvlinks) {
        add_nvlink(host, link, node, static_cast<float>(link.count) * one);
      }
    });
  }

  void add_nvlink(int host, const NvlinkEntry& link, int node, float gbytes_per_second) {
    if (link.kind == NvlinkTarget::gpu) {
      // The other direction stands at the other GPU.
      const auto target = gpu_at_.find({host, bus_number(link.target)});
      if (target == gpu_at_.end()) return;
      connect(node, target->second, PathType::nvl, gbytes_per_second);
      return;
    }
    int target = -1;
    if (link.kind == NvlinkTarget::cpu) {
      target = cpu_above(node, -1);
    } else {
      if (!system_.nvswitch) system_.nvswitch = add_node(NodeKind::nvs, 0, 0, 0);
      target = *system_.nvswitch;
    }
    if (target >= 0) connect_both(node, target, PathType::nvl, gbytes_per_second);
  }

  void add_c2c(int host, const std::vector<PciEntry>& devices) {
    // Not seen before 2.19, and taken for an NVLink until 2.26.
    if (system_.version < NcclVersion{19, 0}) return;
    const PathType type = system_.version >= NcclVersion{26, 0} ? PathType::c2c : PathType::nvl;
    each_gpu(host, devices, [&](const GpuEntry& gpu, int node) {
      for (const C2cEntry& link : gpu.c2c) {
        const int cpu = cpu_above(node, -1);
        const double total = static_cast<double>(link.megabytes_per_second) * link.count / 1000.0;
        if (cpu >= 0) connect_both(node, cpu, type, static_cast<float>(total));
      }
    });
  }

  int cpu_above(int node, int from) const {
    if (system_.nodes[at(node)].kind == NodeKind::cpu) return node;
    for (const int link : system_.nodes[at(node)].links) {
      const SystemLink& up = system_.links[at(link)];
      const NodeKind kind = system_.nodes[at(up.to)].kind;
      if (up.type != PathType::pix || up.to == from) continue;
      if (kind != NodeKind::pci && kind != NodeKind::cpu) continue;
      if (const int cpu = cpu_above(up.to, node); cpu >= 0) return cpu;
    }
    return -1;
  }

  void add_peers(int host, const std::vector<PciEntry>& devices) {
    for (const PciEntry& device : devices) {
      const auto node = switch_at_.find({host, bus_number(device.bus_id)});
      for (const std::string& peer : device.peers) {
        const auto other = switch_at_.find({host, bus_number(peer)});
        if (node == switch_at_.end() || other == switch_at_.end()) continue;
        connect(node->second, other->second, PathType::loc, local_gbytes_per_second);
      }
      add_peers(host, device.children);
    }
  }

  /// Broadcom's switches show themselves as two levels though they carry full bandwidth between all
  /// ports; the generation of such a switch at a level, or 0.
  static int broadcom_generation(std::uint64_t kind, std::uint64_t level) {
    const std::uint64_t model = kind & ~std::uint64_t{0xfff};
    if (model == 0x1000c0101000a000) return 4;
    if (model == (0x1000c03010000000 | (level * 0x1000))) return 5;
    return 0;
  }

  void flatten_switches() {
    for (std::size_t s = 0; s < system_.nodes.size(); ++s) {
      const int parent = static_cast<int>(s);
      const int generation = broadcom_generation(system_.nodes[s].pci_kind, 0);
      if (system_.nodes[s].kind != NodeKind::pci || generation == 0 || is_merged(parent)) continue;
      std::vector<int> below;
      for (const int link : system_.nodes[s].links) {
        const int to = system_.links[at(link)].to;
        const SystemNode& node = system_.nodes[at(to)];
        if (node.kind != NodeKind::pci) continue;
        if (broadcom_generation(node.pci_kind, 1) != generation) continue;
        below.push_back(to);
      }
      for (const int lower : below) merge_into(lower, parent);
      system_.nodes[s].pci_kind |= 0xffff;
    }
  }

  bool is_merged(int node) const { return system_.nodes[at(node)].links.empty(); }

  void merge_into(int lower, int upper) {
    std::vector<int>& upper_links = system_.nodes[at(upper)].links;
    std::erase_if(upper_links, [&](int link) { return system_.links[at(link)].to == lower; });
    for (const int link : system_.nodes[at(lower)].links) {
      const int device = system_.links[at(link)].to;
      if (device == upper) continue;
      system_.links[at(link)].from = upper;
      upper_links.push_back(link);
      for (const int back : system_.nodes[at(device)].links) {
        if (system_.links[at(back)].to != lower) continue;
        system_.links[at(back)].to = upper;
        break;
      }
    }
    system_.nodes[at(lower)].links.clear();
  }

  void connect_cpus(const Machine& machine) {
    for (std::size_t a = 0; a < system_.cpus.size(); ++a) {
      const float rate = cpu_gbytes_per_second(machine.cpus[a], system_.version);
      for (std::size_t b = 0; b < system_.cpus.size(); ++b) {
        const int from = system_.cpus[a].node;
        const int to = system_.cpus[b].node;
        if (a == b || system_.nodes[at(from)].host != system_.nodes[at(to)].host) continue;
        connect(from, to, PathType::sys, rate);
      }
    }
  }

  /// So that the way down a PCIe tree is tried before the way up.
  void put_parent_last(int node, int parent) {
    std::vector<int>& links = system_.nodes[at(node)].links;
    const auto up = std::find_if(links.begin(), links.end(),
                                 [&](int link) { return system_.links[at(link)].to == parent; });
    if (up != links.end()) std::rotate(up, up + 1, links.end());
    for (const int link : links) {
      const SystemLink& down = system_.links[at(link)];
      if (down.type == PathType::pix && down.to != parent) put_parent_last(down.to, node);
    }
  }

  System system_;
  std::vector<std::uint64_t> hosts_;
  std::map<Key, int> gpu_at_;
  std::map<Key, int> nic_at_;
  std::map<Key, int> switch_at_;
  std::size_t nic_count_ = 0;
  std::size_t switch_count_ = 0;
};

}  // namespace

System build_system(const Machine& machine, NcclVersion version) {
  return SystemBuilder(version).build(machine);
}

}  // namespace shardsim::nccl
