#include "models/nccl/nic_filter.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace shardsim::nccl {
namespace {

class NicFilter {
 public:
  explicit NicFilter(std::string_view list) {
    excludes_ = take(list, '^');
    whole_names_ = take(list, '=');
    while (!list.empty()) {
      const std::size_t end = std::min(list.find(','), list.size());
      if (end > 0) names_.emplace_back(list.substr(0, end));
      list.remove_prefix(std::min(end + 1, list.size()));
    }
  }

  bool keeps_everything() const { return names_.empty(); }

  bool keeps(const NetEntry& net) const {
    const bool named = std::any_of(names_.begin(), names_.end(),
                                   [&](const std::string& name) { return matches(name, net); });
    return named != excludes_;
  }

 private:
  static bool take(std::string_view& text, char letter) {
    if (text.empty() || text.front() != letter) return false;
    text.remove_prefix(1);
    return true;
  }

  bool matches(std::string_view wanted, const NetEntry& net) const {
    if (const std::size_t colon = wanted.find(':'); colon != std::string_view::npos) {
      if (wanted.substr(colon + 1) != std::to_string(net.port)) return false;
      wanted = wanted.substr(0, colon);
    }
    return whole_names_ ? net.name == wanted : net.name.starts_with(wanted);
  }

  bool excludes_ = false;
  bool whole_names_ = false;
  std::vector<std::string> names_;
};

void filter(std::vector<PciEntry>& devices, const NicFilter& nics) {
  std::erase_if(devices, [&](PciEntry& device) {
    const bool was_nic = !device.nets.empty();
    std::erase_if(device.nets, [&](const NetEntry& net) { return !nics.keeps(net); });
    filter(device.children, nics);
    return was_nic && device.nets.empty() && !device.gpu;
  });
}

bool any_nic(const std::vector<PciEntry>& devices) {
  return std::ranges::any_of(devices, [](const PciEntry& device) {
    return !device.nets.empty() || any_nic(device.children);
  });
}

}  // namespace

bool keep_nics(Machine& machine, std::string_view list) {
  const NicFilter nics(list);
  if (nics.keeps_everything()) return true;
  for (CpuEntry& cpu : machine.cpus) {
    filter(cpu.devices, nics);
    std::erase_if(cpu.nets, [&](const NetEntry& net) { return !nics.keeps(net); });
  }
  return std::ranges::any_of(
      machine.cpus, [](const CpuEntry& cpu) { return !cpu.nets.empty() || any_nic(cpu.devices); });
}

}  // namespace shardsim::nccl
