#include "models/network/completion_tree.hpp"

#include <algorithm>
#include <bit>

namespace shardsim::network {

std::uint32_t CompletionTree::better(std::uint32_t a, std::uint32_t b) const {
  if (times_[a] != times_[b]) return times_[a] < times_[b] ? a : b;
  return std::min(a, b);
}

void CompletionTree::grow(std::size_t count) {
  if (count <= times_.size()) return;
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(count, 8));
  times_.resize(size, simcore::SimTime::never());
  winners_.resize(2 * size);
  for (std::size_t i = 0; i < size; ++i) winners_[size + i] = static_cast<std::uint32_t>(i);
  unplayed_.assign(size, 0);  // as many as slots: play all
}

void CompletionTree::set(std::uint32_t slot, simcore::SimTime time) {
  if (times_[slot] == time) return;
  times_[slot] = time;
  unplayed_.push_back(slot);
}

void CompletionTree::play() {
  const std::size_t size = times_.size();
  const auto levels = static_cast<std::size_t>(std::bit_width(size));
  if (unplayed_.size() * levels > size) {
    for (std::size_t node = size - 1; node > 0; --node) {
      winners_[node] = better(winners_[2 * node], winners_[2 * node + 1]);
    }
  } else {
    for (const std::uint32_t slot : unplayed_) {
      for (std::size_t node = (size + slot) / 2; node > 0; node /= 2) {
        const std::uint32_t before = winners_[node];
        winners_[node] = better(winners_[2 * node], winners_[2 * node + 1]);
        if (winners_[node] == before && before != slot) break;
      }
    }
  }
  unplayed_.clear();
}

std::uint32_t CompletionTree::winner() {
  if (!unplayed_.empty()) play();
  return winners_.empty() ? 0 : winners_[1];
}

simcore::SimTime CompletionTree::earliest() {
  return times_.empty() ? simcore::SimTime::never() : times_[winner()];
}

}  // namespace shardsim::network
