// Rates after departures, one flow after another, against filling everything from nothing.
#include "models/network/departure_fill.hpp"

#include <cmath>
#include <map>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "models/network/max_min_solver.hpp"
#include "tests/unit/network/flow_network_fixture.hpp"
#include "tests/unit/network/progressive_filling.hpp"

namespace shardsim::network {

namespace {

std::vector<Link> links_of(const std::vector<double>& bandwidths) {
  std::vector<Link> links(bandwidths.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    links[i].bandwidth = simcore::BitRate{bandwidths[i]};
  }
  return links;
}

/// Variables that start together and lose their flows one by one.
class Departures {
 public:
  Departures(const std::vector<double>& bandwidths, const std::vector<std::vector<LinkUse>>& uses,
             const std::vector<std::uint32_t>& counts)
      : bandwidths_(bandwidths), graph_(links_of(bandwidths)), solver_(graph_), fill_(graph_) {
    std::vector<PoolSpan> sets(uses.size());
    for (std::size_t i = 0; i < uses.size(); ++i) graph_.classify(uses[i], sets[i]);
    graph_.grow_variables(uses.size());
    for (VariableId id = 0; id < uses.size(); ++id) {
      graph_.refresh(sets[id]);
      graph_.attach(id, sets[id], 0, {});
      graph_.loads()[id] = VariableLoad{infinity, counts[id], 0};
      for (const VariableUse& use : graph_.uses(id)) solver_.must_find_level(use.link_class, 0);
      for (std::uint32_t i = 0; i < counts[id]; ++i) {
        flows_[std::uint64_t{id} << 32U | i] = ReferenceFlow{uses[id], 0, 0, false};
      }
    }
    solver_.solve();
    REQUIRE(fill_.build());
  }

  bool empty() const { return flows_.empty(); }

  /// One of its flows leaves; false if the order of the classes was lost.
  bool lose_one(VariableId id) {
    VariableLoad& load = graph_.loads()[id];
    if (load.count == 0) return true;
    const double rate = load.rate;
    flows_.erase(std::uint64_t{id} << 32U | --load.count);
    fill_.flows_left(id);
    if (load.count == 0) graph_.detach(id, 0, {});
    std::vector<double> before;
    for (const VariableLoad& each : graph_.loads()) before.push_back(each.rate);
    if (!fill_.solve(rate / (1 + 1e-12), affected_)) return false;
    std::vector<bool> named(before.size(), false);
    for (const VariableId each : affected_) named[each] = true;
    for (VariableId each = 0; each < before.size(); ++each) {
      CHECK((named[each] || graph_.loads()[each].rate == before[each]));
    }
    return true;
  }

  void check() {
    fill(flows_, bandwidths_);
    std::vector<double> loads(bandwidths_.size(), 0);
    for (const auto& [token, flow] : flows_) {
      const double rate = graph_.loads()[token >> 32U].rate;
      CHECK(rate == doctest::Approx(flow.rate).epsilon(1e-9));
      for (const LinkUse& use : flow.uses) loads[use.link] += use.weight * rate;
    }
    for (LinkId link = 0; link < loads.size(); ++link) {
      const LinkClass& link_class = graph_.classes()[graph_.class_of(link)];
      CHECK(loads[link] <= bandwidths_[link] * (1 + 1e-9));
      if (link_class.users.size == 0) continue;
      CHECK(link_class.load == doctest::Approx(loads[link]).epsilon(1e-9));
      if (link_class.level < infinity) {
        CHECK(loads[link] == doctest::Approx(bandwidths_[link]).epsilon(1e-9));
      }
    }
  }

 private:
  std::vector<double> bandwidths_;
  SharingGraph graph_;
  MaxMinSolver solver_;
  DepartureFill fill_;
  std::map<std::uint64_t, ReferenceFlow> flows_;
  std::vector<VariableId> affected_;
};

/// Flows in a network of separate links, of which the running ones are known.
class Crowd final : public FlowFixture {
 public:
  explicit Crowd(const std::vector<double>& bandwidths)
      : FlowFixture(bandwidths), bandwidths_(bandwidths) {}

  void flow_finished(FlowId, std::uint64_t token) override {
    running_.erase(token);
    ids_.erase(token);
  }
  void add(const std::vector<LinkUse>& uses, double bytes) {
    const std::uint64_t token = next_++;
    running_[token] = ReferenceFlow{uses, 0, 0, false};
    ids_[token] = start(uses, bytes);
  }
  void set_bandwidth(LinkId link, double bandwidth) {
    bandwidths_[link] = bandwidth;
    network.set_bandwidth(link, simcore::BitRate{bandwidth});
  }
  std::size_t running() const { return running_.size(); }
  void check_rates() {
    fill(running_, bandwidths_);
    for (const auto& [token, flow] : running_) {
      CHECK(rate(ids_[token]) == doctest::Approx(flow.rate).epsilon(1e-9));
    }
  }

