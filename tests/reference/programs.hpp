// The programs that teams carry out: which pieces of the data in which order, received from whom,
// added to what, sent to whom. docs/chunk-trace.md says the same in words.
//
// A `Mover` has move(Transfer), copy(Message) and begin_message(); it cuts a transfer into slices.
// Nothing here knows of time, threads or protocols, so that the same source counts rows, runs on
// CPU threads and runs on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/reference/host_device.hpp"
#include "tests/reference/team_work.hpp"

namespace shardsim::reference {

/// One primitive on one chunk: value = own data, plus or else what comes in; it is kept, sent or
/// both.
struct Transfer {
  std::int64_t chunk = 0;
  std::int64_t bytes = 0;
  int first_input = 0;
  int inputs = 0;
  int first_output = 0;
  int outputs = 0;
  const std::byte* own = nullptr;
  std::byte* keep = nullptr;
  bool adds = false;
};

/// Bytes of a slice of a chunk; the last slices have what is left.
REFERENCE_HD std::int64_t slice_bytes(const TeamWork& work, std::int64_t chunk_bytes) {
  if (work.slices == 1) return chunk_bytes;
  const std::int64_t grain = std::int64_t{16} * work.element_bytes;
  const std::int64_t even = divide_up(chunk_bytes, grain * work.slices) * grain;
  return most_of(even, work.step_bytes * work.slice_steps / 32);
}

template <class Mover>
class Program {
 public:
  REFERENCE_HD Program(Mover& mover, const TeamWork& work) : mover_(mover), work_(work) {}

  REFERENCE_HD void run() {
    if (work_.algorithm == Algorithm::messages) return exchange();
    if (work_.algorithm == Algorithm::tree) return tree();
    switch (work_.collective) {
      case Collective::all_gather:
        return all_gather();
      case Collective::reduce_scatter:
        return reduce_scatter();
      case Collective::all_reduce:
        return all_reduce();
      default:
        return chain();
    }
  }

 private:
  REFERENCE_HD int position(int steps_back) const {
    return (work_.position - steps_back + 2 * work_.ranks) % work_.ranks;
  }
  REFERENCE_HD static Transfer piece(std::int64_t chunk, std::int64_t bytes) {
    Transfer made;
    made.chunk = chunk;
    made.bytes = bytes;
    return made;
  }

  REFERENCE_HD void all_gather() {
    const int n = work_.ranks;
    std::int64_t loop = 0;
    for (std::int64_t done = 0; done < work_.bytes; done += work_.chunk_bytes, ++loop) {
      const std::int64_t bytes = least_of(work_.chunk_bytes, work_.bytes - done);
      for (int j = 0; j < n; ++j) {
        const int owner = work_.ring[position(j)];
        Transfer t = piece(loop * n + owner, bytes);
        t.inputs = j > 0 ? 1 : 0;
        t.outputs = j < n - 1 ? 1 : 0;
        t.keep = work_.target + owner * work_.part_bytes + work_.offset + done;
        if (j == 0) t.own = work_.source + work_.offset + done;
        if (t.own == t.keep) t.keep = nullptr;  // in place
        mover_.move(t);
      }
    }
  }

  REFERENCE_HD void reduce_scatter() {
    const int n = work_.ranks;
    std::int64_t loop = 0;
    for (std::int64_t done = 0; done < work_.bytes; done += work_.chunk_bytes, ++loop) {
      const std::int64_t bytes = least_of(work_.chunk_bytes, work_.bytes - done);
      for (int j = 1; j <= n; ++j) {
        const int owner = work_.ring[position(j)];
        Transfer t = piece(loop * n + owner, bytes);
        t.inputs = j > 1 ? 1 : 0;
        t.outputs = j < n ? 1 : 0;
        t.adds = true;
        t.own = work_.source + owner * work_.part_bytes + work_.offset + done;
        if (j == n) t.keep = work_.target + work_.offset + done;
        mover_.move(t);
      }
    }
  }

