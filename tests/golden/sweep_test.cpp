// `shardsim sweep` and `shardsim merge` as a user runs them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::json;

const std::string llama = shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100");
const std::string textbook = shipped_scenario("textbook-fsdp2");
const std::string many = textbook + " --over 'workload.explicit.block_forward=1..200 us' --quiet";

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

void must_run(const std::string& arguments) {
  const ProgramRun run = run_program(arguments);
  REQUIRE_MESSAGE(run.status == 0, run.messages);
}

TEST_CASE("a point's line holds what a run of that point says") {
  const ProgramRun sweep =
      run_program("sweep " + llama + " --over cluster.nodes=1,2 --json - --quiet");
  REQUIRE(sweep.status == 0);
  const auto lines = lines_of(sweep.output);
  REQUIRE(lines.size() == 2);
  const Json run =
      Json::parse(run_program("run " + llama + " --set cluster.nodes=2 --json - --quiet").output);
  const Json& point = lines[1];
  CHECK(point["schema"] == "shardsim.sweep/1");
  CHECK(point["point"] == Json::parse(R"({"index": 1, "of": 2, "values": {"cluster.nodes": 2}})"));
  for (const char* key : {"cluster", "step", "throughput", "collectives", "links"}) {
    CAPTURE(key);
    CHECK(point[key] == run[key]);
  }
  CHECK(point["scenario"]["overrides"] == run["scenario"]["overrides"]);
  CHECK(point["scenario"]["hash"].get<std::string>().size() == 16);
  CHECK(point["simulator"]["version"] == run["simulator"]["version"]);
  CHECK(!point["simulator"].contains("wall_s"));
}

TEST_CASE("any number of threads and any parts give the same bytes") {
  const ScratchFolder scratch;
  const std::string one = scratch.file("one.jsonl");
  must_run("sweep " + many + " -j 1 --json " + one + " --csv " + scratch.file("one.csv"));
  must_run("sweep " + many + " -j 4 --json " + scratch.file("four.jsonl"));
  CHECK(read_text(one) == read_text(scratch.file("four.jsonl")));
  std::string parts;
  for (const char* shard : {"3/3", "1/3", "2/3"}) {
    const std::string part = scratch.file(std::string("part") + shard[0] + ".jsonl");
    must_run("sweep " + many + " --shard " + shard + " --json " + part);
    parts += " " + part;
  }
  must_run("merge" + parts + " --quiet --json " + scratch.file("merged.jsonl") + " --csv " +
           scratch.file("merged.csv"));
  CHECK(read_text(one) == read_text(scratch.file("merged.jsonl")));
  CHECK(read_text(scratch.file("one.csv")) == read_text(scratch.file("merged.csv")));
}

TEST_CASE("killed ten times and resumed, a sweep ends with the same bytes") {
  const ScratchFolder scratch;
  const std::string whole = scratch.file("whole.jsonl");
  const std::string file = scratch.file("killed.jsonl");
  must_run("sweep " + many + " --json " + whole);
  for (int kill = 1; kill <= 10; ++kill) {
    // Killed once it has appended some more lines, wherever it is then.
    const std::string script =
        std::string(SHARDSIM_PROGRAM) + " sweep " + many + " -j 2 --resume --json " + file +
        " & p=$!; while kill -0 $p 2>/dev/null && [ $(cat " + file + " 2>/dev/null | wc -l) -lt " +
        std::to_string(kill * 15) + " ]; do :; done; kill -9 $p 2>/dev/null; wait $p";
    (void)std::system(("{ " + script + "; } >/dev/null 2>&1").c_str());
  }
  must_run("sweep " + many + " --resume --json " + file);
  CHECK(read_text(file) == read_text(whole));
  must_run("sweep " + many + " --resume --json " + file);
  CHECK(read_text(file) == read_text(whole));
}

