// Rings and trees over several nodes.
#include "models/nccl/connect.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "models/nccl/double_binary_tree.hpp"
#include "tests/unit/nccl/connect_cases.hpp"

namespace shardsim::nccl {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

int differences(const auto& ours, const auto& theirs) {
  if (ours.size() != theirs.size()) return -1;
  int count = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) count += ours[i] == theirs[i] ? 0 : 1;
  return count;
}

}  // namespace

TEST_CASE("every ring, tree and NVLS tree is NCCL's own") {
  int checked = 0;
  for (const ConnectCase& known : connect_cases()) {
    CAPTURE(known.machine);
    CAPTURE(known.nodes);
    const NodeRanks nodes = consecutive_ranks(known.nodes, known.per_node);
    const auto channels = static_cast<int>(known.rings.size());
    CHECK(differences(connect_rings(known.ring, nodes, channels, {30, 7}), known.rings) == 0);
    const auto trees = connect_trees(known.tree, nodes, channels);
    REQUIRE(trees.size() == known.trees.size());
    for (std::size_t c = 0; c < trees.size(); ++c) {
      CAPTURE(c);
      CHECK(differences(trees[c], known.trees[c]) == 0);
      checked += known.nodes * known.per_node;
    }
    auto nvls = connect_nvls_trees(known.nvls, nodes);
    for (std::size_t tree = 0; tree < known.nvls_trees.size(); ++tree) {
      for (NvlsTreeLinks& links : nvls[tree]) links.head.reset();
      CHECK(differences(nvls[tree], known.nvls_trees[tree]) == 0);
    }
    checked += channels;
  }
  CHECK(checked > 9000);
}

TEST_CASE("both binary trees span all members, whatever their number") {
  for (int count = 1; count <= 70; ++count) {
    CAPTURE(count);
    for (int tree = 0; tree < 2; ++tree) {
      int roots = 0;
      int links = 0;
      for (int member = 0; member < count; ++member) {
        const TreePosition position = binary_tree_position(count, member, tree);
        if (position.parent < 0) ++roots;
        for (const int child : position.children) {
          if (child < 0) continue;
          ++links;
          CHECK(binary_tree_position(count, child, tree).parent == member);
        }
        // From every member one comes to the root.
        int steps = 0;
        for (int up = member; up >= 0; up = binary_tree_position(count, up, tree).parent) {
          REQUIRE(++steps <= count);
        }
      }
      CHECK(roots == 1);
      CHECK(links == count - 1);
    }
  }
}

TEST_CASE("an inner member of one binary tree is a leaf of the other") {
  for (const int count : {2, 4, 6, 7, 32, 33}) {
    CAPTURE(count);
    for (int member = 0; member < count; ++member) {
      int inner = 0;
      for (int tree = 0; tree < 2; ++tree) {
        const TreePosition position = binary_tree_position(count, member, tree);
        const bool has_two = position.children[0] >= 0 && position.children[1] >= 0;
        inner += has_two ? 1 : 0;
      }
      CHECK(inner <= 1);
    }
  }
}

TEST_CASE("a tree over nodes reaches every rank, with links that agree from both ends") {
  ChannelGraph graph;
  graph.pattern = ChannelPattern::balanced_tree;
  graph.channels = {{{2, 0, 3, 1}, 0, 0}, {{1, 3, 0, 2}, 1, 1}};
  // Ranks that do not lie in order on their nodes.
  const NodeRanks nodes = {{0, 5, 7, 9}, {1, 2, 3, 4}, {6, 8, 10, 11}};
  for (const auto& tree : connect_trees(graph, nodes, 4)) {
    int roots = 0;
    for (int rank = 0; rank < 12; ++rank) {
      if (tree[at(rank)].up < 0) ++roots;
      for (const int child : tree[at(rank)].down) {
        if (child >= 0) CHECK(tree[at(child)].up == rank);
      }
    }
    CHECK(roots == 1);
  }
}

TEST_CASE("pairs of channels that swap NICs keep to their rail on every node") {
  ChannelGraph graph;
  graph.cross_nic = 2;
  graph.channels = {{{0, 1}, 0, 1}, {{1, 0}, 1, 0}};
  const auto rings = connect_rings(graph, consecutive_ranks(4, 2), 4, {30, 7});
  // Rank 1 sits at the NIC by which the first channel leaves node 0: so does rank 3 on node 1.
  CHECK(rings[0] == std::vector<int>{0, 1, 3, 2, 4, 5, 7, 6});
  CHECK(rings[1] == std::vector<int>{0, 2, 3, 5, 4, 6, 7, 1});
  CHECK(rings[2] == rings[0]);
  // Before 2.20 nothing was swapped.
  CHECK(connect_rings(graph, consecutive_ranks(2, 2), 1, {19, 3})[0] ==
        std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("one node of one rank has rings of itself and trees without links") {
  ChannelGraph graph;
  graph.pattern = ChannelPattern::tree;
  graph.channels = {{{0}, -1, -1}};
  const NodeRanks alone = consecutive_ranks(1, 1);
  CHECK(connect_rings(graph, alone, 1, {30, 7})[0] == std::vector<int>{0});
  CHECK(connect_trees(graph, alone, 2)[1][0] == TreeLinks{});
  CHECK(connect_rings(ChannelGraph{}, alone, 4, {30, 7}).empty());
}

}  // namespace shardsim::nccl
