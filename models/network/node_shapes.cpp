#include "models/network/node_shapes.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace shardsim::network {

namespace {

/// Where nearly every node is different, comparing each with each would take its time.
constexpr std::size_t most_shapes = 32;

using Devices = std::span<const VertexId>;

class Comparison {
 public:
  explicit Comparison(const RouteTerrain& terrain) : terrain_(terrain) {}

  bool has_shape(Devices node) const {
    if (node.empty() || node.back() - node.front() != node.size() - 1) return false;
    return std::ranges::all_of(node, [&](VertexId device) {
      if (terrain_.vertices[device].kind == DeviceKind::network_switch) return false;
      const auto fine = [&](const Arc& arc) {
        return inside(node, arc.other) || terrain_.links[arc.link].kind == LinkKind::network;
      };
      return std::ranges::all_of(terrain_.adjacency.from(device), fine) &&
             std::ranges::all_of(terrain_.adjacency.to(device), fine);
    });
  }
  bool alike(Devices a, Devices b) const {
    return a.size() == b.size() && std::ranges::equal(a, b, [&](VertexId one, VertexId other) {
             return alike(a, one, b, other);
           });
  }

 private:
  static bool inside(Devices node, VertexId device) {
    return device >= node.front() && device <= node.back();
  }
  bool alike(Devices a, VertexId one, Devices b, VertexId other) const {
    const Vertex& first = terrain_.vertices[one];
    const Vertex& second = terrain_.vertices[other];
    if (first.kind != second.kind || first.index != second.index || first.tier != second.tier) {
      return false;
    }
    return std::ranges::equal(terrain_.adjacency.from(one), terrain_.adjacency.from(other),
                              [&](const Arc& x, const Arc& y) {
                                if (!inside(a, x.other) || !inside(b, y.other)) {
                                  return inside(a, x.other) == inside(b, y.other);
                                }
                                return x.other - a.front() == y.other - b.front() &&
                                       terrain_.links[x.link].kind == terrain_.links[y.link].kind;
                              });
  }

  const RouteTerrain& terrain_;
};

}  // namespace

NodeShapes find_node_shapes(const RouteTerrain& terrain,
                            std::span<const std::vector<VertexId>> devices) {
  const Comparison comparison(terrain);
  NodeShapes shapes;
  shapes.of_node.assign(devices.size(), no_shape);
  std::size_t likely = 0;
  for (std::size_t node = 0; node < devices.size(); ++node) {
    if (!comparison.has_shape(devices[node])) continue;
    auto& known = shapes.first_node_of_shape;
    const auto fits = [&](std::size_t shape) {
      return comparison.alike(devices[known[shape]], devices[node]);
    };
    std::size_t shape = likely;
    if (shape >= known.size() || !fits(shape)) {
      for (shape = 0; shape < known.size() && (shape == likely || !fits(shape));) ++shape;
    }
    if (shape == known.size()) {
      if (known.size() == most_shapes) continue;
      known.push_back(node);
    }
    shapes.of_node[node] = static_cast<std::int32_t>(shape);
    likely = shape;
  }
  return shapes;
}

}  // namespace shardsim::network