TEST_CASE("points that fail are results with their reasons") {
  const ProgramRun sweep = run_program(
      "sweep " + llama +
      " --over workload.micro_batch_size=0,1,64 --over cluster.topology=dgx-h100,dgx-h10"
      " --json - --quiet");
  REQUIRE(sweep.status == 0);
  const auto lines = lines_of(sweep.output);
  REQUIRE(lines.size() == 6);
  CHECK(lines[0]["failed"]["kind"] == "bad_value");
  CHECK(lines[0]["failed"]["message"].get<std::string>().contains("micro_batch_size"));
  CHECK(lines[0]["step"].is_null());
  CHECK(!lines[2].contains("failed"));
  CHECK(lines[3]["failed"]["message"].get<std::string>().contains("did you mean 'dgx-h100'?"));
  CHECK(lines[4]["failed"]["kind"] == "out_of_memory");
  CHECK(lines[4]["memory"]["fits"] == false);
  CHECK(lines[4]["out_of_memory"]["requested_bytes"].get<double>() > 0);
  const ProgramRun dead =
      run_program("sweep " + shipped_scenario("slow-nic-llama-2-7b-4xdgx-h100") +
                  " --set 'perturb[0].at=10 ms'"
                  " --over 'perturb[0].bandwidth=0 %,50 %' --json - --quiet");
  CHECK(lines_of(dead.output)[0]["failed"]["kind"] == "no_route");
}

TEST_CASE("a sweep none of whose points has a result ends as a run of each would") {
  const ScratchFolder scratch;
  const auto status = [](const std::string& arguments, int expected) {
    CAPTURE(arguments);
    const ProgramRun run = run_program(arguments);
    CHECK(run.status == expected);
    const bool told =
        run.messages.contains("has a result") || run.messages.contains("has no result");
    CHECK(told == (expected != 0));
  };
  const std::string batches = "sweep " + llama + " --quiet --over workload.micro_batch_size=";
  status(batches + "1,200", 0);
  status(batches + "200,400", 1);
  status(batches + "200", 1);
  status(batches + "0,-1", 2);
  status(batches + "0,200", 1);
  status(batches + "200,400 --best mfu", 1);
  // A part may lack what another has: the merge judges the whole.
  std::string parts;
  for (const char* part : {"1/2", "2/2"}) {
    const std::string file = scratch.file(std::string("part") + part[0]);
    status(batches + "200,400 --shard " + part + " --json " + file, 0);
    parts += " " + file;
  }
  status("merge --quiet" + parts, 1);
}

TEST_CASE("the scenario's own axes come first, with whole maps and zipped keys") {
  const ScratchFolder scratch;
  const std::string file = scratch.write("scenario.yaml", R"(name: x
cluster: {topology: dgx-h100}
workload: {model: llama-2-7b, sequence_length: 1024}
sweep:
  - training: [{strategy: ddp}, {strategy: fsdp2, sharding: shard_grad_op}]
  - {cluster.nodes: 1..2, workload.micro_batch_size: [2, 1]}
)");
  const ProgramRun sweep =
      run_program("sweep " + file + " --over workload.compile=true,false --json - --quiet");
  REQUIRE_MESSAGE(sweep.status == 0, sweep.messages);
  const auto lines = lines_of(sweep.output);
  REQUIRE(lines.size() == 8);
  CHECK(lines[0]["point"]["values"] ==
        Json::parse(R"({"training": {"strategy": "ddp"}, "cluster.nodes": 1,
                        "workload.micro_batch_size": 2, "workload.compile": true})"));
  CHECK(lines[7]["point"]["values"]["training"]["sharding"] == "shard_grad_op");
  CHECK(lines[7]["point"]["values"]["workload.micro_batch_size"] == 1);
  CHECK(run_program("run " + file + " --quiet").status == 0);
}

