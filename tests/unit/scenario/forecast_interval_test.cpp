#include "models/scenario/accuracy/forecast_interval.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "models/scenario/accuracy/student_t.hpp"
#include "residual_fixture.hpp"

namespace shardsim::scenario {
namespace {

using testing::residual;
using testing::some_run;

/// Four groups whose logarithms are -d, -d, d, d.
ResidualTable four_groups(double d) {
  ResidualTable table;
  table.rows = {residual("a", "m", std::exp(-d)), residual("b", "m", std::exp(d)),
                residual("c", "m", std::exp(-d)), residual("d", "m", std::exp(d))};
  return table;
}

TEST_CASE("the interval is the prediction interval for one more run") {
  const auto interval = forecast_interval(some_run(), four_groups(0.1));
  REQUIRE(interval);
  // Values at +-d have the scale d. Two constants of four groups are fitted, and the centre is
  // known to 1.5 squared scales over the groups.
  const double half = student_t_quantile(0.95, 3) * 0.1 * std::sqrt(4.0 / 2 * (1 + 1.5 / 4));
  CHECK(std::log(interval->high) == doctest::Approx(half));
  CHECK(std::log(interval->low) == doctest::Approx(-half));
  CHECK(interval->runs == 4);
  CHECK(interval->comparable_runs == 4);
  CHECK(interval->comparable);
  CHECK(interval->what == "FSDP, X100, 7G parameters, 64 GPUs");
}

TEST_CASE("runs that all missed alike give the same correction and no width") {
  ResidualTable table = four_groups(0);
  for (Residual& row : table.rows) row.measured_over_predicted = 1.2;
  const auto interval = forecast_interval(some_run(), table);
  CHECK(interval->low == doctest::Approx(1.2));
  CHECK(interval->high == doctest::Approx(1.2));
}

TEST_CASE("a large source does not dominate") {
  ResidualTable table = four_groups(0.1);
  const auto before = forecast_interval(some_run(), table);
  for (int i = 0; i < 100; ++i) table.rows.push_back(table.rows.front());
  const auto after = forecast_interval(some_run(), table);
  CHECK(after->low == doctest::Approx(before->low));
  CHECK(after->high == doctest::Approx(before->high));
  CHECK(after->runs == 104);
}

TEST_CASE("runs on the same GPU and of similar size are named before others") {
  ResidualTable table = four_groups(0.1);
  for (const char* model : {"p", "q", "r", "s"}) {
    Residual far = residual("e", model, 3);
    far.run.gpu = "X200";
    table.rows.push_back(far);
    far.run = some_run();
    far.run.parameters *= 9;
    table.rows.push_back(far);
    far.run = some_run();
    far.run.gpus *= 17;
    table.rows.push_back(far);
  }
  const auto after = forecast_interval(some_run(), table);
  CHECK(after->comparable_runs == 4);
  CHECK(after->what == "FSDP, X100, 7G parameters, 64 GPUs");
  CHECK(after->runs == 16);
}

TEST_CASE("the width comes from all runs of the family, those in fp8 aside") {
  ResidualTable table = four_groups(0.1);
  const auto before = forecast_interval(some_run(), table);
  for (const char* source : {"e", "f", "g", "h"}) {
    table.rows.push_back(residual(source, "m", 1.5));
    table.rows.back().run.precision = "fp8";
    table.rows.push_back(residual(source, "m", 1.5));
    table.rows.back().run.family = "ZeRO";
  }
  CHECK(forecast_interval(some_run(), table)->high == doctest::Approx(before->high));
  for (const char* source : {"i", "j", "k", "l"}) {  // small models, which none is comparable with
    table.rows.push_back(residual(source, "m", 1));
    table.rows.back().run.parameters /= 100;
  }
  const auto more = forecast_interval(some_run(), table);
  CHECK(more->high < before->high);
  CHECK(more->comparable_runs == 4);
  CHECK(more->runs == 8);
}

TEST_CASE("one run that is far off widens little") {
  ResidualTable table;
  for (const char* source : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
    table.rows.push_back(residual(source, "m", std::exp(source[0] % 2 == 0 ? 0.02 : -0.02)));
  }
  const double before = std::log(forecast_interval(some_run(), table)->high);
  table.rows.push_back(residual("j", "m", 2));
  CHECK(std::log(forecast_interval(some_run(), table)->high) < 1.6 * before);
}

TEST_CASE("with too few runs on the GPU its generation counts, then any GPU, then any size") {
  RunFacts run = some_run();
  run.gpu = "X300";
  const auto generation = forecast_interval(run, four_groups(0.1));
  CHECK(generation->comparable);
  CHECK(generation->what.find("Xenon GPUs (none of X300)") != std::string::npos);
  run.generation = "Yttrium";
  const auto any = forecast_interval(run, four_groups(0.1));
  CHECK_FALSE(any->comparable);
  CHECK(any->what.find("all GPUs (none of Yttrium)") != std::string::npos);
  CHECK(any->high > generation->high);
  run.gpus *= 100;
  CHECK(forecast_interval(run, four_groups(0.1))->what.find("none of similar size") !=
        std::string::npos);
  CHECK(forecast_interval(run, four_groups(0.1))
            ->what.ends_with("; wider: 100 times as many GPUs as any published run"));
}

TEST_CASE("a family of strategies that no run has gets a wider interval and says so") {
  RunFacts run = some_run();
  const auto known = forecast_interval(run, four_groups(0.1));
  run.family = "ZeRO";
  const auto unknown = forecast_interval(run, four_groups(0.1));
  CHECK(std::log(unknown->high) == doctest::Approx(1.5 * std::log(known->high)));
  CHECK_FALSE(unknown->comparable);
  CHECK(unknown->what.find("FSDP (none of ZeRO)") == 0);
}

TEST_CASE("a GPU without calibration is judged by forecasts without calibration") {
  ResidualTable table = four_groups(0);
  for (Residual& row : table.rows) row.measured_over_uncalibrated = 1.3;
  RunFacts run = some_run();
  run.calibrated = false;
  const auto interval = forecast_interval(run, table);
  CHECK(interval->low == doctest::Approx(1.3));
  CHECK(interval->what.find("without calibration") != std::string::npos);
}

TEST_CASE("no interval for prescribed times or from less than four groups") {
  RunFacts prescribed = some_run();
  prescribed.parameters = 0;
  CHECK_FALSE(forecast_interval(prescribed, four_groups(0.1)));
  ResidualTable few = four_groups(0.1);
  few.rows.pop_back();
  CHECK_FALSE(forecast_interval(some_run(), few));
  CHECK_FALSE(forecast_interval(some_run(), {}));
}

TEST_CASE("more confidence, more width") {
  const auto usual = forecast_interval(some_run(), four_groups(0.1), 0.9);
  const auto sure = forecast_interval(some_run(), four_groups(0.1), 0.95);
  CHECK(sure->high > usual->high);
  CHECK(sure->low < usual->low);
}

TEST_CASE("a step's interval is its time times the factors") {
  const auto factors = forecast_interval(some_run(), four_groups(0.1));
  const auto step =
      step_interval(some_run(), simcore::SimTime::from_seconds(0.1), four_groups(0.1));
  REQUIRE(step);
  CHECK(step->low.seconds() == doctest::Approx(0.1 * factors->low));
  CHECK(step->high.seconds() == doctest::Approx(0.1 * factors->high));
}

}  // namespace
}  // namespace shardsim::scenario
