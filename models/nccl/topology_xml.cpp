#include "models/nccl/topology_xml.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "models/nccl/xml_fields.hpp"

namespace shardsim::nccl {
namespace {

constexpr std::int64_t max_int = std::numeric_limits<int>::max();
/// More devices of a kind than any NVLink domain has; also NCCL's own bound.
constexpr std::size_t max_devices = 576;

class MachineReader {
 public:
  explicit MachineReader(simcore::Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  Machine read(const XmlElement& system) {
    Machine machine;
    machine.name = XmlFields(system, diagnostics_).text("name");
    numbered_ = holds_ranks(system);
    for (const XmlElement& element : system.children) {
      if (element.name == "cpu") {
        machine.cpus.push_back(read_cpu(element));
      } else {
        pass_over(element, system);
      }
    }
    check(system, machine);
    return machine;
  }

 private:
  static bool holds_ranks(const XmlElement& element) {
    if (element.name == "gpu" && element.attribute("rank") != nullptr) return true;
    return std::any_of(element.children.begin(), element.children.end(), holds_ranks);
  }

  CpuEntry read_cpu(const XmlElement& element) {
    const XmlFields fields(element, diagnostics_);
    CpuEntry cpu;
    host_ = cpu.host = fields.hexadecimal("host_hash").value_or(0);
    cpu.numa = static_cast<int>(fields.required_integer("numaid", -1, 100'000));
    cpu.architecture = fields.required_text("arch");
    if (cpu.architecture == "x86_64") cpu.vendor = fields.required_text("vendor");
    cpu.family = static_cast<int>(fields.integer("familyid", 0, 0, max_int));
    cpu.model = static_cast<int>(fields.integer("modelid", 0, 0, max_int));
    check_architecture(element, cpu);
    for (const XmlElement& child : element.children) {
      if (child.name == "pci") {
        read_pci(child, cpu.devices);
      } else if (child.name == "nic") {
        read_nets(child, cpu.nets);
      } else {
        pass_over(child, element);
      }
    }
    return cpu;
  }

  void check_architecture(const XmlElement& element, const CpuEntry& cpu) {
    const std::vector<std::string> known = {"x86_64", "arm64", "ppc64"};
    if (std::find(known.begin(), known.end(), cpu.architecture) != known.end()) return;
    if (element.attribute("arch") == nullptr) return;  // already said
    diagnostics_.error(element.where,
                       fmt::format("attribute 'arch' of <cpu> is {}: expected x86_64, arm64 or "
                                   "ppc64",
                                   simcore::quote(cpu.architecture)),
                       simcore::nearest_spelling(cpu.architecture, known));
  }

  void read_pci(const XmlElement& element, std::vector<PciEntry>& siblings) {
    const XmlFields fields(element, diagnostics_);
    PciEntry pci;
    pci.bus_id = fields.required_text("busid");
    fields.required_text("class");
    for (const char* part : {"vendor", "device", "subsystem_vendor", "subsystem_device"}) {
      pci.kind = (pci.kind << 16) | (fields.hexadecimal(part).value_or(0) & 0xffff);
    }
    pci.link_speed = fields.text("link_speed");
    pci.link_width = static_cast<int>(fields.integer("link_width", 0, 0, 64));
    bool is_gpu = false;
    for (const XmlElement& child : element.children) {
      if (child.name == "gpu") {
        is_gpu = true;
        read_gpu(child, pci);
      } else if (child.name == "nic") {
        read_nets(child, pci.nets);
      } else if (child.name == "pci") {
        read_pci(child, pci.children);
      } else if (child.name == "pcilink") {
        pci.peers.push_back(XmlFields(child, diagnostics_).required_text("target"));
      } else {
        pass_over(child, element);
      }
    }
    if (!bus_ids_.insert({host_, pci.bus_id}).second && pci.nets.empty()) {
      diagnostics_.error(element.where, fmt::format("bus id {} is given twice on this host",
                                                    simcore::quote(pci.bus_id)));
    }
    const bool is_switch = !is_gpu && pci.nets.empty();
    const bool in_use = !is_switch || is_bridge_class(fields.text("class"));
    if (!pci.children.empty() && (!is_switch || !in_use)) {
      diagnostics_.error(element.where,
                         fmt::format("the GPU or NIC {} holds other devices: expected them in a "
                                     "switch (class 0x060400)",
                                     simcore::quote(pci.bus_id)));
    }
    if (is_gpu && !pci.gpu) return;  // not part of the communicator
    if (!in_use) return;             // a GPU or NIC
    siblings.push_back(std::move(pci));
  }

  /// NCCL takes every class that it does not know for a switch.
  static bool is_bridge_class(std::string_view text) {
    const auto begins = [&](std::string_view prefix) { return text.substr(0, 4) == prefix; };
    return !begins("0x03") && !begins("0x02") && text != "0x068000" && text != "0x068001";
  }

  void read_gpu(const XmlElement& element, PciEntry& pci) {
    const XmlFields fields(element, diagnostics_);
    if (fields.has("mlopart")) {
      diagnostics_.error(element.where, "partitioned GPUs ('mlopart') are not modelled");
      return;
    }
    if (pci.gpu) {
      diagnostics_.error(element.where, "several ranks on one GPU are not modelled");
      return;
    }
    if (numbered_ && !fields.has("rank")) return;
    GpuEntry gpu;
    gpu.device = static_cast<int>(fields.required_integer("dev", 0, 100'000));
    gpu.compute_capability = static_cast<int>(fields.required_integer("sm", 10, 999));
    gpu.rank = numbered_ ? static_cast<int>(fields.integer("rank", 0, 0, max_int)) : gpu_count_;
    gpu.gpu_direct = fields.integer("gdr", 0, 0, 1) != 0;
    if (!ranks_.insert(gpu.rank).second) {
      diagnostics_.error(element.where, fmt::format("rank {} is given twice", gpu.rank));
    }
    ++gpu_count_;
    for (const XmlElement& child : element.children) {
      if (child.name == "nvlink") {
        gpu.nvlinks.push_back(read_nvlink(child));
      } else if (child.name == "c2c") {
        const XmlFields link(child, diagnostics_);
        gpu.c2c.push_back({static_cast<int>(link.required_integer("bw", 0, 10'000'000)),
                           static_cast<int>(link.required_integer("count", 1, 1024))});
      } else {
        pass_over(child, element);
      }
    }
    pci.gpu = std::move(gpu);
  }

  NvlinkEntry read_nvlink(const XmlElement& element) {
    const XmlFields fields(element, diagnostics_);
    NvlinkEntry link;
    link.target = fields.required_text("target");
    link.count = static_cast<int>(fields.required_integer("count", 1, 1024));
    const std::string kind = fields.required_text("tclass");
    if (kind == "0x068000") {
      link.kind = NvlinkTarget::nvswitch;
    } else if (kind == "0x068001") {
      link.kind = NvlinkTarget::cpu;
    } else if (kind.substr(0, 4) == "0x03") {
      link.kind = NvlinkTarget::gpu;
    } else if (fields.has("tclass")) {
      diagnostics_.error(element.where,
                         fmt::format("attribute 'tclass' of <nvlink> is {}: expected 0x03.. (GPU), "
                                     "0x068000 (switch) or 0x068001 (CPU)",
                                     simcore::quote(kind)));
    }
    return link;
  }

  void read_nets(const XmlElement& nic, std::vector<NetEntry>& nets) {
    for (const XmlElement& element : nic.children) {
      if (element.name != "net") {
        pass_over(element, nic);
        continue;
      }
      const XmlFields fields(element, diagnostics_);
      // Without a number the device belongs to a merged one; net="0" serves other transports.
      if (!fields.has("dev") || fields.integer("net", 1, 0, 1) == 0) continue;
      nets.push_back(read_net(fields));
      ++net_count_;
    }
  }

  static NetEntry read_net(const XmlFields& fields) {
    NetEntry net;
    net.name = fields.text("name");
    net.device = static_cast<int>(fields.integer("dev", 0, 0, 100'000));
    net.megabits_per_second =
        static_cast<int>(std::max<std::int64_t>(fields.integer("speed", 0, -1, 100'000'000), 0));
    net.port = static_cast<int>(fields.integer("port", 0, -1, max_int));
    net.latency_us = static_cast<float>(fields.number("latency", 0, 0, 1e6));
    net.guid = fields.hexadecimal("guid");
    net.max_connections = static_cast<int>(fields.integer("maxconn", 0, 0, max_int));
    net.gpu_direct = fields.integer("gdr", 0, 0, 1) != 0;
    net.collectives = fields.integer("coll", 0, 0, 1) != 0;
    if (fields.has("rail")) net.rail = static_cast<int>(fields.integer("rail", 0, -1, max_int));
    if (fields.has("plane")) net.plane = static_cast<int>(fields.integer("plane", 0, -1, max_int));
    return net;
  }

  void pass_over(const XmlElement& element, const XmlElement& parent) {
    diagnostics_.warning(element.where, fmt::format("<{}> in <{}> is not known and passed over",
                                                    element.name, parent.name));
  }

  void check(const XmlElement& system, const Machine& machine) {
    if (diagnostics_.has_errors()) return;
    if (machine.cpus.empty()) diagnostics_.error(system.where, "the machine has no <cpu>");
    if (gpu_count_ == 0) diagnostics_.error(system.where, "the machine has no <gpu>");
    if (static_cast<std::size_t>(gpu_count_) > max_devices || net_count_ > max_devices ||
        machine.cpus.size() > max_devices) {
      diagnostics_.error(system.where, fmt::format("more than {} devices of a kind", max_devices));
    }
  }

  simcore::Diagnostics& diagnostics_;
  std::set<std::pair<std::uint64_t, std::string>> bus_ids_;
  std::set<int> ranks_;
  std::uint64_t host_ = 0;
  int gpu_count_ = 0;
  std::size_t net_count_ = 0;
  bool numbered_ = false;
};

}  // namespace

std::optional<Machine> read_topology_xml(const std::shared_ptr<const simcore::SourceText>& source,
                                         simcore::Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.error_count();
  const auto root = parse_xml(source, diagnostics);
  if (!root) return std::nullopt;
  if (root->name != "system") {
    diagnostics.error(root->where,
                      fmt::format("the outermost element is <{}>: expected <system>", root->name));
    return std::nullopt;
  }
  simcore::Diagnostics own;
  Machine machine = MachineReader(own).read(*root);
  for (const simcore::Diagnostic& diagnostic : own.all()) {
    if (diagnostic.severity == simcore::Severity::error) {
      diagnostics.error(diagnostic.where, diagnostic.message, diagnostic.suggestion);
    } else {
      diagnostics.warning(diagnostic.where, diagnostic.message, diagnostic.suggestion);
    }
  }
  if (diagnostics.error_count() != errors_before) return std::nullopt;
  return machine;
}

bool is_topology_xml(std::string_view text) {
  const std::size_t head = std::min<std::size_t>(text.size(), 4096);
  return text.substr(0, head).find("<system") != std::string_view::npos;
}

}  // namespace shardsim::nccl
