// `shardsim validate` on a few published runs: what it writes, how near it comes, how it refuses.
#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::json;

const std::string sample =
    std::string(SHARDSIM_SOURCE_DIR) + "/tests/golden/validation/training_sample.csv";

Json validated() {
  const ProgramRun run = run_program("validate --training " + sample + " --json -");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  return Json::parse(run.output);
}

TEST_CASE("every run of the table has a line, with a forecast or a reason") {
  const Json report = validated();
  std::set<std::string> ids;
  for (const Json& row : report["rows"]) {
    ids.insert(row["id"].get<std::string>());
    CAPTURE(row.dump());
    CHECK(row.size() == 7);
    CHECK((row["predicted"].is_number() || row["why_not"].is_string()));
    CHECK((row["quantity"] == "step_time_s" || row["quantity"] == "peak_memory_bytes"));
  }
  CHECK(ids.size() == 13);
}

TEST_CASE("forecasts of the published runs come within 15 % of time and 10 % of memory") {
  const Json report = validated();
  int compared = 0;
  for (const Json& row : report["rows"]) {
    if (!row["relative_error"].is_number()) continue;
    CAPTURE(row.dump());
    const double limit = row["quantity"] == "step_time_s" ? 0.15 : 0.10;
    CHECK(std::abs(row["relative_error"].get<double>()) < limit);
    ++compared;
  }
  CHECK(compared == 11);
}

TEST_CASE("groups come with their number of rows and three errors") {
  const Json report = validated();
  const Json& total = report["summary"][0];
  CHECK(total["group"] == "step_time_s, all FSDP, trust A");
  CHECK(total["rows"] == 9);
  for (const char* key : {"median_abs_error", "p90_abs_error", "bias"}) {
    CHECK(total[key].is_number());
  }
}

TEST_CASE("runs out of memory are told from those that fit, or it is said why not") {
  const std::string others =
      std::string(SHARDSIM_SOURCE_DIR) + "/tests/golden/validation/oom_sample.csv";
  const ProgramRun run =
      run_program("validate --training " + sample + " --oom " + others + " --json -");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  const Json fit = Json::parse(run.output)["fit"];
  const Json& all = fit["summary"][0];
  CHECK(all["group"] == "all");
  CHECK(all["fits"] == all["fits_right"]);
  CHECK(all["fits"] == 9);
  CHECK(all["out_of_memory"] == 2);
  CHECK(all["out_of_memory_right"] == 2);
  CHECK(all["share_right"] == 1);
  for (const Json& row : fit["rows"]) {
    CAPTURE(row.dump());
    CHECK((row["predicted_fits"].is_boolean() != row["why_not"].is_string()));
  }
  CHECK(run.messages.find("tensor parallelism is not simulated (tp = 2)") != std::string::npos);
  CHECK(run.messages.find("it depends on what the source does not say") != std::string::npos);
  CHECK(run_program("validate --oom " + others).status == 2);
}

TEST_CASE("what people read goes to standard error where JSON takes standard output") {
  const ProgramRun both = run_program("validate --training " + sample + " --json -");
  CHECK(both.output.front() == '{');
  CHECK(both.messages.find("absolute error of forecasts") != std::string::npos);
  CHECK(both.messages.find("tensor parallelism is not simulated (tp = 8)") != std::string::npos);
  const ProgramRun text = run_program("validate --training " + sample);
  CHECK(text.output == both.messages);
}

TEST_CASE(
    "a run beyond the limits, or out of memory, has no forecast, and is told from bad input") {
  const ScratchFolder scratch;
  const std::string text = read_text(sample);
  const std::string header = text.substr(0, text.find('\n') + 1);
  const std::string first =
      text.substr(header.size(), text.find('\n', header.size()) + 1 - header.size());
  const auto run_with = [&](const std::string& old, const std::string& now,
                            const std::string& options) {
    std::string row = first;
    row.replace(row.find(old), old.size(), now);
    return run_program("validate --training " + scratch.write("x.csv", header + row) + options);
  };
  const ProgramRun usual = run_with(",8,8,,MPT-7b", ",8,8,,MPT-7b", "");
  CHECK(usual.status == 0);
  const ProgramRun large = run_with(",8,8,,MPT-7b", ",1000000,8,,MPT-7b", "");
  CHECK(large.status == 1);
  CHECK_MESSAGE(large.messages.contains("take --max-devices"), large.messages);
  const ProgramRun few = run_with(",8,8,,MPT-7b", ",8,8,,MPT-7b", " --max-events 100");
  CHECK(few.status == 1);
  CHECK(few.messages.contains("takes more than --max-events 100"));
  std::string other = first;
  other.replace(other.find(",8,8,,MPT-7b"), 5, ",1000000,8,");
  const ProgramRun both = run_program("validate --training " +
                                      scratch.write("both.csv", header + first + "b-" + other));
  CHECK(both.status == 0);
}

