#include "models/nccl/machine.hpp"

namespace shardsim::nccl {
namespace {

void collect(const std::vector<PciEntry>& devices, std::vector<const GpuEntry*>& gpus) {
  for (const PciEntry& device : devices) {
    if (device.gpu) gpus.push_back(&*device.gpu);
    collect(device.children, gpus);
  }
}

}  // namespace

std::vector<const GpuEntry*> gpus_of(const Machine& machine) {
  std::vector<const GpuEntry*> gpus;
  for (const CpuEntry& cpu : machine.cpus) collect(cpu.devices, gpus);
  return gpus;
}

}  // namespace shardsim::nccl
