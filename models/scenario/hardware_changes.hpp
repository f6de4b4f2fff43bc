// Hardware that differs from what the topology and GPU files say: for "what if" questions, and for
// forecasts without what was calibrated on training runs.
//
// Rates are multiplied; efficiencies and latencies stay as they are, and so does what NCCL limits
// by itself (a channel's rate, a protocol's share of the wire).
#pragma once

#include "models/gpu/gpu_spec.hpp"
#include "models/network/topology_spec.hpp"
#include "models/training/cpu_spec.hpp"

namespace shardsim::scenario {

struct HardwareChanges {
  double network_bandwidth = 1;  ///< factor: NICs, PCIe and switches
  double nvlink_bandwidth = 1;   ///< factor
  double memory_bandwidth = 1;   ///< factor: of the GPU's memory
  double arithmetic_rate = 1;    ///< factor: on every peak of the GPU
  bool free_launches = false;    ///< issuing work costs the CPU nothing
  /// Factor on what matrix products keep of their rate in training, 1 - `training_throttle`; at
  /// most the whole rate is left.
  double training_rate = 1;
  /// Matrix products keep what they keep in benchmarks: `training_throttle` is ignored.
  bool as_in_benchmarks = false;

  bool operator==(const HardwareChanges&) const = default;
};

void apply(const HardwareChanges& changes, network::TopologySpec& topology);
void apply(const HardwareChanges& changes, gpu::GpuSpec& gpu);
void apply(const HardwareChanges& changes, training::CpuSpec& cpu);

}  // namespace shardsim::scenario
