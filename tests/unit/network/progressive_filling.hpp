// Max-min fair rates by the definition, for what is to be held against it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "models/network/graph.hpp"

namespace shardsim::network {

struct ReferenceFlow {
  std::vector<LinkUse> uses;
  double cap = 0;
  double rate = 0;
  bool stopped = false;
};

// Progressive filling as it is defined: find the lowest level at which a link or cap stops some
// flow; stop the flows there; repeat.
inline void fill(std::map<std::uint64_t, ReferenceFlow>& flows,
                 const std::vector<double>& bandwidths) {
  for (auto& [token, flow] : flows) flow.stopped = false;
  for (;;) {
    std::vector<double> left = bandwidths;
    std::vector<double> weight(bandwidths.size(), 0);
    double level = 1e300;
    bool any = false;
    for (const auto& [token, flow] : flows) {
      for (const LinkUse& use : flow.uses) {
        if (flow.stopped) left[use.link] -= use.weight * flow.rate;
        if (!flow.stopped) weight[use.link] += use.weight;
      }
      any |= !flow.stopped;
      if (!flow.stopped && flow.cap > 0) level = std::min(level, flow.cap);
    }
    if (!any) return;
    for (std::size_t link = 0; link < left.size(); ++link) {
      if (weight[link] > 0) level = std::min(level, std::max(0.0, left[link]) / weight[link]);
    }
    for (auto& [token, flow] : flows) {
      if (flow.stopped) continue;
      flow.rate = level;
      bool stops = flow.cap > 0 && flow.cap <= level * (1 + 1e-12);
      for (const LinkUse& use : flow.uses) {
        stops |= std::max(0.0, left[use.link]) / weight[use.link] <= level * (1 + 1e-9);
      }
      flow.stopped = stops;
    }
  }
}

}  // namespace shardsim::network
