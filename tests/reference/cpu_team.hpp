// A CPU thread as a team of one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "tests/reference/mover.hpp"

namespace shardsim::reference {

class CpuTeam {
 public:
  static constexpr int lanes = 1;
  static constexpr int index() { return 0; }
  static constexpr int size() { return 1; }
  static void sync() {}

  static std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
  }

  static std::uint64_t acquire(const std::uint64_t* counter) {
    return std::atomic_ref(*const_cast<std::uint64_t*>(counter)).load(std::memory_order_acquire);
  }
  static void release(std::uint64_t* counter, std::uint64_t value) {
    std::atomic_ref(*counter).store(value, std::memory_order_release);
  }

  // A word of LL holds its own data. It also orders what its sender did before: in place, a rank
  // may overwrite what it has read once the sum comes back.
  static std::uint64_t read_word(const std::uint64_t* word) { return acquire(word); }
  static void write_word(std::uint64_t* word, std::uint64_t value) { release(word, value); }

  // A GPU makes 128 bytes visible at once; here the flag is written last and read first.
  static void read_line(const std::uint64_t* line, int, std::uint64_t flag, std::uint64_t* data) {
    wait([=] { return acquire(line + 15) == flag; });
    for (int i = 0; i < 15; ++i) data[i] = line[i];
  }
  static void write_line(std::uint64_t* line, int, std::uint64_t flag, const std::uint64_t* data) {
    for (int i = 0; i < 15; ++i) line[i] = data[i];
    release(line + 15, flag);
  }

  /// Spins, then leaves the processor to others, then sleeps: there may be hundreds of teams on
  /// two processors.
  template <class Condition>
  static void wait(Condition condition) {
    constexpr int spins = 32;
    constexpr int yields = 64;
    for (int tries = 0; !condition(); ++tries) {
      if (tries < spins) continue;
      if (tries < yields) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(tries < 4 * yields ? 20 : 200));
      }
    }
  }
};

}  // namespace shardsim::reference
