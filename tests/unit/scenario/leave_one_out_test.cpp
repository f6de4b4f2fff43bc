#include "models/scenario/validation/leave_one_out.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "residual_fixture.hpp"

namespace shardsim::scenario {
namespace {

using testing::residual;

/// Sources whose runs all have matrix products 10 % slower than the constant says.
ResidualTable slow_gpu(std::initializer_list<const char*> sources) {
  ResidualTable table;
  for (const char* source : sources) {
    for (const double share : {1.0, 0.8, 0.6}) {
      Residual row = residual(source, "m" + std::to_string(share), std::pow(1 / 0.9, share));
      row.rate_share = share;
      row.measured_over_uncalibrated = 2;
      table.rows.push_back(row);
    }
  }
  return table;
}

TEST_CASE("what the other sources agree on is found again, and forecasts the one left out") {
  const LeaveOneOutReport report = leave_one_out(slow_gpu({"a", "b", "c"}));
  REQUIRE(report.scores.size() == 6);
  CHECK(report.scores[0].bias < -0.05);                         // as shipped
  CHECK(report.scores[1].bias == doctest::Approx(-0.5));        // uncalibrated
  CHECK(report.scores[2].p90_abs_error == doctest::Approx(0));  // left out
  REQUIRE(report.scores[2].intervals);
  CHECK(report.scores[2].intervals->coverage == doctest::Approx(1));
  CHECK(report.scores[2].group_intervals->coverage == doctest::Approx(1));
  CHECK_FALSE(report.scores[0].intervals);
  CHECK(report.scores[3].rows == 3);
  REQUIRE(report.constants.size() == 1);
  CHECK(report.constants[0].gpu == "X100");
  CHECK(report.constants[0].factor == doctest::Approx(0.9));
}

TEST_CASE("the last source with a GPU falls back on the generation, then on no calibration") {
  ResidualTable table = slow_gpu({"a", "b"});
  Residual alone = residual("c", "m", 1 / 0.9);
  alone.run.gpu = "X200";
  table.rows.push_back(alone);
  Residual stranger = residual("d", "m", 1);
  stranger.run.gpu = "Y1";
  stranger.run.generation = "Yttrium";
  stranger.measured_over_uncalibrated = 1.25;
  table.rows.push_back(stranger);
  const LeaveOneOutReport report = leave_one_out(table);
  CHECK(report.scores[5].what == "  without c");
  CHECK(report.scores[5].bias == doctest::Approx(0));
  CHECK(report.scores[6].bias == doctest::Approx(1 / 1.25 - 1));
}

TEST_CASE("runs that hardly depend on the constant do not set it") {
  ResidualTable table = slow_gpu({"a", "b"});
  for (const char* model : {"p", "q", "r", "s", "t", "u", "v"}) {
    Residual row = residual("b", model, 2);
    row.rate_share = 0.4;
    table.rows.push_back(row);
  }
  CHECK(leave_one_out(table).constants[0].factor == doctest::Approx(0.9));
}

TEST_CASE("interval scores are the width, and twenty times what a run is outside by") {
  ResidualTable table;
  for (const char* source : {"a", "b", "c", "d", "e", "f"}) {
    table.rows.push_back(residual(source, "m", 1));
    table.rows.back().rate_share = 0;  // no constant is fitted
  }
  table.rows.push_back(residual("g", "m", std::exp(0.5)));
  table.rows.back().rate_share = 0;
  for (Residual& row : table.rows) row.run.calibrated = false;
  const LeaveOneOutReport report = leave_one_out(table);
  const AccuracyScore& odd = report.scores.back();
  REQUIRE(odd.what == "  without g");
  CHECK(odd.intervals->coverage == 0);
  CHECK(odd.intervals->width == doctest::Approx(0));
  CHECK(odd.intervals->score == doctest::Approx(20 * 0.5));
  // Seven groups of one run each: by run and by group are the same.
  const AccuracyScore& all = report.scores[2];
  CHECK(all.intervals->coverage == doctest::Approx(6.0 / 7));
  CHECK(all.group_intervals->coverage == doctest::Approx(6.0 / 7));
  CHECK(all.group_intervals->score == doctest::Approx(all.intervals->score));
  CHECK(all.intervals->score > all.intervals->width);
}

TEST_CASE("coverage by group counts a group of many runs once") {
  ResidualTable table;
  for (const char* source : {"a", "b", "c", "d", "e"}) {
    table.rows.push_back(residual(source, "m", 1));
    table.rows.back().run.calibrated = false;
  }
  for (int i = 0; i < 20; ++i) {
    table.rows.push_back(residual("f", "m", 2));
    table.rows.back().run.calibrated = false;
  }
  const AccuracyScore all = leave_one_out(table).scores[2];
  CHECK(all.intervals->coverage == doctest::Approx(5.0 / 25));
  CHECK(all.group_intervals->coverage == doctest::Approx(5.0 / 6));
}

TEST_CASE("an empty table says nothing") { CHECK(leave_one_out({}).scores.empty()); }

TEST_CASE("the text names sources, coverage and constants") {
  const std::string text = to_text(leave_one_out(slow_gpu({"a", "b", "c"})));
  CHECK(text.find("without b") != std::string::npos);
  CHECK(text.find("100.0 %") != std::string::npos);
  CHECK(text.find("interval score") != std::string::npos);
  CHECK(text.find("X100") != std::string::npos);
}

}  // namespace
}  // namespace shardsim::scenario
