#include <doctest/doctest.h>

#include "tests/unit/network/flow_network_fixture.hpp"

namespace shardsim::network {

using simcore::BitRate;
using simcore::SimTime;

TEST_CASE("flows over a failed link stall and go on when it is repaired") {
  FlowFixture f({10e9, 10e9});
  const FlowId flow = f.start({{0, 1.0}, {1, 1.0}}, 2e9);
  f.run_until(SimTime::microseconds(100'000));
  f.network.set_bandwidth(1, BitRate{0});
  CHECK(f.rate(flow) == 0);
  f.run_until(SimTime::microseconds(500'000));
  CHECK(f.ends.empty());
  CHECK(f.bytes_on(0) == doctest::Approx(1e9).epsilon(1e-15));
  f.network.set_bandwidth(1, BitRate{10e9});
  f.run();
  CHECK(f.end_of(0) == 600'000'000'000);
}

TEST_CASE("a flow that starts on a failed link waits for it") {
  FlowFixture f({0.0});
  const FlowId flow = f.start({{0, 1.0}}, 1e9);
  CHECK(f.rate(flow) == 0);
  f.run();
  CHECK(f.ends.empty());
  f.run_until(SimTime::microseconds(7));
  f.network.set_bandwidth(0, BitRate{1e9});
  f.run();
  CHECK(f.end_of(0) == 7'000'000 + 1'000'000'000'000);
}

TEST_CASE("a stalled flow leaves its other links to the rest") {
  FlowFixture f({10e9, 10e9});
  const FlowId stalls = f.start({{0, 1.0}, {1, 1.0}}, 1e12);
  const FlowId goes_on = f.start({{0, 1.0}}, 1e12);
  CHECK(f.rate(goes_on) == doctest::Approx(5e9).epsilon(1e-15));
  f.network.set_bandwidth(1, BitRate{0});
  CHECK(f.rate(stalls) == 0);
  CHECK(f.rate(goes_on) == doctest::Approx(10e9).epsilon(1e-15));
}

TEST_CASE("a degraded link of a large ring slows all of it, a faster one nothing") {
  const LinkId links = 1000;
  FlowFixture f(std::vector<double>(links, 50e9));
  std::vector<LinkUse> ring;
  for (LinkId link = 0; link < links; ++link) ring.push_back({link, 1.0});
  const FlowId flow = f.start(ring, 1e12);
  CHECK(f.rate(flow) == doctest::Approx(50e9).epsilon(1e-15));
  f.network.set_bandwidth(17, BitRate{25e9});
  CHECK(f.rate(flow) == doctest::Approx(25e9).epsilon(1e-15));
  f.network.set_bandwidth(400, BitRate{100e9});
  CHECK(f.rate(flow) == doctest::Approx(25e9).epsilon(1e-15));
  f.network.set_bandwidth(17, BitRate{50e9});
  CHECK(f.rate(flow) == doctest::Approx(50e9).epsilon(1e-15));
  CHECK(f.network.bandwidth(17).bytes_per_second == 50e9);
  CHECK(f.network.bandwidth(400).bytes_per_second == 100e9);
  CHECK(f.network.bandwidth(401).bytes_per_second == 50e9);
}

TEST_CASE("a bandwidth that rises frees the flows that it held, and those then hold others") {
  FlowFixture f({2e9, 10e9});
  const FlowId held = f.start({{0, 1.0}, {1, 1.0}}, 1e12);
  const FlowId other = f.start({{1, 1.0}}, 1e12);
  CHECK(f.rate(other) == doctest::Approx(8e9).epsilon(1e-15));
  f.network.set_bandwidth(0, BitRate{4e9});
  CHECK(f.rate(held) == doctest::Approx(4e9).epsilon(1e-15));
  CHECK(f.rate(other) == doctest::Approx(6e9).epsilon(1e-15));
  f.network.set_bandwidth(0, BitRate{40e9});
  CHECK(f.rate(held) == doctest::Approx(5e9).epsilon(1e-15));
  CHECK(f.rate(other) == doctest::Approx(5e9).epsilon(1e-15));
}

TEST_CASE("many changes of bandwidth lose no bytes") {
  FlowFixture f({10e9});
  f.start({{0, 1.0}}, 1e9);
  double expected_left = 1e9;
  const double step_seconds = 1e-3;
  for (int i = 0; i < 50; ++i) {
    const double bandwidth = (i % 7) * 1.5e9;
    f.network.set_bandwidth(0, BitRate{bandwidth});
    f.run_until(SimTime::microseconds(1000 * (i + 1)));
    expected_left -= bandwidth * step_seconds;
  }
  CHECK(f.bytes_on(0) == doctest::Approx(1e9 - expected_left).epsilon(1e-12));
  f.network.set_bandwidth(0, BitRate{10e9});
  f.run();
  const double expected_end = 50e-3 + expected_left / 10e9;
  CHECK(std::abs(static_cast<double>(f.end_of(0)) - expected_end * 1e12) <= 1);
  CHECK(f.bytes_on(0) == 1e9);
}

}  // namespace shardsim::network
