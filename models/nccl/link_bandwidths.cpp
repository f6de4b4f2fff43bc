#include "models/nccl/link_bandwidths.hpp"

#include <array>
#include <utility>

namespace shardsim::nccl {
namespace {

/// Units of 100 Mbit/s that a lane carries; a trailing " PCIe" is optional.
int lane_rate(std::string_view speed) {
  if (speed.ends_with(" PCIe")) speed.remove_suffix(5);
  constexpr std::array<std::pair<std::string_view, int>, 11> rates = {{{"2.5 GT/s", 15},
                                                                       {"5 GT/s", 30},
                                                                       {"5.0 GT/s", 30},
                                                                       {"8 GT/s", 60},
                                                                       {"8.0 GT/s", 60},
                                                                       {"16 GT/s", 120},
                                                                       {"16.0 GT/s", 120},
                                                                       {"32 GT/s", 240},
                                                                       {"32.0 GT/s", 240},
                                                                       {"64 GT/s", 480},
                                                                       {"64.0 GT/s", 480}}};
  for (const auto& [name, rate] : rates) {
    if (name == speed) return rate;
  }
  return 60;
}

float intel_gbytes_per_second(int family, int model, NcclVersion version) {
  if (family != 6) return 6;
  if (version >= NcclVersion{26, 0}) {
    if (model >= 0xcf) return 40;  // Emerald Rapids
    if (model >= 0x8f) return 22;  // Sapphire Rapids
  }
  return model >= 0x55 ? 10 : 6;  // Skylake; Broadwell
}

}  // namespace

float nvlink_gbytes_per_second(int compute_capability, NcclVersion version) {
  if (compute_capability >= 100 && version >= NcclVersion{25, 0}) {
    return version >= NcclVersion{27, 0} ? 40.1F : 40.0F;
  }
  if (compute_capability >= 90) return version >= NcclVersion{20, 0} ? 20.6F : 20.0F;
  if (compute_capability == 86) return 12;
  if (compute_capability >= 70) return 20;
  return compute_capability >= 60 ? 18.0F : 20.0F;
}

float pcie_gbytes_per_second(std::string_view speed, int lanes) {
  const int width = lanes == 0 ? 16 : lanes;
  return static_cast<float>(width * lane_rate(speed) / 80.0);
}

CpuMaker cpu_maker(const CpuEntry& cpu) {
  if (cpu.architecture == "arm64") return CpuMaker::arm;
  if (cpu.architecture == "ppc64") return CpuMaker::power;
  if (cpu.vendor == "GenuineIntel") return CpuMaker::intel;
  if (cpu.vendor == "AuthenticAMD") return CpuMaker::amd;
  if (cpu.vendor == "CentaurHauls" || cpu.vendor == "  Shanghai  ") return CpuMaker::zhaoxin;
  return CpuMaker::other;
}

float cpu_gbytes_per_second(const CpuEntry& cpu, NcclVersion version) {
  switch (cpu_maker(cpu)) {
    case CpuMaker::power:
      return 32;
    case CpuMaker::arm:
      return 6;
    case CpuMaker::intel:
      return intel_gbytes_per_second(cpu.family, cpu.model, version);
    case CpuMaker::amd:
      return version >= NcclVersion{19, 0} ? 16 : local_gbytes_per_second;
    case CpuMaker::zhaoxin:
      return cpu.family == 7 && cpu.model == 0x5b ? 9 : 6;
    case CpuMaker::other:
      break;
  }
  return local_gbytes_per_second;
}

float net_gbytes_per_second(int megabits_per_second) {
  return static_cast<float>((megabits_per_second > 0 ? megabits_per_second : 10'000) / 8000.0);
}

}  // namespace shardsim::nccl
