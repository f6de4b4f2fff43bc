#include <doctest/doctest.h>

#include "tests/unit/network/flow_network_fixture.hpp"

namespace shardsim::network {

TEST_CASE("two flows over one link get half each, and the one that stays gets all") {
  FlowFixture f({10e9});
  f.start({{0, 1.0}}, 1e9);
  f.start({{0, 1.0}}, 3e9);
  f.run();
  CHECK(f.end_of(0) == transfer_picoseconds(1e9, 5e9));
  // 1 GB at 5 GB/s, the remaining 2 GB at 10 GB/s.
  CHECK(f.end_of(1) == transfer_picoseconds(1e9, 5e9) + transfer_picoseconds(2e9, 10e9));
}

TEST_CASE("a flow that joins halves the rate from that moment on") {
  FlowFixture f({10e9});
  f.start({{0, 1.0}}, 2e9);
  f.run_until(simcore::SimTime::microseconds(100'000));
  f.start({{0, 1.0}}, 2e9);
  f.run();
  // 1 GB alone until 0.1 s, then half the link each; the newcomer finishes alone.
  CHECK(f.end_of(0) == 300'000'000'000);
  CHECK(f.end_of(1) == 400'000'000'000);
}

TEST_CASE("what a capped flow leaves goes to the others") {
  FlowFixture f({10e9});
  const FlowId capped = f.start({{0, 1.0}}, 1e9, 2e9);
  const FlowId a = f.start({{0, 1.0}}, 1e9);
  const FlowId b = f.start({{0, 1.0}}, 1e9);
  CHECK(f.rate(capped) == 2e9);
  CHECK(f.rate(a) == doctest::Approx(4e9).epsilon(1e-15));
  CHECK(f.rate(b) == f.rate(a));
}

TEST_CASE("rates are equal, not loads: a coupled flow takes its weight on every link") {
  // Two rings that meet on link 1, where the second runs over it twice.
  FlowFixture f({100e9, 30e9, 100e9});
  const FlowId first = f.start({{0, 1.0}, {1, 1.0}}, 1e9);
  const FlowId second = f.start({{1, 2.0}, {2, 1.0}}, 1e9);
  CHECK(f.rate(first) == doctest::Approx(10e9).epsilon(1e-15));
  CHECK(f.rate(second) == f.rate(first));
  f.run();
  CHECK(f.bytes_on(1) == doctest::Approx(3e9).epsilon(1e-15));
  CHECK(f.network.statistics(1).peak_share == doctest::Approx(1).epsilon(1e-12));
}

TEST_CASE("the textbook chain: one long flow against one short flow on each link") {
  // Bertsekas and Gallager, Data Networks, section 6.5.2: filling stops at the tightest link first.
  FlowFixture f({10e9, 4e9, 10e9});
  const FlowId through = f.start({{0, 1.0}, {1, 1.0}, {2, 1.0}}, 1e9);
  const FlowId at_0 = f.start({{0, 1.0}}, 1e9);
  const FlowId at_1 = f.start({{1, 1.0}}, 1e9);
  const FlowId at_2a = f.start({{2, 1.0}}, 1e9);
  const FlowId at_2b = f.start({{2, 1.0}}, 1e9);
  CHECK(f.rate(through) == doctest::Approx(2e9).epsilon(1e-15));
  CHECK(f.rate(at_1) == doctest::Approx(2e9).epsilon(1e-15));
  CHECK(f.rate(at_0) == doctest::Approx(8e9).epsilon(1e-15));
  CHECK(f.rate(at_2a) == doctest::Approx(4e9).epsilon(1e-15));
  CHECK(f.rate(at_2b) == doctest::Approx(4e9).epsilon(1e-15));
}

TEST_CASE("flows over equal links with different caps stay apart") {
  FlowFixture f({12e9});
  const FlowId slow = f.start({{0, 1.0}}, 1e9, 1e9);
  const FlowId slow_too = f.start({{0, 1.0}}, 2e9, 1e9);
  const FlowId middling = f.start({{0, 1.0}}, 3e9, 3e9);
  const FlowId free = f.start({{0, 1.0}}, 4e9);
  CHECK(f.rate(slow) == 1e9);
  CHECK(f.rate(slow_too) == 1e9);
  CHECK(f.rate(middling) == 3e9);
  CHECK(f.rate(free) == doctest::Approx(7e9).epsilon(1e-15));
  f.run();
  CHECK(f.bytes_on(0) == doctest::Approx(10e9).epsilon(1e-15));
}

TEST_CASE("equal flows over equal links end together at n times the lone time") {
  const int flows = 1000;
  FlowFixture f({10e9, 10e9});
  for (int i = 0; i < flows; ++i) f.start({{0, 1.0}, {1, 1.0}}, 1e6);
  f.run();
  REQUIRE(f.ends.size() == flows);
  for (const auto& [token, time] : f.ends) CHECK(time == transfer_picoseconds(1e6, 1e7));
  CHECK(f.network.counters().rates_solved == 1);
}

TEST_CASE("flows of one bundle end in the order of their bytes") {
  FlowFixture f({10e9});
  const std::vector<double> bytes{5e6, 1e6, 4e6, 2e6, 3e6, 1e6};
  for (const double b : bytes) f.start({{0, 1.0}}, b);
  f.run();
  std::vector<std::uint64_t> order;
  for (const auto& [token, time] : f.ends) order.push_back(token);
  CHECK(order == std::vector<std::uint64_t>{1, 5, 3, 4, 2, 0});
  // All links' bytes pass at full rate: the last ends when the sum has passed.
  CHECK(f.ends.back().second == transfer_picoseconds(16e6, 10e9));
}

TEST_CASE("weights that differ by twelve orders of magnitude do not cost digits") {
  FlowFixture f({10e9});
  const FlowId heavy = f.start({{0, 1.0}}, 1e9, 4e9);
  const FlowId light = f.start({{0, 1e-12}}, 1e20);
  CHECK(f.rate(heavy) == 4e9);
  CHECK(f.rate(light) == doctest::Approx(6e21).epsilon(1e-14));
}

TEST_CASE("a known set of links stays whole while others divide its links") {
  FlowFixture f(std::vector<double>(8, 10e9));
  std::vector<LinkUse> ring;
  for (LinkId link = 0; link < 8; ++link) ring.push_back({link, 1.0});
  const LinkSetId known = f.network.add_link_set(ring);
  CHECK(f.network.add_link_set(ring) == known);
  f.network.start(known, 1e9, simcore::BitRate{}, f, 100);
  f.run();
  // Idle, its links are divided, and some of the parts again.
  f.start({{0, 1.0}, {1, 1.0}, {2, 1.0}, {3, 1.0}}, 1e9);
  f.start({{2, 0.5}, {3, 2.0}}, 1e9);
  f.start({{7, 1.0}}, 1e9);
  f.run();
  f.network.set_bandwidth(6, simcore::BitRate{5e9});
  const FlowId again = f.network.start(known, 1e9, simcore::BitRate{}, f, 101);
  CHECK(f.rate(again) == doctest::Approx(5e9).epsilon(1e-15));
  // Divided while it runs.
  const FlowId rival = f.start({{5, 1.0}}, 1e12);
  CHECK(f.rate(rival) == doctest::Approx(5e9).epsilon(1e-15));
  f.run_until(f.queue.now() + simcore::SimTime::microseconds(300'000));
  const double expected[] = {3e9, 3e9, 3.5e9, 5e9, 2e9, 0, 2e9, 3e9};
  for (LinkId link = 0; link < 8; ++link) {
    CAPTURE(link);
    if (link != 5) CHECK(f.bytes_on(link) == doctest::Approx(expected[link]).epsilon(1e-14));
  }
  // And once more, after nothing new.
  const FlowId third = f.network.start(known, 1e9, simcore::BitRate{}, f, 102);
  CHECK(f.rate(third) == doctest::Approx(5e9).epsilon(1e-15));
}

TEST_CASE("one solve for all changes of an instant") {
  FlowFixture f({10e9, 20e9, 30e9});
  for (LinkId link = 0; link < 3; ++link) {
    f.start({{link, 1.0}}, 1e9 * (link + 1));
    f.start({{link, 1.0}}, 1e9 * (link + 1));
  }
  f.run();
  // One for the six starts, one for the six ends.
  CHECK(f.network.counters().solves == 2);
}

TEST_CASE("a change leaves flows alone that share no link with it, however indirectly") {
  const int pairs = 100;
  FlowFixture f(std::vector<double>(2 * pairs, 10e9));
  for (LinkId pair = 0; pair < pairs; ++pair) {
    f.start({{2 * pair, 1.0}, {2 * pair + 1, 1.0}}, 1e12);
    f.start({{2 * pair, 1.0}}, 1e12);
  }
  f.run_until(simcore::SimTime::microseconds(1));
  const auto before = f.network.counters();
  const FlowId late = f.start({{7, 1.0}}, 1e12);
  CHECK(f.rate(late) == doctest::Approx(5e9).epsilon(1e-15));
  CHECK(f.network.counters().rates_solved - before.rates_solved <= 3);
  CHECK(f.network.counters().classes_solved - before.classes_solved <= 2);
}

TEST_CASE("flows slower than all that a change can reach are not solved again") {
  // Ninety flows through a narrow link 0 and one fast flow share the wide link 1.
  FlowFixture f({9e9, 100e9});
  std::vector<FlowId> slow;
  for (int i = 0; i < 90; ++i) slow.push_back(f.start({{0, 1.0}, {1, 1.0}}, 1e12, 1e8 + i));
  f.start({{1, 1.0}}, 1e9);
  f.run_until(simcore::SimTime::microseconds(1));
  const auto before = f.network.counters();
  f.run_until(simcore::SimTime::microseconds(20'000));  // the fast flow ends
  CHECK(f.end_of(90) > 0);
  CHECK(f.network.counters().rates_solved == before.rates_solved);
}

}  // namespace shardsim::network
