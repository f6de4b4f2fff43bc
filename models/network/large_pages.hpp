// Memory of large arrays, in large pages where the system has them.
//
// A hundred thousand flows take tens of megabytes; asking for them in pages of 4 KiB costs as much
// time as simulating the flows. An array of 2 to 64 MiB begins at a multiple of 2 MiB and the
// system is told that it may be served by large pages. Smaller ones come from the plain allocator,
// and so do larger ones: they grow seldom, and clearing pages that nobody has used lately costs
// more than asking for small ones that somebody has. Other systems than Linux know the plain one
// alone.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "simcore/integer.hpp"

namespace shardsim::network {

template <class T>
class LargePageAllocator {
 public:
  using value_type = T;

  LargePageAllocator() = default;
  template <class U>
  LargePageAllocator(const LargePageAllocator<U>&) {}

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (!is_large(bytes)) return std::allocator<T>{}.allocate(count);
    void* const memory = ::operator new(simcore::round_up(bytes, page), std::align_val_t{page});
#if defined(__linux__)
    static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));  // advice: it may be refused
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (!is_large(count * sizeof(T))) return std::allocator<T>{}.deallocate(memory, count);
    ::operator delete(memory, std::align_val_t{page});
  }

  template <class U>
  bool operator==(const LargePageAllocator<U>&) const {
    return true;
  }

 private:
  static constexpr std::size_t page = std::size_t{2} << 20U;
  static constexpr std::size_t most = std::size_t{64} << 20U;
#if defined(__linux__)
  static bool is_large(std::size_t bytes) { return bytes >= page && bytes <= most; }
#else
  static bool is_large(std::size_t) { return false; }
#endif
};

template <class T>
using LargeArray = std::vector<T, LargePageAllocator<T>>;

}  // namespace shardsim::network
