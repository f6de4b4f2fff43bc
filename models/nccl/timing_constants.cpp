#include "models/nccl/timing_constants.hpp"

namespace shardsim::nccl {
namespace {

constexpr double ll_wire = 2;               // 4 bytes of flag for 4 bytes of data
constexpr double ll128_wire = 128.0 / 120;  // 8 of 128 bytes are a flag

// Trees run the rings' primitives; between nodes a step passes the network's proxy twice.
PerProtocol<ProtocolTiming> tree_of(PerProtocol<ProtocolTiming> ring) {
  ring[Protocol::ll].network_step_us = 8;
  ring[Protocol::ll128].network_step_us = 13;
  ring[Protocol::simple].network_step_us = 30;
  return ring;
}

// Each column is found from all tables of a generation at once, by the least mean absolute error:
// A100, H100 and B200 with 2, 4 and 8 GPUs, NCCL 2.23 to 2.29, all-gather, reduce-scatter,
// all-reduce and all-to-all of 512 bytes to 512 MiB (github.com/ai-dynamo/aiconfigurator,
// systems/data/*/comm/nccl). Steps on the network: two nodes of DGX A100
// (github.com/NVIDIA/deepops), of Oracle's A100 and H100 (oracle-quickstart/oci-hpc-oke).
TimingConstants ampere() {
  TimingConstants t;
  t.ring = {{ProtocolTiming{.start_us = 9.8,
                            .step_us = 0.06,
                            .network_step_us = 4,
                            .wire_factor = ll_wire,
                            .efficiency = 0.6,
                            .burst_bytes = 8.2e3,
                            .burst_gbps = 8.5,
                            .overlap = 0.45},
             ProtocolTiming{.start_us = 19.1,
                            .step_us = 0.42,
                            .network_step_us = 4,
                            .wire_factor = ll128_wire,
                            .efficiency = 0.69,
                            .burst_bytes = 44e3,
                            .burst_gbps = 18,
                            .overlap = 0.39},
             ProtocolTiming{.start_us = 22.6, .step_us = 6.8, .network_step_us = 8}}};
  t.tree = tree_of(t.ring);
  t.tree[Protocol::simple].efficiency = 0.92;
  t.copy_gbps = 19;
  t.message_start_us = {{12.1, 0, 9.7}};
  t.message_efficiency = 0.91;
  t.own_copy_gbps = 735;
  return t;
}

TimingConstants hopper() {
  TimingConstants t;
  t.ring = {{ProtocolTiming{.start_us = 5.4,
                            .step_us = 0.06,
                            .network_step_us = 4,
                            .wire_factor = ll_wire,
                            .efficiency = 0.66,
                            .burst_bytes = 12e3,
                            .burst_gbps = 19,
                            .overlap = 0.46},
             ProtocolTiming{.start_us = 13.1,
                            .step_us = 0.09,
                            .network_step_us = 4,
                            .wire_factor = ll128_wire,
                            .efficiency = 0.78,
                            .burst_bytes = 32e3,
                            .burst_gbps = 40,
                            .overlap = 0.17},
             ProtocolTiming{.start_us = 15.9, .step_us = 2.3, .network_step_us = 8}}};
  t.tree = tree_of(t.ring);
  t.tree[Protocol::simple].efficiency = 0.93;
  t.copy_gbps = 30;
  t.multicast_start_us = 13.7;
  t.multicast_efficiency = 0.85;
  t.multicast_gather_efficiency = 0.88;
  t.multicast_fill = 2.3;
  t.multicast_network_step_us = 16;
  t.message_start_us = {{6.2, 0, 10.1}};
  t.message_efficiency = 0.92;
  t.own_copy_gbps = 2030;
  return t;
}

TimingConstants blackwell() {
  TimingConstants t;
  t.ring = {
      {ProtocolTiming{.start_us = 8.1,
                      .step_us = 0.58,
                      .network_step_us = 4,
                      .wire_factor = ll_wire,
                      .efficiency = 0.53,
                      .burst_bytes = 7.9e3,
                      .burst_gbps = 16,
                      .overlap = 0.74},
       ProtocolTiming{.start_us = 19.6,
                      .step_us = 0.16,
                      .network_step_us = 4,
                      .wire_factor = ll128_wire,
                      .efficiency = 0.71,
                      .burst_bytes = 10e3,
                      .burst_gbps = 24,
                      .overlap = 0.25},
       ProtocolTiming{.start_us = 13.4, .step_us = 8.7, .network_step_us = 8, .overlap = 0.34}}};
  t.tree = tree_of(t.ring);
  t.tree[Protocol::simple].efficiency = 0.92;
  t.copy_gbps = 34.6;
  t.multicast_start_us = 30;
  t.multicast_efficiency = 0.73;
  t.multicast_gather_efficiency = 0.9;
  t.multicast_fill = 2.2;
  t.multicast_network_step_us = 16;
  t.message_start_us = {{9.2, 0, 8.2}};
  t.message_efficiency = 0.91;
  t.own_copy_gbps = 650;
  return t;
}

}  // namespace

TimingConstants timing_constants(int compute_capability) {
  if (compute_capability < 90) return ampere();
  return compute_capability < 100 ? hopper() : blackwell();
}

}  // namespace shardsim::nccl
