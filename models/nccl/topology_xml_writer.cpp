#include <iterator>

#include <fmt/format.h>

#include "models/nccl/topology_xml.hpp"
#include "models/nccl/xml_tree.hpp"
#include "simcore/output/html_text.hpp"

namespace shardsim::nccl {

using simcore::html_text;
namespace {

class MachineWriter {
 public:
  std::string write(const Machine& machine) {
    line("<system version=\"1\"{}>", named(" name", machine.name));
    for (const CpuEntry& cpu : machine.cpus) write_cpu(cpu);
    line("</system>");
    return std::move(text_);
  }

 private:
  template <class... Parts>
  void line(fmt::format_string<Parts...> format, Parts&&... parts) {
    text_.append(static_cast<std::size_t>(depth_) * 2, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Parts>(parts)...);
    text_ += '\n';
  }

  static std::string named(std::string_view name, std::string_view value) {
    return value.empty() ? std::string() : fmt::format("{}=\"{}\"", name, html_text(value));
  }

  void write_cpu(const CpuEntry& cpu) {
    ++depth_;
    line(
        "<cpu host_hash=\"{:#x}\" numaid=\"{}\" arch=\"{}\" vendor=\"{}\" familyid=\"{}\" "
        "modelid=\"{}\">",
        cpu.host, cpu.numa, html_text(cpu.architecture), html_text(cpu.vendor), cpu.family,
        cpu.model);
    for (const PciEntry& device : cpu.devices) write_pci(device);
    write_nets(cpu.nets);
    line("</cpu>");
    --depth_;
  }

  static std::string_view class_of(const PciEntry& pci) {
    if (pci.gpu) return "0x030200";
    return pci.nets.empty() ? "0x060400" : "0x020700";
  }

  void write_pci(const PciEntry& pci) {
    ++depth_;
    const auto part = [&](int place) { return (pci.kind >> (16 * place)) & 0xffff; };
    line(
        "<pci busid=\"{}\" class=\"{}\" vendor=\"{:#06x}\" device=\"{:#06x}\" "
        "subsystem_vendor=\"{:#06x}\" subsystem_device=\"{:#06x}\" link_speed=\"{}\" "
        "link_width=\"{}\">",
        html_text(pci.bus_id), class_of(pci), part(3), part(2), part(1), part(0),
        html_text(pci.link_speed), pci.link_width);
    if (pci.gpu) write_gpu(*pci.gpu);
    write_nets(pci.nets);
    for (const PciEntry& child : pci.children) write_pci(child);
    ++depth_;
    for (const std::string& peer : pci.peers) line("<pcilink target=\"{}\"/>", html_text(peer));
    --depth_;
    line("</pci>");
    --depth_;
  }

  void write_gpu(const GpuEntry& gpu) {
    ++depth_;
    line("<gpu dev=\"{}\" sm=\"{}\" rank=\"{}\" gdr=\"{:d}\">", gpu.device, gpu.compute_capability,
         gpu.rank, gpu.gpu_direct);
    ++depth_;
    for (const NvlinkEntry& link : gpu.nvlinks) {
      line("<nvlink target=\"{}\" count=\"{}\" tclass=\"{}\"/>", html_text(link.target), link.count,
           class_of(link.kind));
    }
    for (const C2cEntry& link : gpu.c2c) {
      line("<c2c bw=\"{}\" count=\"{}\"/>", link.megabytes_per_second, link.count);
    }
    --depth_;
    line("</gpu>");
    --depth_;
  }

  static std::string_view class_of(NvlinkTarget kind) {
    switch (kind) {
      case NvlinkTarget::gpu:
        return "0x030200";
      case NvlinkTarget::nvswitch:
        return "0x068000";
      case NvlinkTarget::cpu:
        break;
    }
    return "0x068001";
  }

  void write_nets(const std::vector<NetEntry>& nets) {
    if (nets.empty()) return;
    ++depth_;
    line("<nic>");
    ++depth_;
    for (const NetEntry& net : nets) {
      std::string more;
      if (net.guid) more += fmt::format(" guid=\"{:#x}\"", *net.guid);
      if (net.max_connections > 0) more += fmt::format(" maxconn=\"{}\"", net.max_connections);
      if (net.rail) more += fmt::format(" rail=\"{}\"", *net.rail);
      if (net.plane) more += fmt::format(" plane=\"{}\"", *net.plane);
      line(
          "<net name=\"{}\" dev=\"{}\" speed=\"{}\" port=\"{}\" latency=\"{}\"{} gdr=\"{:d}\" "
          "coll=\"{:d}\"/>",
          html_text(net.name), net.device, net.megabits_per_second, net.port, net.latency_us, more,
          net.gpu_direct, net.collectives);
    }
    --depth_;
    line("</nic>");
    --depth_;
  }

  std::string text_;
  int depth_ = 0;
};

}  // namespace

std::string write_topology_xml(const Machine& machine) { return MachineWriter().write(machine); }

}  // namespace shardsim::nccl
