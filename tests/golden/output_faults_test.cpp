// Every output of every command where it cannot be written: a message, exit status 2, no half file.
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

/// A command, and the options of it that name a file to write.
struct Writer {
  std::string command;
  std::vector<std::string> outputs;
};

std::vector<Writer> writers(const ScratchFolder& scratch) {
  const std::string scenario = shipped_scenario("textbook-fsdp2");
  const std::string points = scratch.file("points.jsonl");
  if (!std::filesystem::exists(points)) {
    run_program("sweep " + scenario + " --over cluster.nodes=1..3 --quiet --json " + points);
  }
  const std::string collective = "collective all_reduce --topology dgx-h100 -b 1M -e 1M ";
  const std::string small = "collective all_reduce --topology virtual-ranks --gpus 2 -b 8K -e 8K ";
  return {
      {"run " + scenario + " --quiet",
       {"--json", "--timeline", "--trace", "--memory-snapshot", "--report"}},
      {"sweep " + scenario + " --over cluster.nodes=1..3 --quiet", {"--json", "--csv", "--report"}},
      {"merge --quiet " + points, {"--json", "--csv", "--report"}},
      {collective, {"--json"}},
      {small + "--fidelity chunk", {"--chunk-trace", "--chunk-work"}},
      {"topology dgx-h100", {"--json", "--dot"}},
      {"quiz solve", {"--json"}}};
}

TEST_CASE(
    "an output on a full disk, in no folder, or in place of a folder is told, with status 2") {
  const ScratchFolder scratch;
  for (const Writer& writer : writers(scratch)) {
    for (const std::string& option : writer.outputs) {
      for (const std::string& target :
           {std::string("/dev/full"), scratch.file("none/file"), scratch.path().string(),
            std::string("/dev/null/file"), scratch.file(std::string(300, 'x'))}) {
        CAPTURE(writer.command);
        CAPTURE(option);
        CAPTURE(target);
        const ProgramRun run = run_program(writer.command + " " + option + " " + target);
        CHECK(run.status == 2);
        CHECK(run.messages.find("cannot write") != std::string::npos);
      }
    }
  }
}

TEST_CASE("a file that grows beyond its limit leaves what was there, and no other file" *
          doctest::skip(!starts_without_files)) {
  const ScratchFolder scratch;
  const std::vector<Writer> all = writers(scratch);
  const ScratchFolder outputs;
  for (const Writer& writer : all) {
    for (const std::string& option : writer.outputs) {
      CAPTURE(writer.command);
      CAPTURE(option);
      const bool journal = writer.command.starts_with("sweep") && option != "--report";
      const std::string file = outputs.write("kept", "kept");
      // Nothing fits into 0 blocks; the messages go to a pipe, which has no such limit.
      const std::string command = "(ulimit -f 0; " + std::string(SHARDSIM_PROGRAM) + " " +
                                  writer.command + " " + option + " " + file +
                                  " 2>&1 >/dev/null) | grep -q 'cannot write'";
      CHECK(WEXITSTATUS(std::system(command.c_str())) == 0);
      if (!journal || option == "--csv") CHECK(read_text(file) == "kept");
      std::size_t files = 0;
      for (const auto& one : std::filesystem::directory_iterator(outputs.path())) {
        CAPTURE(one.path().string());
        const bool points = one.path().string().ends_with(".points.jsonl");
        files += points ? 0 : 1;
        if (points) std::filesystem::remove(one.path());
      }
      CHECK(files == 1);
    }
  }
}

TEST_CASE(
    "standard output that is closed or full is told; a reader that has gone is only status 2") {
  const ScratchFolder scratch;
  const std::string errors = scratch.file("errors");
  const std::string scenario = shipped_scenario("textbook-fsdp2");
  for (const std::string& command :
       {std::string("--version"), std::string("run --help"), "run " + scenario,
        "run --quiet --json - " + scenario, "run --quiet --timeline - " + scenario,
        "run --quiet --trace - " + scenario, "run --quiet --report - " + scenario,
        "run --quiet --memory-snapshot - " + scenario,
        "sweep " + scenario + " --over cluster.nodes=1..3",
        "sweep " + scenario + " --over cluster.nodes=1..3 --json -",
        "sweep " + scenario + " --over cluster.nodes=1..3 --csv -",
        std::string("collective all_reduce --topology dgx-h100"),
        std::string("collective all_reduce --topology dgx-h100 --json -"),
        std::string("topology dgx-h100"), std::string("topology dgx-h100 --dot -"),
        std::string("quiz solve"), std::string("quiz solve --json -"),
        std::string("completion bash"), std::string("help run")}) {
    CAPTURE(command);
    const std::string program = std::string(SHARDSIM_PROGRAM) + " " + command + " 2>" + errors;
    for (const std::string& broken : {program + " >&-", program + " >/dev/full"}) {
      CAPTURE(broken);
      CHECK(WEXITSTATUS(std::system(broken.c_str())) == 2);
      CHECK(read_text(errors).find("cannot write") != std::string::npos);
    }
    // The reader is gone before anything is written.
    const std::string pipe = "bash -c '(sleep 0.01; " + program + "; echo $? >" +
                             scratch.file("status") + ") | true; wait'";
    CHECK(std::system(pipe.c_str()) == 0);
    CHECK(read_text(scratch.file("status")) == "2\n");
    CHECK(read_text(errors).find("cannot write") == std::string::npos);
  }
}

TEST_CASE("a closed standard error or input changes neither status nor files") {
  const ScratchFolder scratch;
  for (const std::string& streams :
       {std::string("2>&-"), std::string("<&-"), std::string("2>&- <&-")}) {
    CAPTURE(streams);
    const std::string file = scratch.file("result.json");
    std::filesystem::remove(file);
    const std::string command = std::string(SHARDSIM_PROGRAM) + " run " +
                                shipped_scenario("textbook-fsdp2") + " --json " + file + " " +
                                streams + " >/dev/null";
    CHECK(WEXITSTATUS(std::system(command.c_str())) == 0);
    CHECK(read_text(file).starts_with("{"));
    const std::string bad =
        std::string(SHARDSIM_PROGRAM) + " run nothing.yaml " + streams + " >/dev/null";
    CHECK(WEXITSTATUS(std::system((bad + " 2>&-").c_str())) == 2);
  }
}

TEST_CASE("a folder of outputs that cannot be made is told, with status 2") {
  for (const std::string& command : {std::string("schema --out /dev/null/folder"),
                                     std::string("quiz web --out /dev/null/folder")}) {
    CAPTURE(command);
    const ProgramRun run = run_program(command);
    CHECK(run.status == 2);
    CHECK(!run.messages.empty());
  }
}

}  // namespace
}  // namespace shardsim
