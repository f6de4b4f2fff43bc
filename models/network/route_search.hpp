// The search behind Graph::route: breadth first from both ends at once.
//
// Meeting in the middle keeps the search away from switches with thousands of ports: of a route
// NIC, leaf, spine, leaf, NIC only the links of the two NICs and of one leaf are looked at. All
// shortest ways are kept as steps, so that ties can be broken afterwards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "models/network/graph.hpp"

namespace shardsim::network {

/// What a search may touch.
struct RouteScope {
  LinkKind worst = LinkKind::network;  ///< links of this kind and better
  /// All nodes; else the nodes of the two ends and the fabric.
  bool everywhere = false;
};

/// `Adjacency` offers for_each_link_from(v, f), for_each_link_to(v, f) with f(other end, link) in
/// order of the other end, link_count_from(v), link_count_to(v), vertex(v), link(l), slot(v): the
/// position among the devices of its node, slots_of(node): their number, port(v): of a NIC on its
/// switch, and vertex_count().
template <class Adjacency>
class RouteSearch {
 public:
  RouteSearch(const Adjacency& adjacency, VertexId from, VertexId to, RouteScope scope)
      : graph_(adjacency), from_(from), to_(to), scope_(scope) {
    from_node_ = graph_.vertex(from).node;
    to_node_ = graph_.vertex(to).node;
    const std::size_t fabric = graph_.slots_of(-1);
    from_base_ = from_node_ < 0 ? 0 : fabric;
    to_base_ = to_node_ < 0 ? 0
               : to_node_ == from_node_
                   ? from_base_
                   : fabric + (from_node_ < 0 ? 0 : graph_.slots_of(from_node_));
    const std::size_t size =
        scope_.everywhere
            ? graph_.vertex_count()
            : std::max({fabric, from_base_ + (from_node_ < 0 ? 0 : graph_.slots_of(from_node_)),
                        to_base_ + (to_node_ < 0 ? 0 : graph_.slots_of(to_node_))});
    forward_depth_.assign(size, unseen);
    backward_depth_.assign(size, unseen);
  }

  /// The route, or nothing if the scope holds none.
  std::vector<LinkId> run() {
    forward_depth_[place(from_)] = 0;
    backward_depth_[place(to_)] = 0;
    std::vector<VertexId> ahead{from_};
    std::vector<VertexId> behind{to_};
    while (!ahead.empty() && !behind.empty()) {
      if (ports(ahead, true) <= ports(behind, false)) {
        expand_forward(ahead);
      } else {
        expand_backward(behind);
      }
      if (met_) return walk();
    }
    return {};
  }

 private:
  using Depth = std::uint32_t;
  static constexpr Depth unseen = std::numeric_limits<Depth>::max();

  struct Step {
    VertexId from;
    VertexId to;
    LinkId link;
  };

  bool in_scope(VertexId v) const {
    const Vertex& vertex = graph_.vertex(v);
    if (vertex.kind == DeviceKind::gpu && v != from_ && v != to_) return false;
    return scope_.everywhere || vertex.node < 0 || vertex.node == from_node_ ||
           vertex.node == to_node_;
  }
  std::size_t place(VertexId v) const {
    if (scope_.everywhere) return v;
    const std::int32_t node = graph_.vertex(v).node;
    if (node < 0) return graph_.slot(v);
    return (node == from_node_ ? from_base_ : to_base_) + graph_.slot(v);
  }
  /// A NIC at an end is used from its network side where the network is needed.
  bool usable(VertexId from, VertexId to, LinkId link) const {
    const LinkKind kind = graph_.link(link).kind;
    if (kind > scope_.worst) return false;
    if (scope_.worst != LinkKind::network || kind == LinkKind::network) return true;
    return !(from == from_ && graph_.vertex(from).kind == DeviceKind::nic) &&
           !(to == to_ && graph_.vertex(to).kind == DeviceKind::nic);
  }
  std::size_t ports(const std::vector<VertexId>& frontier, bool forward) const {
    std::size_t sum = 0;
    for (const VertexId v : frontier) {
      sum += forward ? graph_.link_count_from(v) : graph_.link_count_to(v);
    }
    return sum;
  }