TEST_CASE("a bad table ends with status 2 and says where") {
  const ScratchFolder scratch;
  const auto status_and_message = [&](const std::string& file) {
    const ProgramRun run = run_program("validate --training " + file);
    CHECK(run.status == 2);
    CHECK(run.output.empty());
    return run.messages;
  };
  const std::string text = read_text(sample);
  const auto contains = [](const std::string& message, const std::string& part) {
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  contains(status_and_message(scratch.file("absent.csv")), "absent.csv: error: cannot be opened");
  contains(status_and_message(scratch.write("no.csv", "a,b\n1,2\n")), "missing columns row_id");
  std::string wrong = text;
  wrong.replace(wrong.find(",8,8,,MPT-7b"), 3, ",x,");
  contains(status_and_message(scratch.write("x.csv", wrong)), "x.csv:2:");
  contains(status_and_message(scratch.write("ragged.csv", text + "one,two\n")), "ragged.csv:15:1");
  CHECK(run_program("validate").status == 2);
}

TEST_CASE(
    "a log of reference kernels that lacks sizes, or whose times run backwards, is no match") {
  const ScratchFolder scratch;
  const std::string works = scratch.write("log.json", "");
  const std::string log = scratch.write("log.csv", "");
  REQUIRE(run_program("collective all_reduce --topology virtual-ranks --gpus 4 -b 4K -e 8K "
                      "--fidelity chunk --chunk-work " +
                      works + " --chunk-trace " + log)
              .status == 0);
  CHECK(run_program("validate --reference " + log).status == 0);
  const std::string text = read_text(log);
  std::ofstream(log) << text.substr(0, text.find('\n') + 1);
  CHECK(run_program("validate --reference " + log).status == 1);
  std::ofstream(log) << text.substr(0, text.find("\n8192,") + 1);
  CHECK(run_program("validate --reference " + log).status == 1);
  for (const std::string wrong : {"nan", "-5", "inf"}) {
    CAPTURE(wrong);
    const std::size_t cell = text.find(',', text.find(",send,") + 6) + 1;
    std::string changed = text;
    changed.replace(cell, text.find('\n', cell) - cell, wrong);
    std::ofstream(log) << changed;
    CHECK(run_program("validate --reference " + log).status == 2);
  }
}

TEST_CASE("a table without rows is no table") {
  const ScratchFolder scratch;
  const std::string runs =
      read_text(std::string(SHARDSIM_SOURCE_DIR) + "/validation/examples/published-runs.csv");
  const std::string table = scratch.write("runs.csv", runs.substr(0, runs.find('\n') + 1));
  const ProgramRun run = run_program("validate --training " + table);
  CHECK(run.status == 2);
  CHECK(run.messages.find("a header alone") != std::string::npos);
}

TEST_CASE("a log of reference kernels that is a folder is told once") {
  const ProgramRun run = run_program("validate --reference .");
  CHECK(run.status == 2);
  CHECK(run.messages.find("..json") == std::string::npos);
}

TEST_CASE("a rule's value is held to what its key declares, at its place, met by a run or not") {
  const ScratchFolder scratch;
  const std::string table = scratch.write("runs.csv",
                                          "row_id,source_id,framework,model,params_b,layers,hidden,"
                                          "heads,kv_heads,ffn,vocab,seq_len,gpu,"
                                          "gpus,micro_batch,step_time_s\n");
  const std::string gpus = "3:34: error: cluster.gpus_per_node: ";
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"cluster.gpus_per_node: abc", gpus + "expected an integer, found 'abc'"},
      {"cluster.gpus_per_node: 1.5", gpus},
      {"cluster.gpus_per_node: 0", gpus + "must be between 1 and 1024"},
      {"cluster.gpus_per_node: -3", gpus},
      {"cluster.gpus_per_node: 1025", gpus},
      {"cluster.gpus_per_node: 99999999999999999999", gpus},
      {"cluster.gpus_per_node: ''", gpus},
      {"cluster.gpus_per_node: 0x8", gpus},
      {"steps.measure: 1e99", "3:26: error: steps.measure: expected an integer, found '1e99'"},
      {"cluster.nodes: 99999999999", "3:26: error: cluster.nodes: must be between 1 and 1000000"},
      {"workload.sequence_length: -1", "3:37: error: workload.sequence_length: must be between"},
      {"training.optimizer: adamx", "did you mean 'adamw'?"},
      {"training.cpu_offload: 2", "3:33: error: training.cpu_offload: expected true or false"},
      {"cpu.forward_op: 3", "3:27: error: cpu.forward_op: expected a number with a unit"},
      {"training.optimiser: sgd", "3:11: error: 'training.optimiser' is no key of a scenario"},
      {"cluster.nodes.x: 1", "3:11: error: 'cluster.nodes' has no keys below it"}};
  for (const auto& [set, message] : wrong) {
    CAPTURE(set);
    const std::string rules =
        scratch.write("rules.yaml", "rules:\n  - when: {framework: [\"no run\"]}\n    set: {" +
                                        set + "}\nmemory: []\n");
    const ProgramRun run = run_program("validate --training " + table + " --rules " + rules);
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.messages.find(message) != std::string::npos, run.messages);
  }
}

}  // namespace
}  // namespace shardsim
