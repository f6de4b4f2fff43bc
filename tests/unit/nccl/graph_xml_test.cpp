// NCCL's graph files, out and in.
#include "models/nccl/graph_xml.hpp"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "tests/unit/nccl/planned_machine.hpp"

namespace shardsim::nccl {

namespace {

/// One ring of two GPUs, with attributes and channel as given.
std::string ring_file(std::string_view attributes, std::string_view channel) {
  std::string text = "<graphs version=\"1\">\n<graph id=\"0\" pattern=\"4\" ";
  text.append(attributes).append(" speedintra=\"20\" speedinter=\"20\" typeintra=\"NVL\" ");
  text.append("typeinter=\"PIX\" samechannels=\"1\">\n<channel>");
  text.append(channel).append("</channel>\n</graph>\n</graphs>\n");
  return text;
}

std::string errors_of(const std::string& text, const System& system) {
  simcore::Diagnostics diagnostics;
  CHECK_FALSE(read_graph_xml(source_of("g.xml", text), system, {}, diagnostics).has_value());
  return simcore::to_text(diagnostics);
}

bool says(const std::string& text, std::string_view part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("graphs written and read again are the same, and save the search") {
  for (const char* name : {"dgx_h100_8x400g", "gb200_2host", "dgx1_v100_4x100g"}) {
    for (const bool several : {false, true}) {
      CAPTURE(name);
      CAPTURE(several);
      PlanningOptions options;
      options.several_nodes = several;
      const Machine machine = shipped_machine(name);
      const PlannedMachine searched = planned(machine, {30, 7}, options);
      const std::string text = write_graph_xml(searched.graphs, *searched.system);
      simcore::Diagnostics diagnostics;
      const auto given =
          read_graph_xml(source_of("g.xml", text), *searched.system, options, diagnostics);
      REQUIRE_MESSAGE(given.has_value(), simcore::to_text(diagnostics));
      CHECK(diagnostics.all().empty());
      const PlannedMachine taken = planned(machine, {30, 7}, options, {}, *given);
      CHECK(same_channels(taken.graphs.ring, searched.graphs.ring));
      CHECK(same_channels(taken.graphs.tree, searched.graphs.tree));
      CHECK(same_channels(taken.graphs.nvls, searched.graphs.nvls));
      CHECK(summary_row(taken.graphs.ring) == summary_row(searched.graphs.ring));
      CHECK(summary_row(taken.graphs.tree) == summary_row(searched.graphs.tree));
      CHECK(summary_row(taken.graphs.nvls) == summary_row(searched.graphs.nvls));
    }
  }
}

TEST_CASE("a given ring is used as it is, and decides how many channels trees have") {
  const Machine machine = shipped_machine("dgx_h100_8x400g");
  GivenGraphs given;
  given.ring = planned(machine, {30, 7}, {}).graphs.ring;
  given.ring->channels.resize(3);
  const NodeGraphs graphs = planned(machine, {30, 7}, {}, {}, given).graphs;
  CHECK(graphs.ring.channel_count() == 3);
  CHECK(graphs.tree.channel_count() == 3);
}

TEST_CASE("GPUs in a graph file are known by their device where no rank is given") {
  const PlannedMachine made = surveyed(shipped_machine("gb200_2host"), {30, 7}, {});
  std::string gpus;
  for (const char* dev : {"0x0", "0x1", "0x2", "0x3"}) {
    gpus += std::string("<gpu dev=\"") + dev + "\"/>";
  }
  for (const char* dev :
       {"0x100000000000000", "0x100000000000001", "0x100000000000002", "0x100000000000003"}) {
    gpus += std::string("<gpu dev=\"") + dev + "\"/>";
  }
  simcore::Diagnostics diagnostics;
  const auto given =
      read_graph_xml(source_of("g.xml", ring_file("crossnic=\"0\" nchannels=\"1\"", gpus)),
                     *made.system, {}, diagnostics);
  REQUIRE_MESSAGE(given.has_value(), simcore::to_text(diagnostics));
  REQUIRE(given->ring.has_value());
  CHECK(given->ring->channels[0].ranks == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("a ring that crosses NICs is left out where that is forbidden") {
  const PlannedMachine made = surveyed(shipped_machine("ppn1_a100_200g"), {30, 7}, {});
  PlanningOptions options;
  options.cross_nic = 0;
  simcore::Diagnostics diagnostics;
  const auto given = read_graph_xml(
      source_of("g.xml", ring_file("crossnic=\"1\" nchannels=\"1\"", "<gpu dev=\"0x0\"/>")),
      *made.system, options, diagnostics);
  REQUIRE(given.has_value());
  CHECK_FALSE(given->ring.has_value());
}

TEST_CASE("a graph file that does not fit the machine is an error with its place") {
  const PlannedMachine made = surveyed(shipped_machine("ppn1_a100_200g"), {30, 7}, {});
  const std::string good = "crossnic=\"0\" nchannels=\"1\"";
  CHECK(says(errors_of(ring_file(good, "<gpu dev=\"0x7\"/>"), *made.system), "no such <gpu>"));
  CHECK(says(errors_of(ring_file(good, "<net dev=\"0x9\"/><gpu dev=\"0x0\"/>"), *made.system),
             "no such <net>"));
  CHECK(says(errors_of(ring_file(good, ""), *made.system), "each of 1 GPUs once: found 0"));
  CHECK(says(errors_of(ring_file(good, "<gpu dev=\"0x0\"/><gpu dev=\"0x0\"/>"), *made.system),
             "with repetitions"));
  CHECK(says(
      errors_of(ring_file("crossnic=\"0\" nchannels=\"2\"", "<gpu dev=\"0x0\"/>"), *made.system),
      "nchannels is 2"));
  CHECK(says(
      errors_of(ring_file("crossnic=\"3\" nchannels=\"1\"", "<gpu dev=\"0x0\"/>"), *made.system),
      "g.xml:2:"));
  CHECK(says(errors_of("<system/>", *made.system), "expected <graphs>"));
}

}  // namespace shardsim::nccl
