// A thread block as a team (mover.hpp).
//
// Counters are released and acquired at the scope of the GPU. A word of LL is one store of 8 bytes.
// A line of LL128 is stored and loaded by eight neighbouring threads of a warp in one instruction
// of 16 bytes each: the hardware makes its 128 bytes visible at once, which NCCL relies on as well.
#pragma once

#include <cstdint>

namespace shardsim::reference {

class BlockTeam {
 public:
  static constexpr int lanes = 8;

  __device__ static int index() { return static_cast<int>(threadIdx.x); }
  __device__ static int size() { return static_cast<int>(blockDim.x); }
  __device__ static void sync() { __syncthreads(); }

  __device__ static std::uint64_t now_ns() {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
  }

  __device__ static std::uint64_t acquire(const std::uint64_t* counter) {
    std::uint64_t value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(counter) : "memory");
    return value;
  }
  __device__ static void release(std::uint64_t* counter, std::uint64_t value) {
    // Cumulative with the barrier before it: what all threads of the block have written.
    __threadfence();
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(counter), "l"(value) : "memory");
  }

  __device__ static std::uint64_t read_word(const std::uint64_t* word) {
    std::uint64_t value;
    asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
  }
  __device__ static void write_word(std::uint64_t* word, std::uint64_t value) {
    asm volatile("st.volatile.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
  }

  __device__ static void read_line(const std::uint64_t* line, int lane, std::uint64_t flag,
                                   std::uint64_t* data) {
    const std::uint64_t* const from = line + 2 * lane;
    const unsigned first = threadIdx.x % 32 / lanes * lanes;
    const unsigned together = 0xffU << first;
    Timeout timeout;
    for (;;) {
      asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
                   : "=l"(data[0]), "=l"(data[1])
                   : "l"(from)
                   : "memory");
      const bool here = lane != lanes - 1 || data[1] == flag;
      if (__all_sync(together, here) != 0) return;
      timeout.check();
    }
  }
  __device__ static void write_line(std::uint64_t* line, int lane, std::uint64_t flag,
                                    const std::uint64_t* data) {
    const std::uint64_t last = lane == lanes - 1 ? flag : data[1];
    asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(line + 2 * lane), "l"(data[0]),
                 "l"(last)
                 : "memory");
  }

  template <class Condition>
  __device__ static void wait(Condition condition) {
    Timeout timeout;
    while (!condition()) timeout.check();
  }

 private:
  /// Ends the kernel with an error where a peer never comes, so that nothing hangs.
  class Timeout {
   public:
    __device__ void check() {
      if (++tries_ % 4096 != 0) return;
      const std::uint64_t now = now_ns();
      if (begin_ == 0) begin_ = now;
      if (now - begin_ > 20'000'000'000ULL) __trap();
    }

   private:
    unsigned tries_ = 0;
    std::uint64_t begin_ = 0;
  };
};

}  // namespace shardsim::reference
