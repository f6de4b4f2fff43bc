#include "models/nccl/pat.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "models/nccl/schedule_chunks.hpp"
#include "simcore/integer.hpp"

namespace shardsim::nccl {
namespace {

constexpr int most_workers = 16;  // warps of 512 threads

int lowest_bit(int offset) { return std::countr_zero(static_cast<unsigned>(offset)); }

/// All-gather visits the offsets below `span` (a power of two) as a binomial tree from the top:
/// half of it, then the same above that half, then below.
void append_tree(std::vector<int>& order, int base, int span) {
  if (span < 2) return;
  order.push_back(base + span / 2);
  append_tree(order, base + span / 2, span / 2);
  append_tree(order, base, span / 2);
}

/// Bits of `value` below `span` turned round and inverted: reduce-scatter takes far ranks first.
int mirrored(int value, int span) {
  int result = 0;
  for (int bit = 1, image = span / 2; bit < span; bit *= 2, image /= 2) {
    if ((value & bit) == 0) result += image;
  }
  return result;
}

/// Builds the messages of one round.
class Messages {
 public:
  Messages(PatPlan& plan, int group, int stride) : plan_(plan), group_(group), stride_(stride) {}

  void all_gather() {
    for (int scale = group_ / 2; scale >= 1; scale /= 2) {
      append(group_ / (2 * scale), scale * stride_, 2 * scale * stride_);
    }
    std::vector<int> order;
    append_tree(order, 0, stride_);
    for (const int offset : order) append(group_, offset, stride_);
    // Each of these sends; those of odd offset receive once more.
    plan_.slots += group_ * (stride_ / 2);
  }

  void reduce_scatter() {
    for (int offset = stride_ - 1; offset >= 1; --offset) append(group_, offset, stride_);
    // Odd offsets start a sum, all but the last are received.
    plan_.slots += group_ * (stride_ / 2 - 1);
    for (int scale = 1; scale < group_; scale *= 2) {
      const int members = group_ / (2 * scale);
      append(members, scale * stride_, 2 * scale * stride_);
      plan_.slots += std::max(members, plan_.workers);
    }
    plan_.slots += std::max(1, plan_.workers);  // the own sum
  }

 private:
  /// Offsets first, first + stride, ... in messages of the aggregation.
  void append(int members, int first, int stride) {
    plan_.slots += std::max(members, plan_.workers);
    for (int begin = 0; begin < members; begin += plan_.aggregation) {
      PatMessage message{lowest_bit(first), {}};
      for (int i = begin; i < std::min(members, begin + plan_.aggregation); ++i) {
        const bool gathers = plan_.collective == Collective::all_gather;
        const int offset = first + (gathers ? i : mirrored(i, members)) * stride;
        if (offset < plan_.ranks) message.offsets.push_back(offset);
      }
      if (!message.offsets.empty()) plan_.messages.push_back(std::move(message));
    }
  }

  PatPlan& plan_;
  int group_;   ///< offsets of one dimension that are worked on together
  int stride_;  ///< between them
};

}  // namespace

int pat_aggregation(int ranks, std::int64_t channel_bytes, std::int64_t chunk_bytes) {
  const std::int64_t bytes = std::max<std::int64_t>(1, channel_bytes);
  int group = 1;
  while (chunk_bytes / (bytes * group) >= 2 && group < ranks / 2) group *= 2;
  return group;
}

PatPlan pat_plan(Collective collective, int ranks, std::int64_t channel_bytes,
                 std::int64_t chunk_bytes) {
  PatPlan plan;
  plan.collective = collective;
  plan.ranks = ranks;
  const std::int64_t bytes = std::max<std::int64_t>(1, channel_bytes);
  plan.rounds = static_cast<int>(simcore::divide_up(bytes, chunk_bytes));
  if (ranks < 2) return plan;
  int group = pat_aggregation(ranks, bytes, chunk_bytes);
  plan.aggregation = group;
  plan.workers = std::min(most_workers, group);
  for (int depth = steps_per_buffer; depth > 1 && group < ranks / 2; depth /= 2) group *= 2;
  const int span = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
  Messages messages(plan, group, span / group);
  if (collective == Collective::all_gather) {
    messages.all_gather();
  } else {
    messages.reduce_scatter();
  }
  return plan;
}

std::vector<PatDimension> pat_dimensions(const PatPlan& plan) {
  std::vector<PatDimension> dimensions;
  for (const PatMessage& message : plan.messages) {
    const auto index = static_cast<std::size_t>(message.dimension);
    if (dimensions.size() <= index) dimensions.resize(index + 1);
    PatDimension& dimension = dimensions[index];
    const std::int64_t chunks = plan.rounds * static_cast<std::int64_t>(message.offsets.size());
    // A sum is added to once for each dimension below the one it is sent in.
    const int additions =
        plan.collective == Collective::reduce_scatter ? std::max(1, message.dimension) : 1;
    dimension.messages += plan.rounds;
    dimension.chunks += chunks;
    dimension.operations += chunks * additions;
  }
  return dimensions;
}

}  // namespace shardsim::nccl
