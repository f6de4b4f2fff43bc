#include "models/network/route_search.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory_resource>
#include <tuple>
#include <utility>

namespace shardsim::network {

namespace {

using Depth = std::uint32_t;
constexpr std::size_t likely_steps = 64;
constexpr Depth unseen = std::numeric_limits<Depth>::max();

/// Distances of the vertices seen so far: open addressing, a power of two of places.
class SeenVertices {
 public:
  struct Place {
    VertexId vertex = std::numeric_limits<VertexId>::max();
    Depth forward = unseen;
    Depth backward = unseen;
    bool arrives = false;  ///< lies on a way
  };

  SeenVertices() { first_.fill(Place{}); }

  Place& at(VertexId vertex) {
    if (2 * used_ >= places_.size()) grow();
    Place& place = slot(vertex);
    if (place.vertex != vertex) {
      place.vertex = vertex;
      ++used_;
    }
    return place;
  }

 private:
  Place& slot(VertexId vertex) {
    const std::uint32_t hash = vertex * 0x9e3779b1U;  // 2^32 / golden ratio
    std::size_t i = hash & (places_.size() - 1);
    while (places_[i].vertex != vertex && places_[i].vertex != Place{}.vertex) {
      i = (i + 1) & (places_.size() - 1);
    }
    return places_[i];
  }
  void grow() {
    const std::span<const Place> old = places_;
    std::vector<Place> more(2 * old.size());
    places_ = more;
    for (const Place& place : old) {
      if (place.vertex != Place{}.vertex) slot(place.vertex) = place;
    }
    more_ = std::move(more);
  }

  std::array<Place, 64> first_;  ///< most searches need no more, and no memory of the heap
  std::vector<Place> more_;
  std::span<Place> places_ = first_;
  std::size_t used_ = 0;
};

class RouteSearch {
 public:
  RouteSearch(const RouteTerrain& terrain, VertexId from, VertexId to, const RouteScope& scope)
      : terrain_(terrain),
        from_(from),
        to_(to),
        scope_(scope),
        from_node_(terrain.vertices[from].node),
        to_node_(terrain.vertices[to].node) {}

  Ways run() {
    forward_steps_.reserve(likely_steps);
    backward_steps_.reserve(likely_steps);
    made_.all.reserve(likely_steps);
    seen_.at(from_).forward = 0;
    seen_.at(to_).backward = 0;
    Vertices ahead({from_}, &arena_);
    Vertices behind({to_}, &arena_);
    while (!met_ && !ahead.empty() && !behind.empty()) {
      if (ports(ahead, true) <= ports(behind, false)) {
        expand_forward(ahead);
      } else {
        expand_backward(behind);
      }
    }
    return met_ ? ways() : Ways{from_, to_, {}, {}};
  }

 private:
  using Vertices = std::pmr::vector<VertexId>;
  using Steps = std::pmr::vector<RouteStep>;
  using Ends = std::pmr::vector<std::size_t>;

  bool in_scope(VertexId v) const {
    const Vertex& vertex = terrain_.vertices[v];
    if (vertex.kind == DeviceKind::gpu && v != from_ && v != to_) return false;
    return scope_.everywhere || vertex.node < 0 || vertex.node == from_node_ ||
           vertex.node == to_node_;
  }
  /// A NIC at an end is used from its network side where the network is needed.
  bool usable(VertexId from, VertexId to, LinkId link) const {
    if (scope_.outages && scope_.outages->down(link)) return false;
    if (scope_.worst == LinkKind::network && from != from_ && to != to_) return true;
    const LinkKind kind = terrain_.links[link].kind;
    if (kind > scope_.worst) return false;
    if (scope_.worst != LinkKind::network || kind == LinkKind::network) return true;
    return !(from == from_ && terrain_.vertices[from].kind == DeviceKind::nic) &&
           !(to == to_ && terrain_.vertices[to].kind == DeviceKind::nic);
  }
  std::size_t ports(const Vertices& frontier, bool forward) const {
    std::size_t sum = 0;
    for (const VertexId v : frontier) {
      sum += forward ? terrain_.adjacency.from(v).size() : terrain_.adjacency.to(v).size();
    }
    return sum;
  }

