#include "models/scenario/hardware_changes.hpp"

#include <algorithm>
#include <optional>

namespace shardsim::scenario {

namespace {

void scale(network::CableSpec& cable, double factor) { cable.bandwidth.bytes_per_second *= factor; }

void scale(std::optional<network::CableSpec>& cable, double factor) {
  if (cable) scale(*cable, factor);
}

void scale(std::optional<simcore::FlopRate>& rate, double factor) {
  if (rate) rate->flops_per_second *= factor;
}

void change_throttle(std::optional<gpu::GemmConstants>& constants, const HardwareChanges& changes) {
  if (!constants || !constants->training_throttle) return;
  if (changes.as_in_benchmarks) {
    constants->training_throttle.reset();
    return;
  }
  const double left = (1 - constants->training_throttle->value) * changes.training_rate;
  constants->training_throttle = simcore::Fraction{1 - std::min(left, 1.0)};
}

void change_node(const HardwareChanges& changes, network::NodeSpec& node) {
  if (node.nvlink) scale(node.nvlink->link, changes.nvlink_bandwidth);
  if (node.pcie) {
    scale(node.pcie->link, changes.network_bandwidth);
    scale(node.pcie->gpu_link, changes.network_bandwidth);
    scale(node.pcie->nic_link, changes.network_bandwidth);
    scale(node.pcie->uplink, changes.network_bandwidth);
  }
  if (node.nics) scale(node.nics->link, changes.network_bandwidth);
}

}  // namespace

void apply(const HardwareChanges& changes, network::TopologySpec& topology) {
  change_node(changes, topology.node);
  for (network::OtherNodesSpec& other : topology.other_nodes) change_node(changes, other.node);
  if (topology.fabric.torus) scale(topology.fabric.torus->link, changes.network_bandwidth);
  for (network::LinkSpec& link : topology.links) {
    link.bandwidth.bytes_per_second *= changes.network_bandwidth;
  }
}

void apply(const HardwareChanges& changes, gpu::GpuSpec& gpu) {
  gpu.memory.bandwidth.bytes_per_second *= changes.memory_bandwidth;
  gpu.peak.fp32.flops_per_second *= changes.arithmetic_rate;
  for (auto* rate : {&gpu.peak.tf32, &gpu.peak.bf16, &gpu.peak.fp16, &gpu.peak.fp8}) {
    scale(*rate, changes.arithmetic_rate);
  }
  for (auto* constants :
       {&gpu.gemm.fp32, &gpu.gemm.tf32, &gpu.gemm.bf16, &gpu.gemm.fp16, &gpu.gemm.fp8}) {
    change_throttle(*constants, changes);
  }
}

void apply(const HardwareChanges& changes, training::CpuSpec& cpu) {
  if (!changes.free_launches) return;
  constexpr simcore::SimTime none;
  cpu.launch = none;
  for (simcore::SimTime* cost : {&cpu.forward_op, &cpu.backward_op, &cpu.hook, &cpu.module_hook,
                                 &cpu.collective, &cpu.optimizer_step, &cpu.optimizer_tensor,
                                 &cpu.dtensor_foreach, &cpu.dtensor_fused, &cpu.launch_latency}) {
    *cost = none;
  }
}

}  // namespace shardsim::scenario
