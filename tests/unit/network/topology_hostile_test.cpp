// Wrong topologies and impossible sizes: each has a message with a place, none is guessed at.
#include <string>

#include <doctest/doctest.h>

#include "topology_fixture.hpp"

namespace shardsim::network {

using testing::good_spec;
using testing::read_spec;
using testing::shipped_spec;

namespace {

constexpr std::string_view good = R"(name: test
gpu: any
node:
  gpus: 4
  nvlink: {layout: nvswitch, links_per_gpu: 12, link: {bandwidth: 25 GB/s}}
  cpus: {count: 2, vendor: amd, interconnect: {bandwidth: 16 GB/s}}
  pcie: {switches: 2, link: {bandwidth: 32 GB/s}}
  nics: {count: 2, link: {bandwidth: 100 Gbit/s}}
fabric: {kind: fat_tree, nodes_per_leaf: 2, max_nodes: 8}
links: []
)";

std::string with(std::string_view what, std::string_view by) {
  std::string text(good);
  const std::size_t place = text.find(what);
  REQUIRE(place != std::string::npos);
  return text.replace(place, what.size(), by);
}

/// Everything that is said of a text.
std::string messages(std::string text) {
  simcore::Diagnostics diagnostics;
  read_spec(std::move(text), diagnostics);
  return simcore::to_text(diagnostics);
}

bool says(std::string text, std::string_view expected) {
  const std::string said = messages(std::move(text));
  INFO("said: " << said);
  INFO("expected: " << expected);
  const bool found = said.find(expected) != std::string::npos;
  CHECK(found);
  return found;
}

std::string size_messages(const TopologySpec& spec, std::int64_t nodes,
                          std::optional<std::int64_t> gpus = std::nullopt) {
  simcore::Diagnostics diagnostics;
  ClusterSize size;
  size.nodes = nodes;
  size.gpus_per_node = gpus;
  CHECK_FALSE(build_graph(spec, size, diagnostics).has_value());
  CHECK(diagnostics.has_errors());
  return simcore::to_text(diagnostics);
}

bool has(const std::string& text, std::string_view part) {
  INFO(text);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("the text that the following ones spoil is right") {
  CHECK(messages(std::string(good)) == "");
}

TEST_CASE("bandwidths and efficiencies that are no capacity") {
  for (const char* bad : {"0 GB/s", "-25 GB/s", "25", "25 GB", "fast"}) {
    INFO(bad);
    CHECK(says(with("bandwidth: 25 GB/s", std::string("bandwidth: ") + bad), "bandwidth"));
  }
  for (const char* bad : {"0 %", "120 %", "-5 %", "1.5"}) {
    INFO(bad);
    CHECK(says(with("bandwidth: 25 GB/s", std::string("bandwidth: 25 GB/s, efficiency: ") + bad),
               "efficiency"));
  }
  CHECK(says(with("bandwidth: 25 GB/s", "latency: 1 us"), "bandwidth"));
  CHECK(says(with("bandwidth: 25 GB/s", "bandwidth: 25 GB/s, latency: -1 us"), "latency"));
}

TEST_CASE("host memory that is none") {
  CHECK(messages(with("vendor: amd", "vendor: amd, memory: 2 TiB")) == "");
  for (const char* bad : {"0 B", "-2 TiB", "2", "2 TB/s", "none"}) {
    INFO(bad);
    CHECK(says(with("vendor: amd", std::string("vendor: amd, memory: ") + bad), "memory"));
  }
}

TEST_CASE("misspelt keys and values are met with the nearest right ones") {
  CHECK(says(with("links_per_gpu", "links_pre_gpu"), "links_per_gpu"));
  CHECK(says(with("fat_tree", "fat_treee"), "did you mean 'fat_tree'"));
  CHECK(says(with("vendor: amd", "vendor: adm"), "did you mean 'amd'"));
  CHECK(says(with("gpus: 4", "gpus: 0"), "gpus"));
  CHECK(says(with("gpus: 4", "gpus: 1e3"), "gpus"));
  CHECK(says(with("kind: fat_tree, ", ""), "kind"));
}

TEST_CASE("a node has no more CPUs and NICs than machines have") {
  CHECK(messages(with("cpus: {count: 2", "cpus: {count: 64")) == "");
  CHECK(says(with("cpus: {count: 2", "cpus: {count: 65"), "64"));
  CHECK(messages(with("nics: {count: 2", "nics: {count: 128")) == "");
  CHECK(says(with("nics: {count: 2", "nics: {count: 129"), "128"));
  CHECK(messages(with("gpus: 4", "gpus: 1024")) == "");
  TopologySpec unswitched = good_spec(std::string(good));
  unswitched.node.nvlink.reset();
  unswitched.node.gpus = 65;
  CHECK(
      has(size_messages(unswitched, 1), "at most 64 in a node without NVLink switches, found 65"));
}

TEST_CASE("keys that contradict each other") {
  CHECK(says(with(", nodes_per_leaf: 2", ""), "needs 'nodes_per_leaf'"));
  CHECK(says(with("kind: fat_tree", "kind: single_switch"), "go with 'rail_optimised'"));
  CHECK(says(with(", interconnect: {bandwidth: 16 GB/s}", ""), "need an 'interconnect'"));
  CHECK(says(with("  nics: {count: 2, link: {bandwidth: 100 Gbit/s}}\n", ""), "needs NICs"));
  CHECK(says(with("  cpus: {count: 2, vendor: amd, interconnect: {bandwidth: 16 GB/s}}\n", ""),
             "needs 'cpus'"));
  CHECK(says(with("layout: nvswitch", "layout: pairs"), "needs the list 'pairs'"));
  CHECK(says(with("layout: nvswitch", "layout: full_mesh, nodes_per_domain: 2"), "spans nodes"));
  CHECK(says(with("layout: nvswitch, links_per_gpu: 12", "layout: full_mesh, links_per_gpu: 2"),
             "needs 3 links"));
  CHECK(says(with("max_nodes: 8", "max_nodes: 8, switches: {leaf: 1}"), "names its switches"));
  CHECK(says(with("max_nodes: 8", "pods: {nodes: 3}"), "multiple of nodes_per_leaf (2)"));
  CHECK(says(with("kind: fat_tree, nodes_per_leaf: 2", "kind: links"), "needs the list 'links'"));
}

TEST_CASE("pairs of GPUs that cannot be") {
  const auto pairs = [](std::string_view list) {
    return with("layout: nvswitch", "layout: pairs, pairs: " + std::string(list));
  };
  CHECK(says(pairs("[{gpus: [0, 4]}]"), "GPUs 0 to 3"));
  CHECK(says(pairs("[{gpus: [-1, 2]}]"), "GPUs 0 to 3"));
  CHECK(says(pairs("[{gpus: [1, 1]}]"), "two different GPUs"));
  CHECK(says(pairs("[{gpus: [0, 1]}, {gpus: [1, 0]}]"), "joined already"));
  CHECK(says(pairs("[{gpus: [0, 1], links: 13}]"), "GPU 0 has only 12 links"));
  CHECK(says(pairs("[{gpus: [0]}]"), "gpus"));
}

TEST_CASE("what hangs on nothing") {
  const auto at = [](std::string_view list) {
    return with("switches: 2, ", "switches: 2, " + std::string(list) + ", ");
  };
  CHECK(messages(at("gpus_at: [\"cpu[0]\", \"cpu[1]\", \"pcie_switch[0]\", \"pcie_switch[1]\"]")) ==
        "");
  CHECK(says(at("gpus_at: [\"cpu[0]\"]"), "expected 4 entries, found 1"));
  CHECK(says(at("nics_at: [\"cpu[2]\", \"cpu[0]\"]"), "found 'cpu[2]'"));
  CHECK(says(at("nics_at: [\"gpu[0]\", \"cpu[0]\"]"), "found 'gpu[0]'"));
  CHECK(
      says(at("switches_at: [\"pcie_switch[1]\", \"pcie_switch[0]\"]"), "found 'pcie_switch[1]'"));
}

TEST_CASE("cables between devices that are not there") {
  const auto link = [](std::string_view from, std::string_view to) {
    return with("links: []", "links:\n  - {from: \"" + std::string(from) + "\", to: \"" +
                                 std::string(to) + "\", bandwidth: 10 GB/s}");
  };
  CHECK(messages(link("node[0].nic[0]", "node[1].nic[0]")) == "");
  CHECK(says(link("node[8].nic[0]", "leaf[0]"), "no device 'node[8].nic[0]' in 8 nodes"));
  CHECK(says(link("node[0].nic[2]", "leaf[0]"), "no device 'node[0].nic[2]'"));
  CHECK(says(link("node[0].nic[0]", "leaf[4]"), "no device 'leaf[4]'"));
  CHECK(says(link("node[0].nic[0]", "core[0]"), "no device 'core[0]'"));
  CHECK(says(link("node[0].nik[0]", "leaf[0]"), "did you mean 'nic'"));
  CHECK(says(link("node[0].gpu[0]", "leaf[0]"), "no cable joins 'gpu' and 'leaf'"));
  CHECK(says(link("node[0].nic[0]", "node[0].nic[0]"), "not linked to itself"));
  CHECK(says(link("node[*].nic[0]", "node[0].nic[1]"), "'node[*]'"));
  CHECK(says(link("node[0].cpu[0]", "node[1].cpu[0]"), "within a node"));
  CHECK(says(link("nvswitch[0]", "node[0].gpu[0]"), "no device 'nvswitch[0]'"));
  std::string unbounded = link("node[0].nic[0]", "node[1].nic[0]");
  const std::string bound = ", max_nodes: 8";
  unbounded.erase(unbounded.find(bound), bound.size());
  CHECK(says(unbounded, "needs 'max_nodes'"));
}

TEST_CASE("messages stand at the line of the key in question") {
  const std::string said = messages(with("links: []",
                                         "links:\n  - {from: \"node[0].nic[0]\", to: \"leaf[9]\", "
                                         "bandwidth: 10 GB/s}"));
  CHECK(has(said, "test.yaml:11:"));
  CHECK(has(said, "links[0].to: "));
}

TEST_CASE("a cable that is there already") {
  const TopologySpec spec = good_spec(with(
      "links: []", "links:\n  - {from: \"node[1].nic[0]\", to: \"leaf[0]\", bandwidth: 10 GB/s}"));
  CHECK(has(size_messages(spec, 2), "'node[1].nic[0]' and 'leaf[0]' are linked already"));
}

TEST_CASE("clusters larger than the topology") {
  const TopologySpec spec = good_spec(std::string(good));
  CHECK(has(size_messages(spec, 9), "takes 1 to 8 nodes (its max_nodes), found 9"));
  CHECK(has(size_messages(spec, 0), "takes 1 to 8 nodes"));
  CHECK(has(size_messages(spec, -3), "found -3"));
  CHECK(has(size_messages(spec, 1, 5), "has 4 GPUs, found gpus_per_node 5"));
  CHECK(has(size_messages(spec, 1, 0), "found gpus_per_node 0"));
  CHECK(has(size_messages(shipped_spec("dgx-h100"), 1'000'000'000'000), "--max-devices"));
  ClusterSize one;
  one.limits.devices = 5;
  simcore::Diagnostics few;
  CHECK_FALSE(build_graph(shipped_spec("dgx-h100"), one, few));
  CHECK(has(simcore::to_text(few), "one node of topology 'dgx-h100' is too many"));
  TopologySpec alone = spec;
  alone.fabric = {};
  CHECK(has(size_messages(alone, 2), "takes 1 to 1 nodes (it has no network), found 2"));
  TopologySpec rack = shipped_spec("gb200-nvl72");
  rack.fabric = {};
  CHECK(has(size_messages(rack, 19), "takes 1 to 18 nodes (it has no network), found 19"));
}

TEST_CASE("a size that is wrong is reported where it stands") {
  auto source = std::make_shared<simcore::SourceText>();
  source->name = "scenario.yaml";
  source->text = "nodes: 9\n";
  ClusterSize size;
  size.nodes = 9;
  size.nodes_where = {source, 1, 8};
  simcore::Diagnostics diagnostics;
  CHECK_FALSE(build_graph(good_spec(std::string(good)), size, diagnostics));
  CHECK(has(simcore::to_text(diagnostics), "scenario.yaml:1:8: error:"));
}

TEST_CASE("devices that nothing joins") {
  const TopologySpec spec = good_spec(R"(
name: apart
gpu: any
node:
  gpus: 1
  cpus: {vendor: intel}
  pcie: {link: {bandwidth: 16 GB/s}}
  nics: {count: 1, link: {bandwidth: 100 Gbit/s}}
fabric: {kind: links, switches: {leaf: 2}, max_nodes: 2}
links:
  - {from: "node[0].nic[0]", to: "leaf[0]", bandwidth: 100 Gbit/s}
  - {from: "node[1].nic[0]", to: "leaf[1]", bandwidth: 100 Gbit/s}
)");
  CHECK(has(size_messages(spec, 2),
            "is not connected: there is no route between "
            "'node[0].gpu[0]' and"));
  TopologySpec gpus_only;
  gpus_only.name = "no links";
  gpus_only.node.gpus = 2;
  CHECK(has(size_messages(gpus_only, 1), "'node[0].gpu[0]' and 'node[0].gpu[1]'"));
}

TEST_CASE("specifications built in code are checked as those from files") {
  const TopologySpec spec = good_spec(std::string(good));
  const auto spoilt = [&](auto change) {
    TopologySpec copy = spec;
    change(copy);
    return size_messages(copy, 1);
  };
  CHECK(has(spoilt([](TopologySpec& s) { s.node.nics->link.bandwidth = {}; }), "node.nics.link"));
  CHECK(has(spoilt([](TopologySpec& s) { s.node.gpus = -1; }), "node.gpus"));
  CHECK(has(spoilt([](TopologySpec& s) { s.node.nvlink->link.efficiency = {2}; }), "node.nvlink"));
  CHECK(has(spoilt([](TopologySpec& s) { s.fabric.spines = -1; }), "fabric"));
  CHECK(has(spoilt([](TopologySpec& s) { s.fabric.pods = PodSpec{.nodes = 0}; }), "fabric"));
  CHECK(has(spoilt([](TopologySpec& s) { s.fabric.oversubscription = 0; }), "fabric"));
  CHECK(has(spoilt([](TopologySpec& s) { s.node.nvlink->nodes_per_domain = 0; }), "node.nvlink"));
}

}  // namespace shardsim::network
