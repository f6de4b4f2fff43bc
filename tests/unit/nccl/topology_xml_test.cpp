// Reading and writing NCCL's topology files.
#include "models/nccl/topology_xml.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tests/unit/nccl/connect_cases.hpp"
#include "tests/unit/nccl/planned_machine.hpp"

namespace shardsim::nccl {

namespace {

const std::vector<std::string> shipped = {
    "a100_noNIC_amd",  "dgx1_v100_4x100g",      "dgx_a100_8x200g",
    "dgx_h100_8x400g", "gb200_1host",           "gb200_2host",
    "gb200_nvl72",     "hgx_a100_4x200g_intel", "hgx_b200_8x400g",
    "hgx_h100_1x100g", "hgx_h100_4x400g",       "hgx_h800_8x400g",
    "p4d_like_4x100g", "ppn1_a100_200g",        "pcie_8xL40S_2x200g_amd",
    "ppn1_h100_400g",  "redstone_4xa100_4x200g"};

/// A GPU on a CPU; `gpu` and `more` are put into the text.
std::string one_gpu(std::string_view gpu, std::string_view more = "") {
  std::string text =
      "<system version=\"1\">\n"
      "<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"85\">\n"
      "<pci busid=\"0000:10:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" "
      "link_width=\"16\">\n";
  text.append(gpu).append("\n</pci>\n").append(more).append("</cpu>\n</system>\n");
  return text;
}

constexpr std::string_view good_gpu = "<gpu dev=\"0\" sm=\"90\" rank=\"0\" gdr=\"1\"/>";

/// The messages for a text that cannot be used.
std::string errors_of(const std::string& text) {
  simcore::Diagnostics diagnostics;
  const auto machine = read_topology_xml(source_of("bad.xml", text), diagnostics);
  CHECK_FALSE(machine.has_value());
  CHECK(diagnostics.has_errors());
  return simcore::to_text(diagnostics);
}

bool says(const std::string& text, std::string_view part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every shipped machine is read without a complaint, and survives being written") {
  for (const std::string& name : shipped) {
    CAPTURE(name);
    const Machine machine = shipped_machine(name);
    const std::string written = write_topology_xml(machine);
    simcore::Diagnostics diagnostics;
    const auto again = read_topology_xml(source_of("again.xml", written), diagnostics);
    REQUIRE_MESSAGE(again.has_value(), simcore::to_text(diagnostics));
    CHECK(write_topology_xml(*again) == written);
    CHECK(gpus_of(*again).size() == gpus_of(machine).size());
  }
}

TEST_CASE("a machine holds what its file says") {
  const Machine machine = shipped_machine("gb200_2host");
  REQUIRE(machine.cpus.size() == 4);
  CHECK(machine.cpus[2].host == 1);
  CHECK(machine.cpus[0].architecture == "arm64");
  const auto gpus = gpus_of(machine);
  REQUIRE(gpus.size() == 8);
  CHECK(gpus[3]->compute_capability == 100);
  CHECK(gpus[3]->nvlinks.front().count == 18);
  CHECK(gpus[3]->c2c.front().megabytes_per_second == 44712);
  const PciEntry& nic = machine.cpus[0].devices[1];
  REQUIRE(nic.nets.size() == 1);
  CHECK(nic.nets.front().megabits_per_second == 400'000);
  CHECK(nic.nets.front().guid == 0x1000);
}

TEST_CASE("GPUs without a rank are left out, unless no GPU has one") {
  const std::string second =
      "<pci busid=\"0000:11:00.0\" class=\"0x030200\"><gpu dev=\"1\" sm=\"90\"/></pci>\n";
  simcore::Diagnostics diagnostics;
  const auto some = read_topology_xml(source_of("a.xml", one_gpu(good_gpu, second)), diagnostics);
  REQUIRE(some.has_value());
  CHECK(gpus_of(*some).size() == 1);
  const auto none = read_topology_xml(
      source_of("b.xml", one_gpu("<gpu dev=\"0\" sm=\"90\"/>", second)), diagnostics);
  REQUIRE(none.has_value());
  REQUIRE(gpus_of(*none).size() == 2);
  CHECK(gpus_of(*none)[1]->rank == 1);
}

TEST_CASE("what is not XML is an error with its place") {
  CHECK(says(errors_of(""), "bad.xml"));
  CHECK(says(errors_of("gpus: 8\n"), "bad XML"));
  CHECK(says(errors_of("<system>\n  <cpu\n"), "bad.xml:"));
  CHECK(says(errors_of("<system>\n<cpu></gpu></system>"), "bad.xml:2:"));
  CHECK(says(errors_of(std::string("<system>\0</system>", 18)), "zero byte"));
  CHECK(says(errors_of("<graphs/>"), "expected <system>"));
  CHECK(says(errors_of("<system/><system/>"), "second outermost"));
  CHECK(says(errors_of("<system version=\"1\"/>"), "no <cpu>"));
}

TEST_CASE("XML that is too deep or too large is refused") {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<system>";
  CHECK(says(errors_of(deep), "bad XML"));
  for (int i = 0; i < 100'000; ++i) deep += "</system>";
  CHECK(says(errors_of(deep), "64 levels"));
  std::string wide = "<system>";
  for (int i = 0; i < 250'000; ++i) wide += "<cpu/>";
  CHECK(says(errors_of(wide + "</system>"), "200,000 elements"));
  CHECK(says(errors_of(std::string(std::size_t{17} << 20, ' ')), "larger than 16 MiB"));
  std::string many = "<system";
  for (int i = 0; i < 200'000; ++i) many += " a" + std::to_string(i) + "=\"\"";
  CHECK(says(errors_of(many + "/>"), "more than 256 attributes of <system>"));
  // No entity is expanded: this is text, however it multiplies.
  CHECK(says(errors_of("<!DOCTYPE s [<!ENTITY a \"&b;&b;\">]><system name=\"&a;\"/>"), "no <cpu>"));
}

TEST_CASE("wrong attributes are errors that name what was expected") {
  CHECK(says(errors_of(one_gpu("<gpu dev=\"0\" sm=\"9x\" rank=\"0\"/>")),
             "attribute 'sm' of <gpu> is '9x': expected a whole number from 10 to 999"));
  CHECK(says(errors_of(one_gpu("<gpu dev=\"0\" sm=\"90\" rank=\"-1\"/>")), "'rank'"));
  CHECK(says(errors_of(one_gpu("<gpu sm=\"90\" rank=\"0\"/>")), "<gpu> has no attribute 'dev'"));
  CHECK(says(errors_of(one_gpu("<gpu dev=\"0\" sm=\"90\" sm=\"80\" rank=\"0\"/>")), "twice"));
  CHECK(
      says(errors_of(one_gpu("<gpu dev=\"0\" sm=\"99999999999999999999\" rank=\"0\"/>")), "'sm'"));
  CHECK(says(errors_of(one_gpu(good_gpu,
                               "<pci busid=\"0000:10:00.0\" class=\"0x030200\">"
                               "<gpu dev=\"1\" sm=\"90\" rank=\"1\"/></pci>")),
             "given twice"));
  CHECK(says(errors_of(one_gpu(good_gpu,
                               "<pci busid=\"0000:11:00.0\" class=\"0x030200\">"
                               "<gpu dev=\"1\" sm=\"90\" rank=\"0\"/></pci>")),
             "rank 0 is given twice"));
  CHECK(says(errors_of(one_gpu("<gpu dev=\"0\" sm=\"90\" rank=\"0\"><nvlink target=\"x\" "
                               "count=\"1\" tclass=\"0x04\"/></gpu>")),
             "'tclass'"));
  CHECK(says(errors_of("<system><cpu numaid=\"0\" arch=\"x86\" vendor=\"\"/></system>"), "x86_64"));
}

TEST_CASE("GPUs inside a GPU or NIC are refused, not lost") {
  const auto inside = [](std::string_view kind) {
    return "<pci busid=\"0000:20:00.0\" class=\"" + std::string(kind) + "\">\n" +
           "<pci busid=\"0000:21:00.0\" class=\"0x030200\">" +
           "<gpu dev=\"1\" sm=\"90\" rank=\"1\"/></pci></pci>";
  };
  for (const char* kind : {"0x020700", "0x030200"}) {
    CHECK(says(errors_of(one_gpu(good_gpu, inside(kind))), "holds other devices"));
  }
  simcore::Diagnostics diagnostics;
  const std::string good = one_gpu(good_gpu, inside("0x060400"));
  CHECK(read_topology_xml(source_of("good.xml", good), diagnostics).has_value());
}

TEST_CASE("unknown elements are passed over with a warning") {
  simcore::Diagnostics diagnostics;
  const auto machine =
      read_topology_xml(source_of("a.xml", one_gpu(good_gpu, "<fpga/>\n")), diagnostics);
  CHECK(machine.has_value());
  CHECK_FALSE(diagnostics.has_errors());
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(says(simcore::to_text(diagnostics), "a.xml:6:"));
}

TEST_CASE("a topology file is told from other text") {
  CHECK(is_topology_xml("<?xml version=\"1.0\"?>\n<system version=\"1\">"));
  CHECK_FALSE(is_topology_xml("name: dgx-h100\n"));
  CHECK_FALSE(is_topology_xml(""));
}

}  // namespace shardsim::nccl
