#include "models/training/wrap_policy.hpp"

#include "models/training/strategy.hpp"
#include "program_inspection.hpp"
#include "transformer_fixture.hpp"

using namespace shardsim;
using namespace shardsim::training;

namespace {

std::int64_t elements(const Workload& workload, const WrappedUnit& unit) {
  std::int64_t sum = 0;
  for (const ParameterRef& ref : unit.parameters) {
    sum += workload.parameters(ref.unit)[ref.parameter].elements();
  }
  return sum;
}

std::vector<InspectedStep> record(const TransformerShape& shape, std::int64_t min_num_params,
                                  Checkpointing checkpointing = Checkpointing::none,
                                  bool early_stop = true) {
  TrainingSpec spec;
  spec.strategy = Strategy::fsdp1;
  spec.wrap_policy = min_num_params == 0 ? WrapPolicy::block : WrapPolicy::size;
  spec.min_num_params = min_num_params;
  WorkloadSpec work = sequences(64);
  work.activation_checkpointing = checkpointing;
  work.recompute_early_stop = early_stop;
  TransformerWorkload workload(shape, work, {});
  return inspect(record_program(spec, workload, {8, 8, 1}, 1, 3));
}

constexpr auto all_gather = cuda::CollectiveKind::all_gather;
constexpr auto reduce_scatter = cuda::CollectiveKind::reduce_scatter;

}  // namespace

TEST_CASE(
    "Llama 2 7B by its default size: embedding, feed-forwards and head, attention in the root") {
  const TransformerWorkload workload(shipped_shape("llama-2-7b", 4096), sequences(64), {});
  const Wrapping wrapping = wrap_by_size(workload, 100'000'000);
  REQUIRE(wrapping.units.size() == 1 + 1 + 32 + 1);
  CHECK(elements(workload, wrapping.units[1]) == 32'000 * 4096);
  CHECK(elements(workload, wrapping.units[2]) == std::int64_t{3} * 4096 * 11'008);
  CHECK(elements(workload, wrapping.units.back()) == 32'000 * 4096);
  CHECK(elements(workload, wrapping.units.front()) ==
        32 * (std::int64_t{4} * 4096 * 4096 + 2 * 4096) + 4096);
}

TEST_CASE("what is left of a module around its units becomes a unit if it is large enough") {
  // Keys and values are half as wide as queries: q and o are units, k and v together one around.
  TransformerShape shape = small_llama();
  shape.kv_heads = 4;
  const TransformerWorkload workload(shape, sequences(64), {});
  const std::int64_t q = shape.hidden * shape.attention_width();
  const Wrapping wrapping = wrap_by_size(workload, q);
  const auto around = wrapping.units_around.at({0, 0});  // wq: in its own unit, in attention's
  REQUIRE(around.size() == 2);
  CHECK(elements(workload, wrapping.units[around[0]]) == q);
  CHECK(wrapping.units[around[0]].modules == 4);
  CHECK(wrapping.units[around[1]].modules == 1);
}

TEST_CASE(
    "a threshold above the model leaves the root alone, one that only blocks reach is theirs") {
  const TransformerShape shape = small_llama();
  CHECK(record(shape, parameter_count(shape) + 1)[2].count(all_gather) == 1);
  const std::int64_t feed_forward = 3 * shape.hidden * shape.ffn_hidden;
  const auto by_size = record(shape, feed_forward + 1)[2];
  const auto by_block = record(shape, 0)[2];
  REQUIRE(by_size.collectives.size() == by_block.collectives.size());
  for (std::size_t i = 0; i < by_size.collectives.size(); ++i) {
    CHECK(by_size.collectives[i].name == by_block.collectives[i].name);
    CHECK(by_size.collectives[i].spec == by_block.collectives[i].spec);
  }
}

TEST_CASE("units inside blocks gather twice and reduce once, and nothing stays behind") {
  const TransformerShape shape = small_llama();
  const std::int64_t feed_forward = 3 * shape.hidden * shape.ffn_hidden;
  const auto step = record(shape, feed_forward)[2];
  const std::int64_t units = shape.layers;  // the feed-forwards; the tables are smaller
  CHECK(step.count(all_gather) == 2 * units + 1);
  CHECK(step.count(reduce_scatter) == units + 1);
  CHECK(step.at_end.total() == step.at_begin.total());
  // Recomputation of the block around a unit gathers it once more; one that stops inside the unit
  // leaves it gathered for backward.
  for (const bool early_stop : {false, true}) {
    const auto recomputed = record(shape, feed_forward, Checkpointing::full, early_stop)[2];
    CHECK(recomputed.count(all_gather) == (early_stop ? 2 : 3) * units + 1);
    CHECK(recomputed.count(reduce_scatter) == units + 1);
    CHECK(recomputed.at_end.total() == recomputed.at_begin.total());
  }
}
