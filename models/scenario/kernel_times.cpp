#include "models/scenario/kernel_times.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "models/gpu/kernel_model.hpp"

namespace shardsim::scenario {

using simcore::BitRate;
using simcore::SimTime;

double memory_touches(cuda::CollectiveKind kind) {
  switch (kind) {
    case cuda::CollectiveKind::reduce_scatter:
    case cuda::CollectiveKind::all_reduce:
    case cuda::CollectiveKind::reduce:
      return 3;
    default:
      return 2;
  }
}

namespace {

constexpr std::size_t most_kinds = 4;  // of one communicator

/// Times of all kernels while a set of collectives with this load together is in flight.
std::vector<SimTime> times_beside(const cuda::Program& program, const gpu::KernelModel& model,
                                  const CollectiveLoad& load) {
  // Beyond SMs and bandwidth a running collective costs a kernel about 3 % (L2, scheduling):
  // assumed, so that kernels beside communication come to the 19 % that arXiv 2507.03114 measured
  // on average. One that only waits for its peers polls a flag and costs its SMs alone.
  const double remainder = load.memory_use.bytes_per_second > 0 ? 1.03 : 1.0;
  const gpu::GpuSpec& gpu = model.spec();
  const BitRate whole = gpu.memory.bandwidth;
  const BitRate left{std::max(whole.bytes_per_second * 0.1,
                              whole.bytes_per_second - load.memory_use.bytes_per_second)};
  std::vector<SimTime> times;
  for (const cuda::KernelSpec& kernel : program.kernels) {
    const bool prescribed = std::holds_alternative<gpu::FixedWork>(kernel.work);
    if (load.channels == 0 || prescribed) {
      times.push_back(model.time(kernel.work).duration);
      continue;
    }
    const SimTime shared = model.time(kernel.work, gpu.sms - load.channels, left).duration;
    times.push_back(
        SimTime::picoseconds(std::llround(static_cast<double>(shared.picoseconds()) * remainder)));
  }
  return times;
}

}  // namespace

CollectiveLoads::CollectiveLoads(const cuda::Program& program) {
  using cuda::CollectiveSpec;
  const auto& all = program.collectives;
  for (cuda::TableIndex index = 0; index < all.size(); ++index) {
    const CollectiveSpec& spec = all[index];
    prescribed_.push_back(spec.fixed_time.has_value());
    auto place = std::ranges::find(places_, spec.communicator, &Place::communicator);
    if (place == places_.end()) place = places_.insert(place, Place{spec.communicator, 1, {}});
    auto known = std::ranges::find_if(
        place->loads, [&](std::size_t load) { return all[largest_[load]].kind == spec.kind; });
    if (known == place->loads.end() && place->loads.size() < most_kinds) {
      known = place->loads.insert(known, largest_.size());
      largest_.push_back(index);
      loads_.emplace_back();
    }
    if (known == place->loads.end()) --known;
    load_of_collective_.push_back(*known);
    if (spec.bytes.count > all[largest_[*known]].bytes.count) largest_[*known] = index;
  }
  std::uint32_t stride = 1;
  for (Place& place : places_) {
    place.stride = stride;
    stride *= static_cast<std::uint32_t>(1 + 2 * place.loads.size());
  }
}

std::vector<cuda::LoadStep> CollectiveLoads::steps() const {
  std::vector<cuda::LoadStep> steps;
  for (std::size_t index = 0; index < load_of_collective_.size(); ++index) {
    cuda::LoadStep step;
    for (const Place& place : places_) {
      const auto kind = std::ranges::find(place.loads, load_of_collective_[index]);
      if (kind == place.loads.end() || prescribed_[index]) continue;
      const auto number = static_cast<std::uint32_t>(kind - place.loads.begin());
      step.waiting = place.stride * (2 * number + 1);
      step.moving = place.stride * (2 * number + 2);
    }
    steps.push_back(step);
  }
  return steps;
}

std::size_t CollectiveLoads::load_count() const {
  std::size_t count = 1;
  for (const Place& place : places_) count *= 1 + 2 * place.loads.size();
  return count;
}

CollectiveLoad CollectiveLoads::at(std::size_t load_number) const {
  CollectiveLoad sum;
  for (const Place& place : places_) {
    const std::size_t states = 1 + 2 * place.loads.size();
    const std::size_t state = load_number / place.stride % states;
    if (state == 0) continue;
    const CollectiveLoad& one = loads_[place.loads[(state - 1) / 2]];
    sum.channels += one.channels;
    if (state % 2 == 0) sum.memory_use.bytes_per_second += one.memory_use.bytes_per_second;
  }
  return sum;
}

cuda::KernelTimes kernel_times(const cuda::Program& program, const gpu::GpuSpec& gpu,
                               const CollectiveLoads& loads) {
  const gpu::KernelModel model(gpu);
  cuda::KernelTimes times;
  times.steps = loads.steps();
  for (std::size_t load = 0; load < loads.load_count(); ++load) {
    times.by_load.push_back(times_beside(program, model, loads.at(load)));
  }
  return times;
}

}  // namespace shardsim::scenario
