#include "models/nccl/connect.hpp"

#include <algorithm>
#include <utility>

#include "models/nccl/double_binary_tree.hpp"

namespace shardsim::nccl {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }
int count_of(const auto& list) { return static_cast<int>(list.size()); }

std::size_t rank_count(const NodeRanks& nodes) {
  std::size_t ranks = 0;
  for (const std::vector<int>& node : nodes) ranks += node.size();
  return ranks;
}

/// Places in a node's chain at which its parent node's children are attached.
struct ChildPlaces {
  int first = 0;
  int second = 0;
};

ChildPlaces child_places(ChannelPattern pattern, int ranks_per_node) {
  if (ranks_per_node == 1) return {0, 0};
  switch (pattern) {
    case ChannelPattern::balanced_tree:
      return {1, 0};
    case ChannelPattern::split_tree:
      return {1, 1};
    default:
      return {0, 0};
  }
}

/// One channel of a tree over all nodes.
class TreeBuilder {
 public:
  TreeBuilder(const std::vector<int>& chain, ChildPlaces places, const NodeRanks& nodes)
      : chain_(chain), places_(places), nodes_(nodes) {}

  std::vector<TreeLinks> build(int tree) const {
    std::vector<TreeLinks> links(rank_count(nodes_));
    for (int node = 0; node < count_of(nodes_); ++node) {
      const TreePosition position = binary_tree_position(count_of(nodes_), node, tree);
      for (int place = 0; place < count_of(chain_); ++place) {
        links[at(rank_at(node, place))] = links_at(node, place, position);
      }
    }
    return links;
  }

 private:
  int rank_at(int node, int place) const { return nodes_[at(node)][at(chain_[at(place)])]; }

  TreeLinks links_at(int node, int place, const TreePosition& position) const {
    TreeLinks links;
    std::size_t downs = 0;
    const auto add_down = [&](int rank) { links.down[downs++] = rank; };
    if (place > 0) links.up = rank_at(node, place - 1);
    if (place + 1 < count_of(chain_)) add_down(rank_at(node, place + 1));
    if (place == 0 && position.parent >= 0) {
      const int above = position.child_number == 0 ? places_.first : places_.second;
      links.up = rank_at(position.parent, above);
    }
    if (place == places_.first && position.children[0] >= 0) {
      add_down(rank_at(position.children[0], 0));
    }
    if (place == places_.second && position.children[1] >= 0) {
      add_down(rank_at(position.children[1], 0));
    }
    return links;
  }

  const std::vector<int>& chain_;
  ChildPlaces places_;
  const NodeRanks& nodes_;
};

}  // namespace

bool swaps_channel_pairs(const ChannelGraph& ring, std::size_t nodes, NcclVersion version) {
  if (ring.channel_count() % 2 != 0 || version < NcclVersion{20, 0}) return false;
  if (version >= NcclVersion{26, 0}) return ring.cross_nic == 2;
  return ring.cross_nic != 0 && (version >= NcclVersion{21, 0} || nodes % 2 == 0);
}

NodeRanks consecutive_ranks(int nodes, int per_node) {
  NodeRanks ranks(at(nodes));
  for (int rank = 0; rank < nodes * per_node; ++rank) ranks[at(rank / per_node)].push_back(rank);
  return ranks;
}

std::vector<std::vector<int>> connect_rings(const ChannelGraph& ring, const NodeRanks& nodes,
                                            int channels, NcclVersion version) {
  std::vector<std::vector<int>> rings;
  if (ring.channels.empty()) return rings;
  const bool swaps = swaps_channel_pairs(ring, nodes.size(), version);
  for (int channel = 0; channel < channels; ++channel) {
    const int searched = channel % ring.channel_count();
    std::vector<int>& order = rings.emplace_back();
    for (int node = 0; node < count_of(nodes); ++node) {
      const int own = swaps && node % 2 == 1 ? searched ^ 1 : searched;
      for (const int local : ring.channels[at(own)].ranks) {
        order.push_back(nodes[at(node)][at(local)]);
      }
    }
    std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
  }
  return rings;
}

std::vector<std::vector<TreeLinks>> connect_trees(const ChannelGraph& tree, const NodeRanks& nodes,
                                                  int channels) {
  std::vector<std::vector<TreeLinks>> trees;
  if (tree.channels.empty()) return trees;
  const int searched = tree.channel_count();
  for (int channel = 0; channel < channels; ++channel) {
    const std::vector<int>& chain = tree.channels[at(channel % searched)].ranks;
    const ChildPlaces places = child_places(tree.pattern, count_of(chain));
    trees.push_back(TreeBuilder(chain, places, nodes).build((channel / searched) % 2));
  }
  return trees;
}

std::vector<int> nvls_heads_of(const ChannelGraph& nvls) {
  std::vector<int> heads;
  for (const GraphChannel& channel : nvls.channels) {
    const int head = channel.ranks.front();
    if (std::find(heads.begin(), heads.end(), head) == heads.end()) heads.push_back(head);
  }
  return heads;
}

std::array<std::vector<NvlsTreeLinks>, 2> connect_nvls_trees(const ChannelGraph& nvls,
                                                             const NodeRanks& nodes) {
  std::array<std::vector<NvlsTreeLinks>, 2> trees;
  const std::vector<int> heads = nvls_heads_of(nvls);
  for (int tree = 0; tree < 2; ++tree) {
    std::vector<NvlsTreeLinks>& links = trees[at(tree)];
    links.resize(rank_count(nodes));
    for (int node = 0; node < count_of(nodes); ++node) {
      const TreePosition position = binary_tree_position(count_of(nodes), node, tree);
      for (int head = 0; head < count_of(heads); ++head) {
        const std::size_t local = at(heads[at(head)]);
        const auto same_head = [&](int other) { return other < 0 ? -1 : nodes[at(other)][local]; };
        NvlsTreeLinks& own = links[at(nodes[at(node)][local])];
        own.head = head;
        own.up = same_head(position.parent);
        own.down = {same_head(position.children[0]), same_head(position.children[1])};
        // The first place is filled first.
        if (own.down[0] < 0) std::swap(own.down[0], own.down[1]);
      }
    }
  }
  return trees;
}

}  // namespace shardsim::nccl
