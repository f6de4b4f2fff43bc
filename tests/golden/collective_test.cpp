// `shardsim collective`, `topology` and `validate --collectives` as scripts rely on them.
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

Json rows_of(const std::string& arguments) {
  const ProgramRun run = run_program("collective " + arguments + " --json -");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  return Json::parse(run.output)["rows"];
}

}  // namespace

TEST_CASE("the table has nccl-tests' columns") {
  const ProgramRun run = run_program("collective all_reduce --topology dgx-h100 -b 1M -e 4M -f 2");
  REQUIRE(run.status == 0);
  CHECK(run.output.find("     1048576        262144     float     sum      -1") !=
        std::string::npos);
  CHECK(run.output.find("# Avg bus bandwidth    : ") != std::string::npos);
}

TEST_CASE("rows have the contract's keys and obey the bus bandwidth's definition") {
  const Json rows = rows_of("all_reduce --topology dgx-h100 --nodes 2 -b 8 -e 8G");
  CHECK(rows.size() == 31);
  for (const Json& row : rows) {
    CHECK(row.size() == 9);
    CHECK(row["busbw"].get<double>() == doctest::Approx(row["algbw"].get<double>() * 2 * 15 / 16));
  }
  CHECK(rows.front()["algorithm"] == "Tree");
  CHECK(rows.front()["protocol"] == "LL");
}

TEST_CASE("NCCL_ALGO and NCCL_PROTO are obeyed") {
  for (const Json& row : rows_of("all_reduce --topology dgx-a100 --algo Ring --proto Simple")) {
    CHECK(row["algorithm"] == "Ring");
    CHECK(row["protocol"] == "Simple");
  }
}

TEST_CASE("bad sizes, names and topologies end with 2") {
  CHECK(run_program("collective all_reduce --topology dgx-h100 -b 0").status == 2);
  CHECK(run_program("collective all_reduce --topology dgx-h200x").status == 2);
  CHECK(run_program("collective everything --topology dgx-h100").status == 2);
  CHECK(run_program("validate --collectives nowhere.csv").status == 2);
  CHECK(run_program("validate").status == 2);
}

TEST_CASE("topology shows NCCL's graphs, and reads NCCL's own files") {
  const std::string file =
      std::string(SHARDSIM_SOURCE_DIR) + "/topologies/nccl/dgx_h100_8x400g.xml";
  const auto graphs = [](const std::string& topology) {
    const ProgramRun run = run_program("topology " + topology + " --nodes 2 --json -");
    REQUIRE_MESSAGE(run.status == 0, run.messages);
    Json found = Json::parse(run.output)["nccl"]["graphs"];
    for (Json& graph : found) graph.erase("topology");
    return found;
  };
  const Json ours = graphs("dgx-h100");
  CHECK(ours[0]["nChannels"] == 8);
  CHECK(ours == graphs(file));
}

TEST_CASE("one GPU alone copies its data at the speed of its memory, and in place nothing") {
  const ProgramRun run =
      run_program("collective all_reduce --topology dgx-h100 --gpus 1 -b 8G -e 8G");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  double out_of_place = 0, algbw = 0, in_place = 0, in_place_algbw = -1;
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream row(line);
    std::string skip;
    for (int column = 0; column < 5; ++column) row >> skip;
    row >> out_of_place >> algbw >> skip >> skip >> in_place >> in_place_algbw;
  }
  CHECK(algbw < 3350 / 2);  // each byte is read and written
  CHECK(out_of_place > 2.0 * 8.589934592e9 / 3.35e12 * 1e6);
  CHECK(out_of_place < 2.5 * 8.589934592e9 / 3.35e12 * 1e6);
  CHECK(in_place < 10);
  CHECK(in_place_algbw == 0);
}

TEST_CASE("points of unknown machines are refused with a reason, others are compared") {
  const ScratchFolder scratch;
  const std::string points =
      scratch.write("points.csv", "table,bytes,time_us\na,1048576,20\nb,1048576,20\n");
  const std::string tables = scratch.write(
      "tables.csv",
      "table,site,gpu,gpus_per_node,nodes,intra_node,inter_node,nccl_version,env,collective,dtype,"
      "note\na,s,H100-SXM5-80GB,8,1,NVSwitch,,2.27.7,,all_reduce,float,\n"
      "b,s,Abacus,8,1,,,2.27.7,,all_reduce,float,\n");
  const ProgramRun run =
      run_program("validate --collectives " + points + " --tables " + tables + " --json -");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  const Json rows = Json::parse(run.output)["rows"];
  CHECK(rows[0]["id"] == "a:1048576");
  CHECK(rows[0]["quantity"] == "time_us");
  CHECK(rows[0]["predicted"].get<double>() > 10);
  CHECK(rows[1]["predicted"].is_null());
  CHECK(rows[1]["why_not"] == "no rule for gpu 'Abacus'");
}

}  // namespace shardsim