TEST_CASE("a merge refuses missing, repeated, foreign and unfinished points") {
  const ScratchFolder scratch;
  const std::string a = scratch.file("a.jsonl");
  const std::string b = scratch.file("b.jsonl");
  const std::string other = scratch.file("other.jsonl");
  must_run("sweep " + many + " --shard 1/2 --json " + a);
  must_run("sweep " + many + " --shard 2/2 --json " + b);
  must_run("sweep " + textbook + " --over cluster.nodes=1,2 --quiet --json " + other);
  const auto refused = [](const std::string& parts, const std::string& expected) {
    const ProgramRun run = run_program("merge " + parts + " --quiet");
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.messages.contains(expected), run.messages);
  };
  refused(a, "100 of 200 points are missing: 1, 3, 5");
  refused(a + " " + b + " " + a, "is there twice");
  refused(a + " " + other, "another sweep");
  const std::string torn = scratch.write("torn.jsonl", read_text(b).substr(0, 5000));
  refused(a + " " + torn, "no complete point");
  refused("/nonexistent", "cannot be opened");
}

TEST_CASE("the best point, the front and the smallest cluster are found") {
  const ProgramRun best = run_program("sweep " + shipped_scenario("fsdp2-llama-3-8b-1xdgx-h100") +
                                      " --best tokens_per_s --subject-to memory.fits"
                                      " --prices list-2026");
  CHECK(best.status == 0);
  for (const char* text : {"Best throughput.tokens_per_s of ", "shardsim run ", "Nothing beats"}) {
    CHECK_MESSAGE(best.output.contains(text), best.output);
  }
  const ProgramRun target = run_program(
      "sweep " + llama + " --set workload.gradient_accumulation=8 --target 'step.time_s < 1 s'");
  CHECK(target.status == 0);
  CHECK_MESSAGE(target.output.contains("--set cluster.nodes=32"), target.output);
  const ProgramRun never = run_program("sweep " + llama + " --target 'step.time_s < 1 us'");
  CHECK(never.status == 1);
  CHECK(never.output.contains("No cluster that was tried"));
}

TEST_CASE("points that cannot fit are found without simulating them, as a run would find them") {
  const std::string over = " --over workload.micro_batch_size=1..16*2 --json - --quiet";
  const auto pruned = lines_of(run_program("sweep " + llama + over + " --best mfu").output);
  const auto plain = lines_of(run_program("sweep " + llama + over).output);
  REQUIRE(pruned.size() == plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(plain[i].contains("failed") == pruned[i].contains("failed"));
  }
  CHECK(pruned.back()["failed"]["message"].get<std::string>().contains("without a run"));
}

TEST_CASE("cost and measured points stand in the lines") {
  const ScratchFolder scratch;
  const std::string prices = scratch.write(
      "prices.yaml", "dated: \"2026-01-01\"\ngpus: {H100-SXM5-80GB: {per_gpu_hour: 2.0}}\n");
  const std::string csv = scratch.write("measured.csv",
                                        "gpus,throughput_per_gpu,model,efficiency_vs_smallest\n"
                                        "16,7000,a,1.0\n16,1,b,1.0\n32,6900,a,0.98\n");
  const ProgramRun sweep =
      run_program("sweep " + llama + " --over cluster.nodes=1,2 --json - --quiet --prices " +
                  prices + " --measured " + csv + ":model=a");
  REQUIRE_MESSAGE(sweep.status == 0, sweep.messages);
  const auto lines = lines_of(sweep.output);
  CHECK(lines[0]["cost"]["per_hour"] == 16.0);
  CHECK(lines[0]["cost"]["currency"] == "USD");
  CHECK(!lines[0].contains("measured"));
  REQUIRE(lines[1]["measured"].size() == 1);
  CHECK(lines[1]["measured"][0]["tokens_per_s_per_gpu"] == 7000.0);
}

TEST_CASE("parts take their index from the environment, and names of their own") {
  const ScratchFolder scratch;
  const std::string file = scratch.file("points.jsonl");
  for (const char* rank : {"0", "1"}) {
    const ProgramRun run =
        run_program("sweep " + many + " --json " + file,
                    std::string("export OMPI_COMM_WORLD_RANK=") + rank + " OMPI_COMM_WORLD_SIZE=2");
    CHECK(run.status == 0);
    CHECK(run.messages.contains("taken from OMPI_COMM_WORLD_RANK"));
  }
  must_run("merge " + scratch.file("points.1-of-2.jsonl") + " " +
           scratch.file("points.2-of-2.jsonl") + " --quiet --json " + file);
  CHECK(lines_of(read_text(file)).size() == 200);
}