  void expand_forward(std::vector<VertexId>& frontier) {
    std::vector<VertexId> next;
    for (const VertexId u : frontier) {
      const Depth depth = forward_depth_[place(u)] + 1;
      graph_.for_each_link_from(u, [&](VertexId v, LinkId link) {
        if (!in_scope(v) || !usable(u, v, link)) return;
        Depth& seen = forward_depth_[place(v)];
        if (seen == unseen) {
          seen = depth;
          next.push_back(v);
          met_ |= backward_depth_[place(v)] != unseen;
        }
        if (seen == depth) forward_steps_.push_back({u, v, link});
      });
    }
    frontier = std::move(next);
  }
  void expand_backward(std::vector<VertexId>& frontier) {
    std::vector<VertexId> next;
    for (const VertexId v : frontier) {
      const Depth depth = backward_depth_[place(v)] + 1;
      graph_.for_each_link_to(v, [&](VertexId u, LinkId link) {
        if (!in_scope(u) || !usable(u, v, link)) return;
        Depth& seen = backward_depth_[place(u)];
        if (seen == unseen) {
          seen = depth;
          next.push_back(u);
          met_ |= forward_depth_[place(u)] != unseen;
        }
        if (seen == depth) backward_steps_.push_back({u, v, link});
      });
    }
    frontier = std::move(next);
  }

  /// Drops forward steps that lead nowhere; steps stand by depth, so one pass from the end does.
  void keep_forward_steps_that_arrive() {
    std::vector<Step> kept;
    std::vector<bool> arrives(backward_depth_.size());
    for (std::size_t i = 0; i < arrives.size(); ++i) arrives[i] = backward_depth_[i] != unseen;
    for (auto step = forward_steps_.rbegin(); step != forward_steps_.rend(); ++step) {
      if (!arrives[place(step->to)]) continue;
      arrives[place(step->from)] = true;
      kept.push_back(*step);
    }
    forward_steps_ = std::move(kept);
  }

  std::vector<LinkId> walk() {
    keep_forward_steps_that_arrive();
    std::vector<LinkId> route;
    std::size_t spread = target_port();
    std::vector<Step> choices;
    for (VertexId at = from_; at != to_;) {
      choices.clear();
      for (const Step& step : forward_steps_) {
        if (step.from == at) choices.push_back(step);
      }
      for (const Step& step : backward_steps_) {
        if (step.from == at) choices.push_back(step);
      }
      std::ranges::sort(choices, {}, &Step::to);
      const Step& step = choices[choose(at, choices, spread)];
      route.push_back(step.link);
      at = step.to;
    }
    return route;
  }
  std::size_t choose(VertexId at, const std::vector<Step>& choices, std::size_t& spread) const {
    const auto is_switch = [&](VertexId v) {
      return graph_.vertex(v).kind == DeviceKind::network_switch;
    };
    if (choices.size() < 2 || !is_switch(at)) return 0;
    if (!std::ranges::all_of(choices, is_switch, &Step::to)) return 0;
    const std::size_t chosen = spread % choices.size();
    spread /= choices.size();
    return chosen;
  }
  /// Port of the NIC by which the route arrives.
  std::size_t target_port() const {
    if (graph_.vertex(to_).kind == DeviceKind::nic) return graph_.port(to_);
    for (const Step& step : backward_steps_) {
      if (graph_.vertex(step.from).kind == DeviceKind::nic) return graph_.port(step.from);
    }
    return 0;
  }

  const Adjacency& graph_;
  VertexId from_;
  VertexId to_;
  RouteScope scope_;
  std::int32_t from_node_ = -1;
  std::int32_t to_node_ = -1;
  std::size_t from_base_ = 0;
  std::size_t to_base_ = 0;
  bool met_ = false;
  std::vector<Depth> forward_depth_;
  std::vector<Depth> backward_depth_;
  std::vector<Step> forward_steps_;
  std::vector<Step> backward_steps_;
};

}  // namespace shardsim::network
