// Machines with something wrong: the change of topology or environment that explains it has the
// direction and rough size that people report.
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::json;

/// Seconds of communication in a step, exposed or not.
double communication_s(const std::string& arguments) {
  const ProgramRun run = run_program("run " + arguments + " --json -");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  return Json::parse(run.output)["step"]["communication_s"];
}

double busbw(const std::string& arguments) {
  const ProgramRun run =
      run_program("collective all_reduce --algo Ring -b 1G -e 1G " + arguments + " --json -");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  return Json::parse(run.output)["rows"][0]["busbw"];
}

}  // namespace

TEST_CASE("peer-to-peer disabled: host memory takes NVLink's place, 10 to 50 times slower") {
  const std::string sick = shipped_scenario("sick-p2p-disabled-llama-2-7b-1xdgx-a100");
  const double change =
      communication_s(sick) / communication_s(sick + " --set nccl.env.NCCL_P2P_DISABLE=0");
  CHECK(change > 10);
  CHECK(change < 50);
  const double reached = busbw("--topology dgx-a100 --env NCCL_P2P_DISABLE=1");
  CHECK(reached > 3);  // GB/s: one socket link carries both halves of the node
  CHECK(reached < 24);
}

TEST_CASE("no GPUDirect RDMA: the CPU's PCIe and memory take a quarter to two thirds") {
  const std::string sick = shipped_scenario("sick-no-gdr-llama-2-7b-4xdgx-h100");
  const double change =
      communication_s(sick) / communication_s(sick + " --set nccl.env.NCCL_NET_GDR_LEVEL=PXB");
  CHECK(change > 1.25);
  CHECK(change < 3);
  CHECK(busbw("--topology dgx-h100 --nodes 2 --env NCCL_NET_GDR_LEVEL=LOC") <
        0.8 * busbw("--topology dgx-h100 --nodes 2"));
}

TEST_CASE("one NIC at a quarter of its rate holds every ring back") {
  const std::string sick = shipped_scenario("slow-nic-llama-2-7b-4xdgx-h100");
  const double change =
      communication_s(sick) / communication_s(shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100"));
  CHECK(change > 2);
  CHECK(change < 4.5);
}

TEST_CASE("graph and topology files that NCCL would write give the same run when read again") {
  const ScratchFolder scratch;
  const std::string graphs = scratch.write("graphs.xml", "");
  const std::string machine = scratch.write("machine.xml", "");
  const std::string two = "--topology dgx-h100 --nodes 2";
  const double plain = busbw(two + " --env NCCL_GRAPH_DUMP_FILE=" + graphs +
                             " --env NCCL_TOPO_DUMP_FILE=" + machine);
  CHECK(read_text(graphs).starts_with("<graphs"));
  CHECK(read_text(machine).starts_with("<system"));
  CHECK(busbw(two + " --env NCCL_GRAPH_FILE=" + graphs) == plain);
  CHECK(busbw(two + " --env NCCL_TOPO_FILE=" + machine) == plain);
  const ProgramRun wrong =
      run_program("collective all_reduce " + two + " --env NCCL_GRAPH_FILE=" + machine);
  CHECK(wrong.status == 2);
  CHECK(wrong.messages.find("expected <graphs>") != std::string::npos);
  CHECK(run_program("collective all_reduce " + two + " --env NCCL_TOPO_FILE=nowhere.xml").status ==
        2);
}

TEST_CASE("NCCL_MNNVL_ENABLE=0 parts an NVLink domain into its hosts") {
  const std::string rack = "--topology gb200-nvl72 --nodes 4";
  CHECK(busbw(rack) > 1.5 * busbw(rack + " --env NCCL_MNNVL_ENABLE=0"));
}

}  // namespace shardsim
