// What the programs of channels move: the right sums end in the right places, in as many messages,
// bytes and steps as the arithmetic says.
#include <numeric>

#include <doctest/doctest.h>

#include "models/nccl/chunk/nvls_program.hpp"
#include "models/nccl/chunk/pat_program.hpp"
#include "models/nccl/chunk/tree_program.hpp"
#include "tests/unit/nccl/chunk_replay.hpp"

namespace shardsim::nccl {
namespace {

bool one_node(int, int) { return false; }

std::vector<int> turned_ring(int ranks) {
  std::vector<int> order{0};
  for (int rank = ranks - 1; rank > 0; --rank) order.push_back(rank);
  return order;
}

Contributors everyone(int ranks) {
  Contributors all;
  for (int rank = 0; rank < ranks; ++rank) all.insert(rank);
  return all;
}

struct Totals {
  std::int64_t sends = 0;
  std::int64_t bytes = 0;
};

Totals sent(const std::vector<std::vector<TracedRow>>& rows) {
  Totals totals;
  for (const auto& worker : rows) {
    for (const TracedRow& row : worker) {
      if (row.record.action != TraceAction::send) continue;
      ++totals.sends;
      totals.bytes += row.record.bytes;
    }
  }
  return totals;
}

const Slicing two_slices{2, 2, 32 * 1024, 64};

}  // namespace

TEST_CASE("a ring all-gather brings every part to every rank, once") {
  for (const int n : {2, 3, 7, 16}) {
    for (const std::int64_t bytes : {1, 999, 70'001, 300'000}) {
      const RingProgram program({Collective::all_gather, bytes, 65'536, 1}, turned_ring(n));
      const auto rows = rows_of(program, program.layout(one_node), two_slices, {});
      const std::int64_t loops = (bytes + 65'535) / 65'536;
      Holdings held(static_cast<std::size_t>(n));
      for (int rank = 0; rank < n; ++rank) {
        for (std::int64_t l = 0; l < loops; ++l) {
          held[static_cast<std::size_t>(rank)][l * n + rank] = {rank};
        }
      }
      CHECK(replay(rows, held) == 0);
      for (const auto& chunks : held) {
        CHECK(chunks.size() == static_cast<std::size_t>(loops * n));
        for (const auto& [chunk, from] : chunks) {
          CHECK(from == Contributors{static_cast<int>(chunk % n)});
        }
      }
      const Totals totals = sent(rows);
      CHECK(totals.sends == n * (n - 1) * loops * 2);
      CHECK(totals.bytes == n * (n - 1) * bytes);
    }
  }
}

TEST_CASE("a ring reduce-scatter leaves each rank the sum of its part") {
  for (const int n : {2, 5, 8}) {
    const std::int64_t bytes = 131'076;
    const RingProgram program({Collective::reduce_scatter, bytes, 65'536, 4}, turned_ring(n));
    const auto rows = rows_of(program, program.layout(one_node), two_slices, {});
    Holdings held(static_cast<std::size_t>(n));
    for (int rank = 0; rank < n; ++rank) {
      for (std::int64_t chunk = 0; chunk < 3 * n; ++chunk) {
        held[static_cast<std::size_t>(rank)][chunk] = {rank};
      }
    }
    CHECK(replay(rows, held) == 0);
    for (int rank = 0; rank < n; ++rank) {
      for (std::int64_t l = 0; l < 3; ++l) {
        CHECK(held[static_cast<std::size_t>(rank)][l * n + rank] == everyone(n));
      }
    }
    CHECK(sent(rows).bytes == n * (n - 1) * bytes);
  }
}

TEST_CASE("a ring all-reduce leaves every rank every sum; the last loop's pieces are even") {
  for (const int n : {2, 3, 8}) {
    for (const std::int64_t bytes : {4, 100, 65'540, 1'000'004}) {
      const RingProgram program({Collective::all_reduce, bytes, 65'536, 4}, turned_ring(n));
      const auto rows = rows_of(program, program.layout(one_node), two_slices, {});
      const std::int64_t loops = (bytes + 65'536 * n - 1) / (65'536 * n);
      Holdings held(static_cast<std::size_t>(n));
      for (int rank = 0; rank < n; ++rank) {
        for (std::int64_t chunk = 0; chunk < loops * n; ++chunk) {
          held[static_cast<std::size_t>(rank)][chunk] = {rank};
        }
      }
      CHECK(replay(rows, held) == 0);
      for (const auto& chunks : held) {
        for (const auto& [chunk, from] : chunks) CHECK(from == everyone(n));
      }
      const Totals totals = sent(rows);
      CHECK(totals.sends == n * 2 * (n - 1) * loops * 2);
      CHECK(totals.bytes == 2 * (n - 1) * bytes);
    }
  }
}

TEST_CASE("a broadcast starts at the root, a reduction ends there") {
  const int n = 5;
  for (const int root : {0, 3}) {
    const RingProgram spread({Collective::broadcast, 10'000, 4096, 1}, turned_ring(n), root);
    Holdings held(n);
    for (std::int64_t l = 0; l < 3; ++l) held[static_cast<std::size_t>(root)][l] = {root};
    CHECK(replay(rows_of(spread, spread.layout(one_node), Slicing{}, {}), held) == 0);
    for (auto& chunks : held) CHECK(chunks[2] == Contributors{root});

    const RingProgram add({Collective::reduce, 10'000, 4096, 4}, turned_ring(n), root);
    Holdings sums(n);
    for (int rank = 0; rank < n; ++rank) {
      for (std::int64_t l = 0; l < 3; ++l) sums[static_cast<std::size_t>(rank)][l] = {rank};
    }
    const auto rows = rows_of(add, add.layout(one_node), Slicing{}, {});
    CHECK(replay(rows, sums) == 0);
    CHECK(sums[static_cast<std::size_t>(root)][2] == everyone(n));
    CHECK(sent(rows).bytes == (n - 1) * 10'000);
  }
}

TEST_CASE("a tree adds up to its root and spreads the sum, over either of the two trees") {
  ChannelGraph graph;
  graph.pattern = ChannelPattern::balanced_tree;
  graph.channels.push_back({{0, 1, 2}, 0, 0});
  for (const int nodes : {1, 2, 3, 4, 7}) {
    const int n = 3 * nodes;
    for (const auto& links : connect_trees(graph, consecutive_ranks(nodes, 3), 2)) {
      const TreeProgram program({Collective::all_reduce, 10'000, 4096, 4}, links);
      const auto rows = rows_of(program, program.layout(one_node), Slicing{}, {});
      Holdings held(static_cast<std::size_t>(n));
      for (int rank = 0; rank < n; ++rank) {
        for (std::int64_t l = 0; l < 3; ++l) held[static_cast<std::size_t>(rank)][l] = {rank};
      }
      CHECK(replay(rows, held) == 0);
      for (const auto& chunks : held) {
        for (const auto& [chunk, from] : chunks) CHECK(from == everyone(n));
      }
      CHECK(sent(rows).bytes == 2 * (n - 1) * 10'000);
    }
  }
}

TEST_CASE("PAT brings all parts or sums to their ranks in the messages of its plan") {
  for (const int n : {2, 3, 4, 6, 8, 13, 32}) {
    for (const std::int64_t bytes : {100, 65'536, 200'000}) {
      for (const Collective what : {Collective::all_gather, Collective::reduce_scatter}) {
        const PatProgram program({what, bytes, 65'536, 1}, n);
        const auto rows = rows_of(program, program.layout(one_node), Slicing{}, {});
        const PatPlan plan = pat_plan(what, n, bytes, 65'536);
        const Totals totals = sent(rows);
        std::int64_t messages = 0;
        std::int64_t chunks = 0;
        for (const PatDimension& dimension : pat_dimensions(plan)) {
          messages += dimension.messages;
          chunks += dimension.chunks;
        }
        CHECK(totals.sends == n * messages);
        CHECK(chunks == plan.rounds * (n - 1));
        CHECK(totals.bytes == n * (n - 1) * bytes);
        std::int64_t received = 0;
        for (const auto& worker : rows) {
          for (const TracedRow& row : worker) received += row.record.action != TraceAction::send;
        }
        CHECK(received == totals.sends);
      }
    }
  }
}

TEST_CASE("NVLink switches carry every rank's data to the heads and back once") {
  const int n = 4;
  for (const std::int64_t bytes : {100, 1'000'000}) {
    const NvlsProgram program({Collective::all_reduce, bytes, 32'768, 4}, consecutive_ranks(1, n),
                              {0, 1, 2, 3}, {});
    std::int64_t scattered = 0;
    std::int64_t reduced = 0;
    std::int64_t gathered = 0;
    for (const auto& worker : rows_of(program, program.layout(), Slicing{}, {})) {
      for (const TracedRow& row : worker) {
        const TraceRecord& r = row.record;
        if (r.role == 0) scattered += r.bytes;
        if (r.role == 1 && r.action == TraceAction::reduce) {
          CHECK(r.peer == all_peers);
          reduced += r.bytes;
        }
        if (r.role == 2) gathered += r.bytes;
      }
    }
    CHECK(scattered == n * bytes);
    CHECK(reduced == bytes);
    CHECK(gathered == n * bytes);
  }
}

TEST_CASE("heads of several nodes join in a tree") {
  ChannelGraph graph;
  graph.pattern = ChannelPattern::nvls;
  graph.channels = {{{0}, 0, 0}, {{1}, 1, 1}};
  for (const int nodes : {2, 3, 5}) {
    const NodeRanks ranks = consecutive_ranks(nodes, 2);
    const auto trees = connect_nvls_trees(graph, ranks);
    const NvlsProgram program({Collective::all_reduce, 100'000, 16'384, 4}, ranks, {0, 1},
                              trees[0]);
    std::int64_t between = 0;
    for (const auto& worker : rows_of(program, program.layout(), Slicing{}, {})) {
      for (const TracedRow& row : worker) {
        const TraceRecord& r = row.record;
        const bool crosses = r.peer != all_peers && r.peer / 2 != r.rank / 2;
        if (crosses && r.action == TraceAction::send) between += r.bytes;
      }
    }
    CHECK(between == 2 * (nodes - 1) * 100'000);
  }
}

}  // namespace shardsim::nccl
