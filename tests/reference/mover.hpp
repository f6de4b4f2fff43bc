// Moves the slices of a transfer through FIFOs by one of NCCL's three protocols.
//
//   Simple  the sender writes a slice, fences, and raises the tail; the receiver waits for it
//   LL      every 8 bytes hold 4 bytes of data and a flag, written at once; no tail
//   LL128   lines of 128 bytes hold 120 bytes of data and a flag, visible at once; no tail
//
// The flag of step s is s + 1: memory begins as zero, and a slot holds steps that are eight apart.
// In all three the sender waits for room, which the receiver's head gives: eight steps of credit.
//
// A `Team` is the threads that work together: index(), size(), sync(), now_ns(), wait(condition),
// acquire(counter), release(counter, value), read_word(word), write_word(word, value), and for
// LL128 `lanes` threads a line with read_line() and write_line().
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/reference/host_device.hpp"
#include "tests/reference/programs.hpp"
#include "tests/reference/team_work.hpp"

namespace shardsim::reference {

#if defined(__GNUC__) || defined(__CUDACC__)
#define REFERENCE_MAY_ALIAS __attribute__((__may_alias__))
#else
#define REFERENCE_MAY_ALIAS
#endif

struct __attribute__((__may_alias__, __aligned__(16))) Vector16 {
  std::uint32_t word[4];
};
using AliasedVector = Vector16;
using AliasedWord = std::uint32_t REFERENCE_MAY_ALIAS;
using AliasedLong = std::uint64_t REFERENCE_MAY_ALIAS;
using AliasedFloat = float REFERENCE_MAY_ALIAS;

REFERENCE_HD std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
REFERENCE_HD float float_of(std::uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

/// Sums of the floats that values hold; bytes are never added.
REFERENCE_HD std::uint32_t added(std::uint32_t a, std::uint32_t b) {
  return bits_of(float_of(a) + float_of(b));
}
REFERENCE_HD std::uint64_t added(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t low = added(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
  const std::uint64_t high =
      added(static_cast<std::uint32_t>(a >> 32), static_cast<std::uint32_t>(b >> 32));
  return low | high << 32;
}
REFERENCE_HD Vector16 added(const Vector16& a, const Vector16& b) {
  Vector16 sum;
  for (int i = 0; i < 4; ++i) sum.word[i] = added(a.word[i], b.word[i]);
  return sum;
}
REFERENCE_HD unsigned char added(unsigned char a, unsigned char) { return a; }

/// Up to sizeof(T) bytes from any address; missing ones are zero.
template <class T, class Aliased>
REFERENCE_HD T load_bytes(const std::byte* from, std::int64_t count) {
  if (count >= static_cast<std::int64_t>(sizeof(T))) {
    if (reinterpret_cast<std::uintptr_t>(from) % sizeof(T) == 0) {
      return *reinterpret_cast<const Aliased*>(from);
    }
    count = sizeof(T);
  }
  T value = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    value |= static_cast<T>(static_cast<unsigned char>(from[i])) << (8 * i);
  }
  return value;
}
template <class T, class Aliased>
REFERENCE_HD void store_bytes(std::byte* to, std::int64_t count, T value) {
  if (count >= static_cast<std::int64_t>(sizeof(T))) {
    if (reinterpret_cast<std::uintptr_t>(to) % sizeof(T) == 0) {
      *reinterpret_cast<Aliased*>(to) = value;
      return;
    }
    count = sizeof(T);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<std::byte>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

template <class Team>
class Mover {
 public:
  REFERENCE_HD Mover(Team& team, TeamWork& work) : team_(team), work_(work) {}

  REFERENCE_HD std::int64_t rows() const { return rows_; }

  /// The next message uses a connection of its own.
  REFERENCE_HD void begin_message() {
    steps_in_[0] = 0;
    steps_out_[0] = 0;
  }

  REFERENCE_HD void copy(const Message& message) {
    const std::uint64_t start = team_.now_ns();
    const std::byte* const from = work_.source + message.place;
    std::byte* const to = work_.target + message.place;
    Ends ends;
    ends.own = from;
    ends.keep = to;
    move_plain<false>(ends, message.bytes);
    team_.sync();
    LogRow row;
    row.bytes = message.bytes;
    row.peer = message.peer;
    row.action = Action::copy;
    log(row, start, team_.now_ns());
  }

  REFERENCE_HD void move(const Transfer& t) {
    const std::int64_t each = slice_bytes(work_, t.bytes);
    std::int64_t rest = t.bytes;
    std::int64_t done = 0;
    for (int slice = 0; slice < work_.slices; ++slice) {
      const std::int64_t bytes = least_of(each, rest);
      move_slice(t, done, bytes);
      done += bytes;
      rest -= bytes;
    }
  }

 private:
  /// Where a slice comes from and goes to.
  struct Ends {
    const std::byte* own = nullptr;
    std::byte* keep = nullptr;
    int inputs = 0;
    int outputs = 0;
    const std::byte* in[most_links] = {};
    std::byte* out[most_links] = {};
    std::uint64_t in_flag[most_links] = {};
    std::uint64_t out_flag[most_links] = {};
  };

  REFERENCE_HD std::byte* slot(const Link& link, std::uint64_t step) const {
    return link.fifo + static_cast<std::int64_t>(step % fifo_steps) * work_.step_bytes;
  }

  REFERENCE_HD Ends ends_of(const Transfer& t, std::int64_t done) const {
    Ends ends;
    ends.own = t.own == nullptr ? nullptr : t.own + done;
    ends.keep = t.keep == nullptr ? nullptr : t.keep + done;
    ends.inputs = t.inputs;
    ends.outputs = t.outputs;
    for (int i = 0; i < t.inputs; ++i) {
      ends.in[i] = slot(work_.inputs[t.first_input + i], steps_in_[i]);
      ends.in_flag[i] = steps_in_[i] + 1;
    }
    for (int i = 0; i < t.outputs; ++i) {
      ends.out[i] = slot(work_.outputs[t.first_output + i], steps_out_[i]);
      ends.out_flag[i] = steps_out_[i] + 1;
    }
    return ends;
  }

  REFERENCE_HD void move_slice(const Transfer& t, std::int64_t done, std::int64_t bytes) {
    const Ends ends = ends_of(t, done);
    if (team_.index() == 0) wait_for_peers(t, ends, bytes);
    team_.sync();
    const std::uint64_t start = team_.now_ns();
    if (work_.protocol == Protocol::ll) {
      move_words(ends, bytes, t.adds);
    } else if (work_.protocol == Protocol::ll128) {
      move_lines(ends, bytes, t.adds);
    } else if (t.adds) {
      move_plain<true>(ends, bytes);
    } else {
      move_plain<false>(ends, bytes);
    }
    team_.sync();
    const std::uint64_t end = team_.now_ns();
    if (team_.index() == 0) post(t);
    log_slice(t, bytes, start, end);
    for (int i = 0; i < t.inputs; ++i) steps_in_[i] += static_cast<unsigned>(work_.slice_steps);
    for (int i = 0; i < t.outputs; ++i) steps_out_[i] += static_cast<unsigned>(work_.slice_steps);
  }

  /// Until there is room on all outputs and something has come in on all inputs.
  REFERENCE_HD void wait_for_peers(const Transfer& t, const Ends& ends, std::int64_t bytes) {
    const auto steps = static_cast<std::uint64_t>(work_.slice_steps);
    for (int i = 0; i < t.outputs; ++i) {
      const Link& link = work_.outputs[t.first_output + i];
      const std::uint64_t needed = steps_out_[i] + steps;
      team_.wait([&] { return team_.acquire(link.head) + fifo_steps >= needed; });
    }
    for (int i = 0; i < t.inputs; ++i) {
      const Link& link = work_.inputs[t.first_input + i];
      const std::uint64_t needed = steps_in_[i] + steps;
      if (work_.protocol == Protocol::simple) {
        team_.wait([&] { return team_.acquire(link.tail) >= needed; });
      } else if (bytes > 0) {
        // The first data; the rest is waited for word by word.
        const auto* words = reinterpret_cast<const std::uint64_t*>(ends.in[i]);
        const std::uint64_t flag = ends.in_flag[i];
        if (work_.protocol == Protocol::ll) {
          team_.wait([&] { return team_.read_word(words) >> 32 == (flag & 0xffffffffU); });
        } else {
          team_.wait([&] { return team_.read_word(words + 15) == flag; });
        }
      }
    }
  }

  /// Room for the senders; with Simple, data for the receivers.
  REFERENCE_HD void post(const Transfer& t) {
    const auto steps = static_cast<std::uint64_t>(work_.slice_steps);
    if (work_.protocol == Protocol::simple) {
      for (int i = 0; i < t.outputs; ++i) {
        team_.release(work_.outputs[t.first_output + i].tail, steps_out_[i] + steps);
      }
    }
    for (int i = 0; i < t.inputs; ++i) {
      team_.release(work_.inputs[t.first_input + i].head, steps_in_[i] + steps);
    }
  }

  REFERENCE_HD static bool aligned(const Ends& ends, std::uintptr_t size) {
    std::uintptr_t all =
        reinterpret_cast<std::uintptr_t>(ends.own) | reinterpret_cast<std::uintptr_t>(ends.keep);
    for (int i = 0; i < ends.inputs; ++i) all |= reinterpret_cast<std::uintptr_t>(ends.in[i]);
    for (int i = 0; i < ends.outputs; ++i) all |= reinterpret_cast<std::uintptr_t>(ends.out[i]);
    return all % size == 0;
  }

  /// Elements `begin` to `end` of type T, each by one thread.
  template <bool Adds, class T, class Aliased>
  REFERENCE_HD void move_as(const Ends& ends, std::int64_t begin, std::int64_t end) {
    const auto at = [](const std::byte* base, std::int64_t i) {
      return *(reinterpret_cast<const Aliased*>(base) + i);
    };
    const auto put = [](std::byte* base, std::int64_t i, const T& value) {
      *(reinterpret_cast<Aliased*>(base) + i) = value;
    };
    for (std::int64_t i = begin + team_.index(); i < end; i += team_.size()) {
      T value = ends.own != nullptr ? at(ends.own, i) : at(ends.in[0], i);
      if constexpr (Adds) {
        for (int k = 0; k < ends.inputs; ++k) value = added(value, T(at(ends.in[k], i)));
      }
      if (ends.keep != nullptr) put(ends.keep, i, value);
      for (int k = 0; k < ends.outputs; ++k) put(ends.out[k], i, value);
    }
  }

  /// Simple: by 16 bytes where all addresses allow.
  template <bool Adds>
  REFERENCE_HD void move_plain(const Ends& ends, std::int64_t bytes) {
    std::int64_t done = 0;
    if (aligned(ends, 16)) {
      move_as<Adds, Vector16, AliasedVector>(ends, 0, bytes / 16);
      done = bytes / 16 * 16;
    }
    if (aligned(ends, 4)) {
      move_as<Adds, std::uint32_t, AliasedWord>(ends, done / 4, bytes / 4);
      done = bytes / 4 * 4;
    }
    if constexpr (!Adds) move_as<false, unsigned char, unsigned char>(ends, done, bytes);
  }

  REFERENCE_HD void move_words(const Ends& ends, std::int64_t bytes, bool adds) {
    const std::int64_t words = divide_up(bytes, 4);
    for (std::int64_t i = team_.index(); i < words; i += team_.size()) {
      const std::int64_t count = bytes - 4 * i;
      std::uint32_t value = 0;
      if (ends.own != nullptr)
        value = load_bytes<std::uint32_t, AliasedWord>(ends.own + 4 * i, count);
      for (int k = 0; k < ends.inputs; ++k) {
        const auto* word = reinterpret_cast<const std::uint64_t*>(ends.in[k]) + i;
        const std::uint64_t flag = ends.in_flag[k] & 0xffffffffU;
        std::uint64_t seen = team_.read_word(word);
        if (seen >> 32 != flag) {
          team_.wait([&] {
            seen = team_.read_word(word);
            return seen >> 32 == flag;
          });
        }
        const auto data = static_cast<std::uint32_t>(seen);
        value = adds ? added(value, data) : data;
      }
      if (ends.keep != nullptr) {
        store_bytes<std::uint32_t, AliasedWord>(ends.keep + 4 * i, count, value);
      }
      for (int k = 0; k < ends.outputs; ++k) {
        auto* word = reinterpret_cast<std::uint64_t*>(ends.out[k]) + i;
        team_.write_word(word, std::uint64_t{value} | ends.out_flag[k] << 32);
      }
    }
  }

  /// `Team::lanes` threads share a line, each with neighbouring words of 8 bytes; the last word is
  /// the flag. All threads of a team go through the loop equally often.
  REFERENCE_HD void move_lines(const Ends& ends, std::int64_t bytes, bool adds) {
    constexpr int words = 16 / Team::lanes;
    const std::int64_t lines = divide_up(bytes, ll128_data_bytes);
    const int group = team_.index() / Team::lanes;
    const int groups = team_.size() / Team::lanes;
    const int lane = team_.index() % Team::lanes;
    for (std::int64_t first = 0; first < lines; first += groups) {
      const std::int64_t line = first + group;
      if (line >= lines) continue;
      std::uint64_t value[words] = {};
      std::uint64_t data[words] = {};
      const std::int64_t at = line * ll128_data_bytes + std::int64_t{lane} * words * 8;
      const std::int64_t left = bytes - at;
      for (int w = 0; w < words && ends.own != nullptr; ++w) {
        if (lane * words + w == 15 || left <= 8 * w) continue;
        value[w] = load_bytes<std::uint64_t, AliasedLong>(ends.own + at + 8 * w, left - 8 * w);
      }
      for (int k = 0; k < ends.inputs; ++k) {
        const auto* base = reinterpret_cast<const std::uint64_t*>(ends.in[k]) + line * 16;
        team_.read_line(base, lane, ends.in_flag[k], data);
        for (int w = 0; w < words; ++w) value[w] = adds ? added(value[w], data[w]) : data[w];
      }
      for (int w = 0; w < words && ends.keep != nullptr; ++w) {
        if (lane * words + w == 15 || left <= 8 * w) continue;
        store_bytes<std::uint64_t, AliasedLong>(ends.keep + at + 8 * w, left - 8 * w, value[w]);
      }
      for (int k = 0; k < ends.outputs; ++k) {
        auto* base = reinterpret_cast<std::uint64_t*>(ends.out[k]) + line * 16;
        team_.write_line(base, lane, ends.out_flag[k], value);
      }
    }
  }

  REFERENCE_HD void log(const LogRow& row, std::uint64_t start, std::uint64_t end) {
    if (team_.index() == 0 && rows_ < work_.row_limit) {
      LogRow& to = work_.rows[rows_];
      to = row;
      to.start_ns = start;
      to.end_ns = end;
    }
    ++rows_;
  }

  REFERENCE_HD void log_slice(const Transfer& t, std::int64_t bytes, std::uint64_t start,
                              std::uint64_t end) {
    LogRow row;
    row.chunk = t.chunk;
    row.bytes = bytes;
    row.action = t.adds ? Action::reduce : Action::receive;
    for (int i = 0; i < t.inputs; ++i) {
      row.step = static_cast<std::int64_t>(steps_in_[i]);
      row.peer = work_.inputs[t.first_input + i].peer;
      log(row, start, end);
    }
    row.action = Action::send;
    for (int i = 0; i < t.outputs; ++i) {
      row.step = static_cast<std::int64_t>(steps_out_[i]);
      row.peer = work_.outputs[t.first_output + i].peer;
      log(row, start, end);
    }
  }

  Team& team_;
  TeamWork& work_;
  std::uint64_t steps_in_[most_links] = {};
  std::uint64_t steps_out_[most_links] = {};
  std::int64_t rows_ = 0;
};

}  // namespace shardsim::reference
