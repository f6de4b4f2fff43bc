#include "models/gpu/gemm_model.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "models/gpu/soft_maximum.hpp"
#include "simcore/integer.hpp"

namespace shardsim::gpu {

using simcore::divide_up;

namespace {

struct Tile {
  int m;
  int n;
};

// The menu that the constants were fitted with: tile shapes of the vendor's libraries.
constexpr std::array<Tile, 8> tiles{
    {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}, {64, 32}, {32, 64}}};
constexpr std::array<int, 8> splits{1, 2, 3, 4, 6, 8, 12, 16};
constexpr std::int64_t smallest_split_depth = 256;  // of K, for each part
constexpr std::int64_t depth_step = 64;             // K advances by this much

double real(std::int64_t count) { return static_cast<double>(count); }

/// Data that a tile loads per operation, (bm + bn) / (bm bn), above that of the largest tile.
double small_tile_factor(const Tile& tile, double penalty) {
  constexpr double largest = (256.0 + 128.0) / (256.0 * 128.0);
  return 1 + penalty * (real(tile.m + tile.n) / (real(tile.m) * tile.n) - largest);
}

/// Prologue depth is fitted for two-byte elements; a stage of shared memory holds half as many
/// elements of twice the width.
double prologue(const GemmConstants& constants, DataType type) {
  const double width = std::max<double>(2, static_cast<double>(bytes_per_element(type)));
  return constants.prologue_depth * 2 / width;
}

double throttle(const GemmConstants& constants, PowerState power) {
  const bool training = !power.is_benchmark() && constants.training_throttle;
  return training ? constants.training_throttle->value : constants.throttle.value;
}

/// K divided among SMs: what each part costs, the same for every tile.
struct Split {
  int parts = 1;
  double depth = 0;           // of each part, rounded up, with its prologue
  double reduction_time = 0;  // seconds to add the parts
};

struct Problem {
  const GemmWork& work;
  const GemmConstants& constants;
  double sm_rate;    // operations per second of one SM at burst clock
  double bandwidth;  // bytes per second reached
  double sms;
  PowerState power;
  double throttle;
};

/// Partial sums: each element written in fp32 and read again, mostly in L2 (2.5 times the memory's
/// rate, as fitted).
double reduction_time(const Problem& problem, int parts) {
  if (parts == 1) return 0;
  const GemmWork& work = problem.work;
  const double bytes = real(work.batch) * parts * real(work.m) * real(work.n) * 8;
  return problem.constants.split_cost.seconds() + bytes / (2.5 * problem.bandwidth);
}

/// Fills `choices` and returns how many of them K is deep enough for.
std::size_t split_choices(const Problem& problem, std::array<Split, splits.size()>& choices) {
  const std::int64_t k = problem.work.k;
  const double start = prologue(problem.constants, problem.work.type);
  std::size_t count = 0;
  for (const int parts : splits) {
    if (parts > 1 && k < parts * smallest_split_depth) break;
    const std::int64_t depth = divide_up(k, parts * depth_step) * depth_step;
    choices[count++] = {parts, real(depth) + start, reduction_time(problem, parts)};
  }
  return count;
}

double memory_time(const Problem& problem) {
  const GemmWork& work = problem.work;
  const double read = real(bytes_per_element(work.type)) *
                      (real(work.m) * real(work.k) + real(work.k) * real(work.n));
  const double written = real(bytes_per_element(work.output_type)) * real(work.m) * real(work.n);
  return real(work.batch) * (read + written) / problem.bandwidth;
}

/// Activations to fp8 with a scale found on the fly: an amax pass over two bytes an element, then
/// a cast that reads two and writes one; two more launches.
double scaling_time(const Problem& problem) {
  const GemmWork& work = problem.work;
  if (work.type != DataType::fp8 || !work.dynamic_scaling) return 0;
  return 5 * real(work.batch) * real(work.m) * real(work.k) / problem.bandwidth +
         2 * problem.constants.fixed_time.seconds();
}

struct Tiling {
  Tile tile;
  double count = 0;          // of output tiles, the batch's together
  double seconds_per_k = 0;  // of one tile at burst clock
};

Tiling tiling(const Problem& problem, const Tile& tile) {
  const GemmWork& work = problem.work;
  return {tile,
          real(work.batch) * real(divide_up(work.m, tile.m)) * real(divide_up(work.n, tile.n)),
          2.0 * tile.m * tile.n * small_tile_factor(tile, problem.constants.tile_penalty) /
              problem.sm_rate};
}

void consider(const Problem& problem, const Tiling& tiling, const Split& split, GemmTime& best) {
  const double waves = std::ceil(tiling.count * split.parts / problem.sms);
  const double burst = waves * tiling.seconds_per_k * split.depth;
  // Throttling and the knee only add: most candidates end here.
  if (std::max(burst, best.memory) + split.reduction_time >= best.total) return;
  const double arithmetic = burst / (1 - problem.throttle * problem.power.depth(burst));
  if (arithmetic + split.reduction_time >= best.total) return;
  const double total =
      soft_maximum(arithmetic, best.memory, problem.constants.knee_exponent) + split.reduction_time;
  if (total >= best.total) return;
  best.total = total;
  best.arithmetic = arithmetic;
  best.overhead = split.reduction_time;
  best.tile_m = tiling.tile.m;
  best.tile_n = tiling.tile.n;
  best.split = split.parts;
  best.waves = waves;
}

}  // namespace

GemmTime gemm_time(const GemmWork& work, const GemmConstants& constants, const GpuShare& share,
                   PowerState power) {
  assert(work.m >= 0 && work.n >= 0 && work.k >= 0 && work.batch >= 0);
  assert(share.sms >= 1 && share.flops_per_sm > 0 && share.bandwidth > 0);
  if (work.m == 0 || work.n == 0 || work.batch == 0) return {};

  const Problem problem{work,
                        constants,
                        share.flops_per_sm * constants.efficiency.value,
                        share.bandwidth * constants.memory_efficiency.value,
                        real(share.sms),
                        power,
                        throttle(constants, power)};
  GemmTime best;
  best.total = std::numeric_limits<double>::infinity();
  best.memory = memory_time(problem);
  std::array<Split, splits.size()> choices;
  const std::size_t choice_count = split_choices(problem, choices);
  for (const Tile& tile : tiles) {
    const Tiling candidate = tiling(problem, tile);
    for (std::size_t i = 0; i < choice_count; ++i) consider(problem, candidate, choices[i], best);
  }
  const double fixed = constants.fixed_time.seconds() + scaling_time(problem);
  best.overhead += fixed;
  best.total += fixed;
  return best;
}

}  // namespace shardsim::gpu
