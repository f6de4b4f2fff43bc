// The channel search against what NCCL's own finds.
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/nccl/topology_xml.hpp"
#include "tests/unit/nccl/connect_cases.hpp"
#include "tests/unit/nccl/csv_rows.hpp"
#include "tests/unit/nccl/planned_machine.hpp"

namespace shardsim::nccl {

namespace {

const ChannelGraph& graph_named(const NodeGraphs& graphs, std::string_view name) {
  if (name == "ring") return graphs.ring;
  return name == "tree" ? graphs.tree : graphs.nvls;
}

std::string row_of(const ChannelGraph& graph, const Landscape& land) {
  return fmt::format("{},{},{:g},{:g}", summary_row(graph), land.system->gpus.size(),
                     land.max_gbytes_per_second, land.total_gbytes_per_second);
}

/// The cells of the row from `pattern` on, as they stand in the file.
std::string wanted_row(const CsvRows& rows, std::size_t row) {
  constexpr std::array columns = {"pattern",      "crossNic", "nChannels", "bwIntra",
                                  "bwInter",      "latInter", "typeIntra", "typeInter",
                                  "sameChannels", "ppn",      "maxBw",     "totalBw"};
  std::string text;
  for (const char* column : columns) {
    if (!text.empty()) text += ',';
    text += rows.text(row, column);
  }
  return text;
}

/// The rows of the quick test: three versions whose searches differ most, and of machines on which
/// a search is long the last one. The slow test takes them all.
bool is_quick(std::string_view machine, std::string_view version) {
  const bool is_long = machine == "hgx_h100_4x400g" || machine.starts_with("gb200");
  return version == "2.30.7" || (!is_long && (version == "2.18.3" || version == "2.22.3"));
}

int compare_with_data(bool all) {
  const std::filesystem::path data =
      std::filesystem::path(SHARDSIM_SOURCE_DIR) / "tests/unit/nccl/data";
  const CsvRows rows(data / "searched_graphs.csv");
  std::map<std::tuple<std::string, std::string, bool>, PlannedMachine> known;
  int compared = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string version(rows.text(row, "nccl_version"));
    const std::string machine(rows.text(row, "machine"));
    if (!all && !is_quick(machine, version)) continue;
    const bool several = rows.text(row, "nodes") == "several";
    auto [place, is_new] = known.try_emplace({version, machine, several});
    if (is_new) {
      const auto parsed = parse_nccl_version(version);
      REQUIRE(parsed.has_value());
      PlanningOptions options;
      options.several_nodes = several;
      place->second = planned(shipped_machine(machine), *parsed, options);
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

}  // namespace

TEST_CASE("the search finds NCCL's channels, bandwidths and path types") {
  CHECK(compare_with_data(false) > 170);
}

TEST_CASE("the search agrees on every machine and version of the data" * doctest::skip()) {
  CHECK(compare_with_data(true) > 470);
}

TEST_CASE("channels visit the GPUs in NCCL's order and use its NICs") {
  for (const ConnectCase& known : connect_cases()) {
    if (known.nodes > 2) continue;  // as with two
    CAPTURE(known.machine);
    CAPTURE(known.nodes);
    PlanningOptions options;
    options.several_nodes = known.nodes > 1;
    const NodeGraphs graphs = planned(shipped_machine(known.machine), {30, 7}, options).graphs;
    CHECK(same_channels(graphs.ring, known.ring));
    CHECK(same_channels(graphs.tree, known.tree));
    CHECK(same_channels(graphs.nvls, known.nvls));
  }
}

TEST_CASE("without NVLS, or on GPUs that cannot do it, there are no NVLS channels") {
  const auto nvls = [](const std::string& machine, bool wanted) {
    return planned(shipped_machine(machine), {30, 7}, {}, {false, wanted}).graphs.nvls;
  };
  CHECK(nvls("dgx_a100_8x200g", true).channels.empty());
  CHECK(nvls("dgx_h100_8x400g", false).channels.empty());
  CHECK(nvls("dgx_h100_8x400g", true).channel_count() == 8);
}

TEST_CASE("CollNet graphs need a network that reduces") {
  const auto graphs = [](bool reduces, NcclVersion version) {
    std::string text = machine_xml("dgx_h100_8x400g");
    for (std::size_t at = text.find("coll=\"0\""); reduces && at != std::string::npos;
         at = text.find("coll=\"0\"", at)) {
      text.replace(at, 8, "coll=\"1\"");
    }
    simcore::Diagnostics diagnostics;
    const auto machine = read_topology_xml(source_of("changed.xml", text), diagnostics);
    REQUIRE(machine.has_value());
    return planned(*machine, version, on_several_nodes(), {true, true}).graphs;
  };
  const NodeGraphs without = graphs(false, {30, 7});
  REQUIRE(without.collnet_direct.has_value());
  CHECK(without.collnet_chain->channels.empty());
  CHECK(without.collnet_direct->channels.empty());
  const NodeGraphs with = graphs(true, {30, 7});
  CHECK(with.collnet_chain->channel_count() == 8);
  CHECK(with.collnet_direct->pattern == ChannelPattern::collnet_direct);
  CHECK(with.collnet_direct->channel_count() == 8);
  for (int head = 0; head < 8; ++head) {
    CHECK(with.collnet_direct->channels[static_cast<std::size_t>(head)].ranks.front() == head);
  }
  CHECK_FALSE(graphs(true, {21, 5}).collnet_direct.has_value());
}

TEST_CASE("a NIC that may not be crossed keeps each ring on one NIC") {
  PlanningOptions options = on_several_nodes();
  const Machine machine = shipped_machine("dgx_h100_8x400g");
  CHECK(planned(machine, {30, 7}, options).graphs.ring.cross_nic == 2);
  options.cross_nic = 0;
  const ChannelGraph ring = planned(machine, {30, 7}, options).graphs.ring;
  CHECK(ring.cross_nic == 0);
  for (const GraphChannel& channel : ring.channels) CHECK(channel.net_in == channel.net_out);
}

TEST_CASE("without peer-to-peer all traffic goes through the CPUs, and slowly") {
  PlanningOptions options;
  options.p2p_level = PathType::loc;
  const ChannelGraph ring =
      planned(shipped_machine("dgx_h100_8x400g"), {30, 7}, options).graphs.ring;
  CHECK(ring.type_intra >= PathType::phb);
  // Of 360 GB/s over NVLink.
  CHECK(static_cast<float>(ring.channel_count()) * ring.intra_gbytes_per_second < 60);
}

TEST_CASE("GPU traffic through an Intel CPU costs a fifth more of PCIe") {
  // Two GPUs on PCIe 3.0 x16, 12 GB/s each: the speeds tried are 12, 10, 9, ...
  const auto rate = [](const char* vendor) {
    Machine machine;
    CpuEntry& cpu = machine.cpus.emplace_back();
    cpu.architecture = "x86_64";
    cpu.vendor = vendor;
    for (int gpu = 0; gpu < 2; ++gpu) {
      PciEntry& device = cpu.devices.emplace_back();
      device.bus_id = gpu == 0 ? "0000:10:00.0" : "0000:11:00.0";
      device.gpu = GpuEntry{gpu, 80, gpu, true, {}, {}};
    }
    return planned(machine, {30, 7}, {}).graphs.ring.intra_gbytes_per_second;
  };
  CHECK(rate("AuthenticAMD") == 12.0F);
  CHECK(rate("GenuineIntel") == 10.0F);
}

TEST_CASE("each searched channel visits every GPU once and charges no link beyond its bandwidth") {
  for (const char* name : {"dgx1_v100_4x100g", "dgx_a100_8x200g", "pcie_8xL40S_2x200g_amd"}) {
    CAPTURE(name);
    const PlannedMachine made = planned(shipped_machine(name), {30, 7}, {});
    std::vector<float> used(made.system->links.size(), 0);
    for (const GraphChannel& channel : made.graphs.ring.channels) {
      CHECK(std::set<int>(channel.ranks.begin(), channel.ranks.end()).size() == 8);
      for (std::size_t i = 0; i < 8; ++i) {
        const Path& path = made.land->gpu_gpu(channel.ranks[i], channel.ranks[(i + 1) % 8]);
        for (const int link : path.links) {
          used[static_cast<std::size_t>(link)] += made.graphs.ring.intra_gbytes_per_second;
        }
      }
    }
    for (std::size_t link = 0; link < used.size(); ++link) {
      CHECK(used[link] <= made.system->links[link].gbytes_per_second + 0.01F);
    }
  }
}

}  // namespace shardsim::nccl