 private:
  std::uint64_t next_ = 0;
  std::vector<double> bandwidths_;
  std::map<std::uint64_t, ReferenceFlow> running_;
  std::map<std::uint64_t, FlowId> ids_;
};

}  // namespace

TEST_CASE(
    "a crowd of flows that leave has the right rates, also when others come or links change") {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&random](unsigned limit) {
      return static_cast<unsigned>(random() % limit);
    };
    Crowd crowd(std::vector<double>(24, 10e9));
    const auto add = [&] {
      crowd.add({{below(8), 1}, {8 + below(8), 1}, {16 + below(8), seed < 4 ? 1 : 0.5}},
                1e6 * (1 + below(1000)));
    };
    for (int i = 0; i < 250; ++i) add();
    for (int round = 0; round < 30; ++round) {
      const std::size_t goal = crowd.running() < 14 ? 0 : crowd.running() - 14;
      while (crowd.running() > goal && crowd.queue.step()) {
      }
      crowd.check_rates();
      if (round % 4 == 1) add();
      if (round % 4 == 3) crowd.set_bandwidth(below(24), 1e9 * (4 + below(8)));
    }
    crowd.run();
    CHECK(crowd.running() == 0);
  }
}

TEST_CASE("rates after each of many departures are those that filling from nothing gives") {
  int lost = 0;
  for (unsigned seed = 1; seed <= 1500; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&random](unsigned limit) {
      return static_cast<unsigned>(random() % limit);
    };
    // Plain flows or weighted and bundled ones; alike, similar or very unlike links, and dead ones.
    const bool plain = seed % 2 == 0;
    std::vector<double> bandwidths(3 + below(14), 10e9);
    for (double& bandwidth : bandwidths) {
      if (seed % 3 == 1) bandwidth = 1e9 * (1 + below(40));
      if (seed % 3 == 2) bandwidth = 10e9 + 1e6 * below(1000);
      if (seed % 7 == 0 && below(8) == 0) bandwidth = 0;
    }
    std::vector<std::vector<LinkUse>> uses(4 + below(40));
    std::vector<std::uint32_t> counts;
    const double weights[] = {0.125, 0.3, 1, 1, 2};
    for (auto& set : uses) {
      for (LinkId link = below(3); link < bandwidths.size(); link += 1 + below(6)) {
        set.push_back({link, plain ? 1 : weights[below(5)]});
      }
      counts.push_back(plain ? 1 : 1 + below(3));
    }
    Departures departures(bandwidths, uses, counts);
    departures.check();
    while (!departures.empty()) {
      if (!departures.lose_one(below(static_cast<unsigned>(uses.size())))) {
        ++lost;
        break;
      }
      departures.check();
    }
  }
  CHECK(lost == 0);
}

TEST_CASE("a class that had room becomes full when those that held its flows back leave") {
  // Flow 0 over links 0 and 2 and flow 1 over 2; flow 2 holds flow 0 back at link 0.
  Departures departures({10, 100, 12}, {{{0, 1}, {2, 1}}, {{2, 1}, {1, 1}}, {{0, 1}}}, {1, 1, 1});
  departures.check();
  CHECK(departures.lose_one(2));
  departures.check();
}

TEST_CASE("what departures cannot be filled from is refused") {
  SharingGraph graph(links_of({10, 10}));
  DepartureFill fill(graph);
  PoolSpan set;
  const std::vector<LinkUse> uses{{0, 1}};
  graph.classify(uses, set);
  graph.grow_variables(1);
  graph.attach(0, set, 3, {});
  graph.loads()[0] = VariableLoad{3, 1, 0};
  CHECK_FALSE(fill.build());  // a cap
  CHECK_FALSE(fill.valid());
  graph.detach(0, 0, {});
  graph.attach(0, set, 0, {});
  CHECK_FALSE(fill.build());  // a rate at which no class is full
  MaxMinSolver solver(graph);
  graph.loads()[0].rate = infinity;
  for (const VariableUse& use : graph.uses(0)) solver.must_find_level(use.link_class, 0);
  solver.solve();
  CHECK(fill.build());
  CHECK(fill.valid());
  graph.isolate(1);
  CHECK(fill.valid());  // already a class of its own
  fill.make_void();
  CHECK_FALSE(fill.valid());
}

}  // namespace shardsim::network
