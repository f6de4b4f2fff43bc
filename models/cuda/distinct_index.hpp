// Finds the entries of a table by value, so that each distinct one stands in it once.
//
// Open addressing over a power of two of places, at most half of them taken; the values themselves
// stay in the table alone. Numbers follow the order of adding, whatever the hashes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardsim::cuda {

class DistinctIndex {
 public:
  /// Number of `value`, whose hash is `hash`, in `table`, which only this index adds to; appended
  /// if it is not there yet. `Value` compares with the table's entries and makes one.
  template <class Entry, class Value>
  std::uint32_t find_or_add(std::vector<Entry>& table, std::size_t hash, const Value& value) {
    if (2 * hashes_.size() >= places_.size()) grow();
    const std::size_t mask = places_.size() - 1;
    std::size_t i = spread(hash) & mask;
    for (; places_[i] != vacant; i = (i + 1) & mask) {
      if (hashes_[places_[i]] == hash && table[places_[i]] == value) return places_[i];
    }
    const auto number = static_cast<std::uint32_t>(table.size());
    places_[i] = number;
    hashes_.push_back(hash);
    table.emplace_back(value);
    return number;
  }

 private:
  static constexpr std::uint32_t vacant = 0xffffffffU;
  static constexpr std::size_t fewest = 64;

  /// Upper bits of the product with 2^64 / golden ratio.
  static std::size_t spread(std::size_t hash) { return (hash * 0x9e3779b97f4a7c15U) >> 32U; }
  void grow() {
    places_.assign(std::max(fewest, 2 * places_.size()), vacant);
    const std::size_t mask = places_.size() - 1;
    for (std::uint32_t number = 0; number < hashes_.size(); ++number) {
      std::size_t i = spread(hashes_[number]) & mask;
      while (places_[i] != vacant) i = (i + 1) & mask;
      places_[i] = number;
    }
  }

  std::vector<std::size_t> hashes_;    ///< by number
  std::vector<std::uint32_t> places_;  ///< numbers
};

}  // namespace shardsim::cuda
