// What holds for memory and traffic of every sharded step, whatever the sizes: tried on models,
// strategies and devices drawn from printed seeds.
#include <map>
#include <optional>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/property/drawn_training.hpp"
#include "tests/unit/training/program_inspection.hpp"
#include "tests/unit/training/sized_workload.hpp"

namespace shardsim::training {
namespace {

constexpr std::uint32_t runs = 60;
constexpr std::int64_t row = 1024;  ///< elements, as SizedWorkload has them

struct DrawnModel {
  int blocks = 3;
  std::int64_t root_rows = 1;
  std::int64_t block_rows = 1;  ///< of each of a block's two parameters
  std::int64_t ranks = 1;
  TrainingSpec spec;
  GroupSizes groups;
  int accumulation = 1;
};

DrawnModel draw_model(std::uint32_t seed) {
  Draw draw(seed);
  DrawnModel model;
  model.spec = draw_strategy(draw);
  model.blocks = static_cast<int>(draw.number(3, 8));
  model.block_rows = draw.number(64, 900);
  model.root_rows = draw.number(1, model.block_rows / 2);
  model.ranks = draw.one_of(std::array<std::int64_t, 4>{2, 4, 8, 16});
  model.spec.shard_group = model.ranks / 2;
  model.spec.reduce_dtype = draw.coin() ? ElementType::fp32 : ElementType::bf16;
  model.groups = group_sizes(model.spec, model.ranks, model.ranks).value();
  model.accumulation = static_cast<int>(draw.number(1, 3));
  return model;
}

std::string described(const DrawnModel& model) {
  return fmt::format("{} blocks of 2 x {} rows, root {} rows, {} ranks, {} micro-batches, {} {}",
                     model.blocks, model.block_rows, model.root_rows, model.ranks,
                     model.accumulation, simcore::print_value(model.spec.strategy),
                     simcore::print_value(model.spec.sharding));
}

cuda::Program program_of(const DrawnModel& model, int steps) {
  SizedWorkload workload(model.blocks, model.root_rows, model.block_rows);
  return record_program(model.spec, workload, model.groups, model.accumulation, steps);
}

TEST_CASE("memory is the same after every step but the first, and so is its peak") {
  for (std::uint32_t seed = 1; seed <= runs; ++seed) {
    const DrawnModel model = draw_model(seed);
    INFO("seed " << seed << ": " << described(model));
    const auto steps = inspect(program_of(model, 5));
    for (std::size_t i = 3; i < steps.size(); ++i) {
      CHECK(steps[i].at_end.by_kind == steps[2].at_end.by_kind);
      CHECK(steps[i].peak.total() == steps[2].peak.total());
    }
    // Nothing but parameters and the optimizer's state outlives a step, and DDP's buckets.
    const HeldMemory& left = steps.back().at_end;
    CHECK(left.of(cuda::MemoryKind::gathered_parameters) == 0);
    CHECK(left.of(cuda::MemoryKind::activations) == 0);
    if (model.spec.strategy != Strategy::ddp) {
      CHECK(left.of(cuda::MemoryKind::gradients) == 0);
      CHECK(left.of(cuda::MemoryKind::communication_buffers) == 0);
    }
  }
}

std::int64_t padded_rows(std::int64_t rows, std::int64_t ranks) {
  return (rows + ranks - 1) / ranks * ranks;
}

TEST_CASE("traffic of a fully sharded step: parameters twice but for the root, gradients once") {
  for (std::uint32_t seed = 1; seed <= runs; ++seed) {
    DrawnModel model = draw_model(seed);
    model.spec.strategy = seed % 2 == 0 ? Strategy::fsdp2 : Strategy::fsdp1;
    model.spec.sharding = Sharding::full_shard;
    model.spec.backward_prefetch = {};
    model.spec.forward_prefetch = 0;
    model.spec.separate_reduce_scatter_group = false;
    model.accumulation = 1;
    model.groups = {model.ranks, model.ranks, 1};
    INFO("seed " << seed << ": " << described(model));
    const std::int64_t reduced = model.spec.reduce_dtype == ElementType::fp32 ? 4 : 2;
    // FSDP2 pads every parameter, FSDP1 the flat one; rows divide by the ranks either way.
    const std::int64_t root = padded_rows(model.root_rows, model.ranks) * row;
    const std::int64_t block = 2 * padded_rows(model.block_rows, model.ranks) * row;
    const bool flat = model.spec.strategy == Strategy::fsdp1;
    const std::int64_t root_elements = flat ? model.root_rows * row : root;
    const std::int64_t block_elements = flat ? 2 * model.block_rows * row : block;
    CHECK(inspect(program_of(model, 2)).back().bytes() ==
          model.blocks * block_elements * (2 + 2 + reduced) + root_elements * (2 + reduced));
  }
}

TEST_CASE("FSDP2's backward peak is the closed form for blocks of any size") {
  for (std::uint32_t seed = 1; seed <= runs; ++seed) {
    DrawnModel model = draw_model(seed);
    model.spec = {};
    model.spec.reduce_dtype = seed % 2 == 0 ? ElementType::fp32 : ElementType::bf16;
    model.accumulation = 1;
    // Many ranks, so that gradient shards do not decide; rows that divide, so that padding does
    // not.
    model.ranks = seed % 3 == 0 ? 8 : 16;
    model.block_rows = padded_rows(model.block_rows, model.ranks);
    model.root_rows = model.ranks;
    model.groups = {model.ranks, model.ranks, 1};
    INFO("seed " << seed << ": " << described(model));
    const std::int64_t root = model.root_rows * row;
    const std::int64_t block = 2 * model.block_rows * row;
    const std::int64_t reduced = model.spec.reduce_dtype == ElementType::fp32 ? 4 : 2;
    const std::int64_t shards = (root + model.blocks * block) / model.ranks;
    // Root, unit, the next unit's gather, gradients, the last reduction's input; the optimizer's
    // state; gradient shards of the units above the second.
    const std::int64_t peak = root * 2 + block * (2 + 2 + 2 + reduced) + shards * (4 + 8) +
                              (model.blocks - 2) * (block / model.ranks) * 4;
    CHECK(inspect(program_of(model, 3)).back().peak.total() == peak);
  }
}

TEST_CASE("resharding spares memory, and costs traffic") {
  for (std::uint32_t seed = 1; seed <= runs; ++seed) {
    DrawnModel model = draw_model(seed);
    if (model.spec.strategy == Strategy::ddp) continue;
    model.accumulation = 1;
    INFO("seed " << seed << ": " << described(model));
    const auto measured = [&](Sharding sharding) {
      model.spec.sharding = sharding;
      model.groups = group_sizes(model.spec, model.ranks, model.ranks).value();
      return inspect(program_of(model, 3)).back();
    };
    const InspectedStep freed = measured(Sharding::full_shard);
    const InspectedStep kept = measured(Sharding::shard_grad_op);
    CHECK(freed.peak_of(cuda::MemoryKind::gathered_parameters) <
          kept.peak_of(cuda::MemoryKind::gathered_parameters));
    CHECK(freed.bytes() > kept.bytes());
  }
}

/// Follows one rank's allocator: whose segments its blocks come from, and when it gives any back.
class AllocatorWatch {
 public:
  void acted(const cuda::AllocatorAction& action) {
    switch (action.kind) {
      case cuda::AllocatorActionKind::segment_alloc:
      case cuda::AllocatorActionKind::segment_map:
        segments_[action.address] = {
            action.address + static_cast<std::uint64_t>(action.bytes.count), action.stream};
        break;
      case cuda::AllocatorActionKind::segment_free:
      case cuda::AllocatorActionKind::segment_unmap:
        gave_back_ = true;
        break;
      case cuda::AllocatorActionKind::alloc:
        check_stream(action);
        break;
      default:
        break;
    }
  }
  void changed(const cuda::MemoryRecord& record) {
    CHECK(record.allocated <= record.reserved);
    if (!gave_back_) CHECK(record.reserved >= reserved_);
    reserved_ = record.reserved;
    peak_ = std::max(peak_, reserved_);
    gave_back_ = false;
  }
  simcore::Bytes peak() const { return peak_; }

