// Durations of collectives: closed forms, limits and monotony.
#include "models/nccl/collective_timing.hpp"

#include <doctest/doctest.h>

namespace shardsim::nccl {
namespace {

using cuda::CollectiveKind;

TimingConstants plain() {
  TimingConstants t;
  for (const Protocol p : all_protocols) {
    t.ring[p].start_us = 5;
    t.ring[p].step_us = 1;
    t.ring[p].network_step_us = 4;
    t.ring[p].exposed = 1;
  }
  t.ring[Protocol::ll].wire_factor = 2;
  t.tree = t.ring;
  t.copy_gbps = 1e6;  // as good as nothing
  t.own_copy_gbps = 1e6;
  t.multicast_efficiency = 0.5;
  return t;
}

Traffic traffic_of(double gbps) {
  Traffic traffic;
  traffic.rate = simcore::BitRate{gbps * 1e9};
  return traffic;
}

Choice choice_of(Algorithm algorithm, Protocol protocol) {
  Choice choice;
  choice.algorithm = algorithm;
  choice.protocol = protocol;
  choice.channels = 4;
  choice.chunk_bytes.count = 1 << 20;
  return choice;
}

}  // namespace

TEST_CASE("a ring all-reduce takes its start, 2(n-1) steps and 2(n-1)/n of the data") {
  const Traffic traffic = traffic_of(100);
  const TimedTransfer transfer{8e6, 8, 1, &traffic};
  const FlowTiming made = flow_timing(plain(), CollectiveKind::all_reduce,
                                      choice_of(Algorithm::ring, Protocol::simple), transfer, 0);
  CHECK(made.latency_us == doctest::Approx(5 + 14).epsilon(1e-3));
  CHECK(made.flow_bytes == doctest::Approx(14e6));
}

TEST_CASE("LL puts twice the data on the wire") {
  const Traffic traffic = traffic_of(100);
  const TimedTransfer transfer{8e6, 8, 1, &traffic};
  const auto simple = flow_timing(plain(), CollectiveKind::all_gather,
                                  choice_of(Algorithm::ring, Protocol::simple), transfer, 0);
  const auto ll = flow_timing(plain(), CollectiveKind::all_gather,
                              choice_of(Algorithm::ring, Protocol::ll), transfer, 0);
  CHECK(ll.flow_bytes == doctest::Approx(2 * simple.flow_bytes));
}

TEST_CASE("a tree over k nodes has 2 log2 k steps between them") {
  const Traffic traffic = traffic_of(100);
  const auto latency = [&](int nodes) {
    const TimedTransfer transfer{8, nodes, nodes, &traffic};
    return flow_timing(plain(), CollectiveKind::all_reduce,
                       choice_of(Algorithm::tree, Protocol::ll), transfer, 0)
        .latency_us;
  };
  CHECK(latency(2) == doctest::Approx(5 + 2 * 4));
  CHECK(latency(64) - latency(2) == doctest::Approx(2 * 5 * 4));
}

TEST_CASE("NVLink switches that reduce reach their share of the links") {
  Traffic traffic = traffic_of(100);
  traffic.nvlink_rate = traffic.rate;
  const TimedTransfer transfer{1e9, 8, 1, &traffic};
  const FlowTiming made = flow_timing(plain(), CollectiveKind::all_reduce,
                                      choice_of(Algorithm::nvls, Protocol::simple), transfer, 8);
  CHECK(made.cap_gbps == doctest::Approx(50));
}

TEST_CASE("NVLink's share does not lower what the network gives") {
  Traffic traffic = traffic_of(100);
  traffic.nvlink_rate = simcore::BitRate{300e9};
  const TimedTransfer transfer{1e9, 16, 2, &traffic};
  const FlowTiming made =
      flow_timing(plain(), CollectiveKind::all_reduce,
                  choice_of(Algorithm::nvls_tree, Protocol::simple), transfer, 8);
  CHECK(made.cap_gbps == doctest::Approx(100));
}

TEST_CASE("the last piece of a ring crosses every hop between nodes") {
  const Traffic traffic = traffic_of(100);
  const auto latency = [&](CollectiveKind kind, int ranks, int nodes) {
    const TimedTransfer transfer{8, ranks, nodes, &traffic};
    return flow_timing(plain(), kind, choice_of(Algorithm::ring, Protocol::ll), transfer, 0)
        .latency_us;
  };
  // 4 us between nodes, 1 within; 15 steps, of which 2 between.
  CHECK(latency(CollectiveKind::all_gather, 16, 2) == doctest::Approx(5 + 15 + 2 * 3));
  CHECK(latency(CollectiveKind::all_reduce, 16, 2) == doctest::Approx(5 + 30 + 4 * 3));
  CHECK(latency(CollectiveKind::all_gather, 16, 1) == doctest::Approx(5 + 15));
  CHECK(latency(CollectiveKind::all_gather, 16, 16) == doctest::Approx(5 + 15 * 4));
}

TEST_CASE("one slice moves while the other is handed over") {
  // 1 MB at 10 GB/s are 100 us: 20 us of synchronisation hide in them but for the exposed share.
  CHECK(sliced_step_us(1e6, 10, 20, 0) == doctest::Approx(100));
  CHECK(sliced_step_us(1e6, 10, 20, 0.5) == doctest::Approx(110));
  CHECK(sliced_step_us(1e6, 10, 80, 0) == doctest::Approx(50 + 80));
  CHECK(sliced_step_us(1, 10, 20, 0) == doctest::Approx(20));
  CHECK(sliced_step_us(0, 10, 20, 1) == 0);
}

TEST_CASE("a message that must ask first waits for the answer, and keeps its NIC longer") {
  network::NicSpec nics;
  nics.link.bandwidth = simcore::BitRate{25e9};
  nics.link.efficiency = simcore::Fraction{1};
  nics.software_latency = simcore::SimTime::nanoseconds(3000);
  nics.rendezvous_latency = simcore::SimTime::nanoseconds(40'000);
  const TimingConstants made = timing_constants(80, &nics);
  const ProtocolTiming& ll = made.ring[Protocol::ll];
  CHECK(network_step_us(made, ll, 16383) == doctest::Approx(3));
  CHECK(network_step_us(made, ll, 16384) == doctest::Approx(43));
  // 128 KiB take 5.24 us; half of the round trip besides.
  CHECK(message_stretch(made.network) == doctest::Approx(1 + 20 / 5.243).epsilon(1e-3));
  nics.rendezvous_latency = {};
  CHECK(message_stretch(timing_constants(80, &nics).network) == 1);
}

TEST_CASE("NVLSTree's steps between nodes take the network's software and questions too") {
  Traffic traffic = traffic_of(100);
  traffic.nvlink_rate = traffic.rate;
  network::NicSpec nics;
  const auto latency = [&](double software_us, double asking_us) {
    nics.software_latency = simcore::SimTime::from_seconds(software_us * 1e-6);
    nics.rendezvous_latency = simcore::SimTime::from_seconds(asking_us * 1e-6);
    const TimedTransfer transfer{1e9, 32, 4, &traffic};
    return flow_timing(timing_constants(90, &nics), CollectiveKind::all_reduce,
                       choice_of(Algorithm::nvls_tree, Protocol::simple), transfer, 8)
        .latency_us;
  };
  // Four nodes: two steps up, two down.
  CHECK(latency(9, 0) - latency(4, 0) == doctest::Approx(4 * 5));
  CHECK(latency(4, 3) - latency(4, 0) >= 4 * 3);
}

TEST_CASE("all-to-all between nodes costs a proxy's time for each peer there") {
  const Traffic traffic = traffic_of(1);
  TimingConstants constants = plain();
  constants.network.message_us = 5;
  const auto latency = [&](int nodes) {
    const TimedTransfer transfer{64, 8 * nodes, nodes, &traffic};
    return message_timing(constants, CollectiveKind::alltoall, transfer).latency_us;
  };
  CHECK(latency(4) - latency(2) == doctest::Approx(16 * 5).epsilon(1e-3));
}

TEST_CASE("more bytes never take less time, on any generation") {
  const Traffic traffic = traffic_of(200);
  for (const int capability : {70, 80, 90, 100}) {
    const TimingConstants constants = timing_constants(capability, nullptr);
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) {
      for (const Protocol protocol : all_protocols) {
        CAPTURE(capability);
        double before = 0;
        for (double bytes = 64; bytes < 1e10; bytes *= 2) {
          const TimedTransfer transfer{bytes, 8, 1, &traffic};
          const FlowTiming made = flow_timing(constants, CollectiveKind::all_reduce,
                                              choice_of(algorithm, protocol), transfer, 0);
          const double us = made.latency_us + made.flow_bytes / made.cap_gbps * 1e-3;
          CHECK(us >= before);
          before = us;
        }
      }
    }
  }
}

TEST_CASE("a peer has its part of the connections that work at a time, a power of two of a ring") {
  CHECK(share_of_peer(2, 1, 16) == 1.0 / 8);
  CHECK(share_of_peer(16, 1, 16) == 1);
  CHECK(share_of_peer(32, 15, 16) == 1.0 / 8);
  CHECK(share_of_peer(32, 63, 16) == 1.0 / 32);
  CHECK(share_of_peer(3, 2, 1) == 2);  // nearer than 1 by the factor
  CHECK(share_of_peer(1.4, 1, 1) == 1);
  double before = 1;
  for (int peers = 1; peers < 1000; ++peers) {
    const double share = share_of_peer(8, peers, 8);
    CHECK(share <= before);
    CHECK(share * peers > 0.7);
    CHECK(share * peers < 1.5);
    before = share;
  }
}

}  // namespace shardsim::nccl
