#include "models/scenario/accuracy/residual_model.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "residual_fixture.hpp"

namespace shardsim::scenario {
namespace {

using testing::residual;

std::vector<const Residual*> pointers(const std::vector<Residual>& rows) {
  std::vector<const Residual*> made;
  for (const Residual& row : rows) made.push_back(&row);
  return made;
}

/// Groups of a GPU whose logarithms lie `spread` above and below `centre`.
void add_gpu(std::vector<Residual>& rows, const std::string& gpu, int groups, double centre,
             double spread) {
  for (int i = 0; i < groups; ++i) {
    const double sign = i % 2 == 0 ? 1 : -1;
    rows.push_back(residual("s" + std::to_string(i), "m", std::exp(centre + sign * spread)));
    rows.back().run.gpu = gpu;
  }
}

TEST_CASE("one GPU: centre, and the scale of one more run") {
  std::vector<Residual> rows;
  add_gpu(rows, "X100", 10, 0.05, 0.02);
  const auto model = fit_residuals(pointers(rows), true);
  REQUIRE(model);
  CHECK(model->runs == 10);
  CHECK(model->between == 0);
  CHECK(model->squared_scale == doctest::Approx(0.0004 * 10 / 8));
  const ResidualForecast one = model->forecast("X100");
  CHECK(one.centre == doctest::Approx(0.05));
  CHECK(one.squared_scale == doctest::Approx(0.0005 * (1 + 1.5 / 10)));
  CHECK(model->forecast("any other").squared_scale == doctest::Approx(one.squared_scale));
}

TEST_CASE("GPUs that differ by less than their noise share one centre") {
  std::vector<Residual> rows;
  add_gpu(rows, "X100", 6, 0.001, 0.03);
  add_gpu(rows, "X200", 6, -0.001, 0.03);
  const auto model = fit_residuals(pointers(rows), true);
  CHECK(model->between == 0);
  CHECK(model->forecast("X100").centre == doctest::Approx(0));
  CHECK(model->forecast("X200").centre == doctest::Approx(0));
}

TEST_CASE("GPUs that differ keep their centres; an unknown GPU may be anywhere among them") {
  std::vector<Residual> rows;
  add_gpu(rows, "X100", 8, 0.2, 0.01);
  add_gpu(rows, "X200", 8, -0.2, 0.01);
  const auto model = fit_residuals(pointers(rows), true);
  CHECK(model->between == doctest::Approx(0.2).epsilon(0.01));
  CHECK(model->forecast("X100").centre == doctest::Approx(0.2).epsilon(0.01));
  CHECK(model->forecast("X200").centre == doctest::Approx(-0.2).epsilon(0.01));
  const ResidualForecast known = model->forecast("X100");
  const ResidualForecast unknown = model->forecast("X300");
  CHECK(std::abs(unknown.centre) < 0.001);
  CHECK(std::sqrt(known.squared_scale) < 0.015);
  CHECK(std::sqrt(unknown.squared_scale) > 0.2);
}

TEST_CASE("a GPU's centre is drawn to the common one the fewer groups it has") {
  const auto centre_with = [](int groups) {
    std::vector<Residual> rows;
    add_gpu(rows, "X100", groups, 0.06, 0.04);
    add_gpu(rows, "X200", 12, -0.02, 0.04);
    add_gpu(rows, "X300", 12, -0.05, 0.04);
    const auto model = fit_residuals(pointers(rows), true);
    const double common = model->common.centre;
    return (model->forecast("X100").centre - common) / (0.06 - common);
  };
  CHECK(centre_with(4) > 0);
  CHECK(centre_with(4) < centre_with(12));
  CHECK(centre_with(12) < centre_with(40));
  CHECK(centre_with(40) < 1);
}

TEST_CASE("GPUs with few groups stand together") {
  std::vector<Residual> rows;
  add_gpu(rows, "X100", 2, 0, 0.02);
  add_gpu(rows, "X200", 2, 0, 0.02);
  const auto model = fit_residuals(pointers(rows), true);
  REQUIRE(model);
  CHECK(model->gpus.empty());
  CHECK(model->squared_scale == doctest::Approx(0.0004 * 4 / 2));
}

TEST_CASE("less than four groups tell nothing") {
  std::vector<Residual> rows;
  add_gpu(rows, "X100", 3, 0, 0.02);
  CHECK_FALSE(fit_residuals(pointers(rows), true));
  CHECK_FALSE(fit_residuals({}, true));
}

TEST_CASE("runs of a group count as one") {
  std::vector<Residual> rows;
  add_gpu(rows, "X100", 6, 0, 0.02);
  const auto before = fit_residuals(pointers(rows), true);
  for (int i = 0; i < 50; ++i) rows.push_back(rows.front());
  const auto after = fit_residuals(pointers(rows), true);
  CHECK(after->squared_scale == doctest::Approx(before->squared_scale));
  CHECK(after->common.centre == doctest::Approx(before->common.centre));
}

}  // namespace
}  // namespace shardsim::scenario
