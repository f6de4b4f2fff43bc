#include "models/scenario/accuracy/interval_widening.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "models/scenario/accuracy/forecast_interval.hpp"
#include "models/scenario/accuracy/published_run.hpp"
#include "models/scenario/accuracy/student_t.hpp"
#include "residual_fixture.hpp"

namespace shardsim::scenario {
namespace {

using testing::residual;
using testing::some_run;

Residual sized(const char* source, const char* model, double ratio, std::int64_t gpus) {
  Residual made = residual(source, model, ratio);
  made.run.gpus = gpus;
  return made;
}

/// Four sources whose forecasts lose 2 % of a step for each doubling of GPUs from 64 to 256.
ResidualTable drifting() {
  ResidualTable table;
  for (const char* source : {"a", "b", "c", "d"}) {
    for (const int doublings : {0, 1, 2}) {
      table.rows.push_back(
          sized(source, "m", std::exp(0.02 * doublings), std::int64_t{64} << doublings));
    }
  }
  return table;
}

double width(const RunFacts& run, const ResidualTable& table) {
  const auto interval = forecast_interval(run, table);
  REQUIRE(interval);
  return std::log(interval->high / interval->low);
}

TEST_CASE("drift is the size of the slopes within a source, GPU and model") {
  ResidualTable table = drifting();
  CHECK(residual_drift(table, true, 0).per_doubling_of_gpus == doctest::Approx(0.02));
  // Sources that stand apart, each at one size, say nothing about drift.
  table.rows.push_back(sized("e", "m", 3, 4096));
  CHECK(residual_drift(table, true, 0).per_doubling_of_gpus == doctest::Approx(0.02));
  for (Residual& row : table.rows) {  // nor does one odd source among four move it much
    if (row.source == "d") row.measured_over_predicted = std::pow(row.measured_over_predicted, 10);
  }
  const double moved = residual_drift(table, true, 0).per_doubling_of_gpus;
  CHECK(moved > 0.02);
  CHECK(moved < 0.06);  // a mean square would say 0.1
  CHECK(residual_drift({}, true, 0).per_doubling_of_gpus == 0);
}

TEST_CASE("what the spread of runs gives to a slope by itself is no drift") {
  // Three sizes, a doubling apart: squares around their mean add up to 2.
  const ResidualTable table = drifting();
  const double noise = 0.01 * 0.01;
  CHECK(residual_drift(table, true, 2 * noise).per_doubling_of_gpus ==
        doctest::Approx(std::sqrt(0.02 * 0.02 - noise)));
  CHECK(residual_drift(table, true, 2 * 0.03 * 0.03).per_doubling_of_gpus == doctest::Approx(0));
}

TEST_CASE("drift with parameters is between the models of a source") {
  ResidualTable table;
  for (const int doublings : {0, 1, 2}) {
    Residual row = residual("a", std::string(1, static_cast<char>('k' + doublings)),
                            std::exp(-0.03 * doublings));
    row.run.parameters <<= doublings;
    table.rows.push_back(row);
  }
  CHECK(residual_drift(table, true, 0).per_doubling_of_parameters == doctest::Approx(0.03));
}

TEST_CASE("nothing widens within the sizes and types of the published runs") {
  RunFacts run = some_run();
  run.gpus = 100;
  const auto interval = forecast_interval(run, drifting());
  CHECK(interval->comparable);
  CHECK(interval->what.find("wider") == std::string::npos);
}

TEST_CASE("beyond the largest published run the interval grows with the distance and says so") {
  const ResidualTable table = drifting();
  RunFacts run = some_run();
  double last = 0;
  for (const std::int64_t gpus : {256, 512, 1024, 2048}) {
    run.gpus = gpus;
    const double now = width(run, table);
    CHECK(now > last);
    last = now;
  }
  const auto interval = forecast_interval(run, table);
  CHECK_FALSE(interval->comparable);
  CHECK(interval->what.ends_with("; wider: 8 times as many GPUs as any published run"));
  run.gpus = 8;
  CHECK(forecast_interval(run, table)
            ->what.ends_with("; wider: 8 times fewer GPUs than any published run"));
}

TEST_CASE("squared scale beyond the sizes is the square of drift times doublings") {
  const ResidualTable table = drifting();
  std::vector<const Residual*> rows;
  for (const Residual& row : table.rows) rows.push_back(&row);
  RunFacts run = some_run();
  run.gpus = 2048;
  CHECK(widening(run, rows, table, 0).squared_scale == doctest::Approx(0.06 * 0.06));
  CHECK(widening(run, rows, table, 0).factor == 1);
}

TEST_CASE("fp8 widens by what fp8 runs differ by, and says how many are compared") {
  ResidualTable table = drifting();
  RunFacts run = some_run();
  run.precision = "fp8";
  const double assumed = width(run, table);  // no fp8 run anywhere
  CHECK(assumed == doctest::Approx(1.5 * width(some_run(), table)));
  CHECK(forecast_interval(run, table)->what.find("no fp8 runs among them") != std::string::npos);
  CHECK_FALSE(forecast_interval(run, table)->comparable);
  CHECK_FALSE(residual_drift(table, true, 0).fp8);
  for (const char* source : {"a", "b", "c"}) {
    table.rows.push_back(residual(source, "m", std::exp(0.22)));
    table.rows.back().run.precision = "fp8";
  }
  CHECK(*residual_drift(table, true, 0).fp8 == doctest::Approx(0.2));
  CHECK(width(run, table) > width(some_run(), table));
  CHECK(forecast_interval(run, table)->comparable);
  CHECK(forecast_interval(run, table)->what.find("few fp8 runs among") != std::string::npos);
  table.rows.push_back(residual("d", "m", std::exp(0.22)));
  table.rows.back().run.precision = "fp8";
  CHECK(forecast_interval(run, table)->comparable);
  CHECK(forecast_interval(run, table)->what.ends_with("wider: fp8 runs differ more"));
  // On top of the spread of other runs, in the scale of Student's t.
  const double t = 2 * student_t_quantile(0.95, tail_freedom);
  const double others = width(some_run(), table) / t;
  const double squared_drift = std::pow(width(run, table) / t, 2) - others * others;
  CHECK(squared_drift > 0.19 * 0.19);
  CHECK(squared_drift <= 0.2 * 0.2);
}

TEST_CASE("fp8 runs say nothing about others") {
  ResidualTable table = drifting();
  const double before = width(some_run(), table);
  table.rows.push_back(residual("e", "m", 2));
  table.rows.back().run.precision = "fp8";
  CHECK(width(some_run(), table) == before);
}

TEST_CASE("an element type or an offload that no run has is half as wide again") {
  const ResidualTable table = drifting();
  RunFacts run = some_run();
  run.cpu_offload = true;
  CHECK(width(run, table) == doctest::Approx(1.5 * width(some_run(), table)));
  CHECK(forecast_interval(run, table)->what.ends_with("no published run offloads to the CPU"));
  run.cpu_offload = false;
  run.precision = "fp32";
  CHECK(width(run, table) == doctest::Approx(1.5 * width(some_run(), table)));
  run.precision = "fp16";  // as bf16
  CHECK(width(run, table) == doctest::Approx(width(some_run(), table)));
}

TEST_CASE("the nearest published run is named with its differences") {
  const ResidualTable table = drifting();
  RunFacts run = some_run();
  run.gpus = 1024;
  const auto nearest = nearest_published_run(run, table);
  REQUIRE(nearest);
  CHECK(nearest->run->run.gpus == 256);
  CHECK(nearest->run->source == "a");
  CHECK(nearest->doublings == doctest::Approx(2));
  CHECK(nearest->comparable);
  CHECK(nearest->differences == "4 times fewer GPUs");
  CHECK(nearest_published_run(some_run(), table)->differences.empty());
  run.precision = "fp8";
  run.gpu = "X300";
  const auto other = nearest_published_run(run, table);
  CHECK_FALSE(other->comparable);
  CHECK(other->differences == "4 times fewer GPUs, on X100, bf16 instead of fp8");
}

TEST_CASE("a family or generation without published runs has no nearest one") {
  RunFacts run = some_run();
  run.family = "ZeRO";
  CHECK_FALSE(nearest_published_run(run, drifting()));
  run = some_run();
  run.generation = "Yttrium";
  CHECK_FALSE(nearest_published_run(run, drifting()));
  run = some_run();
  run.parameters = 0;
  CHECK_FALSE(nearest_published_run(run, drifting()));
  CHECK_FALSE(nearest_published_run(some_run(), {}));
}

}  // namespace
}  // namespace shardsim::scenario
