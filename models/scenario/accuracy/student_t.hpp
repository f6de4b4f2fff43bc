// Student's t as a model of errors that are mostly small and now and then large.
//
// Models: values as centre + scale * t with three degrees of freedom. Three is what the residuals
// of published runs ask for (docs/accuracy.md) and the fewest with a variance. Fits are by maximum
// likelihood, so that single odd values neither move the centre nor widen the scale much.
// Leaves out: other degrees of freedom, and asymmetry.
#pragma once

#include <vector>

namespace shardsim::scenario {

constexpr double tail_freedom = 3;

/// Variance of the fitted centre of n values, times n, in squared scales: the inverse of the
/// information on it, (freedom + 3) / (freedom + 1) (Lange, Little, Taylor 1989).
constexpr double centre_variance = (tail_freedom + 3) / (tail_freedom + 1);

/// Quantile with `freedom` degrees (>= 3) for `share` 0.5..0.995; within 0.5 % up to a share of
/// 0.95.
double student_t_quantile(double share, double freedom);

/// Values in classes that share a scale, each class with its own centre.
struct ClassFit {
  std::vector<double> centres;  ///< of class 0, 1, ...
  double scale = 0;
};

/// `weights` add up to 1; `classes` names each value's class, 0 to `count` - 1, none empty.
ClassFit fit_classes(const std::vector<double>& values, const std::vector<double>& weights,
                     const std::vector<std::size_t>& classes, std::size_t count);

/// Scale of effects around zero, of which each was seen with noise of its own: effect i is taken as
/// t with the squared scale scale^2 + `squared_noise[i]`. 0 if noise alone explains them, and for
/// none. With no noise at all, effects of one size give that size.
double effect_scale(const std::vector<double>& effects, const std::vector<double>& squared_noise);

}  // namespace shardsim::scenario
