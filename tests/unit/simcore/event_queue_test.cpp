#include "simcore/event_queue.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "simcore/random.hpp"

using namespace shardsim::simcore;

namespace {

std::atomic<std::size_t> allocations{0};

void* counted(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}

/// Writes down what it is told, in order.
class Recorder : public EventReceiver {
 public:
  void on_event(const Event& event) override { payloads.push_back(event.payload); }
  std::vector<std::uint64_t> payloads;
};

std::vector<std::uint64_t> run(EventQueue& queue, Recorder& recorder) {
  while (queue.step()) {
  }
  return recorder.payloads;
}

SimTime ps(std::int64_t count) { return SimTime::picoseconds(count); }

using Payloads = std::vector<std::uint64_t>;

}  // namespace

// The whole test program counts its allocations, so that a test can ask for none.
void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("events come by time, then priority, then order of scheduling") {
  EventQueue queue;
  Recorder recorder;
  queue.schedule(ps(5), recorder, 0, 1);
  queue.schedule(ps(3), recorder, 0, 2, 1);
  queue.schedule(ps(3), recorder, 0, 3, -1);
  queue.schedule(ps(3), recorder, 0, 4, 1);
  queue.schedule(ps(1), recorder, 0, 5, 9);
  CHECK(queue.next_time() == ps(1));
  CHECK(run(queue, recorder) == Payloads{5, 3, 2, 4, 1});
  CHECK(queue.now() == ps(5));
  CHECK(queue.handled() == 5);
  CHECK(queue.empty());
  CHECK(queue.next_time() == SimTime::never());
  CHECK_FALSE(queue.step());
}

TEST_CASE("a receiver gets the event as it was scheduled") {
  struct Check : EventReceiver {
    explicit Check(EventQueue& q) : queue(q) {}
    void on_event(const Event& event) override {
      CHECK(event.time == ps(7));
      CHECK(event.kind == 3);
      CHECK(event.payload == 99);
      CHECK(event.receiver == this);
      CHECK(queue.now() == ps(7));
      ++seen;
    }
    EventQueue& queue;
    int seen = 0;
  };
  EventQueue queue;
  Check check(queue);
  queue.schedule(ps(7), check, 3, 99);
  queue.step();
  CHECK(check.seen == 1);
}

TEST_CASE("a cancelled event never comes, and its handle does no harm afterwards") {
  EventQueue queue;
  Recorder recorder;
  queue.schedule(ps(1), recorder, 0, 1);
  const EventHandle second = queue.schedule(ps(2), recorder, 0, 2);
  queue.schedule(ps(3), recorder, 0, 3);
  CHECK(queue.cancel(second));
  CHECK_FALSE(queue.cancel(second));
  // The slot is used again; the old handle must not reach the new event.
  queue.schedule(ps(4), recorder, 0, 4);
  CHECK_FALSE(queue.cancel(second));
  CHECK_FALSE(queue.cancel(EventHandle{}));
  CHECK(run(queue, recorder) == Payloads{1, 3, 4});
  CHECK(queue.handled() == 3);
}

TEST_CASE("an event that has fired cannot be cancelled, not even while it is handled") {
  struct Once : EventReceiver {
    explicit Once(EventQueue& q) : queue(q) {}
    void on_event(const Event&) override { cancelled = queue.cancel(handle); }
    EventQueue& queue;
    EventHandle handle;
    bool cancelled = true;
  };
  EventQueue queue;
  Once once(queue);
  once.handle = queue.schedule(ps(1), once, 0, 0);
  queue.step();
  CHECK_FALSE(once.cancelled);
  CHECK_FALSE(queue.cancel(once.handle));
}

TEST_CASE("an event scheduled for now while handling comes after those already waiting") {
  struct Chain : EventReceiver {
    explicit Chain(EventQueue& q) : queue(q) {}
    void on_event(const Event& event) override {
      order.push_back(event.payload);
      if (event.payload == 1) queue.schedule(queue.now(), *this, 0, 3);
    }
    EventQueue& queue;
    Payloads order;
  };
  EventQueue queue;
  Chain chain(queue);
  queue.schedule(ps(1), chain, 0, 1);
  queue.schedule(ps(1), chain, 0, 2);
  while (queue.step()) {
  }
  CHECK(chain.order == Payloads{1, 2, 3});
}

TEST_CASE("random schedules and cancels come out as a sorted list would") {
  RandomStream random(1, "event_queue");
  EventQueue queue;
  Recorder recorder;
  using Key = std::tuple<std::int64_t, std::int32_t, std::uint64_t>;
  std::vector<Key> expected;
  std::vector<std::pair<EventHandle, Key>> pending;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const auto time = static_cast<std::int64_t>(random.below(500));
    const auto priority = static_cast<std::int32_t>(random.below(3)) - 1;
    pending.emplace_back(queue.schedule(ps(time), recorder, 0, i, priority),
                         Key{time, priority, i});
    if (random.below(3) == 0) {
      const std::size_t victim = random.below(pending.size());
      CHECK(queue.cancel(pending[victim].first));
      pending[victim] = pending.back();
      pending.pop_back();
    }
  }
  for (const auto& [handle, key] : pending) expected.push_back(key);
  std::ranges::sort(expected);
  Payloads order;
  for (const Key& key : expected) order.push_back(std::get<2>(key));
  CHECK(run(queue, recorder) == order);
}

TEST_CASE("no allocation once the pool has grown to the events pending at once") {
  struct Again : EventReceiver {
    explicit Again(EventQueue& q) : queue(q) {}
    void on_event(const Event& event) override {
      // Cancels its timeout and sets two new events, as a flow does.
      queue.cancel(timeout);
      timeout = queue.schedule(queue.now() + ps(1000), *this, 1, event.payload);
      if (event.kind == 0) queue.schedule(queue.now() + ps(7), *this, 0, event.payload, 1);
    }
    EventQueue& queue;
    EventHandle timeout;
  };
  EventQueue queue;
  std::vector<Again> receivers(64, Again(queue));
  for (std::uint64_t i = 0; i < receivers.size(); ++i) {
    queue.schedule(ps(static_cast<std::int64_t>(i)), receivers[i], 0, i);
  }
  for (int i = 0; i < 1000; ++i) queue.step();
  const std::size_t before = allocations;
  for (int i = 0; i < 100'000; ++i) queue.step();
  CHECK(allocations == before);
}
