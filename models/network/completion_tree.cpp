#include "models/network/completion_tree.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

namespace shardsim::network {

using simcore::SimTime;

void CompletionTree::grow(std::size_t count) {
  if (count <= times_.size()) return;
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(count, block_size));
  const std::size_t blocks = size / block_size;
  times_.resize(size, SimTime::never());
  earliest_.assign(2 * blocks, SimTime::never());
  is_noted_.assign(blocks, 1);  // all are to be played
  noted_.resize(blocks + 1);
  std::iota(noted_.begin(), noted_.end(), 0U);
  noted_count_ = blocks;
}

// Four at once, by value: the processor need neither wait nor guess.
void CompletionTree::play_block(std::uint32_t block) {
  const SimTime* const times = times_.data() + std::size_t{block} * block_size;
  const auto at = [times](std::uint32_t i) { return times[i].picoseconds(); };
  std::int64_t first[4] = {at(0), at(1), at(2), at(3)};
  for (std::uint32_t i = 4; i < block_size; i += 4) {
    for (std::uint32_t lane = 0; lane < 4; ++lane) {
      const std::int64_t time = at(i + lane);
      first[lane] = time < first[lane] ? time : first[lane];
    }
  }
  const std::int64_t left = first[0] < first[1] ? first[0] : first[1];
  const std::int64_t right = first[2] < first[3] ? first[2] : first[3];
  earliest_[is_noted_.size() + block] = SimTime::picoseconds(left < right ? left : right);
  is_noted_[block] = 0;
}

void CompletionTree::play_node(std::size_t node) {
  const std::int64_t left = earliest_[2 * node].picoseconds();
  const std::int64_t right = earliest_[2 * node + 1].picoseconds();
  earliest_[node] = SimTime::picoseconds(left < right ? left : right);
}

void CompletionTree::play() {
  const std::size_t blocks = is_noted_.size();
  const auto levels = static_cast<std::size_t>(std::bit_width(blocks));
  const std::span noted(noted_.data(), noted_count_);
  for (const std::uint32_t block : noted) play_block(block);
  if (noted.size() * levels > blocks) {
    for (std::size_t node = blocks - 1; node > 0; --node) play_node(node);
  } else {
    for (const std::uint32_t block : noted) {
      for (std::size_t node = (blocks + block) / 2; node > 0; node /= 2) {
        const SimTime before = earliest_[node];
        play_node(node);
        if (earliest_[node] == before) break;
      }
    }
  }
  noted_count_ = 0;
}

void CompletionTree::collect_due(SimTime time, LargeArray<std::uint32_t>& due) {
  if (earliest() > time || times_.empty()) return;
  const std::size_t blocks = is_noted_.size();
  std::size_t node = 1;
  while (true) {  // in order, and below due nodes only
    if (earliest_[node] <= time && node < blocks) {
      node *= 2;
      continue;
    }
    if (earliest_[node] <= time) {
      const std::size_t begin = (node - blocks) * block_size;
      for (std::size_t slot = begin; slot < begin + block_size; ++slot) {
        if (times_[slot] <= time) due.push_back(static_cast<std::uint32_t>(slot));
      }
    }
    while (node % 2 == 1) node /= 2;  // up from right children; the root counts as one
    if (node == 0) return;
    ++node;
  }
}

SimTime CompletionTree::earliest() {
  if (noted_count_ > 0) play();
  return times_.empty() ? SimTime::never() : earliest_[1];
}

}  // namespace shardsim::network
