#include "models/scenario/accuracy/student_t.hpp"

#include <cmath>

#include <doctest/doctest.h>

namespace shardsim::scenario {
namespace {

ClassFit fit_one(const std::vector<double>& values) {
  const std::vector<double> weights(values.size(), 1 / static_cast<double>(values.size()));
  return fit_classes(values, weights, std::vector<std::size_t>(values.size(), 0), 1);
}

// Table of upper critical values, NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
TEST_CASE("quantiles of Student's t are those of the published table") {
  struct Row {
    double freedom;
    double at_90, at_95, at_975, at_99, at_995;
  };
  for (const Row& row : {Row{3, 1.638, 2.353, 3.182, 4.541, 5.841},
                         {4, 1.533, 2.132, 2.776, 3.747, 4.604},
                         {5, 1.476, 2.015, 2.571, 3.365, 4.032},
                         {7, 1.415, 1.895, 2.365, 2.998, 3.499},
                         {10, 1.372, 1.812, 2.228, 2.764, 3.169},
                         {15, 1.341, 1.753, 2.131, 2.602, 2.947},
                         {20, 1.325, 1.725, 2.086, 2.528, 2.845},
                         {30, 1.310, 1.697, 2.042, 2.457, 2.750},
                         {60, 1.296, 1.671, 2.000, 2.390, 2.660},
                         {100, 1.290, 1.660, 1.984, 2.364, 2.626}}) {
    CAPTURE(row.freedom);
    // Half a unit of the table's last digit, and what the expansion lacks far out.
    const auto agrees = [&](double share, double published, double relative) {
      CAPTURE(share);
      CHECK(std::abs(student_t_quantile(share, row.freedom) - published) <=
            0.0005 + relative * published);
    };
    agrees(0.90, row.at_90, 0.0005);
    agrees(0.95, row.at_95, 0.0005);
    agrees(0.975, row.at_975, 0.001);
    agrees(0.99, row.at_99, 0.005);
    agrees(0.995, row.at_995, 0.01);
  }
}

TEST_CASE("quantiles of Student's t agree with its table") {
  CHECK(student_t_quantile(0.95, 3) == doctest::Approx(2.353).epsilon(0.005));
  CHECK(student_t_quantile(0.95, 5) == doctest::Approx(2.015).epsilon(0.001));
  CHECK(student_t_quantile(0.95, 10) == doctest::Approx(1.812).epsilon(0.001));
  CHECK(student_t_quantile(0.95, 30) == doctest::Approx(1.697).epsilon(0.001));
  CHECK(student_t_quantile(0.95, 1e9) == doctest::Approx(1.6449).epsilon(0.0001));
  CHECK(student_t_quantile(0.5, 7) == doctest::Approx(0));
}

TEST_CASE("values at plus and minus d around a centre have the scale d") {
  const ClassFit fit = fit_one({1.2, 0.8, 1.2, 0.8});
  CHECK(fit.centres[0] == doctest::Approx(1));
  CHECK(fit.scale == doctest::Approx(0.2));
}

TEST_CASE("values at the quantiles of t have the scale that they were made with") {
  // t with three degrees: distribution function 1/2 + (x/s/(1+x2/s2) + atan(x/s)) / pi, s2 = 3.
  const double root = std::sqrt(3.0);
  const auto below = [&](double x) {
    const double y = x / root;
    return 0.5 + (y / (1 + y * y) + std::atan(y)) / 3.14159265358979323846;
  };
  std::vector<double> values;
  constexpr int count = 4000;
  for (int i = 0; i < count; ++i) {
    const double share = (i + 0.5) / count;
    double low = -1000;
    double high = 1000;
    for (int step = 0; step < 80; ++step) {
      const double middle = (low + high) / 2;
      (below(middle) < share ? low : high) = middle;
    }
    values.push_back(0.3 + 0.05 * low);
  }
  const ClassFit fit = fit_one(values);
  CHECK(fit.centres[0] == doctest::Approx(0.3).epsilon(0.001));
  CHECK(fit.scale == doctest::Approx(0.05).epsilon(0.005));
}

TEST_CASE("values far off hardly move centre and scale") {
  const ClassFit without = fit_one({1, -1, 1, -1, 1, -1, 1, -1});
  const ClassFit with = fit_one({1, -1, 1, -1, 1, -1, 1, -1, 1000});
  CHECK(std::abs(with.centres[0]) < 0.1);
  CHECK(with.scale > without.scale);
  CHECK(with.scale < 1.5 * without.scale);
}

TEST_CASE("weights count as repetitions") {
  const ClassFit once = fit_classes({0, 1, 3}, {0.5, 0.25, 0.25}, {0, 0, 0}, 1);
  const ClassFit twice = fit_one({0, 0, 1, 3});
  CHECK(once.centres[0] == doctest::Approx(twice.centres[0]));
  CHECK(once.scale == doctest::Approx(twice.scale));
}

TEST_CASE("classes have centres of their own and one scale") {
  const ClassFit fit = fit_classes({1, -1, 11, 9}, {0.25, 0.25, 0.25, 0.25}, {0, 0, 1, 1}, 2);
  CHECK(fit.centres[0] == doctest::Approx(0));
  CHECK(fit.centres[1] == doctest::Approx(10));
  CHECK(fit.scale == doctest::Approx(1));
}

TEST_CASE("values that are all alike have no scale") {
  const ClassFit fit = fit_one({0.5, 0.5, 0.5});
  CHECK(fit.centres[0] == doctest::Approx(0.5));
  CHECK(fit.scale == doctest::Approx(0));
}

TEST_CASE("effects without noise have their size as scale, whatever their signs") {
  CHECK(effect_scale({0.02, -0.02, 0.02}, {0, 0, 0}) == doctest::Approx(0.02));
  CHECK(effect_scale({}, {}) == 0);
  CHECK(effect_scale({0, 0}, {0, 0}) == 0);
}

TEST_CASE("noise is taken off effects, and effects below it are none") {
  // All alike in size and noise: the squared scale is what the noise leaves.
  CHECK(effect_scale({5, -5, 5}, {9, 9, 9}) == doctest::Approx(4));
  CHECK(effect_scale({2, -2, 2}, {9, 9, 9}) == doctest::Approx(0));
}

TEST_CASE("a precise effect counts more than a noisy one") {
  const double precise_small = effect_scale({1, 5}, {0.01, 9});
  const double precise_large = effect_scale({1, 5}, {9, 0.01});
  CHECK(precise_small < precise_large);
}

}  // namespace
}  // namespace shardsim::scenario
