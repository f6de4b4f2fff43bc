// `shardsim validate --reference` and the files around it, as users run them.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

const std::string ring =
    "collective all_reduce --topology virtual-ranks --gpus 3 --algo Ring --proto LL -b 8 -e 100K "
    "-f 50 --fidelity chunk --env NCCL_MAX_NCHANNELS=2";

/// A simulated trace and its work file.
class Files {
 public:
  Files() {
    const ProgramRun run = run_program(ring + " --chunk-trace " + scratch_.file("log.csv") +
                                       " --chunk-work " + scratch_.file("log.json"));
    REQUIRE_MESSAGE(run.status == 0, run.messages);
  }
  ProgramRun validate() const {
    return run_program("validate --reference " + scratch_.file("log.csv") + " --json -");
  }
  std::string log() const { return read_text(scratch_.file("log.csv")); }
  void write_log(const std::string& text) const { scratch_.write("log.csv", text); }
  const ScratchFolder& scratch() const { return scratch_; }

 private:
  ScratchFolder scratch_;
};

}  // namespace

TEST_CASE("the simulator's own trace is its sequence, without error in time") {
  const Files files;
  const ProgramRun run = files.validate();
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  const Json json = Json::parse(run.output);
  REQUIRE(json["rows"].size() == 3);
  for (const Json& row : json["rows"]) {
    CHECK(row["quantity"] == "time_us");
    CHECK(row["relative_error"].get<double>() == doctest::Approx(0).epsilon(1e-9));
  }
  CHECK(json["reference"][0]["equal"] == true);
  CHECK(json["reference"][0]["sizes"] == 3);
  CHECK(json["summary"][0]["group"] == "time_us, LL, < 64 KiB");
}

TEST_CASE("the twin's program logs that sequence") {
  const Files files;
  const std::string command = std::string(TWIN_PROGRAM) + " --in-place --work " +
                              files.scratch().file("log.json") + " --log " +
                              files.scratch().file("log.csv") + " >/dev/null";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(Json::parse(files.validate().output)["reference"][0]["equal"] == true);
  // With nothing to read, and with bad arguments.
  CHECK(WEXITSTATUS(std::system((std::string(TWIN_PROGRAM) + " 2>/dev/null").c_str())) == 2);
}

TEST_CASE("a row that is missing, more or other is found, and ends with 1") {
  const Files files;
  const std::string log = files.log();
  const std::size_t second = log.find('\n', log.find('\n') + 1) + 1;
  const std::size_t third = log.find('\n', second) + 1;
  std::string other = log;
  other.replace(other.find(",send,"), 6, ",copy,");
  for (const std::string& wrong : {log.substr(0, second) + log.substr(third),
                                   log + log.substr(log.rfind('\n', log.size() - 2) + 1), other}) {
    files.write_log(wrong);
    const ProgramRun run = files.validate();
    CHECK(run.status == 1);
    const Json json = Json::parse(run.output);
    CHECK(json["reference"][0]["equal"] == false);
    CHECK(json["reference"][0]["first_difference"].get<std::string>().starts_with("size "));
  }
}

TEST_CASE("logs and work files that are none end with 2 and their place") {
  const Files files;
  const std::string log = files.log();
  std::string bad = log;
  bad.insert(bad.find(",send,") + 6, "x");
  for (const std::string& wrong : {std::string("rank,size\n1,2\n"), log + log.substr(66), bad}) {
    files.write_log(wrong);
    const ProgramRun run = files.validate();
    CHECK(run.status == 2);
    CHECK(run.messages.find("log.csv") != std::string::npos);
  }
  files.write_log(log);
  for (const char* const wrong : {"{}", "no JSON", R"({"schema":"shardsim.chunk-work/1"})",
                                  R"({"schema":"shardsim.chunk-work/1","cluster":{}})"}) {
    files.scratch().write("log.json", wrong);
    const ProgramRun run = files.validate();
    CHECK(run.status == 2);
    CHECK(run.messages.find("log.json") != std::string::npos);
  }
  std::filesystem::remove(files.scratch().file("log.json"));
  CHECK(files.validate().status == 2);
}

TEST_CASE("works and traces are of fidelity chunk, and of rings, trees and messages") {
  CHECK(run_program("collective all_reduce --topology dgx-h100 --chunk-work -").status == 2);
  const ProgramRun run = run_program(
      "collective all_reduce --topology dgx-h100 --algo NVLS -b 8M -e 8M --fidelity "
      "chunk --chunk-work -");
  CHECK(run.status == 1);
  CHECK(run.messages.find("rings, trees and messages") != std::string::npos);
}

}  // namespace shardsim
