#include "simcore/counter_random.hpp"

#include <array>
#include <cmath>

#include "simcore/random.hpp"

namespace shardsim::simcore {

namespace {

double polynomial(const std::array<double, 8>& c, double x) {
  double sum = c[7];
  for (int i = 6; i >= 0; --i) sum = sum * x + c[static_cast<std::size_t>(i)];
  return sum;
}

// Rational approximations of AS 241: the centre, the shoulders, the tails.
constexpr std::array<double, 8> centre_above{3.3871328727963666080e0, 1.3314166789178437745e2,
                                             1.9715909503065514427e3, 1.3731693765509461125e4,
                                             4.5921953931549871457e4, 6.7265770927008700853e4,
                                             3.3430575583588128105e4, 2.5090809287301226727e3};
constexpr std::array<double, 8> centre_below{1.0,
                                             4.2313330701600911252e1,
                                             6.8718700749205790830e2,
                                             5.3941960214247511077e3,
                                             2.1213794301586595867e4,
                                             3.9307895800092710610e4,
                                             2.8729085735721942674e4,
                                             5.2264952788528545610e3};
constexpr std::array<double, 8> shoulder_above{
    1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
    3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
    2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr std::array<double, 8> shoulder_below{1.0,
                                               2.05319162663775882187e0,
                                               1.67638483018380384940e0,
                                               6.89767334985100004550e-1,
                                               1.48103976427480074590e-1,
                                               1.51986665636164571966e-2,
                                               5.47593808499534494600e-4,
                                               1.05075007164441684324e-9};
constexpr std::array<double, 8> tail_above{6.65790464350110377720e0,  5.46378491116411436990e0,
                                           1.78482653991729133580e0,  2.96560571828504891230e-1,
                                           2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                           2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr std::array<double, 8> tail_below{1.0,
                                           5.99832206555887937690e-1,
                                           1.36929880922735805310e-1,
                                           1.48753612908506148525e-2,
                                           7.86869131145613259100e-4,
                                           1.84631831751005468180e-5,
                                           1.42151175831644588870e-7,
                                           2.04426310338993978564e-15};

}  // namespace

CounterStream::CounterStream(std::uint64_t seed, std::string_view name, std::uint64_t index)
    : key_(RandomStream(seed, name, index).bits()) {}

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(centre_above, r) / polynomial(centre_below, r);
  }
  const double r = std::sqrt(-portable_log(q < 0 ? p : 1 - p));
  const double value =
      r <= 5 ? polynomial(shoulder_above, r - 1.6) / polynomial(shoulder_below, r - 1.6)
             : polynomial(tail_above, r - 5) / polynomial(tail_below, r - 5);
  return q < 0 ? -value : value;
}

}  // namespace shardsim::simcore