struct BadSweep {
  std::string arguments;
  std::string expected;
};

TEST_CASE("bad arguments of a sweep end with status 2 and say what was expected") {
  const BadSweep cases[] = {
      {"", "nothing to sweep"},
      {"--over cluster.nodez=1", "did you mean 'nodes'?"},
      {"--over cluster.nodes", "expected KEY=VALUE"},
      {"--over cluster.nodes=1,,2", "expected a value"},
      {"--over cluster.nodes=1..8*1", "never reaches its end"},
      {"--with cluster.nodes=1", "expected an --over before it"},
      {"--over cluster.nodes=1,2 --with workload.micro_batch_size=1", "expected as many"},
      {"--over cluster.nodes=1 --over cluster.nodes=2", "two axes set"},
      {"--over cluster.nodes=1 --resume", "expected a file"},
      {"--over cluster.nodes=1 --json /nonexistent/x", "/nonexistent/x"},
      {"--over cluster.nodes=1 --json x --csv x", "different files"},
      {"--over cluster.nodes=1 --json " + llama, "is the scenario"},
      {"--over cluster.nodes=1 --shard 3/2", "expected I/N"},
      {"--over cluster.nodes=1 --shard auto", "expected I/N"},
      {"--over cluster.nodes=1 -j 0", "-j"},
      {"--over cluster.nodes=1 --plot speed", "there is no figure 'speed'"},
      {"--over cluster.nodes=1 --best tokens_per_sec", "did you mean"},
      {"--over cluster.nodes=1 --subject-to memory.fits", "--best or --target"},
      {"--target 'step.time_s < 3'", "unit"},
      {"--over cluster.nodes=1 --submit slurm", "expected a file"},
      {"--over cluster.nodes=1 --submit pbs --json x", "slurm"},
      {"--over cluster.nodes=1 --prices nowhere", "nowhere"},
      {"--over cluster.nodes=1 --measured /nonexistent", "/nonexistent"},
  };
  for (const BadSweep& one : cases) {
    CAPTURE(one.arguments);
    const ProgramRun run = run_program("sweep " + llama + " " + one.arguments);
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.messages.contains(one.expected), run.messages);
    CHECK(run.output.empty());
  }
  const ProgramRun typo = run_program("swep x");
  CHECK(typo.status == 2);
  CHECK(typo.messages.contains("did you mean 'sweep'?"));
}

TEST_CASE("job scripts are written without Slurm, and hold the whole sweep") {
  const ScratchFolder scratch;
  const std::string file = scratch.file("points.jsonl");
  const ProgramRun run =
      run_program("sweep " + many + " --submit slurm --dry-run --tasks 4 --json " + file);
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  const std::string script = read_text(file + ".slurm/points.sh");
  for (const char* text :
       {"#SBATCH --array=1-4", "--resume", "'workload.explicit.block_forward=1..200 us'"}) {
    CHECK_MESSAGE(script.contains(text), script);
  }
  CHECK(read_text(file + ".slurm/merge.sh").contains("part-4.jsonl"));
}

TEST_CASE("a target is looked for from small to large, also where times are prescribed") {
  const std::string sweep = "sweep " + shipped_scenario("textbook-fsdp2") + " ";
  CHECK(run_program(sweep + "--target 'step.time_s < 3 s'").status == 0);
  const ProgramRun wrong =
      run_program(sweep + "--target 'step.time_s < 3 s' --over cluster.nodes=3,1,2");
  CHECK(wrong.status == 2);
  CHECK(wrong.messages.find("found 1 out of order") != std::string::npos);
  CHECK(run_program(sweep + "--best ''").status == 2);
}

