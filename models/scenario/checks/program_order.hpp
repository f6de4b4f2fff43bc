// What a program says about order: which launches must have ended before another may start, and
// before a CPU wait may end.
//
// By CUDA's rules alone: operations of a stream run in order, a stream that waits for an event
// waits for what its stream had been given before the event was recorded, a communicator runs one
// collective at a time, and a CPU that has waited issues later. Launches are kernels and
// collectives, numbered in the order of the program.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/cuda/program.hpp"

namespace shardsim::scenario {

class ProgramOrder {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  explicit ProgramOrder(const cuda::Program& program);

  std::uint32_t launches() const { return launches_; }
  /// Number of an operation that is a launch, else none.
  std::uint32_t launch(std::uint32_t op) const { return places_[op].launch; }
  /// Of a launch, what must have ended before it starts; of a CPU's wait for an event or for the
  /// device, before it is over.
  std::span<const std::uint32_t> after(std::uint32_t op) const {
    const Place& place = places_[op];
    return std::span(after_).subspan(place.first, place.count);
  }
  /// The last wait of the CPU in front of the operation, else none.
  std::uint32_t wait_before(std::uint32_t op) const { return places_[op].wait; }

 private:
  struct Place {
    std::uint32_t launch = none;
    std::uint32_t wait = none;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  std::uint32_t launches_ = 0;
  std::vector<Place> places_;  ///< by op
  std::vector<std::uint32_t> after_;
};

}  // namespace shardsim::scenario
