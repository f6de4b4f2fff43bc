#include "models/nccl/timing_constants.hpp"

namespace shardsim::nccl {
namespace {

constexpr double ll_wire = 2;               // 4 bytes of flag for 4 bytes of data
constexpr double ll128_wire = 128.0 / 120;  // 8 of 128 bytes are a flag

TimingConstants base() {
  TimingConstants t;
  t.ring = t.tree = {{ProtocolTiming{.wire_factor = ll_wire},
                      ProtocolTiming{.wire_factor = ll128_wire}, ProtocolTiming{}}};
  return t;
}

TimingConstants ampere() {
  TimingConstants t = base();
  t.ring = {{ProtocolTiming{8.0, 0.4, 4.0, ll_wire, 1, 8e3},
             ProtocolTiming{8.0, 1.2, 4.0, ll128_wire, 0.92, 20e3},
             ProtocolTiming{15, 7.0, 8.0, 1, 1, 0}}};
  t.tree = t.ring;
  t.tree[Protocol::simple].efficiency = 0.92;
  t.copy_gbps = 21;
  t.message_start_us = {{12.5, 0, 14}};
  t.message_efficiency = 0.9;
  return t;
}

TimingConstants hopper() {
  TimingConstants t = base();
  t.ring = {{ProtocolTiming{4.5, 0.2, 4.0, ll_wire, 1, 8e3},
             ProtocolTiming{4.5, 0.6, 4.0, ll128_wire, 0.92, 20e3},
             ProtocolTiming{14.5, 3.1, 8.0, 1, 1, 0}}};
  t.tree = t.ring;
  t.tree[Protocol::simple].efficiency = 0.92;
  t.copy_gbps = 43;
  t.multicast_start_us = 20;
  t.multicast_efficiency = 0.79;
  t.multicast_gather_efficiency = 0.9;
  t.multicast_fill = 2;
  t.multicast_network_step_us = 8;
  t.message_start_us = {{7, 0, 12}};
  t.message_efficiency = 0.9;
  return t;
}

TimingConstants blackwell() {
  TimingConstants t = hopper();
  for (const Protocol p : {Protocol::ll, Protocol::ll128}) {
    t.ring[p].start_us = t.tree[p].start_us = 7;
  }
  t.copy_gbps = 38;
  t.message_start_us = {{10, 0, 14}};
  return t;
}

}  // namespace

TimingConstants timing_constants(int compute_capability) {
  if (compute_capability < 90) return ampere();
  return compute_capability < 100 ? hopper() : blackwell();
}

}  // namespace shardsim::nccl
