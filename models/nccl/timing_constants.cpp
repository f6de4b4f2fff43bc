#include "models/nccl/timing_constants.hpp"

#include <algorithm>

namespace shardsim::nccl {
namespace {

constexpr double ll_wire = 2;               // 4 bytes of flag for 4 bytes of data
constexpr double ll128_wire = 128.0 / 120;  // 8 of 128 bytes are a flag

// Each generation's numbers are a joint fit: the values that together give the least mean absolute
// error, each table and class of sizes counted alike, over all tables of that generation on one
// node. These are
//   Ampere     2, 4, 8 x A100 (github.com/ai-dynamo/aiconfigurator, systems/data/a100_sxm: NCCL
//              2.27), 8 x A100 40 GB (github.com/microsoft/superbenchmark), 8 x A100
//   Hopper     2, 4, 8 x H100 (aiconfigurator, h100_sxm: NCCL 2.23 to 2.29), 2, 4, 6 of 8 H100
//              (waynehacking8/nccl-collectives-bench), p5.48xlarge (docs of AWS), 4 x GH200 in a
//              mesh (CSCS Alps: eth-cscs)
//   Blackwell  2, 4, 8 x B200, 2, 4 x GB200 (aiconfigurator: NCCL 2.27 to 2.29), 4 x GB200 (OCI),
//              2 x B200 (GCP)
// of 512 bytes to 16 GiB, all-gather, reduce-scatter, all-reduce, all-to-all, 8, 16 and 32 bits.
// Within a generation start, step, burst and overlap of a protocol trade off against each other: a
// single one is certain to a third at best, their sum over a whole operation to some 5 %. Copies
// and efficiencies are certain to 5 %. V100 borrows Ampere's numbers; PCIe Blackwell (RTX PRO
// 6000) Blackwell's, but for LL.

// Between nodes, on top of software_latency of the network (topologies/README.md):
// LL128 and Simple: what their steps take more, from 2 and 4 x DGX A100 (github.com/NVIDIA/deepops)
// and 2 nodes of Polaris; certain to a factor of two.
constexpr double ll128_network_us = 8;
constexpr double simple_network_us = 2.8;
// NVLSTree, the same: 2 x p5.48xlarge (AWS), 2 x 8 H20 (NVIDIA/nccl issue 1244: 46 to 48 us), 2 x 8
// H100 and 2 x 8 B200 above 8 MiB (OCI, GCP); certain to a half.
constexpr double multicast_network_us = 7.3;
// Point to point: a proxy's time for one message of one peer: 28 peers on other nodes take 125 to
// 290 us on Polaris, 4 take 36 to 65; certain to a third.
constexpr double message_us = 5;

// Steps of a connection in flight: 16 of a buffer that peers share, over the 8 messages that NCCL
// receives at once (src/transport/net.cc).
constexpr double requests_in_flight = 2;

// Trees run the rings' primitives. Reducing up and spreading down at once, each with half of a
// block's threads, they reach this share of NVLink: 2 x 8 A100 (OCI) at 4 to 8 GiB, 4 of 8 H100.
constexpr double tree_efficiency = 0.92;

ProtocolTiming ll(double start_us, double step_us, double efficiency, double burst_bytes,
                  double burst_gbps, double overlap) {
  return {.start_us = start_us,
          .step_us = step_us,
          .wire_factor = ll_wire,
          .efficiency = efficiency,
          .burst_bytes = burst_bytes,
          .burst_gbps = burst_gbps,
          .overlap = overlap};
}

ProtocolTiming ll128(double start_us, double step_us, double efficiency, double burst_bytes,
                     double burst_gbps, double overlap) {
  ProtocolTiming made = ll(start_us, step_us, efficiency, burst_bytes, burst_gbps, overlap);
  made.wire_factor = ll128_wire;
  return made;
}

TimingConstants ampere() {
  TimingConstants t;
  t.ring = {{ll(9.1, 0.15, 0.574, 8.2e3, 7.3, 0.49),
             ll128(20, 0.51, 0.66, 53e3, 18.5, 0.40),
             {.start_us = 21, .step_us = 5.4, .exposed = 1.4}}};
  t.copy_gbps = 19.2;
  t.reduce_copy_gbps = 23;
  t.byte_reduction = 1.06;
  t.last_slice = 0.09;
  t.message_start_us = {{11.8, 0, 9.7}};
  t.message_efficiency = 0.925;
  t.message_fill = 0.54;
  t.own_copy_gbps = 630;
  return t;
}

TimingConstants hopper() {
  TimingConstants t;
  t.ring = {{ll(5.3, 0.09, 0.643, 12.2e3, 15.8, 0.55),
             ll128(13.3, 0.02, 0.73, 32e3, 41, 0.15),
             {.start_us = 13.4, .step_us = 3.5, .exposed = 0.85}}};
  t.copy_gbps = 44.8;
  t.reduce_copy_gbps = 69;
  t.byte_reduction = 1.45;
  t.last_slice = 0.41;
  t.multicast_start_us = 13.9;
  t.multicast_efficiency = 0.79;
  t.multicast_gather_efficiency = 0.82;
  t.multicast_fill = 2.4;
  t.message_start_us = {{6.1, 0, 7.9}};
  t.message_efficiency = 0.89;
  t.message_fill = 0.37;
  t.own_copy_gbps = 1360;
  return t;
}

TimingConstants blackwell() {
  TimingConstants t;
  t.ring = {{ll(8.1, 0.59, 0.512, 7.8e3, 14.8, 0.775),
             ll128(19.5, 0.16, 0.677, 10e3, 24, 0.25),
             {.start_us = 11.8, .step_us = 10.2, .exposed = 0.17}}};
  t.copy_gbps = 39.9;
  t.reduce_copy_gbps = 46.9;
  t.byte_reduction = 1.58;
  t.last_slice = 0.17;
  t.multicast_start_us = 26.8;
  t.multicast_efficiency = 0.695;
  t.multicast_gather_efficiency = 0.86;
  t.multicast_fill = 2.47;
  t.message_start_us = {{9.1, 0, 4.0}};
  t.message_efficiency = 0.97;
  t.message_fill = 0.50;
  t.own_copy_gbps = 660;
  return t;
}

/// L40S without NVLink: 2 of them (aiconfigurator); what does not show there is Ampere's.
TimingConstants ada() {
  TimingConstants t = ampere();
  t.ring[Protocol::ll].start_us = 4.4;
  t.ring[Protocol::ll].step_us = 0.9;
  t.message_start_us[Protocol::ll] = 5;
  return t;
}

/// RTX PRO 6000 without NVLink: 2, 4 and 8 of them (aiconfigurator).
TimingConstants blackwell_pcie() {
  TimingConstants t = blackwell();
  t.ring[Protocol::ll].start_us = 4.4;
  t.ring[Protocol::ll].step_us = 0.9;
  t.message_start_us[Protocol::ll] = 5;
  return t;
}

TimingConstants of_generation(int compute_capability) {
  if (compute_capability == 89) return ada();
  if (compute_capability < 90) return ampere();
  if (compute_capability < 100) return hopper();
  return compute_capability < 120 ? blackwell() : blackwell_pcie();
}

}  // namespace

TimingConstants timing_constants(int compute_capability, const network::NicSpec* nics) {
  TimingConstants t = of_generation(compute_capability);
  t.tree_fill = 0.16;
  t.multicast_network_fill = 0.9;
  const network::NicSpec none;
  const network::NicSpec& network = nics != nullptr ? *nics : none;
  const double software = network.software_latency.microseconds();
  t.multicast_network_step_us = software + multicast_network_us;
  t.ring[Protocol::ll].network_step_us = software;
  t.ring[Protocol::ll128].network_step_us = software + ll128_network_us;
  t.ring[Protocol::simple].network_step_us = software + simple_network_us;
  t.tree = t.ring;
  t.tree[Protocol::simple].efficiency = tree_efficiency;
  t.network.rendezvous_us = network.rendezvous_latency.microseconds();
  t.network.eager_bytes = static_cast<double>(network.eager_bytes.count);
  t.network.message_us = message_us;
  t.network.nic_gbps = network.link.usable().bytes_per_second * 1e-9;
  return t;
}

double network_step_us(const TimingConstants& constants, const ProtocolTiming& protocol,
                       double wire_bytes) {
  const bool asks = wire_bytes >= constants.network.eager_bytes;
  return protocol.network_step_us + (asks ? constants.network.rendezvous_us : 0);
}

double message_stretch(const NetworkTiming& network) {
  if (network.nic_gbps <= 0) return 1;
  const double moving_us = network.piece_bytes / network.nic_gbps * 1e-3;
  return 1 + network.rendezvous_us / requests_in_flight / moving_us;
}

double sliced_step_us(double chunk_bytes, double gbps, double sync_us, double exposed) {
  if (chunk_bytes <= 0) return 0;
  const double moving = gbps > 0 ? chunk_bytes / gbps * 1e-3 : 0;
  return std::max(moving + exposed * sync_us, moving / 2 + sync_us);
}

}  // namespace shardsim::nccl
