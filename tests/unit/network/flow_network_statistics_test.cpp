#include <doctest/doctest.h>

#include "tests/unit/network/flow_network_fixture.hpp"

namespace shardsim::network {

using simcore::SimTime;

TEST_CASE("a link has carried weight times the bytes of every flow over it") {
  FlowFixture f({10e9, 20e9, 30e9});
  f.start({{0, 1.0}, {1, 0.25}}, 1e9);
  f.start({{1, 2.0}}, 5e8);
  f.start({{0, 0.5}, {1, 1.0}, {2, 3.0}}, 7e8);
  f.run();
  CHECK(f.bytes_on(0) == doctest::Approx(1e9 + 0.5 * 7e8).epsilon(1e-15));
  CHECK(f.bytes_on(1) == doctest::Approx(0.25 * 1e9 + 2 * 5e8 + 7e8).epsilon(1e-15));
  CHECK(f.bytes_on(2) == doctest::Approx(3 * 7e8).epsilon(1e-15));
}

TEST_CASE("links split later keep what they carried together") {
  FlowFixture f(std::vector<double>(4, 10e9));
  f.start({{0, 1.0}, {1, 1.0}, {2, 1.0}, {3, 1.0}}, 1e9);
  f.run_until(SimTime::microseconds(50'000));
  f.start({{2, 1.0}}, 1e9);
  f.network.set_bandwidth(3, simcore::BitRate{20e9});
  f.run();
  CHECK(f.bytes_on(0) == 1e9);
  CHECK(f.bytes_on(1) == 1e9);
  CHECK(f.bytes_on(2) == 2e9);
  CHECK(f.bytes_on(3) == 1e9);
  CHECK(f.network.statistics(0).busy == SimTime::microseconds(150'000));
  CHECK(f.network.statistics(2).busy == SimTime::microseconds(200'000));
}

TEST_CASE("bytes in flight are counted as they move") {
  FlowFixture f({10e9});
  f.start({{0, 2.0}}, 1e9);
  f.start({{0, 1.0}}, 1e9);
  f.run_until(SimTime::microseconds(30'000));
  CHECK(f.bytes_on(0) == doctest::Approx(0.3e9).epsilon(1e-14));
}

TEST_CASE("busy time is time with a flow, stalled or not; the peak is the largest share") {
  FlowFixture f({10e9, 40e9});
  f.start({{0, 1.0}, {1, 1.0}}, 1e9);
  f.run();
  f.run_until(SimTime::microseconds(500'000));
  f.start({{1, 1.0}}, 2e9);
  f.run();
  CHECK(f.network.statistics(0).busy == SimTime::microseconds(100'000));
  CHECK(f.network.statistics(1).busy == SimTime::microseconds(150'000));
  CHECK(f.network.statistics(0).peak_share == doctest::Approx(1));
  CHECK(f.network.statistics(1).peak_share == doctest::Approx(1));
}

TEST_CASE("a peak below one is the share in use, and holds through splits") {
  FlowFixture f({40e9, 40e9});
  f.start({{0, 1.0}, {1, 1.0}}, 1e9, 10e9);
  f.run();
  f.start({{1, 1.0}}, 1e9, 30e9);
  f.run();
  CHECK(f.network.statistics(0).peak_share == doctest::Approx(0.25));
  CHECK(f.network.statistics(1).peak_share == doctest::Approx(0.75));
}

TEST_CASE("a link that was full once is not taken for full later") {
  FlowFixture f({10e9});
  f.start({{0, 1.0}}, 1e9);
  f.run();
  f.network.reset_statistics();
  f.start({{0, 1.0}}, 1e9, 2e9);
  f.run();
  CHECK(f.network.statistics(0).peak_share == doctest::Approx(0.2));
}

TEST_CASE("after a reset only what moves from then on counts") {
  FlowFixture f({10e9, 10e9});
  f.start({{0, 1.0}}, 1e9);
  f.start({{1, 1.0}}, 2e9);
  f.run_until(SimTime::microseconds(60'000));
  f.network.reset_statistics();
  CHECK(f.bytes_on(0) == 0);
  CHECK(f.network.statistics(0).busy == SimTime{});
  f.run();
  CHECK(f.bytes_on(0) == doctest::Approx(0.4e9).epsilon(1e-14));
  CHECK(f.bytes_on(1) == doctest::Approx(1.4e9).epsilon(1e-14));
  CHECK(f.network.statistics(0).busy == SimTime::microseconds(40'000));
  CHECK(f.network.statistics(0).peak_share == doctest::Approx(1));
  f.network.reset_statistics();
  CHECK(f.network.statistics(0).peak_share == 0);
  CHECK(f.network.statistics(0).busy == SimTime{});
}

}  // namespace shardsim::network
