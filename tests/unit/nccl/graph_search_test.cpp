// The channel search against what NCCL's own finds.
#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include <doctest/doctest.h>

#include "models/nccl/graph_search.hpp"
#include "models/nccl/topology_xml.hpp"
#include "tests/unit/nccl/connect_cases.hpp"
#include "tests/unit/nccl/csv_rows.hpp"

namespace shardsim::nccl {

namespace {

struct Planned {
  std::unique_ptr<System> system;
  std::unique_ptr<Landscape> land;
  NodeGraphs graphs;
};

Planned plan(const std::string& machine, NcclVersion version, bool several_nodes,
             const GraphWishes& wishes = {}, PlanningOptions options = {}) {
  auto source = std::make_shared<simcore::SourceText>();
  source->name = machine;
  source->text = machine_xml(machine);
  simcore::Diagnostics diagnostics;
  const auto description = read_topology_xml(source, diagnostics);
  REQUIRE_MESSAGE(description.has_value(), simcore::to_text(diagnostics));
  Planned planned;
  planned.system = std::make_unique<System>(build_system(*description, version));
  options.several_nodes = several_nodes;
  planned.land = std::make_unique<Landscape>(survey(*planned.system, options));
  planned.graphs = search_graphs(*planned.land, wishes);
  return planned;
}

const ChannelGraph& graph_named(const NodeGraphs& graphs, std::string_view name) {
  if (name == "ring") return graphs.ring;
  return name == "tree" ? graphs.tree : graphs.nvls;
}

/// The columns of data/searched_graphs.csv from `pattern` on.
std::string row_of(const ChannelGraph& graph, const Landscape& land) {
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(), "%d,%d,%d,%g,%g,%g,%s,%s,%d,%zu,%g,%g",
                static_cast<int>(graph.pattern), graph.cross_nic, graph.channel_count(),
                static_cast<double>(graph.intra_gbytes_per_second),
                static_cast<double>(graph.inter_gbytes_per_second),
                static_cast<double>(graph.latency_us),
                std::string(path_type_name(graph.type_intra)).c_str(),
                std::string(path_type_name(graph.type_inter)).c_str(), graph.same_channels ? 1 : 0,
                land.system->gpus.size(), static_cast<double>(land.max_gbytes_per_second),
                static_cast<double>(land.total_gbytes_per_second));
  return text.data();
}

/// The cells of the row from `pattern` on, as they stand in the file.
std::string wanted_row(const CsvRows& rows, std::size_t row) {
  constexpr std::array columns = {"pattern",  "crossNic",  "nChannels", "bwIntra",
                                  "bwInter",  "latInter",  "typeIntra", "typeInter",
                                  "sameChannels", "ppn",   "maxBw",     "totalBw"};
  std::string text;
  for (const char* column : columns) {
    if (!text.empty()) text += ',';
    text += rows.text(row, column);
  }
  return text;
}

/// Machines on which the search is long; all of their versions are left to the slow test.
bool is_long(std::string_view machine) {
  return machine == "hgx_h100_4x400g" || machine.starts_with("gb200");
}

int compare_with_data(bool long_ones) {
  const std::filesystem::path data = std::filesystem::path(SHARDSIM_SOURCE_DIR) / "tests/unit/nccl/data";
  const CsvRows rows(data / "searched_graphs.csv");
  std::map<std::tuple<std::string, std::string, bool>, Planned> planned;
  int compared = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string version(rows.text(row, "nccl_version"));
    const std::string machine(rows.text(row, "machine"));
    if (is_long(machine) && version != "2.30.7" && !long_ones) continue;
    const bool several = rows.text(row, "nodes") == "several";
    auto [place, is_new] = planned.try_emplace({version, machine, several});
    if (is_new) {
      const auto parsed = parse_nccl_version(version);
      REQUIRE(parsed.has_value());
      place->second = plan(machine, *parsed, several);
    }
    CAPTURE(version);
    CAPTURE(machine);
    CAPTURE(several);
    const ChannelGraph& graph = graph_named(place->second.graphs, rows.text(row, "graph"));
    CHECK(row_of(graph, *place->second.land) == wanted_row(rows, row));
    ++compared;
  }
  return compared;
}

bool same_channels(const ChannelGraph& ours, const ChannelGraph& theirs) {
  if (ours.channels.size() != theirs.channels.size()) return false;
  for (std::size_t c = 0; c < ours.channels.size(); ++c) {
    const GraphChannel& own = ours.channels[c];
    const GraphChannel& known = theirs.channels[c];
    if (own.ranks != known.ranks || own.net_in != known.net_in || own.net_out != known.net_out) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("the search finds NCCL's channels, bandwidths and path types") {
  CHECK(compare_with_data(false) > 380);
}

TEST_CASE("the search agrees on every machine and version of the data" * doctest::skip()) {
  CHECK(compare_with_data(true) > 470);
}

TEST_CASE("channels visit the GPUs in NCCL's order and use its NICs") {
  for (const ConnectCase& known : connect_cases()) {
    if (known.nodes > 2) continue;  // as with two
    CAPTURE(known.machine);
    CAPTURE(known.nodes);
    const Planned planned = plan(known.machine, {30, 7}, known.nodes > 1);
    CHECK(same_channels(planned.graphs.ring, known.ring));
    CHECK(same_channels(planned.graphs.tree, known.tree));
    CHECK(same_channels(planned.graphs.nvls, known.nvls));
  }
}

TEST_CASE("without NVLS, or on GPUs that cannot do it, there are no NVLS channels") {
  CHECK(plan("dgx_a100_8x200g", {30, 7}, false).graphs.nvls.channels.empty());
  CHECK(plan("dgx_h100_8x400g", {30, 7}, false, {false, false}).graphs.nvls.channels.empty());
}

TEST_CASE("CollNet graphs need a network that reduces") {
  const Planned planned = plan("dgx_h100_8x400g", {30, 7}, true, {true, true});
  REQUIRE(planned.graphs.collnet_chain.has_value());
  REQUIRE(planned.graphs.collnet_direct.has_value());
  CHECK(planned.graphs.collnet_chain->channels.empty());
  CHECK(planned.graphs.collnet_direct->channels.empty());
  CHECK_FALSE(plan("ppn1_h100_400g", {30, 7}, true).graphs.collnet_direct.has_value());
}

TEST_CASE("a NIC that may not be crossed keeps each ring on one NIC") {
  PlanningOptions options;
  options.cross_nic = 0;
  const Planned planned = plan("dgx_h100_8x400g", {30, 7}, true, {}, options);
  CHECK(planned.graphs.ring.cross_nic == 0);
  for (const GraphChannel& channel : planned.graphs.ring.channels) {
    CHECK(channel.net_in == channel.net_out);
  }
}

TEST_CASE("without peer-to-peer all traffic goes through the CPUs") {
  PlanningOptions options;
  options.p2p_level = PathType::loc;
  const Planned planned = plan("dgx_h100_8x400g", {30, 7}, false, {}, options);
  CHECK(planned.graphs.ring.type_intra >= PathType::phb);
  CHECK(planned.graphs.ring.channel_count() *
            static_cast<double>(planned.graphs.ring.intra_gbytes_per_second) <
        60);
}

}  // namespace shardsim::nccl
