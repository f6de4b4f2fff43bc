// Random flows against the definition: the incremental network must give the rates that filling
// everything from nothing gives, link by link and flow by flow.
#include <algorithm>
#include <map>
#include <random>

#include <doctest/doctest.h>

#include "tests/unit/network/flow_network_fixture.hpp"
#include "tests/unit/network/progressive_filling.hpp"

namespace shardsim::network {

namespace {

class RandomTraffic final : public FlowFixture {
 public:
  RandomTraffic(unsigned seed, const std::vector<double>& bandwidths, std::size_t links_per_flow)
      : FlowFixture(bandwidths),
        random_(seed),
        bandwidths_(bandwidths),
        nominal_(bandwidths),
        links_per_flow_(links_per_flow),
        carried_(bandwidths.size(), 0) {}

  void flow_finished(FlowId, std::uint64_t token) override {
    const auto flow = running_.find(token);
    REQUIRE(flow != running_.end());
    for (const LinkUse& use : flow->second.uses) {
      carried_[use.link] += use.weight * bytes_[token];
    }
    running_.erase(flow);
    ids_.erase(token);
  }

  void change_something() {
    const unsigned choice = pick(10);
    if (choice < 7 || running_.size() < 4) {
      start_flow();
    } else if (choice < 8) {
      const LinkId link = pick(static_cast<unsigned>(bandwidths_.size()));
      const double factors[] = {0, 0.3, 0.5, 1, 2};
      bandwidths_[link] = nominal_[link] * factors[pick(5)];
      network.set_bandwidth(link, simcore::BitRate{bandwidths_[link]});
    } else {
      run_until(queue.now() + simcore::SimTime::microseconds(pick(20'000)));
    }
  }

  void check_rates() {
    fill(running_, bandwidths_);
    for (const auto& [token, flow] : running_) {
      CAPTURE(token);
      CHECK(rate(ids_[token]) == doctest::Approx(flow.rate).epsilon(1e-9));
    }
  }

  void finish_and_check_bytes() {
    for (LinkId link = 0; link < bandwidths_.size(); ++link) {
      network.set_bandwidth(link, simcore::BitRate{nominal_[link]});
    }
    run();
    CHECK(running_.empty());
    for (LinkId link = 0; link < bandwidths_.size(); ++link) {
      CHECK(bytes_on(link) == doctest::Approx(carried_[link]).epsilon(1e-12));
    }
  }

 private:
  unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }

  void start_flow() {
    ReferenceFlow flow;
    const double weights[] = {0.125, 0.5, 1, 1, 1, 2};
    const std::size_t count = 1 + pick(static_cast<unsigned>(links_per_flow_));
    while (flow.uses.size() < count) {
      const LinkId link = pick(static_cast<unsigned>(bandwidths_.size()));
      const auto same = [link](const LinkUse& use) { return use.link == link; };
      if (std::ranges::none_of(flow.uses, same)) flow.uses.push_back({link, weights[pick(6)]});
    }
    if (pick(4) == 0) flow.cap = 1e8 * (1 + pick(40));
    const double bytes = 1e6 * (1 + pick(50));
    const std::uint64_t token = bytes_.size();
    bytes_.push_back(bytes);
    // Half of the flows run over sets that were made known, often long before.
    if (pick(2) == 0) {
      if (known_.size() < 12) known_.emplace_back(network.add_link_set(flow.uses), flow.uses);
      const auto& [set, uses] = known_[pick(static_cast<unsigned>(known_.size()))];
      flow.uses = uses;
      ids_[token] = network.start(set, bytes, simcore::BitRate{flow.cap}, *this, token);
    } else {
      ids_[token] = network.start(flow.uses, bytes, simcore::BitRate{flow.cap}, *this, token);
    }
    running_[token] = flow;
  }

  std::mt19937 random_;
  std::vector<double> bandwidths_;
  std::vector<double> nominal_;
  std::size_t links_per_flow_;
  std::vector<double> carried_;
  std::vector<double> bytes_;
  std::vector<std::pair<LinkSetId, std::vector<LinkUse>>> known_;
  std::map<std::uint64_t, ReferenceFlow> running_;
  std::map<std::uint64_t, FlowId> ids_;
};

}  // namespace

TEST_CASE("random traffic always has the rates that filling from nothing gives") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::vector<double> bandwidths(4 + seed % 9, 10e9);
    for (std::size_t i = 0; i < bandwidths.size(); i += 3) bandwidths[i] = 4e9;
    RandomTraffic traffic(seed, bandwidths, 1 + seed % 4);
    for (int i = 0; i < 150; ++i) {
      traffic.change_something();
      if (i % 2 == 0) traffic.check_rates();
    }
    traffic.finish_and_check_bytes();
  }
}

TEST_CASE("random coupled flows over many links divide them right") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    RandomTraffic traffic(seed, std::vector<double>(60, 10e9), 24);
    for (int i = 0; i < 60; ++i) {
      traffic.change_something();
      traffic.check_rates();
    }
    traffic.finish_and_check_bytes();
  }
}

