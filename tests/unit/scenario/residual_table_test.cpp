#include "models/scenario/accuracy/residual_table.hpp"

#include <memory>
#include <numeric>

#include <doctest/doctest.h>

#include "residual_fixture.hpp"

namespace shardsim::scenario {
namespace {

using testing::residual;

std::optional<ResidualTable> read(const std::string& text, simcore::Diagnostics& diagnostics) {
  return ResidualTable::read(
      std::make_shared<simcore::SourceText>(simcore::SourceText{"residuals.csv", text}),
      diagnostics);
}

TEST_CASE("residuals come back from their file as they were, to six digits") {
  ResidualTable table;
  table.rows = {residual("a, \"quoted\"\nsource", "m", 1.0 / 3), residual("b", "n", 1.25)};
  table.rows[1].run.calibrated = false;
  simcore::Diagnostics diagnostics;
  const auto again = read(to_csv(table), diagnostics);
  REQUIRE_MESSAGE(again, simcore::to_text(diagnostics));
  REQUIRE(again->rows.size() == 2);
  CHECK(again->rows[0].source == table.rows[0].source);
  CHECK(again->rows[0].measured_over_predicted == doctest::Approx(1.0 / 3).epsilon(1e-6));
  CHECK(again->rows[0].run.calibrated);
  CHECK_FALSE(again->rows[1].run.calibrated);
  CHECK(again->rows[1].run.parameters == 7'000'000'000);
  CHECK(to_csv(*again) == to_csv(table));
}

TEST_CASE("a bad file of residuals is an error that says where") {
  simcore::Diagnostics missing;
  CHECK_FALSE(read("row_id,source\na,b\n", missing));
  CHECK(simcore::to_text(missing).find("missing columns url, family") != std::string::npos);

  ResidualTable table;
  table.rows = {residual("a", "m", 1.5)};
  std::string text = to_csv(table);
  text.replace(text.find(",1.5,"), 5, ",-1.5,");
  simcore::Diagnostics wrong;
  CHECK_FALSE(read(text, wrong));
  CHECK(simcore::to_text(wrong).find("residuals.csv:2:") != std::string::npos);
  CHECK(simcore::to_text(wrong).find("measured_over_predicted") != std::string::npos);
}

TEST_CASE("every group has the same weight, however many rows it has") {
  std::vector<Residual> rows(4, residual("large", "m", 1));
  rows.push_back(residual("small", "m", 1));
  std::vector<const Residual*> chosen;
  for (const Residual& row : rows) chosen.push_back(&row);
  const std::vector<double> weights = group_weights(chosen);
  CHECK(weights[0] == doctest::Approx(0.125));
  CHECK(weights[4] == doctest::Approx(0.5));
  CHECK(std::accumulate(weights.begin(), weights.end(), 0.0) == doctest::Approx(1));
}

TEST_CASE("weighted quantiles: a median, the ends, and one value") {
  const std::vector<double> equal(3, 1.0 / 3);
  CHECK(weighted_quantile({3, 1, 2}, equal, 0.5) == doctest::Approx(2));
  CHECK(weighted_quantile({3, 1, 2}, equal, 0) == 1);
  CHECK(weighted_quantile({3, 1, 2}, equal, 1) == 3);
  CHECK(weighted_quantile({1, 2}, {0.5, 0.5}, 0.5) == doctest::Approx(1.5));
  CHECK(weighted_quantile({7}, {1}, 0.9) == 7);
  CHECK(weighted_quantile({1, 10}, {0.9, 0.1}, 0.4) == 1);  // within the weight of the first
}

}  // namespace
}  // namespace shardsim::scenario
