#include <doctest/doctest.h>

#include "tests/unit/network/flow_network_fixture.hpp"

namespace shardsim::network {

TEST_CASE("a lone flow ends at exactly the picosecond nearest to bytes over bandwidth") {
  for (const double bytes : {1.0, 3.0, 4096.0, 1e9, 1073741824.0, 1e12}) {
    for (const double bandwidth : {1e6, 46.7e9, 50e9, 450e9}) {
      FlowFixture f({bandwidth});
      f.start({{0, 1.0}}, bytes);
      f.run();
      CAPTURE(bytes);
      CAPTURE(bandwidth);
      CHECK(f.end_of(0) == transfer_picoseconds(bytes, bandwidth));
    }
  }
}

TEST_CASE("a lone flow is as fast as its slowest link for its weight allows") {
  FlowFixture f({100e9, 30e9, 60e9});
  // Rates that the links allow: 200, 20, 60 GB/s.
  const FlowId flow = f.start({{0, 0.5}, {1, 1.5}, {2, 1.0}}, 4e9);
  CHECK(f.rate(flow) == doctest::Approx(20e9).epsilon(1e-15));
  f.run();
  CHECK(f.end_of(0) == transfer_picoseconds(4e9, 20e9));
}

TEST_CASE("a cap limits a flow with and without links") {
  FlowFixture f({100e9});
  f.start({{0, 1.0}}, 1e9, 25e9);
  f.start(std::vector<LinkUse>{}, 1e9, 10e9);
  f.run();
  CHECK(f.end_of(0) == transfer_picoseconds(1e9, 25e9));
  CHECK(f.end_of(1) == transfer_picoseconds(1e9, 10e9));
}

TEST_CASE("a flow of no bytes, or with nothing to limit it, ends at once but not inside start") {
  FlowFixture f({100e9});
  f.run_until(simcore::SimTime::nanoseconds(5));
  f.start({{0, 1.0}}, 0);
  f.start(std::vector<LinkUse>{}, 1e12);
  CHECK(f.ends.empty());
  f.run();
  CHECK(f.end_of(0) == 5'000);
  CHECK(f.end_of(1) == 5'000);
  CHECK(f.bytes_on(0) == 0);
}

TEST_CASE("flows that end in the same picosecond are reported in the order of their start") {
  FlowFixture f({10e9, 20e9, 40e9});
  f.start({{2, 1.0}}, 4e9);
  f.start({{0, 1.0}}, 1e9);
  f.start({{1, 1.0}}, 2e9);
  f.start({{1, 1.0}}, 0);
  f.run();
  REQUIRE(f.ends.size() == 4);
  CHECK(f.ends[0].first == 3);
  CHECK(f.ends[1].first == 0);
  CHECK(f.ends[2].first == 1);
  CHECK(f.ends[3].first == 2);
}

TEST_CASE("a chain of a million messages does not drift") {
  // Each message takes 333.33 ps, rounded to 333; the chain must take a million times that.
  class Chain final : public FlowFixture {
   public:
    using FlowFixture::FlowFixture;
    void flow_finished(FlowId, std::uint64_t token) override {
      last = queue.now().picoseconds();
      if (++count < 1'000'000) network.start(set, 10, simcore::BitRate{}, *this, token);
    }
    LinkSetId set = 0;
    int count = 0;
    std::int64_t last = 0;
  };
  Chain chain({30e9});
  const LinkUse use{0, 1.0};
  chain.set = chain.network.add_link_set({&use, 1});
  chain.network.start(chain.set, 10, simcore::BitRate{}, chain, 0);
  chain.run();
  CHECK(chain.last == 333'000'000);
  CHECK(chain.bytes_on(0) == 10'000'000);
}

TEST_CASE("a rate so small that the end lies beyond all time is not an end") {
  FlowFixture f({1e-3});
  f.start({{0, 1.0}}, 1e15);
  f.run();
  CHECK(f.ends.empty());
}

}  // namespace shardsim::network