TEST_CASE("ten thousand random instances have the rates that filling from nothing gives") {
  for (unsigned seed = 1; seed <= 10'000; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<double> bandwidths;
    const std::size_t links = 3 + random() % 12;
    // From one link that limits all to links that hardly anything fills.
    for (std::size_t i = 0; i < links; ++i) {
      bandwidths.push_back(1e9 * static_cast<double>(1 + random() % 40));
    }
    RandomTraffic traffic(seed, bandwidths, std::min<std::size_t>(links, 1 + seed % 5));
    for (unsigned i = 0; i < 6 + seed % 20; ++i) traffic.change_something();
    traffic.check_rates();
  }
}

TEST_CASE("an all-to-all of unequal sizes ends flow by flow when a plain solver says") {
  constexpr LinkId hosts = 12;
  constexpr LinkId leaf_size = 4;
  constexpr LinkId spines = 4;
  const LinkId in = hosts;
  const LinkId up = 2 * hosts;
  const LinkId down = up + hosts / leaf_size * spines;
  for (const double uplink : {0.5e10, 0.8e10, 0.95e10, 1e10, 2e10}) {
    CAPTURE(uplink);
    std::vector<double> bandwidths(down + hosts / leaf_size * spines, uplink);
    std::fill_n(bandwidths.begin(), 2 * hosts, 1e10);
    FlowFixture fixture(bandwidths);
    std::map<std::uint64_t, ReferenceFlow> flows;
    std::map<std::uint64_t, double> left;
    std::mt19937 random(5);
    for (LinkId from = 0; from < hosts; ++from) {
      for (LinkId to = 0; to < hosts; ++to) {
        if (from == to) continue;
        ReferenceFlow flow;
        flow.uses = {{from, 1}, {in + to, 1}};
        if (from / leaf_size != to / leaf_size) {
          flow.uses.push_back({up + from / leaf_size * spines + to % spines, 1});
          flow.uses.push_back({down + to / leaf_size * spines + to % spines, 1});
        }
        const std::uint64_t token = flows.size();
        left[token] = 1e9 + static_cast<double>(random() % 1'000'000'000);
        fixture.start(flow.uses, left[token]);
        flows[token] = flow;
      }
    }
    const std::size_t count = flows.size();
    std::vector<double> ends(count, 0);
    for (double now = 0; !flows.empty();) {
      fill(flows, bandwidths);
      double wait = 1e300;
      for (const auto& [token, flow] : flows) wait = std::min(wait, left[token] / flow.rate);
      now += wait;
      for (auto flow = flows.begin(); flow != flows.end();) {
        left[flow->first] -= wait * flow->second.rate;
        if (left[flow->first] > 1e-3) {
          ++flow;
          continue;
        }
        ends[flow->first] = now;
        flow = flows.erase(flow);
      }
    }
    fixture.run();
    REQUIRE(fixture.ends.size() == count);
    for (const auto& [token, end] : fixture.ends) {
      CHECK(static_cast<double>(end) * 1e-12 == doctest::Approx(ends[token]).epsilon(1e-9));
    }
    for (LinkId link = 0; link < bandwidths.size(); ++link) {
      CHECK(fixture.network.statistics(link).peak_share <= 1);
    }
  }
}

TEST_CASE("the same traffic gives the same run to the bit") {
  const auto run = [] {
    RandomTraffic traffic(7, {10e9, 20e9, 10e9, 5e9, 10e9}, 3);
    for (int i = 0; i < 300; ++i) traffic.change_something();
    traffic.run();
    return std::pair{traffic.queue.now(), traffic.queue.handled()};
  };
  CHECK(run() == run());
}

}  // namespace shardsim::network
