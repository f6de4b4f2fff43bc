// Freed blocks that other streams may still be using: one queue of events per stream.
//
// A block stays here until every event recorded for it has completed. Each stream's events are
// looked at in the order in which they were recorded, up to the first that is not complete; one
// slow stream therefore does not hold back the others.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cuda/program.hpp"

namespace shardsim::cuda {

using BlockId = std::uint32_t;
/// Names an event to the caller; the allocator only hands it back.
using EventKey = std::uint64_t;

class PendingFrees {
 public:
  bool empty() const { return count_ == 0; }

  void push(StreamId stream, EventKey event, BlockId block) {
    if (stream >= queues_.size()) queues_.resize(std::size_t{stream} + 1);
    queues_[stream].entries.push_back(Entry{event, block});
    ++count_;
  }

  /// Asks `is_complete(EventKey)` of each stream's events in turn, streams by number, until it says
  /// no; an event for which it said yes is dropped, not asked about again, and reported to
  /// `on_complete(BlockId)`.
  template <class IsComplete, class OnComplete>
  void poll(IsComplete&& is_complete, OnComplete&& on_complete) {
    if (empty()) return;
    for (Queue& queue : queues_) {
      while (queue.head < queue.entries.size() && is_complete(queue.entries[queue.head].event)) {
        const BlockId block = queue.entries[queue.head].block;
        pop(queue);
        on_complete(block);
      }
    }
  }

  /// Calls `visit(StreamId, EventKey)` for every event, streams by number, oldest first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t stream = 0; stream < queues_.size(); ++stream) {
      const Queue& queue = queues_[stream];
      for (std::size_t i = queue.head; i < queue.entries.size(); ++i) {
        visit(static_cast<StreamId>(stream), queue.entries[i].event);
      }
    }
  }

 private:
  struct Entry {
    EventKey event = 0;
    BlockId block = 0;
  };
  struct Queue {
    std::vector<Entry> entries;
    std::size_t head = 0;  ///< entries before it are done
  };

  /// The storage of done entries is reused once they are half of it: constant cost on average.
  void pop(Queue& queue) {
    ++queue.head;
    --count_;
    if (queue.head * 2 < queue.entries.size()) return;
    queue.entries.erase(queue.entries.begin(),
                        queue.entries.begin() + static_cast<std::ptrdiff_t>(queue.head));
    queue.head = 0;
  }

  std::vector<Queue> queues_;  ///< index is the stream
  std::size_t count_ = 0;
};

}  // namespace shardsim::cuda