  void expand_forward(Vertices& frontier) {
    Vertices next(&arena_);
    for (const VertexId u : frontier) {
      const Depth depth = seen_.at(u).forward + 1;
      for (const Arc& arc : terrain_.adjacency.from(u)) {
        if (!in_scope(arc.other) || !usable(u, arc.other, arc.link)) continue;
        SeenVertices::Place& place = seen_.at(arc.other);
        if (place.forward == unseen) {
          place.forward = depth;
          next.push_back(arc.other);
          met_ |= place.backward != unseen;
        }
        if (place.forward == depth) forward_steps_.push_back({u, arc.other, arc.link});
      }
    }
    frontier = std::move(next);
    forward_ends_.push_back(forward_steps_.size());
  }
  void expand_backward(Vertices& frontier) {
    Vertices next(&arena_);
    for (const VertexId v : frontier) {
      const Depth depth = seen_.at(v).backward + 1;
      for (const Arc& arc : terrain_.adjacency.to(v)) {
        if (!in_scope(arc.other) || !usable(arc.other, v, arc.link)) continue;
        SeenVertices::Place& place = seen_.at(arc.other);
        if (place.backward == unseen) {
          place.backward = depth;
          next.push_back(arc.other);
          met_ |= place.forward != unseen;
        }
        if (place.backward == depth) backward_steps_.push_back({arc.other, v, arc.link});
      }
    }
    frontier = std::move(next);
    backward_ends_.push_back(backward_steps_.size());
  }

  /// Steps stand by depth, so one pass from the far end finds those that arrive.
  void keep_forward_steps_that_arrive() {
    const auto arrives = [&](VertexId v) {
      const SeenVertices::Place& place = seen_.at(v);
      return place.arrives || place.backward != unseen;
    };
    // From the far end: kept steps of a level stand together, the levels in reverse.
    Steps kept(&arena_);
    Ends ends(&arena_);
    kept.reserve(forward_steps_.size());
    for (std::size_t level = forward_ends_.size(); level-- > 0;) {
      const std::size_t begin = level == 0 ? 0 : forward_ends_[level - 1];
      for (std::size_t i = begin; i < forward_ends_[level]; ++i) {
        if (!arrives(forward_steps_[i].to)) continue;
        seen_.at(forward_steps_[i].from).arrives = true;
        kept.push_back(forward_steps_[i]);
      }
      ends.push_back(kept.size());
    }
    for (std::size_t level = ends.size(); level-- > 0;) {
      const std::size_t begin = level == 0 ? 0 : ends[level - 1];
      add_level({kept.data() + begin, ends[level] - begin});
    }
  }
  /// Backward steps are followed from `reached` only: where both searches met.
  void keep_backward_steps_from(Vertices reached) {
    for (std::size_t level = backward_ends_.size(); level-- > 0;) {
      std::ranges::sort(reached);
      Steps kept(&arena_);
      Vertices next(&arena_);
      const std::size_t begin = level == 0 ? 0 : backward_ends_[level - 1];
      for (std::size_t i = begin; i < backward_ends_[level]; ++i) {
        const RouteStep& step = backward_steps_[i];
        if (!std::ranges::binary_search(reached, step.from)) continue;
        kept.push_back(step);
        next.push_back(step.to);
      }
      add_level(kept);
      reached = std::move(next);
    }
  }
  void add_level(std::span<const RouteStep> steps) {
    const auto begin = static_cast<std::ptrdiff_t>(made_.all.size());
    made_.all.insert(made_.all.end(), steps.begin(), steps.end());
    std::sort(made_.all.begin() + begin, made_.all.end(),
              [](const RouteStep& a, const RouteStep& b) {
                return std::tie(a.from, a.to) < std::tie(b.from, b.to);
              });
    made_.ends.push_back(made_.all.size());
  }
  Ways ways() {
    made_.from = from_;
    made_.to = to_;
    keep_forward_steps_that_arrive();
    Vertices met({from_}, &arena_);
    if (!forward_ends_.empty()) {
      met.clear();
      for (const RouteStep& step : made_.steps(made_.levels() - 1)) met.push_back(step.to);
    }
    keep_backward_steps_from(std::move(met));
    return std::move(made_);
  }

  const RouteTerrain& terrain_;
  VertexId from_;
  VertexId to_;
  RouteScope scope_;
  std::int32_t from_node_;
  std::int32_t to_node_;
  bool met_ = false;
  SeenVertices seen_;
  std::array<std::byte, 8192> room_;  ///< enough for most searches without the heap
  std::pmr::monotonic_buffer_resource arena_{room_.data(), room_.size()};
  Steps forward_steps_{&arena_};
  Steps backward_steps_{&arena_};
  Ends forward_ends_{&arena_};
  Ends backward_ends_{&arena_};
  Ways made_;
};

}  // namespace

std::span<const RouteStep> Ways::steps(std::size_t level) const {
  const std::size_t begin = level == 0 ? 0 : ends[level - 1];
  return {all.data() + begin, ends[level] - begin};
}

std::span<const RouteStep> Ways::steps_from(std::size_t level, VertexId vertex) const {
  const auto found = std::ranges::equal_range(steps(level), vertex, {}, &RouteStep::from);
  return {found.begin(), found.end()};
}

Ways find_ways(const RouteTerrain& terrain, VertexId from, VertexId to, const RouteScope& scope) {
  return RouteSearch(terrain, from, to, scope).run();
}

}  // namespace shardsim::network
