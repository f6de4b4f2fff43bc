#include "models/cuda/jitter.hpp"

#include <algorithm>
#include <cmath>

#include "simcore/counter_random.hpp"
#include "simcore/random.hpp"

namespace shardsim::cuda {

double Jitter::factor_at(double u) const {
  switch (distribution) {
    case Distribution::normal:
      return std::max(0.0, 1 + deviation * simcore::normal_quantile(u));
    case Distribution::lognormal: {
      const double variance = simcore::portable_log(1 + deviation * deviation);
      return simcore::portable_exp(std::sqrt(variance) * simcore::normal_quantile(u) -
                                   variance / 2);
    }
    case Distribution::exponential:
      return std::max(0.0, 1 - deviation - deviation * simcore::portable_log(1 - u));
    case Distribution::uniform: {
      constexpr double root_3 = 1.7320508075688772;
      return std::max(0.0, 1 + deviation * root_3 * (2 * u - 1));
    }
  }
  return 1;
}

}  // namespace shardsim::cuda
