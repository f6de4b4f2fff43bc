#include "models/network/graph.hpp"

#include <doctest/doctest.h>

#include "models/network/device_name.hpp"

namespace shardsim::network {

namespace {

using simcore::BitRate;
using simcore::SimTime;

LinkId join(Graph& graph, VertexId from, VertexId to, LinkKind kind) {
  return graph.add_link({.from = from,
                         .to = to,
                         .kind = kind,
                         .bandwidth = BitRate{1e9},
                         .latency = SimTime::microseconds(1)});
}

/// Two nodes of one GPU and one NIC, on one leaf.
Graph two_nodes() {
  Graph graph;
  std::vector<VertexId> nics;
  for (std::int32_t node = 0; node < 2; ++node) {
    const VertexId gpu = graph.add_vertex({.kind = DeviceKind::gpu, .node = node});
    nics.push_back(graph.add_vertex({.kind = DeviceKind::nic, .node = node}));
    join(graph, gpu, nics.back(), LinkKind::pcie);
    join(graph, nics.back(), gpu, LinkKind::pcie);
  }
  const VertexId leaf = graph.add_vertex({.kind = DeviceKind::network_switch});
  for (const VertexId nic : nics) {
    join(graph, nic, leaf, LinkKind::network);
    join(graph, leaf, nic, LinkKind::network);
  }
  return graph;
}

}  // namespace

TEST_CASE("GPUs are ranks in the order in which they were added") {
  const Graph graph = two_nodes();
  CHECK(graph.gpu_count() == 2);
  CHECK(graph.node_count() == 2);
  CHECK(graph.gpu(1) == 2);
  CHECK(graph.node_of(1) == 1);
  CHECK(graph.local_index(1) == 0);
  CHECK(graph.devices_of(1).size() == 2);
  CHECK(graph.devices_of(-1).size() == 1);
}

TEST_CASE("devices and links have names that find them again") {
  const Graph graph = two_nodes();
  for (VertexId v = 0; v < graph.vertices().size(); ++v) {
    CHECK(graph.find_vertex(graph.vertex_name(v)) == v);
  }
  CHECK(graph.vertex_name(4) == "leaf[0]");
  CHECK(graph.link_name(0) == "node[0].gpu[0]->node[0].nic[0]");
  CHECK_FALSE(graph.find_vertex("node[2].gpu[0]"));
  CHECK_FALSE(graph.find_vertex("node[0].gpu[1]"));
  CHECK_FALSE(graph.find_vertex("spine[0]"));
  CHECK_FALSE(graph.find_vertex("node[*].gpu[0]"));
}

TEST_CASE("a name speaks of one direction, of both, or of all links of a device") {
  const Graph graph = two_nodes();
  CHECK(*graph.links_named("node[0].gpu[0]->node[0].nic[0]") == std::vector<LinkId>{0});
  CHECK(*graph.links_named("node[0].gpu[0]<->node[0].nic[0]") == std::vector<LinkId>{0, 1});
  CHECK(graph.links_named("node[0].nic[0]")->size() == 4);
  CHECK(graph.links_named("leaf[0]->node[1].gpu[0]").error() ==
        "no link joins 'leaf[0]' and 'node[1].gpu[0]'");
  CHECK(graph.links_named("node[9].nic[0]").error() == "there is no device 'node[9].nic[0]'");
  CHECK(graph.links_named("node[0].nick[0]").error() ==
        "'nick' is no kind of device; did you mean 'nic'?");
}

TEST_CASE("every kind of device has a name that parses to itself") {
  for (const char* name :
       {"node[0].gpu[3]", "node[12].nvswitch[0]", "node[1].pcie_switch[2]", "node[0].cpu[1]",
        "node[2].nic[0]", "leaf[1]", "spine[0]", "core[10]", "nvswitch[4]", "node[*].nic[7]"}) {
    const auto device = parse_device_name(name);
    INFO(name);
    REQUIRE(device.has_value());
    CHECK(device_name(*device) == name);
  }
}

TEST_CASE("malformed device names are refused") {
  for (const char* name : {"",
                           "gpu",
                           "node",
                           "node[0]",
                           "node[0].",
                           "node[].gpu[0]",
                           "node[0].gpu[]",
                           "gpu[0]",
                           "node[0].leaf[0]",
                           "leaf[01]",
                           "leaf[-1]",
                           "leaf[+1]",
                           "leaf[1",
                           "leaf[1]x",
                           "leaf[*]",
                           "leaf[99999999999]",
                           "node[0].gpu[0].nic[0]",
                           "[0]",
                           "rack[0].gpu[0]",
                           " leaf[0]"}) {
    INFO(name);
    CHECK_FALSE(parse_device_name(name).has_value());
  }
}

TEST_CASE("a graph in which all devices reach each other has no disconnected pair") {
  Graph graph = two_nodes();
  CHECK_FALSE(graph.disconnected_pair());
  const VertexId lonely = graph.add_vertex({.kind = DeviceKind::nic, .node = 1, .index = 1});
  REQUIRE(graph.disconnected_pair());
  CHECK(graph.disconnected_pair()->second == lonely);
  join(graph, lonely, 4, LinkKind::network);
  CHECK(graph.disconnected_pair());  // one way is not enough
  join(graph, 4, lonely, LinkKind::network);
  CHECK_FALSE(graph.disconnected_pair());
}

TEST_CASE("GPUs joined only through another GPU are not connected") {
  Graph graph;
  for (std::int32_t i = 0; i < 3; ++i) {
    graph.add_vertex({.kind = DeviceKind::gpu, .node = 0, .index = i});
  }
  for (const auto& [a, b] : {std::pair<VertexId, VertexId>{0, 1}, {1, 2}}) {
    join(graph, a, b, LinkKind::nvlink);
    join(graph, b, a, LinkKind::nvlink);
  }
  CHECK(graph.disconnected_pair() == std::pair<VertexId, VertexId>{0, 2});
  CHECK_FALSE(graph.reachable(0, 2));
  join(graph, 0, 2, LinkKind::nvlink);
  join(graph, 2, 0, LinkKind::nvlink);
  CHECK_FALSE(graph.disconnected_pair());
}

TEST_CASE("an empty graph and a lone GPU are connected") {
  Graph graph;
  CHECK_FALSE(graph.disconnected_pair());
  CHECK(graph.node_count() == 0);
  graph.add_vertex({.kind = DeviceKind::gpu, .node = 0});
  CHECK_FALSE(graph.disconnected_pair());
  CHECK(graph.nics_of(0).empty());
  CHECK(graph.rail_nics(0).empty());
  CHECK(graph.route(0, 0).empty());
  CHECK(graph.reachable(0, 0));
}

}  // namespace shardsim::network
