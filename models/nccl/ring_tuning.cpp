#include "models/nccl/ring_tuning.hpp"

namespace shardsim::nccl {

using simcore::BitRate;
using simcore::SimTime;

namespace {

constexpr SimTime ns(std::int64_t count) { return SimTime::nanoseconds(count); }

// A GPU generation's column of the tables of bandwidth ceilings.
struct Generation {
  double ll_one_node;        ///< GB/s
  double ll128_per_channel;  ///< GB/s
  double channel_bandwidth;  ///< GB/s that one of the channels carries within a node
};

// LL ceilings (llMaxBws) and LL128 per channel (perChMaxRingLL128Bws). Channels within a node: the
// graph search lays 12 on the NVSwitch of A100 and H100 and 16 on that of B200, whose rings reach
// 231, 351 and 657 GB/s.
Generation generation_of(int compute_capability) {
  if (compute_capability < 80) return {39, 20, 20};
  if (compute_capability < 90) return {87.7, 20, 20};
  if (compute_capability < 100) return {141, 36.7, 30};
  return {282, 40, 41};
}

BitRate gbytes(double value) { return BitRate{value * 1e9}; }

// Hops of LL, from which the others are counted: NVLink 0.6, PCIe 1.0, network 2.7 us.
ProtocolTuning ll(const Generation& generation, bool amd_cpu) {
  ProtocolTuning p;
  p.name = "LL";
  p.base = ns(6'600);
  p.network_step_alone = ns(5'000 - 2'700);
  p.least_inside_step = ns(amd_cpu ? 2'000 : 1'000);
  p.wire_factor = 2;  // 4 bytes of flag for 4 bytes of data
  p.efficiency = 0.5;
  p.limit = gbytes(generation.ll_one_node);
  // Between nodes the ceiling goes by the CPU: Intel's row is V's, AMD's is A's.
  p.limit_between =
      amd_cpu ? std::array{gbytes(22.5), gbytes(19.0)} : std::array{gbytes(39.0), gbytes(20.4)};
  p.threads = 512;
  p.bytes_per_thread = 8;
  p.bytes_per_rank = true;
  return p;
}

ProtocolTuning ll128(const Generation& generation, bool amd_cpu) {
  ProtocolTuning p;
  p.name = "LL128";
  p.base = ns(14'000);
  p.nvlink_step = ns(1'900 - 600);
  p.pcie_step = ns(2'500 - 1'000);
  p.network_step = ns(4'000 - 2'700);
  p.network_step_alone = ns(8'500 - 2'700);
  p.least_inside_step = ns(amd_cpu ? 2'000 : 1'000);
  p.wire_factor = 128.0 / 120;  // 8 of 128 bytes are a flag
  p.efficiency = 0.92;
  p.channel_limit = gbytes(generation.ll128_per_channel);
  p.threads = 640;
  p.bytes_per_thread = 8;
  p.needs_ordered_stores = true;
  return p;
}

ProtocolTuning simple(bool amd_cpu) {
  ProtocolTuning p;
  p.name = "Simple";
  p.base = ns(8'400);
  p.nvlink_step = ns(3'400 - 600);
  p.pcie_step = ns(5'700 - 1'000);
  p.network_step = ns(14'000 - 2'700);
  p.network_step_alone = ns(14'000 - 2'700);
  p.least_inside_step = ns(amd_cpu ? 6'000 : 3'000);  // the network's overhead, three times
  p.threads = 512;
  p.bytes_per_thread = 64;
  return p;
}

// NCCL plans with 0.85 (H100) or 0.74 (B200) of 20.6 or 40.1 GB/s per NVLink; of what a ring gets
// from a link in published runs (78 % of 25, 73 % of 50 GB/s) that is 0.898 and 0.813. Published
// all-reduces on 2, 4, 6 and 8 H100 by NVLS reach 0.885, 0.894, 0.885 and 0.885
// (github.com/waynehacking8/nccl-collectives-bench; aws-samples/awsome-distributed-training, p5).
MulticastTuning multicast(const RingHardware& hardware) {
  MulticastTuning m;
  m.step = ns(25'000 - 600);
  m.channels = hardware.compute_capability < 100 ? 16 : 24;
  if (!hardware.nvls || hardware.compute_capability < 90) return m;
  m.efficiency =
      hardware.compute_capability < 100 ? 0.85 * 20.6 / (25 * 0.78) : 0.74 * 40.1 / (50 * 0.73);
  return m;
}

}  // namespace

RingTuning nccl_ring_tuning(const RingHardware& hardware) {
  const Generation generation = generation_of(hardware.compute_capability);
  RingTuning tuning;
  tuning.protocols.push_back(ll(generation, hardware.amd_cpu));
  if (hardware.compute_capability >= 70) {
    tuning.protocols.push_back(ll128(generation, hardware.amd_cpu));
  }
  tuning.protocols.push_back(simple(hardware.amd_cpu));
  tuning.multicast = multicast(hardware);
  tuning.channel_bandwidth = gbytes(generation.channel_bandwidth);
  return tuning;
}

}  // namespace shardsim::nccl
