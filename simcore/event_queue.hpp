// The event queue: what happens next, ordered by (time, priority, sequence).
//
// Events are plain records in a pool; scheduling and cancelling allocate nothing once the pool has
// grown to the number of events pending at once. A receiver is an object with an `on_event`; what
// the event means is two integers that the receiver chose.
#pragma once

#include <cstdint>
#include <vector>

#include "simcore/probe.hpp"
#include "simcore/time.hpp"

namespace shardsim::simcore {

class EventReceiver;

struct Event {
  SimTime time;
  EventReceiver* receiver = nullptr;
  std::uint32_t kind = 0;
  std::uint64_t payload = 0;
};

class EventReceiver {
 public:
  virtual ~EventReceiver() = default;
  virtual void on_event(const Event& event) = 0;
};

/// Names a scheduled event. A handle of an event that has fired or been cancelled is harmless.
struct EventHandle {
  std::uint32_t slot = UINT32_MAX;
  std::uint32_t generation = 0;
};

class EventQueue {
 public:
  /// Time of the event being handled, or of the last one handled.
  SimTime now() const { return now_; }
  std::uint64_t handled() const { return handled_; }
  bool empty() const { return heap_.empty(); }
  SimTime next_time() const;

  /// `time` must not be before now(). Among equal times the lower priority value comes first, then
  /// the event scheduled first.
  EventHandle schedule(SimTime time, EventReceiver& receiver, std::uint32_t kind,
                       std::uint64_t payload, std::int32_t priority = 0);
  /// True if the event was still pending.
  bool cancel(EventHandle handle);
  /// Handles the next event; false if there is none.
  bool step();

  /// The present, and the time of the event that is handled next: never before it.
  Probe<SimTime, SimTime> event_due;

 private:
  struct Node {
    SimTime time;
    std::int32_t priority;
    std::uint64_t sequence;
    std::uint32_t slot;
  };
  struct Slot {
    Event event;
    std::uint32_t heap_index = UINT32_MAX;  ///< UINT32_MAX when free
    std::uint32_t generation = 0;
  };
  static bool before(const Node& a, const Node& b);
  void sift_up(std::uint32_t index);
  void sift_down(std::uint32_t index);
  void place(std::uint32_t index, const Node& node);
  void remove_at(std::uint32_t index);

  std::vector<Node> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  SimTime now_;
  std::uint64_t sequence_ = 0;
  std::uint64_t handled_ = 0;
};

}  // namespace shardsim::simcore
