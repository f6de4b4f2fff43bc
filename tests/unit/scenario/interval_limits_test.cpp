#include "models/scenario/accuracy/interval_limits.hpp"

#include <doctest/doctest.h>

#include "residual_fixture.hpp"

namespace shardsim::scenario {
namespace {

using testing::residual;
using testing::some_run;

ResidualTable hardly_waiting() {
  ResidualTable table;
  table.rows = {residual("a", "m", 1), residual("b", "m", 1)};
  table.rows[0].run.exposed_share = 0.03;
  table.rows[1].run.cpu_share = 0.01;
  return table;
}

TEST_CASE(
    "a step that waits more than any published run is not covered, and both shares are said") {
  RunFacts run = some_run();
  run.exposed_share = 0.6;
  const auto limits = interval_limits(run, hardly_waiting());
  REQUIRE(limits.size() == 1);
  CHECK(limits[0] ==
        "60 % of the step waiting for communication (at most 3.0 % in a published run)");
  run.cpu_share = 0.25;
  CHECK(interval_limits(run, hardly_waiting()).size() == 2);
}

TEST_CASE("shares within those of the published runs, or hardly beyond, need no word") {
  RunFacts run = some_run();
  run.exposed_share = 0.03 + worth_saying_share - 1e-6;
  run.cpu_share = 0.01;
  CHECK(interval_limits(run, hardly_waiting()).empty());
  run.exposed_share = 1;
  CHECK(interval_limits(run, {}).empty());
}

TEST_CASE("a fabric is tapered only where the nodes leave the tier that tapers") {
  network::FabricSpec fabric;
  fabric.kind = network::FabricKind::fat_tree;
  fabric.nodes_per_leaf = 4;
  fabric.oversubscription = 2;
  CHECK(fabric_taper(fabric, 4) == 1);
  CHECK(fabric_taper(fabric, 5) == 2);
  fabric.pods.emplace();
  fabric.pods->nodes = 16;
  fabric.pods->oversubscription = 7;
  CHECK(fabric_taper(fabric, 16) == 2);
  CHECK(fabric_taper(fabric, 17) == 7);
  fabric.kind = network::FabricKind::single_switch;
  CHECK(fabric_taper(fabric, 100) == 1);
}

}  // namespace
}  // namespace shardsim::scenario
