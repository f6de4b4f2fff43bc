#include "simcore/event_queue.hpp"

#include <cassert>

namespace shardsim::simcore {

namespace {
// A four-ary heap: half the depth of a binary one, and the four children share cache lines.
constexpr std::uint32_t arity = 4;
}  // namespace

bool EventQueue::before(const Node& a, const Node& b) {
  if (a.time != b.time) return a.time < b.time;
  if (a.priority != b.priority) return a.priority < b.priority;
  return a.sequence < b.sequence;
}

SimTime EventQueue::next_time() const { return heap_.empty() ? SimTime::never() : heap_[0].time; }

void EventQueue::place(std::uint32_t index, const Node& node) {
  heap_[index] = node;
  slots_[node.slot].heap_index = index;
}

void EventQueue::sift_up(std::uint32_t index) {
  const Node node = heap_[index];
  while (index > 0) {
    const std::uint32_t parent = (index - 1) / arity;
    if (!before(node, heap_[parent])) break;
    place(index, heap_[parent]);
    index = parent;
  }
  place(index, node);
}

void EventQueue::sift_down(std::uint32_t index) {
  const Node node = heap_[index];
  const auto size = static_cast<std::uint32_t>(heap_.size());
  for (;;) {
    const std::uint32_t first = index * arity + 1;
    if (first >= size) break;
    std::uint32_t best = first;
    for (std::uint32_t child = first + 1; child < first + arity && child < size; ++child) {
      if (before(heap_[child], heap_[best])) best = child;
    }
    if (!before(heap_[best], node)) break;
    place(index, heap_[best]);
    index = best;
  }
  place(index, node);
}

void EventQueue::remove_at(std::uint32_t index) {
  Slot& slot = slots_[heap_[index].slot];
  slot.heap_index = UINT32_MAX;
  ++slot.generation;
  free_slots_.push_back(heap_[index].slot);
  const Node last = heap_.back();
  heap_.pop_back();
  if (index == heap_.size()) return;
  place(index, last);
  sift_down(index);
  sift_up(slots_[last.slot].heap_index);
}

EventHandle EventQueue::schedule(SimTime time, EventReceiver& receiver, std::uint32_t kind,
                                 std::uint64_t payload, std::int32_t priority) {
  assert(time >= now_);
  std::uint32_t index = 0;
  if (free_slots_.empty()) {
    index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    index = free_slots_.back();
    free_slots_.pop_back();
  }
  Slot& slot = slots_[index];
  slot.event = Event{time, &receiver, kind, payload};
  heap_.push_back(Node{time, priority, sequence_++, index});
  slot.heap_index = static_cast<std::uint32_t>(heap_.size() - 1);
  sift_up(slot.heap_index);
  return EventHandle{index, slot.generation};
}

bool EventQueue::cancel(EventHandle handle) {
  if (handle.slot >= slots_.size()) return false;
  const Slot& slot = slots_[handle.slot];
  if (slot.generation != handle.generation || slot.heap_index == UINT32_MAX) return false;
  remove_at(slot.heap_index);
  return true;
}

bool EventQueue::step() {
  if (heap_.empty()) return false;
  const Event event = slots_[heap_[0].slot].event;
  remove_at(0);
  if (event_due.has_listeners()) event_due(now_, event.time);
  now_ = event.time;
  ++handled_;
  event.receiver->on_event(event);
  return true;
}

}  // namespace shardsim::simcore
