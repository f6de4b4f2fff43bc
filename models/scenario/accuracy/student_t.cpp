#include "models/scenario/accuracy/student_t.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "models/scenario/accuracy/residual_table.hpp"

namespace shardsim::scenario {

namespace {

constexpr double nu = tail_freedom;

/// Of the normal distribution, by bisection of its distribution function.
double normal_quantile(double share) {
  double low = 0;
  double high = 4;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
  }
  return low;
}

/// Weighted median of each class, where the fit starts.
std::vector<double> class_medians(const std::vector<double>& values,
                                  const std::vector<double>& weights,
                                  const std::vector<std::size_t>& classes, std::size_t count) {
  std::vector<double> medians;
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<double> chosen;
    std::vector<double> chosen_weights;
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (classes[i] != k) continue;
      chosen.push_back(values[i]);
      chosen_weights.push_back(weights[i]);
      sum += weights[i];
    }
    for (double& weight : chosen_weights) weight /= sum;
    medians.push_back(weighted_quantile(chosen, chosen_weights, 0.5));
  }
  return medians;
}

}  // namespace

/// Expansion in powers of 1/freedom around the normal quantile: Abramowitz and Stegun, 26.7.5.
double student_t_quantile(double share, double freedom) {
  const double z = normal_quantile(share);
  const double z2 = z * z;
  const double first = z * (z2 + 1) / 4;
  const double second = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  const double fourth = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
  return z + (first + (second + (third + fourth / freedom) / freedom) / freedom) / freedom;
}

/// Expectation maximisation: t is normal with a variance of its own for each value, so that a
/// value counts by (nu + 1) / (nu + its squared distance in scales). Lange, Little, Taylor 1989.
ClassFit fit_classes(const std::vector<double>& values, const std::vector<double>& weights,
                     const std::vector<std::size_t>& classes, std::size_t count) {
  assert(values.size() == weights.size() && values.size() == classes.size());
  constexpr int most_rounds = 500;
  constexpr double settled = 1e-10;  // relative change of the squared scale
  constexpr double least = 1e-18;    // of values that are all alike
  ClassFit fit{class_medians(values, weights, classes, count), 0};
  const auto distance = [&](std::size_t i) { return values[i] - fit.centres[classes[i]]; };
  double squared = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squared += weights[i] * distance(i) * distance(i);
  }
  std::vector<double> counts(values.size());
  for (int round = 0; round < most_rounds; ++round) {
    const double before = std::max(squared, least);
    std::vector<double> sums(count, 0);
    std::vector<double> totals(count, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      counts[i] = weights[i] * (nu + 1) / (nu + distance(i) * distance(i) / before);
      totals[classes[i]] += counts[i];
      sums[classes[i]] += counts[i] * values[i];
    }
    for (std::size_t k = 0; k < count; ++k) fit.centres[k] = sums[k] / totals[k];
    squared = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      squared += counts[i] * distance(i) * distance(i);
    }
    if (std::abs(squared - before) <= settled * before) break;
  }
  fit.scale = std::sqrt(squared);
  return fit;
}

/// The derivative of the log likelihood by the squared scale falls through zero at its maximum.
double effect_scale(const std::vector<double>& effects, const std::vector<double>& squared_noise) {
  assert(effects.size() == squared_noise.size());
  const auto rises = [&](double squared) {
    double sum = 0;
    for (std::size_t i = 0; i < effects.size(); ++i) {
      const double all = squared + squared_noise[i];
      const double effect = effects[i] * effects[i];
      sum += ((nu + 1) * effect / (nu * all + effect) - 1) / all;
    }
    return sum > 0;
  };
  double high = 0;
  for (const double effect : effects) high = std::max(high, (nu + 1) * effect * effect);
  if (high <= 0) return 0;
  double low = 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (rises(middle) ? low : high) = middle;
  }
  // Below this an effect cannot be told from none, as where the maximum is at zero.
  return low > 0 ? std::sqrt(low) : 0;
}

}  // namespace shardsim::scenario
