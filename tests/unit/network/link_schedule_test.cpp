// Links that change, fail and come back while flows run over them.
#include "models/network/link_schedule.hpp"

#include <functional>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/network/routing.hpp"
#include "tests/unit/network/flow_network_fixture.hpp"
#include "tests/unit/network/topology_fixture.hpp"

namespace shardsim::network {

using simcore::BitRate;
using simcore::SimTime;

namespace {

constexpr std::int64_t second = 1'000'000'000'000;

SimTime seconds(double value) {
  return SimTime::picoseconds(static_cast<std::int64_t>(value * static_cast<double>(second)));
}

struct Told final : LinkChangeListener {
  void outages_changed(const LinkOutages& outages) override {
    ++times;
    first_down = outages.down(0);
    if (react) react(outages);
  }
  int times = 0;
  bool first_down = false;
  std::function<void(const LinkOutages&)> react;
};

}  // namespace

TEST_CASE("a flow goes on at the degraded rate from the moment of the change") {
  FlowFixture fixture({1e9});
  Told told;
  const LinkSchedule schedule({{seconds(1), 0, BitRate{0.5e9}}}, 1, fixture.network, fixture.queue,
                              told);
  fixture.start({{0, 1}}, 2e9);
  fixture.run();
  CHECK(fixture.end_of(0) == 3 * second);
  CHECK(told.times == 0);  // nothing has failed
}

TEST_CASE("a flow waits while its link has failed, and goes on when it is back") {
  FlowFixture fixture({1e9});
  Told told;
  // Given out of order; of two for one time the later one holds.
  const LinkSchedule schedule(
      {{seconds(3), 0, BitRate{2e9}}, {seconds(1), 0, BitRate{7e9}}, {seconds(1), 0, BitRate{0}}},
      1, fixture.network, fixture.queue, told);
  fixture.start({{0, 1}}, 2e9);
  fixture.run_until(seconds(2));
  CHECK(schedule.outages().down(0));
  CHECK(fixture.network.bytes_left(0) == doctest::Approx(1e9));
  fixture.run();
  CHECK(fixture.end_of(0) == seconds(3.5).picoseconds());
  CHECK(told.times == 2);
  CHECK_FALSE(told.first_down);
}

TEST_CASE("a flow that never gets its link back never ends, and the queue runs dry") {
  FlowFixture fixture({1e9});
  Told told;
  const LinkSchedule schedule({{seconds(1), 0, BitRate{}}}, 1, fixture.network, fixture.queue,
                              told);
  fixture.start({{0, 1}}, 2e9);
  fixture.run();
  CHECK(fixture.ends.empty());
  CHECK(told.first_down);
}

TEST_CASE("a moved flow takes along what it has left; each link counts what it carried") {
  FlowFixture fixture({1e9, 0.25e9});
  const FlowId flow = fixture.start({{0, 1}}, 2e9);
  const FlowId other = fixture.start({{0, 1}}, 2e9);
  fixture.run_until(seconds(1));
  const std::vector<LinkUse> second_link{{1, 1}};
  fixture.network.move(flow, second_link);
  CHECK(fixture.rate(flow) == doctest::Approx(0.25e9));
  CHECK(fixture.rate(other) == doctest::Approx(1e9));
  fixture.run();
  CHECK(fixture.end_of(1) == seconds(2.5).picoseconds());
  CHECK(fixture.end_of(0) == seconds(7).picoseconds());
  CHECK(fixture.bytes_on(0) == doctest::Approx(2.5e9));
  CHECK(fixture.bytes_on(1) == doctest::Approx(1.5e9));
}

TEST_CASE("a flow moved at the moment of its end still ends then") {
  FlowFixture fixture({1e9, 1e9});
  const FlowId flow = fixture.start({{0, 1}}, 1e9);
  Told told;
  told.react = [&](const LinkOutages&) {
    fixture.network.move(flow, std::vector<LinkUse>{{1, 1}});
  };
  const LinkSchedule schedule({{seconds(1), 0, BitRate{}}}, 2, fixture.network, fixture.queue,
                              told);
  fixture.run();
  CHECK(fixture.end_of(0) == second);
}

TEST_CASE("any one of many equal flows can be moved, and the others end as they would have") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    FlowFixture fixture({1e9, 1e9});
    std::vector<FlowId> flows;
    const auto count = 2 + random() % 9;
    for (std::size_t i = 0; i < count; ++i) {
      flows.push_back(fixture.start({{0, 1}}, 1e9 * static_cast<double>(1 + random() % 5)));
    }
    double all = 0;
    for (const FlowId flow : flows) all += fixture.network.bytes_left(flow);
    fixture.run_until(seconds(0.5));
    const FlowId moved = flows[random() % count];
    const double left = fixture.network.bytes_left(moved);
    fixture.network.move(moved, std::vector<LinkUse>{{1, 1}});
    fixture.run();
    REQUIRE(fixture.ends.size() == count);
    CHECK(fixture.bytes_on(1) == doctest::Approx(left));
    CHECK(fixture.bytes_on(0) == doctest::Approx(all - left));
    // The first link was busy without a pause until the last of its flows ended.
    std::int64_t last = 0;
    for (const auto& [token, end] : fixture.ends) {
      if (token != moved) last = std::max(last, end);
    }
    CHECK(static_cast<double>(last) == doctest::Approx((all - left) / 1e9 * second));
  }
}

TEST_CASE("a way around a dead link is found anew, and none where there is none") {
  TopologySpec spec = testing::shipped_spec("dgx-a100");
  spec.fabric.spines = 2;
  spec.fabric.nodes_per_leaf = 1;
  const Graph graph = testing::build(spec, 2);
  const VertexId from = testing::at(graph, "node[0].nic[0]");
  const VertexId to = testing::at(graph, "node[1].nic[0]");
  LinkOutages outages(graph.links().size());
  const auto spine_of = [&](const std::vector<LinkUse>& way) {
    REQUIRE(way.size() == 4);
    return graph.vertices()[graph.links()[way[1].link].to].index;
  };
  const int before = spine_of(graph.ways(from, to, {.outages = &outages}));
  const auto fail = [&](int spine) {
    const auto links = graph.links_named(fmt::format("spine[{}]", spine));
    REQUIRE(links);
    for (const LinkId link : *links) outages.set(link, true);
  };
  fail(before);
  CHECK(spine_of(graph.ways(from, to, {.outages = &outages})) == 1 - before);
  fail(1 - before);
  CHECK(graph.ways(from, to, {.outages = &outages}).empty());
}

}  // namespace shardsim::network
