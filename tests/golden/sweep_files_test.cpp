// The files of a sweep: what is the user's is never lost, and what was edited is never believed.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

const std::string sweep = "sweep " + shipped_scenario("textbook-fsdp2") +
                          " --over 'workload.explicit.block_forward=1..5+1 ms' --quiet ";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  REQUIRE_MESSAGE(at != std::string::npos, what);
  return text.replace(at, what.size(), with);
}

/// From `key`, inclusive, to the comma behind its value.
std::string pair_at(const std::string& text, const std::string& key) {
  const auto begin = text.find(key);
  REQUIRE_MESSAGE(begin != std::string::npos, key);
  return text.substr(begin, text.find(',', begin) - begin);
}

TEST_CASE("--resume leaves a file that is no sweep's, or another sweep's, as it is") {
  const ScratchFolder scratch;
  const std::string other = scratch.file("other.jsonl");
  REQUIRE(run_program("sweep " + shipped_scenario("textbook-fsdp2") +
                      " --over cluster.nodes=1 --quiet --json " + other)
              .status == 0);
  std::string torn = read_text(other);
  torn.pop_back();
  for (const std::string& text :
       {std::string("precious data without newline"),
        std::string("my thesis\nchapter 1\nlast line without newline"), torn}) {
    const std::string file = scratch.write("file", text);
    const ProgramRun run = run_program(sweep + "--resume --json " + file);
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.messages.contains("'" + file + "' holds"), run.messages);
    CHECK((read_text(file) == text));
  }
}

TEST_CASE("lines of points that were edited are computed again, and told with their place") {
  const ScratchFolder scratch;
  const std::string file = scratch.file("points.jsonl");
  REQUIRE(run_program(sweep + "--json " + file).status == 0);
  const std::string good = read_text(file);
  const std::string time = pair_at(good, R"("time_s":)");
  const std::string version = pair_at(good, R"("version":)");
  const std::string edits[] = {
      replaced(good, time, R"("time_s":-5)"),
      replaced(good, time, R"("time_s":"abc")"),
      replaced(good, time, R"("time_s":null)"),
      replaced(good, R"("values":{"workload.explicit.block_forward":"1 ms"})",
               R"("values":{"workload.explicit.block_forward":"9 ms"})"),
      replaced(good, R"("values":{"workload.explicit.block_forward":"1 ms"})", R"("values":{})"),
      replaced(good, R"("index":0)", R"("index":1)"),
      replaced(good, R"("step":{)", R"("stop":{)"),
      replaced(good, version, R"("version":"9.9")"),
      replaced(good, R"("gpus":)", R"("gpus":-)"),
      "\xef\xbb\xbf" + good,
      replaced(good, ",", ", "),
  };
  for (const std::string& edited : edits) {
    CAPTURE(edited.substr(0, 400));
    scratch.write("points.jsonl", edited);
    const ProgramRun merge = run_program("merge --quiet " + file);
    const ProgramRun run = run_program(sweep + "--resume --json " + file);
    CHECK(run.status == 0);
    CHECK_MESSAGE(run.messages.contains("warning: " + file + ":1: "), run.messages);
    CHECK((read_text(file) == good));
    const bool seen_alone = !edited.contains("9 ms") && !edited.contains(R"("values":{})") &&
                            !edited.contains("\"9.9\"");
    if (seen_alone) CHECK_MESSAGE(merge.status == 2, merge.messages);
  }
}

TEST_CASE("of two programs on one file of points the second is told, and the first is right") {
  const ScratchFolder scratch;
  const std::string alone = scratch.file("alone.jsonl");
  const std::string file = scratch.file("two.jsonl");
  const std::string status = scratch.file("status");
  const std::string long_sweep =
      "sweep " + shipped_scenario("textbook-fsdp2") +
      " --over 'workload.explicit.block_forward=1..400 us' --quiet -j 1 ";
  REQUIRE(run_program(long_sweep + "--json " + alone).status == 0);
  // The first holds its file once it has made it, and is stopped while the others try.
  const std::string script =
      std::string(SHARDSIM_PROGRAM) + " " + long_sweep + "--resume --json " + file +
      " >/dev/null 2>&1 & p=$!; while [ ! -s " + file + " ]; do kill -0 $p || break; done; " +
      "kill -STOP $p; for c in '--resume --json " + file + "' '--json " + file + "'; do " +
      SHARDSIM_PROGRAM + " " + replaced(long_sweep, "--quiet", "--quiet $c") + " 2>>" + status +
      "; echo $? >>" + status + "; done; " + SHARDSIM_PROGRAM + " merge --quiet " + file + " 2>>" +
      status + "; echo $? >>" + status + "; kill -CONT $p; wait $p; echo $? >>" + status;
  (void)std::system(script.c_str());
  const std::string told = ": another program is writing '" + file +
                           "': expected its end, or another file for this one\n2\n";
  CHECK(read_text(status) ==
        "shardsim sweep" + told + "shardsim sweep" + told + "shardsim merge" + told + "0\n");
  CHECK((read_text(file) == read_text(alone)));
}

