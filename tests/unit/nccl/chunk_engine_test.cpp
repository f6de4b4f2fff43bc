// The clock of a channel: closed forms, credit, and what skipping loops leaves as it was.
#include <algorithm>
#include <map>
#include <numeric>

#include <doctest/doctest.h>

#include "models/nccl/chunk/tree_program.hpp"
#include "tests/unit/nccl/chunk_replay.hpp"

namespace shardsim::nccl {
namespace {

bool one_node(int, int) { return false; }
bool nodes_of_four(int a, int b) { return a / 4 != b / 4; }

std::vector<int> ring_of(int ranks) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// 100 ps a byte to move, 10 to keep; a hop takes 5 us, between nodes 20.
ChannelCosts simple_costs() {
  ChannelCosts costs;
  costs.ps_per_byte = {100, 10, 100, 100};
  costs.hops[0].fixed_ps = 5e6;
  costs.hops[1].fixed_ps = 20e6;
  return costs;
}

template <class Program>
ChannelRun run(const Program& program, const ChannelLayout& layout, const Slicing& slicing,
               SteadyState steady) {
  NoRecorder nothing;
  ChannelEngine engine(program, layout, slicing, simple_costs(), nothing);
  return engine.run(0, steady);
}

}  // namespace

TEST_CASE("a ring all-gather takes n - 1 chunks and hops, then a copy") {
  const RingProgram program({Collective::all_gather, 1000, 4096, 1}, ring_of(8));
  const auto end = run(program, program.layout(one_node), Slicing{}, SteadyState::skip).end;
  CHECK(end.picoseconds() == 7 * (1000 * 100 + 5'000'000) + 1000 * 10);
}

TEST_CASE("between nodes the slowest piece crosses all hops that lie there") {
  const RingProgram program({Collective::all_gather, 1000, 4096, 1}, ring_of(8));
  const auto end = run(program, program.layout(nodes_of_four), Slicing{}, SteadyState::skip).end;
  CHECK(end.picoseconds() == 7 * 100'000 + 5 * 5'000'000 + 2 * 20'000'000 + 10'000);
}

TEST_CASE("a chain is filled once; then chunks follow each other") {
  const RingProgram program({Collective::broadcast, 40'000, 1000, 1}, ring_of(6));
  const auto end = run(program, program.layout(one_node), Slicing{}, SteadyState::skip).end;
  // Eight chunks of 0.1 us on the way do not cover a hop of 5 us there and back: credit rules.
  const RingProgram large({Collective::broadcast, 40'000'000, 1'000'000, 1}, ring_of(6));
  const auto filled = run(large, large.layout(one_node), Slicing{}, SteadyState::skip).end;
  CHECK(filled.picoseconds() == (5 + 39) * 100'000'000LL + 5 * 5'000'000LL + 10'000'000LL);
  CHECK(end.picoseconds() > 40 * 100'000 + 5 * 5'000'000);
}

TEST_CASE("a message waits until there is room for it, and until it has come in") {
  const RingProgram program({Collective::all_reduce, 3'000'004, 65'536, 4}, ring_of(4));
  for (const Slicing& slicing : {Slicing{}, Slicing{2, 2, 32 * 1024, 64}}) {
    const ChannelLayout layout = program.layout(nodes_of_four);
    std::map<std::pair<int, int>, std::vector<TraceTimes>> sent;
    std::map<std::pair<int, int>, std::vector<TraceTimes>> received;
    for (const auto& worker : rows_of(program, layout, slicing, simple_costs())) {
      for (const TracedRow& row : worker) {
        const TraceRecord& r = row.record;
        const bool sends = r.action == TraceAction::send;
        auto& list = sends ? sent[{r.rank, r.peer}] : received[{r.peer, r.rank}];
        CHECK(r.step == static_cast<std::int64_t>(list.size()) * slicing.steps);
        list.push_back(row.times);
      }
    }
    CHECK(sent.size() == 4);
    for (const auto& [pair, messages] : sent) {
      const auto& taken = received[pair];
      REQUIRE(taken.size() == messages.size());
      for (std::size_t m = 0; m < messages.size(); ++m) {
        CHECK(taken[m].start >= messages[m].end);
        const auto window = static_cast<std::size_t>(slicing.window());
        if (m >= window) CHECK(messages[m].start >= taken[m - window].end);
      }
    }
  }
}

TEST_CASE("skipping loops in steady state changes no time and no count") {
  const Slicing two_slices{2, 2, 32 * 1024, 64};
  for (const Collective what : {Collective::all_gather, Collective::reduce_scatter,
                                Collective::all_reduce, Collective::broadcast}) {
    for (const bool several : {false, true}) {
      const RingProgram program({what, 64 * 65'536 * 8 + 4321 * 4, 65'536, 4}, ring_of(8));
      const ChannelLayout layout =
          several ? program.layout(nodes_of_four) : program.layout(one_node);
      const ChannelRun all = run(program, layout, two_slices, SteadyState::simulate);
      const ChannelRun fast = run(program, layout, two_slices, SteadyState::skip);
      CHECK(fast.end == all.end);
      CHECK(fast.messages == all.messages);
      CHECK(all.simulated == all.messages);
      CHECK(fast.skipped_loops > 0);
      CHECK(fast.simulated < all.simulated);
    }
  }
  ChannelGraph graph;
  graph.pattern = ChannelPattern::tree;
  graph.channels.push_back({{0, 1, 2, 3}, 0, 0});
  for (const auto& links : connect_trees(graph, consecutive_ranks(3, 4), 2)) {
    const TreeProgram program({Collective::all_reduce, 1'000'000, 4096, 4}, links);
    const ChannelLayout layout = program.layout(nodes_of_four);
    const ChannelRun all = run(program, layout, Slicing{}, SteadyState::simulate);
    const ChannelRun fast = run(program, layout, Slicing{}, SteadyState::skip);
    CHECK(fast.end == all.end);
    CHECK(fast.messages == all.messages);
    CHECK(fast.skipped_loops > 100);
  }
}

}  // namespace shardsim::nccl
