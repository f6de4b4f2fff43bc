// The cluster as a directed graph: devices are vertices, each direction of a cable is a link.
//
// Models: GPUs, NVLink switches, PCIe switches, CPUs, NICs and network switches; the bandwidth that
// a link can carry (nominal bandwidth times efficiency) and its latency. Assumes that a route is
// fixed while it is used. Leaves out packets: a link is a capacity that flows share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::network {

using VertexId = std::uint32_t;
using LinkId = std::uint32_t;

enum class DeviceKind : std::uint8_t { gpu, nvswitch, pcie_switch, cpu, nic, network_switch };
enum class LinkKind : std::uint8_t { nvlink, pcie, cpu_interconnect, network };

struct Vertex {
  DeviceKind kind = DeviceKind::gpu;
  std::int32_t node = -1;   ///< node that holds the device; -1 for the fabric's switches
  std::int32_t index = 0;   ///< counted within its kind and node (or fabric tier)
  std::int32_t tier = 0;    ///< network switches: 0 leaf, 1 spine, 2 core
};

struct Link {
  VertexId from = 0;
  VertexId to = 0;
  LinkKind kind = LinkKind::nvlink;
  simcore::BitRate bandwidth;  ///< what data can use: nominal bandwidth times efficiency
  simcore::SimTime latency;
};

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  VertexId add_vertex(const Vertex& vertex);
  /// Adds one direction.
  LinkId add_link(const Link& link);
  /// GPUs become ranks in the order in which they are added, node by node.

  std::span<const Vertex> vertices() const;
  std::span<const Link> links() const;

  int gpu_count() const;
  VertexId gpu(int rank) const;
  int node_count() const;
  int node_of(int rank) const;
  /// Position of the rank's GPU within its node.
  int local_index(int rank) const;

  /// "node[2].nic[0]", "node[0].gpu[3]", "leaf[1]"; a link is "node[0].gpu[3]->node[0].nvswitch[0]".
  std::string vertex_name(VertexId vertex) const;
  std::string link_name(LinkId link) const;

  /// Links of the shortest route by (latency class of the path, hops, vertex order): NVLink before
  /// PCIe before the network. GPUs other than the two ends carry no transit traffic. Empty if
  /// `from` == `to`; an unreachable target is reported by `reachable`.
  std::vector<LinkId> route(VertexId from, VertexId to) const;
  bool reachable(VertexId from, VertexId to) const;
  /// NICs of the GPU's node nearest to it, best first, ties by index; empty if the node has none.
  std::vector<VertexId> nics_of(int rank) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardsim::network
