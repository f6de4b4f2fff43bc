#include "tests/reference/rank_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace shardsim::reference {

namespace {

constexpr std::int64_t guard = 128;
constexpr std::byte poison{0xff};  // as floats: not a number

/// A bijection whose outputs look random (splitmix64's finaliser).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Eight bytes of a rank's data.
std::uint64_t word_of(std::uint64_t seed, int rank, std::int64_t index) {
  return mixed(seed ^ (static_cast<std::uint64_t>(rank) << 48) ^ static_cast<std::uint64_t>(index));
}
std::byte byte_of(std::uint64_t seed, int rank, std::int64_t place) {
  return static_cast<std::byte>(word_of(seed, rank, place / 8) >> (place % 8 * 8) & 0xff);
}
/// -1 .. 1, exact in 24 bits.
float float_of(std::uint64_t seed, int rank, std::int64_t element) {
  const std::uint64_t word = word_of(seed, rank, element / 2) >> (element % 2 * 32);
  return static_cast<float>(static_cast<std::int32_t>(word & 0xffffff) - 0x800000) / 0x800000;
}

bool reduces(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::all_reduce ||
         collective == Collective::reduce;
}

void fill(std::byte* to, std::int64_t bytes, bool floats, std::uint64_t seed, int rank) {
  if (floats) {
    for (std::int64_t i = 0; i < bytes / 4; ++i) {
      const float value = float_of(seed, rank, i);
      std::memcpy(to + 4 * i, &value, sizeof value);
    }
    return;
  }
  for (std::int64_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = word_of(seed, rank, i / 8);
    std::memcpy(to + i, &word, static_cast<std::size_t>(std::min<std::int64_t>(8, bytes - i)));
  }
}

class Checker {
 public:
  Checker(const Work& work, std::uint64_t seed) : work_(work), seed_(seed) {}

  /// `bytes` at `got` are those of `rank` from `place` on.
  bool gathered(const std::byte* got, std::int64_t bytes, int rank, std::int64_t place) {
    for (std::int64_t i = 0; i < bytes; ++i) {
      // Whole words at a time where they are aligned.
      if ((place + i) % 8 == 0 && i + 8 <= bytes) {
        const std::uint64_t word = word_of(seed_, rank, (place + i) / 8);
        if (std::memcmp(got + i, &word, 8) == 0) {
          i += 7;
          continue;
        }
      }
      const std::byte wanted = byte_of(seed_, rank, place + i);
      if (got[i] == wanted) continue;
      problem_ = fmt::format("byte {} of rank {}'s is {:#x} instead of {:#x}", place + i, rank,
                             static_cast<int>(got[i]), static_cast<int>(wanted));
      return false;
    }
    return true;
  }

  /// Floats at `got` are the sums over ranks from element `first` on, to rounding.
  bool reduced(const std::byte* got, std::int64_t bytes, std::int64_t first) {
    for (std::int64_t i = 0; i < bytes / 4; ++i) {
      double sum = 0;
      double size = 0;
      for (int rank = 0; rank < work_.ranks; ++rank) {
        const double value = float_of(seed_, rank, first + i);
        sum += value;
        size += std::abs(value);
      }
      float value = 0;
      std::memcpy(&value, got + 4 * i, sizeof value);
      // n - 1 additions, each rounded to half a unit in the last place of at most `size`.
      const double bound = size * work_.ranks * 0x1p-24;
      if (std::abs(value - sum) <= bound) continue;
      problem_ = fmt::format("element {} is {} instead of {}", first + i, value, sum);
      return false;
    }
    return true;
  }

  bool untouched(const std::byte* at, std::int64_t bytes) {
    const bool all = std::all_of(at, at + bytes, [](std::byte b) { return b == poison; });
    if (!all) problem_ = "memory outside the result was written";
    return all;
  }

  const std::string& problem() const { return problem_; }

 private:
  const Work& work_;
  std::uint64_t seed_;
  std::string problem_;
};

}  // namespace

bool can_be_in_place(Collective collective) {
  return collective != Collective::alltoall && collective != Collective::sendrecv;
}

std::vector<RankBuffers> make_buffers(const Work& work, const Plan& plan, bool in_place,
                                      std::uint64_t seed) {
  std::vector<RankBuffers> made(static_cast<std::size_t>(work.ranks));
  for (int rank = 0; rank < work.ranks; ++rank) {
    RankBuffers& b = made[static_cast<std::size_t>(rank)];
    const std::int64_t larger = std::max(plan.source_bytes, plan.target_bytes);
    b.target.assign(static_cast<std::size_t>((in_place ? larger : plan.target_bytes) + 2 * guard),
                    poison);
    b.target_at = guard;
    b.source_at = guard;
    if (in_place) {
      // The smaller side is the rank's part of the larger.
      const std::int64_t part = std::min(plan.source_bytes, plan.target_bytes) * rank;
      if (plan.source_bytes < plan.target_bytes) b.source_at += part;
      if (plan.target_bytes < plan.source_bytes) b.target_at += part;
    } else {
      b.source.assign(static_cast<std::size_t>(plan.source_bytes + 2 * guard), poison);
    }
    std::byte* const to = (in_place ? b.target.data() : b.source.data()) + b.source_at;
    fill(to, plan.source_bytes, reduces(work.collective), seed, rank);
  }
  return made;
}

std::optional<std::string> check_rank(const Work& work, const Plan& plan, int rank,
                                      RankBuffers& buffers, std::uint64_t seed) {
  Checker checker(work, seed);
  const std::byte* const got = buffers.target_begin();
  const std::int64_t part = plan.target_bytes / work.ranks;
  const bool in_place = buffers.source.empty();
  bool right = true;
  switch (work.collective) {
    case Collective::all_gather:
      for (int o = 0; o < work.ranks && right; ++o) {
        right = checker.gathered(got + o * part, part, o, 0);
      }
      break;
    case Collective::alltoall:
      for (int from = 0; from < work.ranks && right; ++from) {
        right = checker.gathered(got + from * part, part, from, rank * part);
      }
      break;
    case Collective::broadcast:
      right = checker.gathered(got, plan.target_bytes, work.root, 0);
      break;
    case Collective::sendrecv:
      right = checker.gathered(got, plan.target_bytes, (rank + work.ranks - 1) % work.ranks, 0);
      break;
    case Collective::reduce_scatter:
      right = checker.reduced(got, plan.target_bytes, rank * plan.target_bytes / 4);
      break;
    case Collective::all_reduce:
      right = checker.reduced(got, plan.target_bytes, 0);
      break;
    case Collective::reduce:
      if (rank == work.root) {
        right = checker.reduced(got, plan.target_bytes, 0);
      } else if (!in_place) {
        right = checker.untouched(got, plan.target_bytes);
      }
      break;
  }
  const auto size = static_cast<std::int64_t>(buffers.target.size());
  right = right && checker.untouched(buffers.target.data(), guard) &&
          checker.untouched(buffers.target.data() + size - guard, guard);
  if (right) return std::nullopt;
  return fmt::format("rank {}: {}", rank, checker.problem());
}

}  // namespace shardsim::reference
