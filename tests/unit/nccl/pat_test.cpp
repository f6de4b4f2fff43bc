#include "models/nccl/pat.hpp"

#include <bit>
#include <set>

#include <doctest/doctest.h>

namespace shardsim::nccl {

TEST_CASE("each other rank's chunk crosses once, after what it is made of") {
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter}) {
    for (int ranks = 2; ranks <= 130; ++ranks) {
      for (const std::int64_t bytes : {1'000, 70'000, 600'000}) {
        const PatPlan plan = pat_plan(collective, ranks, bytes, 524'288);
        std::set<int> sent;
        CAPTURE(ranks);
        for (const PatMessage& message : plan.messages) {
          REQUIRE(message.offsets.size() <= static_cast<std::size_t>(plan.aggregation));
          for (const int offset : message.offsets) {
            const int distance = 1 << message.dimension;
            REQUIRE(std::countr_zero(static_cast<unsigned>(offset)) == message.dimension);
            if (collective == Collective::all_gather) {
              REQUIRE((offset == distance || sent.contains(offset - distance)));
            } else {
              for (int part = 1; part < distance && offset + part < ranks; part *= 2) {
                REQUIRE(sent.contains(offset + part));
              }
            }
            REQUIRE(sent.insert(offset).second);
          }
        }
        REQUIRE(static_cast<int>(sent.size()) == ranks - 1);
      }
    }
  }
}

TEST_CASE("small parts take log2(n) messages, large ones one for each rank and chunk") {
  CHECK(pat_plan(Collective::all_gather, 64, 1'024, 524'288).messages.size() == 6);
  const PatPlan large = pat_plan(Collective::all_gather, 64, 2'097'152, 524'288);
  CHECK(large.messages.size() == 63);
  CHECK(large.rounds == 4);
}

TEST_CASE("one rank sends nothing") {
  const PatPlan plan = pat_plan(Collective::all_gather, 1, 1'024, 524'288);
  CHECK(plan.messages.empty());
  CHECK(pat_dimensions(plan).empty());
}

}  // namespace shardsim::nccl
