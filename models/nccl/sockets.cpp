#include "models/nccl/sockets.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace shardsim::nccl {
namespace {

void close(std::vector<NetEntry>& nets) {
  for (NetEntry& net : nets) net.gpu_direct = false;
}

void close(std::vector<PciEntry>& devices) {
  for (PciEntry& device : devices) {
    close(device.nets);
    close(device.children);
  }
}

}  // namespace

bool uses_sockets(const Environment& environment, bool by_verbs) {
  if (environment.network) {
    std::string name = *environment.network;
    std::ranges::transform(name, name.begin(), [](unsigned char letter) {
      return static_cast<char>(std::tolower(letter));
    });
    return name == "socket";
  }
  return by_verbs && environment.ib_disable.value_or(0) != 0;
}

double socket_gbps(const Environment& environment) {
  const auto threads = std::max<std::int64_t>(1, environment.socket_threads.value_or(1));
  return static_cast<double>(threads) * socket_thread_gbps;
}

void keep_from_gpu_memory(Machine& machine) {
  for (CpuEntry& cpu : machine.cpus) {
    close(cpu.devices);
    close(cpu.nets);
  }
}

}  // namespace shardsim::nccl
