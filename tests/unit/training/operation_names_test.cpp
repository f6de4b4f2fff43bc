// Operations are called by the module that they are for, or by the short names of drawn schedules.
#include "models/training/operation_names.hpp"

#include <doctest/doctest.h>

#include "models/training/explicit_workload.hpp"
#include "models/training/transformer_workload.hpp"
#include "tests/unit/training/transformer_fixture.hpp"

namespace shardsim::training {
namespace {

TEST_CASE("a model's operations bear the names of its modules") {
  TransformerShape shape = small_llama();
  const TransformerWorkload llama(shape, sequences(1), {});
  CHECK(llama.unit_operation("all_gather", 0) == "layers.0.all_gather");
  CHECK(llama.unit_operation("cast", root_unit) == "root.cast");
  CHECK(llama.unit_operation("all_gather_copy_out", embedding_unit) ==
        "tok_embeddings.all_gather_copy_out");
  CHECK(llama.unit_operation("reduce_scatter", head_unit) == "output.reduce_scatter");
  shape.family = ModelFamily::gpt;
  const TransformerWorkload gpt(shape, sequences(1), {});
  CHECK(gpt.unit_operation("reduce_scatter_copy_in", 1) == "h.1.reduce_scatter_copy_in");
}

TEST_CASE("without modules operations have the short names of drawn schedules") {
  const ExplicitWorkload prescribed(ExplicitSpec{});
  CHECK(prescribed.unit_operation("all_gather", 3) == "AG3");
  CHECK(prescribed.unit_operation("all_gather_copy_in", root_unit) == "CIR");
  CHECK(prescribed.unit_operation("reduce_scatter_copy_in", 12) == "GCI12");
  CHECK(prescribed.unit_operation("prefetch_all_gather", 0) == "pAG0");
  CHECK(prescribed.unit_operation("device_to_host", head_unit) == "D2HH");
  CHECK(prescribed.unit_operation("accumulate", 2) == "accumulate2");
}

TEST_CASE("buckets have numbers, which are no units") {
  CHECK(bucket_operation("reduce_scatter", 0) == "bucket0.reduce_scatter");
  CHECK(bucket_operation("divide", 143) == "bucket143.divide");
}

}  // namespace
}  // namespace shardsim::training
