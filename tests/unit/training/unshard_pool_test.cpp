// How many gathered units the caching allocator ends up holding: the memory that the limiter is
// there for.
#include <optional>
#include <set>

#include <doctest/doctest.h>

#include "tests/unit/training/sized_workload.hpp"
#include "tests/unit/training/strategy_run.hpp"

namespace shardsim::training {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t block_bytes = 32 * mib;  // large enough for a segment of its own

/// The program with the allocations of one stream (and one kind) alone.
cuda::Program only_pool(cuda::Program program, std::string_view stream,
                        std::optional<cuda::MemoryKind> kind = {}) {
  std::set<cuda::TensorId> kept;
  std::vector<cuda::Op> ops;
  for (const cuda::Op& op : program.ops) {
    bool keep = true;
    if (op.code == cuda::OpCode::allocate) {
      keep = program.streams[op.stream].name == stream &&
             (!kind || program.allocations[op.name].kind == *kind);
      if (keep) kept.insert(op.index);
    } else if (op.code == cuda::OpCode::free) {
      keep = kept.erase(op.index) > 0;
    } else if (op.code == cuda::OpCode::record_stream) {
      keep = kept.contains(op.index);
    }
    if (keep) ops.push_back(op);
  }
  program.ops = std::move(ops);
  return program;
}

/// Blocks of one unit's size that the stream's pool holds in the fourth step.
std::int64_t blocks_held(std::string_view training, std::string_view stream,
                         std::optional<cuda::MemoryKind> kind = {}) {
  SizedWorkload workload(4, 64, 8192);
  const auto spec = from_yaml<TrainingSpec>(training);
  const auto steps =
      run_alone(only_pool(record_program(spec, workload, {8, 8, 1}, 1, 4), stream, kind));
  return steps.back().memory.peak_reserved / block_bytes;
}

TEST_CASE("gathered units held by FSDP1's unshard pool") {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"{strategy: fsdp1, backward_prefetch: none}", 2},
      {"{strategy: fsdp1, backward_prefetch: pre}", 3},
      {"{strategy: fsdp1, backward_prefetch: post}", 2},
      {"{strategy: fsdp1, forward_prefetch: 1}", 3},
      {"{strategy: fsdp1, backward_prefetch: none, limit_all_gathers: false}", 8},
      {"{strategy: fsdp1, backward_prefetch: pre, limit_all_gathers: false}", 8},
      {"{strategy: fsdp1, backward_prefetch: post, limit_all_gathers: false}", 8},
      {"{strategy: fsdp1, sharding: shard_grad_op}", 4},
      {"{strategy: fsdp1, sharding: shard_grad_op, limit_all_gathers: false}", 4},
      {"{strategy: fsdp1, sharding: no_shard}", 0},
  };
  for (const auto& [training, expected] : cases) {
    CAPTURE(training);
    CHECK(blocks_held(training, "unshard") == expected);
  }
}

TEST_CASE("all-gather outputs held by FSDP2's copy-in pool") {
  CHECK(blocks_held("{strategy: fsdp2}", "ag_copy_in") == 2);
  CHECK(blocks_held("{strategy: fsdp2, reshard_after_forward: false}", "ag_copy_in") == 2);
  CHECK(blocks_held("{strategy: fsdp2, forward_prefetch: 1}", "ag_copy_in") == 2);
  CHECK(blocks_held("{strategy: fsdp2, forward_prefetch: 2, backward_prefetch: 2}", "ag_copy_in") ==
        3);
}

TEST_CASE("unsharded blocks that FSDP2 holds in the compute stream's pool") {
  const auto unsharded = [](std::string_view training) {
    return blocks_held(training, "compute", cuda::MemoryKind::gathered_parameters);
  };
  CHECK(unsharded("{strategy: fsdp2}") == 1);
  CHECK(unsharded("{strategy: fsdp2, reshard_after_forward: false}") == 4);
  CHECK(unsharded("{strategy: fsdp2, forward_prefetch: 1}") == 1);
  CHECK(unsharded("{strategy: fsdp2, forward_prefetch: 2, backward_prefetch: 2}") == 1);
}

TEST_CASE("hybrid sharding holds as many gathered units as full sharding") {
  CHECK(blocks_held("{strategy: fsdp1, sharding: hybrid_shard, backward_prefetch: none}",
                    "unshard") == 2);
  CHECK(blocks_held("{strategy: fsdp1, sharding: hybrid_shard}", "unshard") == 3);
  CHECK(blocks_held("{strategy: fsdp1, sharding: hybrid_shard, limit_all_gathers: false}",
                    "unshard") == 8);
}

}  // namespace
}  // namespace shardsim::training
