// The quiz answered by simulation, and what happens when a mechanism is broken.
#include "quiz/evidence/verdict.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/unit/quiz/quiz_fixture.hpp"

namespace shardsim::quiz {
namespace {

TEST_CASE("for every question exactly one option is supported, and it is the marked one") {
  for (const Question& question : shipped_bank().questions) {
    CAPTURE(question.spec.id);
    const QuestionVerdict verdict = verdict_with(question, "", {});
    CHECK(verdict.answer == question.spec.answer);
    CHECK(std::ranges::count(verdict.options, Verdict::supported, &OptionVerdict::verdict) == 1);
  }
}

TEST_CASE("which option is marked right plays no part in the verdict") {
  for (Question question : shipped_bank().questions) {
    CAPTURE(question.spec.id);
    const std::string marked = question.spec.answer;
    question.spec.answer = question.spec.options.front().id == marked
                               ? question.spec.options.back().id
                               : question.spec.options.front().id;
    CHECK(verdict_with(question, "", {}).answer == marked);
  }
}

TEST_CASE("only history is cited instead of simulated, and every verdict shows its numbers") {
  for (const Question& question : shipped_bank().questions) {
    for (const OptionVerdict& option : verdict_with(question, "", {}).options) {
      CAPTURE(question.spec.id);
      CAPTURE(option.id);
      CHECK((option.verdict == Verdict::cited) ==
            (question.spec.id == "q4" && option.id != "zero"));
      CHECK(option.numbers.empty() == (option.verdict == Verdict::cited));
      if (question.spec.id == "q4") CHECK_FALSE(option.cites.empty());
    }
  }
}

/// A run of a question replaced by another, with which the option's claim must turn over.
struct Mutation {
  const char* question;
  const char* option;
  const char* run;
  RunSpec instead;
};

const std::string slow_network = "cluster.topology=networks/dgx-h200-50g.yaml";

std::vector<Mutation> mutations() {
  using enum ProgramChange;
  const RunSpec ddp{"ddp", {}, none};
  const RunSpec ddp_on_8{"ddp", {"cluster.nodes=1"}, none};
  const RunSpec ddp_of_half_a_batch{"ddp", {"workload.sequence_length=2048"}, none};
  const auto changed = [](ProgramChange change) { return RunSpec{"fsdp", {}, change}; };
  return {
      {"q1", "state", "fsdp", ddp},  // no sharding
      {"q1", "batch", "fsdp", ddp_of_half_a_batch},
      {"q1", "schedule", "fsdp", {"ddp", {"training.optimizer=sgd"}, none}},
      {"q1", "files", "fsdp", ddp},
      {"q2", "broadcast", "fsdp", changed(broadcast_weights)},
      {"q2", "all_gather", "fsdp", changed(broadcast_weights)},
      {"q2", "all_gather", "fsdp", ddp},  // no sharding
      {"q2", "scatter", "fsdp", changed(scatter_weights)},
      {"q2", "barrier", "fsdp", changed(barrier_weights)},
      {"q3", "spoil", "free", changed(forward_only)},
      {"q3", "slower", "free", {"keep-whole", {slow_network}, none}},
      {"q3", "shard", "free", {"keep-whole", {}, none}},  // gathered weights kept
      {"q3", "random", "free", changed(keep_odd_layers)},
      {"q4", "zero", "full_shard", {"shard-grad-op", {}, none}},  // gathered weights kept
      {"q4", "zero", "full_shard", {"full-shard", {"training.sharding=no_shard"}, none}},
      {"q5", "overlap", "prefetch", {"no-prefetch", {}, none}},  // no prefetch
      {"q5", "overlap", "prefetch", changed(one_stream)},
      {"q5", "no_backward", "prefetch", changed(forward_only)},
      {"q5", "one_bit", "prefetch", changed(one_bit_weights)},
      {"q5", "cpu", "prefetch", changed(cpu)},
      {"q6", "all_to_all", "fsdp", changed(exchange_gradients)},
      {"q6", "reduce_scatter", "fsdp", changed(exchange_gradients)},
      {"q6", "reduce_scatter", "fsdp", ddp},  // no sharding
      {"q6", "one_gpu", "fsdp", changed(drop_gradients)},
      {"q6", "gather", "fsdp", changed(gather_gradients)},
      {"q7", "gone", "fsdp_8", {"fsdp", {"cluster.nodes=1", "training.cpu_offload=true"}, none}},
      {"q7", "requests", "fsdp_8", {"zero1", {"cluster.nodes=1"}, none}},
      {"q7", "shard", "fsdp_8", ddp_on_8},  // no sharding
      {"q7", "cpu", "fsdp_8", {"fsdp", {"cluster.nodes=1"}, no_activations}},
      {"q8", "free", "fsdp_16", changed(no_communication)},
      {"q8", "replicas", "fsdp_16", ddp_of_half_a_batch},
      {"q8", "inference", "fsdp_16", changed(forward_only)},
      {"q8", "trade", "fsdp_16", ddp},  // no sharding
  };
}

TEST_CASE("breaking a mechanism turns the claim over that speaks of it") {
  for (const Mutation& mutation : mutations()) {
    CAPTURE(std::string(mutation.question));
    CAPTURE(std::string(mutation.option));
    CAPTURE(mutation.instead.scenario);
    const Question& question = *shipped_bank().find(mutation.question);
    const Verdict before = of_option(verdict_with(question, "", {}), mutation.option);
    const QuestionVerdict after = verdict_with(question, mutation.run, mutation.instead);
    const bool was_right = question.spec.answer == mutation.option;
    CHECK(before == (was_right ? Verdict::supported : Verdict::refuted));
    CHECK(of_option(after, mutation.option) == (was_right ? Verdict::refuted : Verdict::supported));
    if (was_right) CHECK(after.answer != question.spec.answer);
  }
}

TEST_CASE("every claim of the bank has a mutation that turns it over") {
  std::set<std::string> turned;
  for (const Mutation& one : mutations()) turned.insert(std::string(one.question) + one.option);
  for (const Question& question : shipped_bank().questions) {
    for (const OptionSpec& option : question.spec.options) {
      if (!option.claim) continue;
      CAPTURE(question.spec.id);
      CAPTURE(option.id);
      CHECK(turned.contains(question.spec.id + option.id));
    }
  }
}

TEST_CASE("facts of the fully sharded run agree with closed forms and with its result") {
  const auto run = shared_runs().get({"fsdp", {}, ProgramChange::none});
  REQUIRE(run);
  const Facts& facts = (*run)->facts;
  const auto value = [&facts](const char* name) { return facts.find(name)->second.value; };
  // A block of Llama 3 8B: q, k, v, o; gate, up and down; two norms; two bytes each.
  const double block = 2.0 * 4096 * 4096 + 2.0 * 4096 * 1024 + 3.0 * 4096 * 14336 + 2.0 * 4096;
  CHECK(value("layer_weights") == 2 * block);
  CHECK(value("fed_out") == 2 * block);
  CHECK(value("fed_in") == 2 * block / 16);
  CHECK(value("gradient_in") == 2 * block);
  CHECK(value("bits_per_weight") == 16);
  CHECK(value("layers") == 32);
  CHECK(value("parameters") == doctest::Approx(2 * 8030261248.0 / 16).epsilon(1e-6));
  CHECK(value("optimizer") == doctest::Approx(2 * value("parameters")).epsilon(1e-6));
  CHECK(value("hidden") + value("exposed") >= value("communication") * 0.99);
  const scenario::Result& result = (*run)->output.result;
  const double other = static_cast<double>(result.memory.persistent.count) - value("parameters") -
                       value("optimizer");
  CHECK(other >= 0);
  CHECK(other < 128.0 * (1 << 20));  // cuBLAS's workspace, and rounding
}

TEST_CASE("a question whose claims two options meet has no answer") {
  Question question = *shipped_bank().find("q2");
  question.claims[0] = *Expression::parse("fsdp.gpus > 0");
  CHECK(verdict_with(question, "", {}).answer.empty());
  question.claims[0] = question.claims[1] = *Expression::parse("fsdp.gpus < 0");
  CHECK(verdict_with(question, "", {}).answer.empty());
  question.claims[0] = *Expression::parse("fsdp.gpus < 0 B");
  const auto runs = shared_runs().all(question.spec);
  REQUIRE(runs);
  CHECK_FALSE(judge(question, facts_of(*runs)).has_value());
}

}  // namespace
}  // namespace shardsim::quiz
