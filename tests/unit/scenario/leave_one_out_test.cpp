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
  CHECK(report.scores[2].coverage == 1.0);
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

TEST_CASE("an empty table says nothing") { CHECK(leave_one_out({}).scores.empty()); }

TEST_CASE("the text names sources, coverage and constants") {
  const std::string text = to_text(leave_one_out(slow_gpu({"a", "b", "c"})));
  CHECK(text.find("without b") != std::string::npos);
  CHECK(text.find("100.0 %") != std::string::npos);
  CHECK(text.find("X100") != std::string::npos);
}

}  // namespace
}  // namespace shardsim::scenario
