// Numbers keys in the order in which they are first asked for: 0, 1, 2, ...
//
// Open addressing over a power of two of places, at most half of them taken. Costs nothing until
// the first key, so that an index over few of many things costs what those few do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardsim::network {

class SparseIndex {
 public:
  /// The key's number; size() of before for a new one.
  std::uint32_t number_of(std::uint64_t key) {
    if (2 * keys_.size() >= places_.size()) grow();
    std::uint32_t& place = place_of(key);
    if (place == vacant) {
      place = static_cast<std::uint32_t>(keys_.size());
      keys_.push_back(key);
    }
    return place;
  }
  std::size_t size() const { return keys_.size(); }
  void clear() {
    keys_.clear();
    places_.clear();
  }

 private:
  static constexpr std::uint32_t vacant = 0xffffffffU;
  static constexpr std::size_t fewest = 64;

  std::uint32_t& place_of(std::uint64_t key) {
    const std::size_t mask = places_.size() - 1;
    std::size_t i = (key * 0x9e3779b97f4a7c15U) >> 32U & mask;  // 2^64 / golden ratio
    while (places_[i] != vacant && keys_[places_[i]] != key) i = (i + 1) & mask;
    return places_[i];
  }
  void grow() {
    places_.assign(std::max(fewest, 2 * places_.size()), vacant);
    for (std::uint32_t i = 0; i < keys_.size(); ++i) place_of(keys_[i]) = i;
  }

  std::vector<std::uint64_t> keys_;    ///< by number
  std::vector<std::uint32_t> places_;  ///< numbers
};

}  // namespace shardsim::network
