// The containers under the flow network, each against the obvious way to do the same.
#include <algorithm>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "models/network/completion_tree.hpp"
#include "models/network/flow_records.hpp"
#include "models/network/span_pool.hpp"

namespace shardsim::network {

using simcore::SimTime;

TEST_CASE("the completion tree knows the earliest time and who is due, however many were set") {
  std::mt19937 random(3);
  CompletionTree tree;
  std::vector<SimTime> times;
  CHECK(tree.earliest() == SimTime::never());
  for (const std::size_t slots : {1u, 5u, 8u, 9u, 100u, 1000u}) {
    tree.grow(slots);
    times.resize(slots, SimTime::never());
    for (int round = 0; round < 200; ++round) {
      // One slot, a few, or most of them between two questions.
      const std::size_t changes = round % 3 == 0 ? 1 : round % 3 == 1 ? 4 : slots;
      for (std::size_t i = 0; i < changes; ++i) {
        const auto slot = static_cast<std::uint32_t>(random() % slots);
        times[slot] = random() % 8 == 0 ? SimTime::never()
                                        : SimTime::picoseconds(static_cast<int>(random() % 50));
        tree.set(slot, times[slot]);
      }
      const auto expected = std::ranges::min_element(times);
      CHECK(tree.earliest() == *expected);
      const SimTime now = SimTime::picoseconds(static_cast<int>(random() % 50));
      LargeArray<std::uint32_t> due;
      tree.collect_due(now, due);
      LargeArray<std::uint32_t> wanted;
      for (std::uint32_t slot = 0; slot < slots; ++slot) {
        if (times[slot] <= now) wanted.push_back(slot);
      }
      CHECK(due == wanted);
    }
  }
}

TEST_CASE("flows leave their heap by target, then by start") {
  std::mt19937 random(5);
  FlowPool pool;
  FlowId root = none;
  std::vector<std::pair<double, std::uint64_t>> inside;
  std::uint64_t sequence = 0;
  for (int i = 0; i < 3000; ++i) {
    if (inside.empty() || random() % 5 < 3) {
      Flow flow;
      flow.target = static_cast<double>(random() % 100);
      flow.sequence = sequence++;
      inside.emplace_back(flow.target, flow.sequence);
      root = pool.insert(root, pool.add(flow));
    } else {
      const auto least = std::ranges::min_element(inside);
      CHECK(pool[root].target == least->first);
      CHECK(pool[root].sequence == least->second);
      const FlowId gone = root;
      root = pool.remove_root(root);
      pool.remove(gone);
      inside.erase(least);
    }
  }
}

TEST_CASE("arrays of a pool keep what they hold while others grow and go") {
  std::mt19937 random(7);
  SpanPool<int> pool;
  std::vector<PoolSpan> arrays(20);
  std::vector<std::vector<int>> expected(20);
  for (int i = 0; i < 5000; ++i) {
    const std::size_t which = random() % arrays.size();
    if (random() % 50 == 0) {
      pool.release(arrays[which]);
      expected[which].clear();
    } else {
      pool.push_back(arrays[which], i);
      expected[which].push_back(i);
    }
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    CHECK(std::ranges::equal(pool.view(arrays[i]), expected[i]));
  }
}

}  // namespace shardsim::network
