// How much a pattern loads each link: an entry for each link it touches, for all if they are many.
//
// A cluster has millions of links and a group of a few ranks touches a few dozens; with a number
// for every link, thousands of such groups would cost the product of both.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "models/network/graph.hpp"
#include "models/network/sparse_index.hpp"

namespace shardsim::nccl {

class LinkWeights {
 public:
  explicit LinkWeights(std::size_t links) : links_(links) {}

  void add(network::LinkId link, double share) {
    if (dense_.empty()) {
      const std::uint32_t number = index_.number_of(link);
      if (number < touched_.size()) {
        touched_[number].weight += share;
        return;
      }
      touched_.push_back({link, share});
      if (touched_.size() > links_ / share_of_links) spread();
      return;
    }
    if (dense_[link] <= 0) touched_.push_back({link, 0});
    dense_[link] += share;
  }
  /// A number for every link.
  std::span<const double> all() {
    if (dense_.empty()) spread();
    return dense_;
  }
  /// Every link with its weight, by link; nothing can be added after.
  std::span<const network::LinkUse> finish() {
    if (!dense_.empty()) {
      for (network::LinkUse& use : touched_) use.weight = dense_[use.link];
    }
    std::ranges::sort(touched_, {}, &network::LinkUse::link);
    return touched_;
  }

 private:
  static constexpr std::size_t share_of_links = 16;

  void spread() {
    dense_.assign(links_, 0);
    for (const network::LinkUse& use : touched_) dense_[use.link] = use.weight;
  }

  std::size_t links_;
  network::SparseIndex index_;             ///< of links while there is no number for every one
  std::vector<network::LinkUse> touched_;  ///< weights hold while there is none
  std::vector<double> dense_;              ///< by link, or empty
};

}  // namespace shardsim::nccl
