// FSDP2 with embedding and head as units of their own.
#include <doctest/doctest.h>

#include "models/training/strategy.hpp"
#include "tests/unit/training/program_inspection.hpp"
#include "tests/unit/training/transformer_fixture.hpp"

namespace shardsim::training {
namespace {

constexpr std::int64_t ranks = 8;

std::vector<InspectedStep> record(const TrainingSpec& spec, int micro_batches = 1) {
  TransformerWorkload workload(small_llama(), sequences(64), {});
  return inspect(record_program(spec, workload, {ranks, ranks, 1}, micro_batches, 3));
}

TrainingSpec with_parts() {
  TrainingSpec spec;
  spec.embedding_and_head_units = true;
  return spec;
}

std::vector<std::string> gathers(const InspectedStep& step) {
  std::vector<std::string> names;
  for (const auto& one : step.collectives) {
    if (one.name.ends_with(".all_gather")) names.push_back(one.name);
  }
  return names;
}

TEST_CASE("embedding and head are gathered as they are reached, and the head only once") {
  const int blocks = static_cast<int>(small_llama().layers);
  const std::vector<std::string> names = gathers(record(with_parts()).back());
  const auto of_block = [](int block) { return "layers." + std::to_string(block) + ".all_gather"; };
  std::vector<std::string> expected{"tok_embeddings.all_gather"};
  for (int block = 0; block < blocks; ++block) expected.push_back(of_block(block));
  expected.emplace_back("output.all_gather");
  for (int block = blocks - 1; block >= 0; --block) expected.push_back(of_block(block));
  expected.emplace_back("tok_embeddings.all_gather");
  CHECK(names == expected);
}

TEST_CASE("the head is reduced first, the embedding last") {
  const InspectedStep step = record(with_parts()).back();
  std::vector<std::string> names;
  for (const auto& one : step.collectives) {
    if (one.name.ends_with(".reduce_scatter")) names.push_back(one.name);
  }
  REQUIRE(names.size() == static_cast<std::size_t>(small_llama().layers + 2));
  CHECK(names.front() == "output.reduce_scatter");
  CHECK(names.back() == "tok_embeddings.reduce_scatter");
}

TEST_CASE("units of their own move the same gradients and hold the same state, in less memory") {
  TransformerShape shape = small_llama();
  shape.vocabulary = 50'000;  // tables larger than blocks
  const auto record_large = [&](const TrainingSpec& spec) {
    TransformerWorkload workload(shape, sequences(8), {});
    return inspect(record_program(spec, workload, {ranks, ranks, 1}, 1, 3)).back();
  };
  const InspectedStep whole = record_large({});
  const InspectedStep parts = record_large(with_parts());
  CHECK(parts.at_end.total() == whole.at_end.total());
  CHECK(parts.peak_of(cuda::MemoryKind::gathered_parameters) <
        whole.peak_of(cuda::MemoryKind::gathered_parameters));
  CHECK(parts.peak.total() < whole.peak.total());
}

TEST_CASE("memory returns to the same value, whether gradients are kept or reduced") {
  for (const GradientSync sync :
       {GradientSync::every_micro_batch, GradientSync::last_micro_batch}) {
    for (const bool reshards : {true, false}) {
      TrainingSpec spec = with_parts();
      spec.gradient_sync = sync;
      spec.reshard_after_forward = ReshardAfterForward{reshards};
      const auto steps = record(spec, 2);
      CHECK(steps[1].at_end.total() == steps[2].at_end.total());
      CHECK(steps[1].peak.total() == steps[2].peak.total());
      CHECK(steps[2].at_end.of(cuda::MemoryKind::gradients) == 0);
    }
  }
}

}  // namespace
}  // namespace shardsim::training
