// The cluster as a directed graph: devices are vertices, each direction of a cable is a link.
//
// Models: GPUs, NVLink switches, PCIe switches, CPUs, NICs and network switches; the bandwidth that
// a link can carry (nominal bandwidth times efficiency) and its latency. Assumes that a route is
// fixed while it is used; that PCIe and CPU links stay within a node; that parallel cables between
// two devices are one link. Leaves out packets: a link is a capacity that flows share.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::network {

using VertexId = std::uint32_t;
using LinkId = std::uint32_t;

enum class DeviceKind : std::uint8_t { gpu, nvswitch, pcie_switch, cpu, nic, network_switch };
/// In order of preference: a route is as good as its worst link.
enum class LinkKind : std::uint8_t { nvlink, pcie, cpu_interconnect, network };

struct Vertex {
  DeviceKind kind = DeviceKind::gpu;
  std::int32_t node = -1;  ///< node that holds the device; -1 for the fabric's switches
  std::int32_t index = 0;  ///< counted within its kind and node (or fabric tier)
  std::int32_t tier = 0;   ///< network switches: 0 leaf, 1 spine, 2 core
};

struct Link {
  VertexId from = 0;
  VertexId to = 0;
  LinkKind kind = LinkKind::nvlink;
  simcore::BitRate bandwidth;  ///< what data can use: nominal bandwidth times efficiency
  simcore::SimTime latency;
};

struct LinkUse {
  LinkId link = 0;
  double weight = 1;  ///< bytes on the link per byte of the flow, > 0
};

/// Links that carry nothing at present.
class LinkOutages {
 public:
  explicit LinkOutages(std::size_t links) : down_(links, false) {}
  bool down(LinkId link) const { return down_[link]; }
  bool any() const { return count_ > 0; }
  void set(LinkId link, bool down) {
    if (down_[link] == down) return;
    down_[link] = down;
    down ? ++count_ : --count_;
  }

 private:
  std::vector<bool> down_;
  std::size_t count_ = 0;  ///< of links that are down
};

/// What a way depends on beside its two ends.
struct RouteRequest {
  std::uint64_t flow = 0;                ///< tells flows between the same ends apart, for ECMP
  const LinkOutages* outages = nullptr;  ///< links to avoid; nothing: none
  std::span<const double> loads{};       ///< bytes by link, for adaptive routing; empty: none
  double share = 1;                      ///< bytes that this way adds to them
};

struct RouteError;
struct RoutingSpec;
struct RouteTerrain;

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  /// GPUs become ranks in the order in which they are added, node by node. Names are unique.
  VertexId add_vertex(const Vertex& vertex);
  /// Adds one direction. Both ends exist and differ, and there is no such link yet.
  LinkId add_link(const Link& link);

  std::span<const Vertex> vertices() const;
  std::span<const Link> links() const;
  /// Devices of a node, or with -1 of the fabric, in the order in which they were added.
  std::span<const VertexId> devices_of(int node) const;
  /// Links that leave a vertex, by the vertex they lead to.
  std::vector<LinkId> links_from(VertexId vertex) const;
  std::optional<LinkId> find_link(VertexId from, VertexId to) const;
  /// The link at a place among those that leave a vertex, by the vertex they lead to.
  LinkId link_from(VertexId vertex, std::size_t place) const;

  /// Finds out which nodes are built alike (node_shapes.hpp). Worth it once all is added; a device,
  /// a link or a static route added later undoes it.
  void find_node_shapes();
  /// Ways inside nodes of one shape that use no network take links at the same places. Negative: of
  /// no shape.
  std::int32_t shape_of_node(int node) const;
  /// Place of a device among those of its node.
  std::size_t slot_of(VertexId vertex) const;

  /// A NIC that did not come up: it is dealt to no GPU. Routes do not ask, they go by outages.
  void set_down(VertexId nic);
  bool is_down(VertexId nic) const;
  bool any_down() const;

  int gpu_count() const;
  VertexId gpu(int rank) const;
  int node_count() const;
  int node_of(int rank) const;
  /// Position of the rank's GPU within its node.
  int local_index(int rank) const;

  /// "node[2].nic[0]", "node[0].gpu[3]", "leaf[1]"; a link is
  /// "node[0].gpu[3]->node[0].nvswitch[0]".
  std::string vertex_name(VertexId vertex) const;
  std::string link_name(LinkId link) const;
  std::optional<VertexId> find_vertex(std::string_view name) const;
  /// The links that a name speaks of: "A->B" one direction, "A<->B" both, "A" every link of the
  /// device. The error says what was expected.
  std::expected<std::vector<LinkId>, std::string> links_named(std::string_view name) const;

  /// Links of the shortest route by (worst kind of link, hops, vertex order). GPUs other than the
  /// two ends carry no transit traffic; a NIC at an end is left, and entered, by its network port
  /// if the route needs the network. Among equally short ways up a fabric the target's port number
  /// decides, as static D-mod-K routing does, so that targets are dealt out over the switches.
  /// Empty if `from` == `to`; an unreachable target is reported by `reachable`.
  std::vector<LinkId> route(VertexId from, VertexId to) const;
  bool reachable(VertexId from, VertexId to) const;
  /// The way, or with packet spraying the share of each link of all ways, that the cluster's
  /// routing chooses (routing.hpp) among the shortest; `route` with its shares of 1 unless
  /// set_routing said otherwise. Empty if `from` == `to` or if there is no way.
  std::vector<LinkUse> ways(VertexId from, VertexId to, const RouteRequest& request = {}) const;
  /// Hops of the shortest route; nothing if there is none.
  std::optional<std::size_t> distance(VertexId from, VertexId to) const;
  /// The error names a device of a static table that does not exist or is not joined to the next.
  std::expected<void, RouteError> set_routing(const RoutingSpec& routing);
  const RoutingSpec& routing() const;
  /// What searches walk on; holds while nothing is added.
  RouteTerrain terrain() const;
  /// Of a NIC: its port on its switch, counted in the order in which NICs were joined to that.
  std::size_t port_of(VertexId nic) const;

  /// NICs of the GPU's node that are up, nearest first (as routes are compared), ties by index;
  /// empty if the node has none or the GPU reaches none of them inside the node.
  std::vector<VertexId> nics_of(int rank) const;
  /// The nearest NICs dealt out among the GPUs of the node that share them: GPU i of 8 beside 8
  /// NICs has its own rail, 2 GPUs beside 1 NIC share it, 1 GPU beside 4 NICs has all four.
  std::vector<VertexId> rail_nics(int rank) const;

  /// Two devices that cannot reach each other, if there are any; the first is a GPU. GPUs must have
  /// routes to all GPUs; other devices must be joined to them in any way, be it through GPUs.
  std::optional<std::pair<VertexId, VertexId>> disconnected_pair() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardsim::network