TEST_CASE("a part of a sweep with more points than a sweep has is refused") {
  const ScratchFolder scratch;
  const std::string part = scratch.write("part.jsonl", "");
  REQUIRE(run_program("sweep " + shipped_scenario("textbook-fsdp2") +
                      " --over cluster.nodes=1..3 --quiet --json " + part)
              .status == 0);
  CHECK(run_program("merge --quiet " + part).status == 0);
  std::string text = read_text(part);
  for (std::size_t at = 0; (at = text.find("\"of\":3", at)) != std::string::npos; ++at) {
    text.replace(at, 6, "\"of\":9223372036854775807");
  }
  std::ofstream(part) << text;
  const ProgramRun run = run_program("merge " + part);
  CHECK(run.status == 2);
  CHECK(run.messages.find("part.jsonl:1:") != std::string::npos);
  CHECK(run_program("merge .").status == 2);
}

TEST_CASE("measured points and prices that no point of a sweep shows are said") {
  const ScratchFolder scratch;
  const std::string sweep = "sweep " + shipped_scenario("fsdp2-llama-3-8b-1xdgx-h100") +
                            " --quiet --over cluster.nodes=1 ";
  const auto messages = [&](const std::string& row, const std::string& output) {
    const std::string file = scratch.write("m.csv", "gpus,throughput_per_gpu\n" + row + "\n");
    return run_program(sweep + "--measured " + file + output).messages;
  };
  const std::string json = " --json " + scratch.file("points.jsonl");
  CHECK(messages("8,9000", "").find("shown by --report and --json only") != std::string::npos);
  CHECK(messages("7,9000", json).find("no point has as many GPUs") != std::string::npos);
  CHECK(messages("8,9000", json).find("--measured") == std::string::npos);
  for (const char* row : {"8.5,9000", "008,9000", "0,9000", "99999999999999999999,1"}) {
    CAPTURE(row);
    CHECK(messages(row, json).find("m.csv:2:1: error: expected a whole number of GPUs") !=
          std::string::npos);
  }
  const std::string prices = scratch.write("p.yaml", "dated: 2026-01\ngpus: {}\n");
  CHECK(run_program(sweep + "--prices " + prices).messages.find("has none of H100") !=
        std::string::npos);
  CHECK(run_program(sweep + "--prices list-2026").messages.find("no cost") == std::string::npos);
}

TEST_CASE("points warn of themselves, once for all of them, and not of what others have") {
  const ScratchFolder scratch;
  const std::string sweep =
      "sweep " +
      scratch.write(
          "small.yaml",
          "name: small\ncluster: {topology: dgx-h100, nodes: 1}\n"
          "workload: {model: gpt2, sequence_length: 256}\ntraining: {strategy: fsdp2}\n") +
      " --quiet --json - ";
  const ProgramRun some = run_program(
      sweep +
      "--over workload.activation_checkpointing=none,full --set workload.checkpoint_every=2");
  CHECK(some.messages ==
        "shardsim sweep: warning: workload.checkpoint_every has no effect without "
        "activation_checkpointing (in 1 of 2 points)\n");
  const auto rows = lines_of(some.output);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["warnings"].dump().find("no effect") != std::string::npos);
  CHECK(rows[1]["warnings"].dump().find("no effect") == std::string::npos);
  const ProgramRun all = run_program(sweep + "--over workload.checkpoint_every=1,2");
  CHECK(all.messages ==
        "shardsim sweep: warning: workload.checkpoint_every has no effect without "
        "activation_checkpointing\n");
}

TEST_CASE("a setting that an axis replaces is said to be lost") {
  const std::string sweep =
      "sweep " + shipped_scenario("fsdp2-llama-3-8b-1xdgx-h100") + " --quiet --over ";
  const auto lost = [&](const std::string& options) {
    const ProgramRun run = run_program(sweep + options);
    CHECK(run.status == 0);
    return run.messages.find("has no effect, the axis") != std::string::npos;
  };
  CHECK(lost("cluster.nodes=1 --set cluster.nodes=2"));
  CHECK(lost("'training={strategy: fsdp2}' --set training.forward_prefetch=1"));
  CHECK_FALSE(lost("cluster.nodes=1 --set nccl.version=2.27.7"));
}

}  // namespace
}  // namespace shardsim