TEST_CASE("points beside a table of CSV take no file that is there already") {
  const ScratchFolder scratch;
  const std::string table = scratch.file("t.csv");
  const std::string mine = scratch.write("t.csv.points.jsonl", "mine\n");
  for (const char* resume : {"", "--resume "}) {
    const ProgramRun run = run_program(sweep + resume + "--csv " + table);
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.messages.contains("'" + mine + "'"), run.messages);
    CHECK(read_text(mine) == "mine\n");
    CHECK(!std::filesystem::exists(table));
  }
  std::filesystem::remove(mine);
  CHECK(run_program(sweep + "--csv " + table).status == 0);
  CHECK(!std::filesystem::exists(mine));
}

TEST_CASE("a machine without descriptors is told as such, and makes no points") {
  const ScratchFolder scratch;
  const std::string file = scratch.file("points.jsonl");
  // A shell of its own: one that is to redirect needs descriptors itself.
  const std::string script = scratch.write(
      "few.sh", "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 4; exec " SHARDSIM_PROGRAM " " +
                    sweep + "--json " + file + "\n");
  const std::string told = scratch.file("told");
  const int status = std::system(("sh " + script + " 2>" + told).c_str());
  CHECK(WEXITSTATUS(status) == 2);
  CHECK_MESSAGE(read_text(told).contains("Too many open files"), read_text(told));
  CHECK(read_text(file).empty());
  const ProgramRun resumed = run_program(sweep + "--resume --json " + file);
  CHECK_MESSAGE(resumed.status == 0, resumed.messages);
  CHECK(!read_text(file).contains("\"failed\""));
}

TEST_CASE("an output that a link leads to is made there, and the link stays") {
  const ScratchFolder scratch;
  const std::string link = scratch.file("link");
  const std::string file = scratch.file("file.json");
  std::filesystem::create_symlink("second", link);
  std::filesystem::create_symlink("file.json", scratch.file("second"));
  REQUIRE(
      run_program("run " + shipped_scenario("textbook-fsdp2") + " --quiet --json " + link).status ==
      0);
  CHECK(std::filesystem::is_symlink(link));
  CHECK(std::filesystem::is_symlink(scratch.file("second")));
  CHECK(read_text(file).starts_with('{'));
}

TEST_CASE("points go to a device or a pipe as to standard output") {
  CHECK(run_program(sweep + "--json /dev/null").status == 0);
  const ScratchFolder scratch;
  const std::string table = scratch.file("t.csv");
  CHECK(run_program(sweep + "--json /dev/null --csv " + table).status == 0);
  CHECK(!read_text(table).empty());
  const std::string told = scratch.file("told");
  const std::string piped = SHARDSIM_PROGRAM " " + sweep + "--json /dev/stdout | cat >" + told;
  CHECK(std::system(piped.c_str()) == 0);
  CHECK(read_text(told) == run_program(sweep + "--json -").output);
}

TEST_CASE("a file of points that is removed meanwhile is there again, and a stranger's stays") {
  const ScratchFolder scratch;
  const std::string file = scratch.file("points.jsonl");
  const std::string script = scratch.write(
      "meanwhile.sh", "rm -f " + file + "; mkfifo " + scratch.file("go") +
                          "\n" SHARDSIM_PROGRAM " " + sweep + "--json " + file + " --csv " +
                          scratch.file("go") + " 2>" + scratch.file("told") + " &\nwhile [ ! -s " +
                          file + " ]; do sleep 0.01; done; $1\ncat " + scratch.file("go") +
                          " >/dev/null\nwait $!; echo $? >" + scratch.file("status") + "; rm " +
                          scratch.file("go") + "\n");
  const std::string alone = run_program(sweep + "--json -").output;
  const auto run = [&](const std::string& meanwhile) {
    (void)std::system(("sh " + script + " '" + meanwhile + "'").c_str());
    return read_text(scratch.file("status"));
  };
  CHECK(run("rm " + file) == "0\n");
  CHECK((read_text(file) == alone));
  const std::string mine = scratch.write("mine", "mine\n");
  CHECK(run("cp --remove-destination " + mine + " " + file) == "2\n");
  CHECK(read_text(file) == "mine\n");
  CHECK((read_text(file + ".rescued") == alone));
  CHECK(read_text(scratch.file("told")).contains("the points are in '" + file + ".rescued'"));
}

TEST_CASE("what another program has locked is not replaced") {
  const ScratchFolder scratch;
  const std::string file = scratch.write("held.json", "held");
  const std::string script = "flock -x " + file + " " + SHARDSIM_PROGRAM + " run " +
                             shipped_scenario("textbook-fsdp2") + " --quiet --json " + file +
                             " 2>/dev/null";
  CHECK(WEXITSTATUS(std::system(script.c_str())) == 2);
  CHECK(read_text(file) == "held");
}

}  // namespace
}  // namespace shardsim
