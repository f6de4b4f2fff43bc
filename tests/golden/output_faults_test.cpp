// Outputs of every command that cannot be written, or would take the place of something: a message,
// exit status 2, no half file.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>
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

/// Status of the program where its streams go as `redirection` says.
int status_of(const std::string& arguments, const std::string& redirection) {
  const std::string command = std::string(SHARDSIM_PROGRAM) + " " + arguments + " " + redirection;
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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

TEST_CASE("two outputs of any command never go to one file") {
  const ScratchFolder scratch;
  const std::string same = scratch.write("same", "kept");
  for (const std::string& command :
       {"merge " + same + " --json " + same + " --csv " + same,
        "collective all_reduce --topology dgx-h100 --fidelity chunk --chunk-work " + same +
            " --chunk-trace " + same,
        "validate --training x.csv --residuals " + same + " --json " + same,
        "run " + shipped_scenario("textbook-fsdp2") + " --json " + same + " --report " + same,
        "sweep " + shipped_scenario("textbook-fsdp2") + " --over cluster.nodes=1,2 --json " + same +
            " --csv " + same}) {
    CAPTURE(command);
    const ProgramRun run = run_program(command);
    CHECK(run.status == 2);
    CHECK(run.messages.find("both go to") != std::string::npos);
    CHECK(read_text(same) == "kept");
  }
}

TEST_CASE("output that is lost is a failure of every command") {
  for (const std::string command : {"--help", "--version", "topology dgx-h100", "quiz solve",
                                    "collective all_reduce --topology dgx-h100"}) {
    CAPTURE(command);
    CHECK(status_of(command, "> /dev/full 2> /dev/null") == 2);
  }
}

TEST_CASE("a closed standard stream does not get into a file") {
  const ScratchFolder scratch;
  const std::string file = scratch.write("points.jsonl", "");
  run_program("sweep " + shipped_scenario("textbook-fsdp2") + " --over cluster.nodes=1..4 --json " +
              file + " 2>&- >&-");
  std::ifstream in(file);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) CHECK(line.starts_with("{"));
  CHECK(lines == 4);
}

TEST_CASE("a file that is not there yet is one file under two names") {
  const ProgramRun run = run_program("run " + shipped_scenario("textbook-fsdp2") +
                                     " --quiet --json ./shardsim-none --trace shardsim-none");
  CHECK(run.status == 2);
  CHECK(run.messages.find("both go to") != std::string::npos);
}

TEST_CASE("where there is no result, outputs that are not written are named and stay") {
  const ScratchFolder scratch;
  const std::string old = scratch.write("old.json", "kept");
  const std::string run = "run " + shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100");
  if (allocations_throw) {
    const ProgramRun memory = run_program(run + " --max-memory 16MiB --exact-ranks --json " + old +
                                          " --set cluster.nodes=1000");
    CHECK(memory.status == 1);
    CHECK(memory.messages.find("no output is written") != std::string::npos);
  }
  const ProgramRun dead = run_program(
      run + " --set 'perturb=[{rank: 3, dies_at: 100 ms}]' --exact-ranks --json " + old);
  CHECK(dead.status == 1);
  CHECK_MESSAGE(dead.messages.find("not written: --json " + old) != std::string::npos,
                dead.messages);
  const ProgramRun stopped = run_program(run + " --max-events 20 --json - --report " + old);
  CHECK(stopped.status == 1);
  CHECK(stopped.messages.find("not written: --report " + old) != std::string::npos);
  CHECK(read_text(old) == "kept");
}

TEST_CASE("a file that is read is not overwritten, whoever names it") {
  const ScratchFolder scratch;
  const std::string topology = scratch.write("mine.yaml", "extends: dgx-h100\n");
  const std::string prices = scratch.write("prices.yaml", "kept");
  const std::string scenario = shipped_scenario("fsdp2-llama-3-8b-1xdgx-h100");
  const std::string points = scratch.file("points.jsonl");
  REQUIRE(run_program("sweep " + scenario + " --quiet --over cluster.nodes=1 --json " + points)
              .status == 0);
  const std::string line = read_text(points);
  for (const std::string& arguments :
       {"run " + scenario + " --set cluster.topology=" + topology + " --json " + topology,
        "sweep " + scenario + " --over cluster.nodes=1 --csv " + prices,
        "collective all_reduce --topology dgx-h100 --json " + prices,
        "merge " + points + " --csv " + points, "merge " + points + " --report " + points}) {
    CAPTURE(arguments);
    const ProgramRun run = run_program(arguments);
    CHECK(run.status == 2);
    CHECK(run.messages.find("expected another file") != std::string::npos);
  }
  CHECK(read_text(topology) == "extends: dgx-h100\n");
  CHECK(read_text(prices) == "kept");
  CHECK(read_text(points) == line);
}

TEST_CASE("folders that are not there end no program") {
  const std::string sweep = "sweep " + shipped_scenario("fsdp2-llama-3-8b-1xdgx-h100") +
                            " --quiet --over cluster.nodes=1";
  const std::string program = std::string(SHARDSIM_PROGRAM) + " ";
  const auto status = [](const std::string& command) {
    return WEXITSTATUS(std::system((command + " >/dev/null 2>&1").c_str()));
  };
  for (const char* folder : {"/nonexistent", "''", "/dev/null"}) {
    CAPTURE(folder);
    CHECK(status("TMPDIR=" + std::string(folder) + " " + program + sweep) == 0);
  }
  CHECK(status("TMPDIR=/proc " + program + sweep) == 2);
  const ScratchFolder scratch;
  const std::string gone = scratch.file("gone");
  CHECK(status("mkdir " + gone + " && cd " + gone + " && rmdir " + gone + " && " + program + sweep +
               " --json x --submit slurm --dry-run") == 2);
}

TEST_CASE("traces of several ranks do not all go to one device or pipe, nor beside it") {
  const ScratchFolder scratch;
  const std::string pipe = scratch.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& target : {std::string("/dev/stdout"), std::string("/dev/null"), pipe}) {
    CAPTURE(target);
    const ProgramRun run = run_program("run " + shipped_scenario("textbook-fsdp2") +
                                       " --quiet --trace-ranks 0,1 --trace " + target);
    CHECK(run.status == 2);
    CHECK(run.messages.find("both go to '" + target + "'") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(target + ".rank0"));
  }
}

}  // namespace
}  // namespace shardsim
