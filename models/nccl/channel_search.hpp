// One search at given bandwidths and path types: as many channels as the links can carry.
//
// Models: the depth-first search of NCCL graph/search.cc with its order of trying, its bounds and
// its bookkeeping of bandwidth on every directed link; where versions differ, the one asked for.
// The steps are bounded, so that the order of trying decides what is found.
#pragma once

#include <cstdint>
#include <vector>

#include "models/nccl/channel_graph.hpp"
#include "models/nccl/paths.hpp"

namespace shardsim::nccl {

/// A graph under construction or the best so far; channels [0, count) are complete.
struct SearchState {
  ChannelPattern pattern = ChannelPattern::ring;
  int cross_nic = 0;
  float intra = 0;  ///< GB/s per channel
  float inter = 0;
  float latency_us = 0;
  PathType type_intra = PathType::loc;
  PathType type_inter = PathType::loc;
  bool same_channels = false;
  bool for_collnet = false;  ///< only NICs whose network can reduce
  int least = 1;             ///< channels
  int most = 1;
  int count = 0;
  int hops = 0;
  std::vector<int> gpus;  ///< [channel * GPUs + place]: index in System::gpus
  std::vector<int> nets;  ///< [channel * 2 + (0 in, 1 out)]: index in System::nets
};

class ChannelSearch {
 public:
  explicit ChannelSearch(const Landscape& land);

  /// Searches with the bandwidths, types and bounds of `trial` and replaces `best` by every better
  /// solution. The steps left of `budget`, or -1 if the greatest number of channels was reached.
  int run(SearchState& trial, SearchState& best, int budget);

 private:
  enum class Order : std::uint8_t { free, by_index, as_before };
  /// Where a channel has to return to: at which place to a NIC, or to its first GPU; -1 nowhere.
  struct Return {
    int to_net = -1;
    int to_first = -1;
  };
  struct End {
    NodeKind kind = NodeKind::gpu;
    int index = 0;
  };

  /// What charging a link has to know.
  struct LinkFacts {
    bool is_pcie = false;
    bool acknowledges = false;  ///< into a GPU that sends an eighth back
    bool one_direction_at_a_time = false;
    int reverse = -1;
  };

  void next_channel();
  void within_node(Return back);
  void from_nets(Return back);
  bool may_start_from(int net, int rate) const;
  bool from_net(int net, Return back);
  void try_index_order(End start, Return back);
  void chain_from_net(int net, Return back);
  void old_chain_from_net(int net, Return back);
  void head_in_turn(const std::vector<int>& nets, Return back);
  bool head_from_net(int net, int choices, Return back);
  void charge_port(int net, int rate);

  void try_gpu(End from, int gpu, int place, Return back, Order order);
  void start_at(int gpu, Return back, Order order);
  void visit(int gpu, int place, Return back, Order order);
  void finish_channel();
  void back_to_net(int gpu, int place, Return back, Order order);
  bool may_return_to(int net, int start, int place) const;
  void continue_from(int gpu, int place, Return back, Order order);
  void close_ring(int gpu, int place, Return back, Order order);
  void nvls_head(int head);
  void direct_head(int head);
  bool is_better() const;

  std::vector<int> next_gpus(int gpu, int place, Return back) const;
  std::vector<int> sorted_gpus(int gpu, int place, Return back) const;
  std::vector<int> neighbours(int gpu) const;
  bool may_follow(int gpu, int other) const;
  int replayed(int place) const;
  int pcie_rate(int gpu) const;

  bool claim(End from, End to, float scale);
  bool reserve(End from, End to) { return claim(from, to, 1); }
  void release(End from, End to) { claim(from, to, -1); }
  int charge(const Path& path, NodeKind start, int links, float rate);
  LinkFacts facts_of(const SystemLink& link) const;
  bool crosses_intel(const Path& path) const;
  int node_of(End end) const;
  const std::vector<int>& nets_for(int gpu);
  int gpu_count() const { return static_cast<int>(land_.system->gpus.size()); }

  const Landscape& land_;
  NcclVersion version_;
  std::vector<LinkFacts> facts_;                           ///< per link
  std::vector<float> link_left_;                           ///< GB/s left per link
  std::vector<float> net_left_;                            ///< GB/s left per network device
  std::vector<char> used_;                                 ///< [channel * GPUs + gpu]
  std::vector<std::vector<std::vector<int>>> nets_cache_;  ///< [worst type][gpu + 1]
  SearchState* current_ = nullptr;
  SearchState* best_ = nullptr;
  int* budget_ = nullptr;
};

}  // namespace shardsim::nccl
