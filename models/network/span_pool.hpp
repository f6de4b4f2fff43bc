// Many short arrays in one block of memory, named by 32-bit offsets.
//
// Arrays grow by doubling and return their room to a free list of its size, so that once the pool
// has grown to the number of arrays alive at once, nothing is allocated. Elements must be plain
// data; views and references end when any array of the pool grows.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace shardsim::network {

struct PoolSpan {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::uint32_t capacity = 0;  ///< 0 or a power of two
};

/// `Storage`: a vector of T.
template <class T, class Storage = std::vector<T>>
class SpanPool {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  std::span<T> view(const PoolSpan& array) { return {storage_.data() + array.offset, array.size}; }
  std::span<const T> view(const PoolSpan& array) const {
    return {storage_.data() + array.offset, array.size};
  }
  T& at(const PoolSpan& array, std::uint32_t index) { return storage_[array.offset + index]; }

  void push_back(PoolSpan& array, const T& element) {
    if (array.size == array.capacity) reserve(array, array.size + 1);
    storage_[array.offset + array.size++] = element;
  }

  /// Room for at least `capacity` elements; keeps what the array holds.
  void reserve(PoolSpan& array, std::uint32_t capacity) {
    if (capacity <= array.capacity) return;
    const PoolSpan old = array;
    array.capacity = std::bit_ceil(capacity);
    array.offset = take(array.capacity);
    for (std::uint32_t i = 0; i < old.size; ++i) {
      storage_[array.offset + i] = storage_[old.offset + i];
    }
    give_back(old);
  }

  /// Empties the array and returns its room.
  void release(PoolSpan& array) {
    give_back(array);
    array = PoolSpan{};
  }

 private:
  std::uint32_t take(std::uint32_t capacity) {
    auto& free = free_[static_cast<std::size_t>(std::countr_zero(capacity))];
    if (!free.empty()) {
      const std::uint32_t offset = free.back();
      free.pop_back();
      return offset;
    }
    const auto offset = static_cast<std::uint32_t>(storage_.size());
    storage_.resize(storage_.size() + capacity);
    return offset;
  }
  void give_back(const PoolSpan& array) {
    if (array.capacity == 0) return;
    free_[static_cast<std::size_t>(std::countr_zero(array.capacity))].push_back(array.offset);
  }

  Storage storage_;
  std::array<std::vector<std::uint32_t>, 32> free_;
};

}  // namespace shardsim::network