  /// Bytes of the pieces of a loop in which `rest` bytes are left.
  REFERENCE_HD std::int64_t piece_bytes(std::int64_t rest) const {
    if (rest >= work_.ranks * work_.chunk_bytes) return work_.chunk_bytes;
    // Whole elements: their size divides 16.
    return divide_up(divide_up(rest, work_.ranks), 16) * 16;
  }

  REFERENCE_HD void all_reduce() {
    const int n = work_.ranks;
    std::int64_t loop = 0;
    for (std::int64_t done = 0; done < work_.bytes; ++loop) {
      const std::int64_t rest = work_.bytes - done;
      const std::int64_t size = piece_bytes(rest);
      for (int j = 1; j < 2 * n; ++j) {
        const int which = position(j);
        const std::int64_t left = most_of(rest - which * size, std::int64_t{0});
        Transfer t = piece(loop * n + which, least_of(left, size));
        const std::int64_t at = work_.offset + done + which * size;
        t.inputs = j > 1 ? 1 : 0;
        t.outputs = j < 2 * n - 1 ? 1 : 0;
        t.adds = j <= n;
        if (j <= n) t.own = work_.source + at;
        if (j >= n) t.keep = work_.target + at;
        mover_.move(t);
      }
      done += n * size;
    }
  }

  /// Broadcast, and reduction, along the ring.
  REFERENCE_HD void chain() {
    const bool spreads = work_.collective == Collective::broadcast;
    const int n = work_.ranks;
    const int first = spreads ? work_.root_position : (work_.root_position + 1) % n;
    const bool begins = work_.position == first;
    const bool ends = (work_.position + 1) % n == first;
    std::int64_t loop = 0;
    for (std::int64_t done = 0; done < work_.bytes; done += work_.chunk_bytes, ++loop) {
      Transfer t = piece(loop, least_of(work_.chunk_bytes, work_.bytes - done));
      t.inputs = begins ? 0 : 1;
      t.outputs = ends ? 0 : 1;
      t.adds = !spreads;
      if (begins || !spreads) t.own = work_.source + work_.offset + done;
      if (ends || spreads) t.keep = work_.target + work_.offset + done;
      if (t.own == t.keep && !t.adds) t.keep = nullptr;
      mover_.move(t);
    }
  }

  REFERENCE_HD void tree() {
    const bool reduces = work_.role == 0;
    std::int64_t loop = 0;
    for (std::int64_t done = 0; done < work_.bytes; done += work_.chunk_bytes, ++loop) {
      Transfer t = piece(loop, least_of(work_.chunk_bytes, work_.bytes - done));
      t.inputs = work_.input_count;
      t.outputs = work_.output_count;
      t.adds = reduces;
      if (reduces) t.own = work_.source + work_.offset + done;
      if (!reduces || work_.at_root) t.keep = work_.target + work_.offset + done;
      mover_.move(t);
    }
  }

  REFERENCE_HD void exchange() {
    for (int i = 0; i < work_.message_count; ++i) {
      const Message& message = work_.messages[i];
      if (message.link < 0) {
        mover_.copy(message);
        continue;
      }
      mover_.begin_message();
      std::int64_t number = 0;
      for (std::int64_t done = 0; done < message.bytes; done += work_.chunk_bytes, ++number) {
        Transfer t = piece(number, least_of(work_.chunk_bytes, message.bytes - done));
        if (work_.role == 0) {
          t.first_output = message.link;
          t.outputs = 1;
          t.own = work_.source + message.place + done;
        } else {
          t.first_input = message.link;
          t.inputs = 1;
          t.keep = work_.target + message.place + done;
        }
        mover_.move(t);
      }
    }
  }

  Mover& mover_;
  const TeamWork& work_;
};

/// Counts the rows of a program instead of running it.
struct RowCounter {
  int slices = 1;
  std::int64_t rows = 0;
  REFERENCE_HD void move(const Transfer& t) {
    rows += std::int64_t{slices} * (t.inputs + t.outputs);
  }
  REFERENCE_HD void copy(const Message&) { ++rows; }
  REFERENCE_HD void begin_message() {}
};

}  // namespace shardsim::reference
