#include "models/network/routing.hpp"

#include <algorithm>
#include <limits>

#include "models/network/sparse_index.hpp"
#include "simcore/random.hpp"

namespace shardsim::network {

namespace {

using Steps = std::span<const RouteStep>;

/// Whether the switch at the start of these steps really chooses: devices other than switches
/// keep to the first way.
bool spreads(Steps choices, std::span<const Vertex> vertices) {
  const auto is_switch = [&](VertexId v) { return vertices[v].kind == DeviceKind::network_switch; };
  return choices.size() > 1 && is_switch(choices.front().from) &&
         std::ranges::all_of(choices, is_switch, &RouteStep::to);
}

/// Follows one way; `choose` picks among several.
template <class Choose>
std::vector<LinkUse> follow(const Ways& ways, std::span<const Vertex> vertices, Choose choose) {
  std::vector<LinkUse> way;
  VertexId at = ways.from;
  for (std::size_t level = 0; level < ways.levels(); ++level) {
    const Steps choices = ways.steps_from(level, at);
    const RouteStep& step = choices[spreads(choices, vertices) ? choose(choices) : 0];
    way.push_back({step.link, 1});
    at = step.to;
  }
  return way;
}

std::uint64_t hash_of(const RoutingSpec& routing, const Ways& ways, std::uint64_t flow,
                      VertexId at) {
  std::uint64_t state = static_cast<std::uint64_t>(routing.seed);
  for (const std::uint64_t word :
       {std::uint64_t{ways.from} << 32 | ways.to, flow, std::uint64_t{at}}) {
    state = simcore::split_mix_64(state) ^ word;
  }
  return simcore::split_mix_64(state);
}

/// The way whose fullest link is least full, found from the far end.
std::vector<LinkUse> least_loaded(const Ways& ways, const RouteRequest& request,
                                  std::span<const Vertex> vertices, std::span<const Link> links) {
  /// By the number of a vertex among those of its level.
  struct Level {
    SparseIndex index;
    std::vector<double> fullest;
  };
  const auto load = [&](LinkId link) {
    const double present = request.loads.empty() ? 0 : request.loads[link];
    return (present + request.share) / links[link].bandwidth.bytes_per_second;
  };
  std::vector<Level> best(ways.levels() + 1);
  best.back().index.number_of(ways.to);
  best.back().fullest.push_back(0);
  const auto through = [&](std::size_t level, const RouteStep& step) {
    Level& next = best[level + 1];
    return std::max(next.fullest[next.index.number_of(step.to)], load(step.link));
  };
  for (std::size_t level = ways.levels(); level-- > 0;) {
    for (const RouteStep& step : ways.steps(level)) {
      const double fullest = through(level, step);
      Level& here = best[level];
      const std::uint32_t number = here.index.number_of(step.from);
      if (number == here.fullest.size()) {
        here.fullest.push_back(fullest);
      } else {
        here.fullest[number] = std::min(here.fullest[number], fullest);
      }
    }
  }
  std::size_t level = 0;
  return follow(ways, vertices, [&](Steps choices) {
    while (ways.steps(level).data() > choices.data() ||
           ways.steps(level).data() + ways.steps(level).size() <= choices.data()) {
      ++level;
    }
    std::size_t chosen = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const double fullest = through(level, choices[i]);
      if (fullest < least) {
        least = fullest;
        chosen = i;
      }
    }
    return chosen;
  });
}

/// Every switch deals out evenly what comes in.
std::vector<LinkUse> sprayed(const Ways& ways, std::span<const Vertex> vertices) {
  struct Amount {
    VertexId vertex;
    double share;
  };
  std::vector<LinkUse> uses;
  std::vector<Amount> here{{ways.from, 1}};
  for (std::size_t level = 0; level < ways.levels(); ++level) {
    std::vector<Amount> next;
    SparseIndex numbers;
    for (const Amount& amount : here) {
      Steps choices = ways.steps_from(level, amount.vertex);
      if (!spreads(choices, vertices)) choices = choices.first(1);
      const double share = amount.share / static_cast<double>(choices.size());
      for (const RouteStep& step : choices) {
        uses.push_back({step.link, share});
        const std::uint32_t number = numbers.number_of(step.to);
        if (number == next.size()) {
          next.push_back({step.to, share});
        } else {
          next[number].share += share;
        }
      }
    }
    here = std::move(next);
  }
  return uses;
}

}  // namespace

std::vector<LinkUse> choose_ways(const Ways& ways, const RoutingSpec& routing,
                                 const RouteRequest& request, std::span<const Vertex> vertices,
                                 std::span<const Link> links, std::size_t target_port) {
  switch (routing.policy) {
    case RoutingPolicy::ecmp:
      return follow(ways, vertices, [&](Steps choices) {
        return hash_of(routing, ways, request.flow, choices.front().from) % choices.size();
      });
    case RoutingPolicy::adaptive:
      return least_loaded(ways, request, vertices, links);
    case RoutingPolicy::spray:
      return sprayed(ways, vertices);
    case RoutingPolicy::target_port:
    case RoutingPolicy::table:
      break;
  }
  return follow(ways, vertices, [spread = target_port](Steps choices) mutable {
    const std::size_t chosen = spread % choices.size();
    spread /= choices.size();
    return chosen;
  });
}

}  // namespace shardsim::network