 private:
  struct Segment {
    std::uint64_t end = 0;
    cuda::StreamId stream = 0;
  };
  void check_stream(const cuda::AllocatorAction& action) const {
    const auto after = segments_.upper_bound(action.address);
    REQUIRE(after != segments_.begin());
    const Segment& segment = std::prev(after)->second;
    CHECK(action.address < segment.end);
    CHECK(action.stream == segment.stream);
  }

  std::map<std::uint64_t, Segment> segments_;
  simcore::Bytes reserved_;
  simcore::Bytes peak_;
  bool gave_back_ = false;
};

/// Runs the program alone on a device of `capacity`; the reserved peak, or nothing if memory ran
/// out.
std::optional<simcore::Bytes> watch(const cuda::Program& program, bool expandable,
                                    simcore::Bytes capacity) {
  simcore::EventQueue queue;
  const cuda::KernelTimes times = prescribed_times(program);
  cuda::RankSetup rank;
  rank.program = &program;
  rank.kernel_times = &times;
  for (std::uint32_t i = 0; i < program.communicators.size(); ++i) {
    rank.communicators.push_back({.instance = i, .member = 0});
  }
  cuda::FixedTimeBackend backend(queue,
                                 std::vector<std::uint32_t>(program.communicators.size(), 1));
  cuda::RuntimeSpec spec;
  spec.allocator.expandable_segments = expandable;
  spec.memory_capacity = capacity;
  cuda::Runtime runtime(spec, {rank}, backend, queue);
  AllocatorWatch watch;
  runtime.allocator_acted.listen(
      [&](const cuda::AllocatorRecord& record) { watch.acted(record.action); });
  runtime.memory_changed.listen([&](const cuda::MemoryRecord& record) { watch.changed(record); });
  runtime.start();
  while (queue.step()) {
  }
  CHECK((runtime.finished() || runtime.out_of_memory()));
  if (runtime.out_of_memory()) return std::nullopt;
  CHECK(watch.peak() <= capacity);
  return watch.peak();
}

TEST_CASE("blocks serve the stream of their segment alone, and memory goes back on a full device") {
  int tight = 0;
  for (std::uint32_t seed = 1; seed <= runs; ++seed) {
    const DrawnModel model = draw_model(seed);
    INFO("seed " << seed << ": " << described(model));
    const cuda::Program program = program_of(model, 3);
    const bool expandable = seed % 2 == 0;
    const auto free = watch(program, expandable, simcore::Bytes{INT64_MAX / 4});
    REQUIRE(free);
    if (watch(program, expandable, simcore::Bytes{free->count / 20 * 19})) ++tight;
  }
  CHECK(tight > 0);  // some of them got by with less, by giving cached segments back
}

}  // namespace
}  // namespace shardsim::training
