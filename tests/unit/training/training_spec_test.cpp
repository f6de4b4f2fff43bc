#include "models/training/training_spec.hpp"

#include <memory>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace shardsim::training {
namespace {

struct Reading {
  TrainingSpec spec;
  simcore::Diagnostics diagnostics;
  std::string messages() const { return simcore::to_text(diagnostics); }
};

Reading read(std::string_view text) {
  Reading reading;
  const auto source =
      std::make_shared<const simcore::SourceText>(simcore::SourceText{"test", std::string(text)});
  const auto node = simcore::read_yaml(source, reading.diagnostics);
  REQUIRE(node);
  reading.spec = simcore::read_config<TrainingSpec>(*node, reading.diagnostics);
  return reading;
}

TEST_CASE("only the strategy has to be given; the rest has PyTorch's defaults") {
  const Reading reading = read("{strategy: fsdp2}");
  CHECK_FALSE(reading.diagnostics.has_errors());
  CHECK(reading.spec.reshards_blocks());
  CHECK(reading.spec.backward_prefetch.depth() == 1);
  CHECK(reading.spec.backward_prefetch.policy() == BackwardPrefetchPolicy::pre);
  CHECK(reading.spec.forward_prefetch == 0);
  CHECK(reading.spec.limit_all_gathers);
  CHECK(read("{sharding: full_shard}").diagnostics.has_errors());
}

TEST_CASE("backward_prefetch is a policy or a depth") {
  CHECK(read("{strategy: fsdp2, backward_prefetch: 3}").spec.backward_prefetch.depth() == 3);
  CHECK(read("{strategy: fsdp2, backward_prefetch: none}").spec.backward_prefetch.depth() == 0);
  CHECK(read("{strategy: fsdp1, backward_prefetch: 0}").spec.backward_prefetch.policy() ==
        BackwardPrefetchPolicy::none);
  CHECK(read("{strategy: fsdp1, backward_prefetch: post}").spec.backward_prefetch.policy() ==
        BackwardPrefetchPolicy::post);
  CHECK(read("{strategy: fsdp2, backward_prefetch: -1}").diagnostics.has_errors());
  CHECK(read("{strategy: fsdp2, backward_prefetch: post}").diagnostics.has_errors());
  CHECK(read("{strategy: fsdp1, backward_prefetch: 2}").diagnostics.has_errors());
  const Reading wrong = read("{strategy: fsdp1, backward_prefetch: prr}");
  CHECK(wrong.messages().find("did you mean 'pre'?") != std::string::npos);
}

TEST_CASE("reshard_after_forward is a flag or a number of ranks") {
  CHECK_FALSE(read("{strategy: fsdp2, reshard_after_forward: false}").spec.reshards_blocks());
  CHECK_FALSE(read("{strategy: fsdp2, reshard_after_forward: 1}").spec.reshards_blocks());
  CHECK(read("{strategy: fsdp2, reshard_after_forward: 8}").spec.reshards_blocks());
  CHECK(read("{strategy: fsdp2, reshard_after_forward: 0}").diagnostics.has_errors());
  CHECK(read("{strategy: fsdp2, reshard_after_forward: yes}").diagnostics.has_errors());
  CHECK(read("{strategy: fsdp2, sharding: shard_grad_op, reshard_after_forward: true}")
            .diagnostics.has_errors());
}

TEST_CASE("printed values read back as the same") {
  for (const char* text : {"post", "none", "4"}) {
    const auto spec = read(std::string("{strategy: fsdp1, backward_prefetch: ") + text + "}").spec;
    CHECK(simcore::print_value(spec.backward_prefetch) == text);
  }
  const auto spec = read("{strategy: fsdp2, reshard_after_forward: 8}").spec;
  CHECK(simcore::print_value(*spec.reshard_after_forward) == "8");
}

TEST_CASE("what a strategy cannot do is an error, what it ignores a warning") {
  CHECK(read("{strategy: zero4}").diagnostics.has_errors());
  CHECK(read("{strategy: fsdp2, sharding: no_shard}").diagnostics.has_errors());
  CHECK(read("{strategy: fsdp1, forward_prefetch: 2}").diagnostics.has_errors());
  CHECK(read("{strategy: fsdp1, gradient_sync: all_reduce_last}").diagnostics.has_errors());
  const Reading ignored = read("{strategy: ddp, limit_all_gathers: true}");
  CHECK_FALSE(ignored.diagnostics.has_errors());
  CHECK(ignored.messages().find("limit_all_gathers has no effect") != std::string::npos);
}

TEST_CASE("ZeRO's settings are DeepSpeed's, and those of another stage have no effect") {
  const Reading zero3 = read(
      "{strategy: zero3, zero: {reduce_bucket_size: 16777216, overlap_comm: false, "
      "stage3_prefetch_bucket_size: 15099494}}");
  CHECK(zero3.messages().empty());
  CHECK(zero3.spec.zero.reduce_bucket_size == 16777216);
  CHECK(zero3.spec.zero.stage3_prefetch_bucket_size == 15099494);
  CHECK(zero3.spec.zero.sub_group_size == 1'000'000'000);
  CHECK_FALSE(zero3.spec.zero.overlaps(true));
  CHECK(read("{strategy: zero3}").spec.zero.overlaps(true));
  CHECK_FALSE(read("{strategy: zero2}").spec.zero.overlaps(false));
  const auto warns = [](std::string_view text) {
    const Reading reading = read(text);
    CHECK_FALSE(reading.diagnostics.has_errors());
    return reading.messages().find("has no effect") != std::string::npos;
  };
  CHECK(warns("{strategy: zero2, zero: {stage3_max_live_parameters: 1}}"));
  CHECK(warns("{strategy: zero3, zero: {use_multi_rank_bucket_allreduce: false}}"));
  CHECK(warns("{strategy: zero1, sharding: full_shard}"));
  CHECK(warns("{strategy: fsdp2, zero: {overlap_comm: true}}"));
  CHECK(read("{strategy: zero2, zero: {reduce_bucket_size: 0}}").diagnostics.has_errors());
  CHECK(read("{strategy: zero2, zero: {reduce_bucket: 1}}").diagnostics.has_errors());
}

TEST_CASE("groups follow from the sharding") {
  TrainingSpec spec;
  const GroupSizes whole = group_sizes(spec, 32, 8).value();
  CHECK(whole.shard == 32);
  CHECK(whole.replicas == 1);
  spec.sharding = Sharding::hybrid_shard;
  const GroupSizes node = group_sizes(spec, 32, 8).value();
  CHECK(node.shard == 8);
  CHECK(node.replicas == 4);
  spec.shard_group = 16;
  CHECK(group_sizes(spec, 32, 8).value().replicas == 2);
  spec.shard_group = 12;
  CHECK_FALSE(group_sizes(spec, 32, 8));
  spec.shard_group = 64;
  CHECK_FALSE(group_sizes(spec, 32, 8));
  spec.strategy = Strategy::ddp;
  CHECK(group_sizes(spec, 32, 8).value().replicas == 32);
  spec.strategy = Strategy::zero1;
  CHECK(group_sizes(spec, 32, 8).value().shard == 32);
  spec = {};
  spec.reshard_after_forward = ReshardAfterForward{std::int64_t{5}};
  CHECK_FALSE(group_sizes(spec, 32, 8));
}

}  // namespace
}  // namespace shardsim::training
