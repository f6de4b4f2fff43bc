// The clock of one channel: when each slice of its program is moved.
//
// Models: a slice starts when its worker is free, its data have come in on every input and every
// output has room: a FIFO holds eight steps, and between nodes there is one on either side of the
// network. It takes what its bytes take at the channel's pace. A chunk is handed over as a whole:
// the receiver may start on its first slice when the sender is through with the last one and the
// connection's synchronisation is over, less a share of the moving: that in which synchronisation
// is done on the side, or after which the receiver may follow closely. Room is given back when the
// receiver is through with a slice.
// Assumes that the pace is constant. So every time follows from earlier ones alone (a timed event
// graph), and workers are served in any order, as far as data and room allow; no queue of events is
// needed. Once a loop ends in the same state as the one before, shifted in time, so does every
// equal loop after it: these are skipped, exactly.
//
// A program gives workers(), loops(), full_loops(), primitives(worker) and at(worker, loop, index).
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <vector>

#include "models/nccl/chunk/primitive.hpp"
#include "simcore/time.hpp"

namespace shardsim::nccl {

/// Synchronisation of a connection, once for a chunk: `fixed_ps`, for up to `burst_bytes` of it
/// `burst_ps_per_byte`, for all `ps_per_byte`, and `long_ps` if it has `long_bytes` or more; less
/// `overlap` of the time in which it is moved, but not less than `least_ps`. Negative where a
/// receiver may start before the sender is through. Messages of such chunks come in `apart_ps`
/// apart.
struct HopCost {
  double fixed_ps = 0;
  double burst_bytes = 0;
  double burst_ps_per_byte = 0;
  double ps_per_byte = 0;
  double long_bytes = 0;
  double long_ps = 0;
  double overlap = 0;
  double least_ps = -1e18;
  double apart_ps = 0;

  std::int64_t picoseconds(std::int64_t bytes, std::int64_t moving_ps) const {
    const auto size = static_cast<double>(bytes);
    const double alone = fixed_ps + std::min(size, burst_bytes) * burst_ps_per_byte +
                         size * ps_per_byte + (size >= long_bytes ? long_ps : 0);
    const double left = std::max(alone - overlap * static_cast<double>(moving_ps), least_ps);
    return static_cast<std::int64_t>(std::floor(left));
  }
};

struct ChannelCosts {
  std::array<double, work_count> ps_per_byte{};  ///< by Work
  std::array<HopCost, connection_kinds> hops{};  ///< by ConnectionKind
};

/// Receives nothing: runs that only want the time.
struct NoRecorder {
  static constexpr bool enabled = false;
  void record(std::size_t, const TraceRecord&, const TraceTimes&) {}
};

/// What a run has done; skipped loops count.
struct ChannelRun {
  simcore::SimTime end;
  std::int64_t messages = 0;   ///< slices sent
  std::int64_t simulated = 0;  ///< of them, without those of skipped loops
  std::int64_t skipped_loops = 0;
};

enum class SteadyState : std::uint8_t { skip, simulate };

template <class Program, class Recorder = NoRecorder>
class ChannelEngine {
 public:
  /// All must outlive the engine.
  ChannelEngine(const Program& program, const ChannelLayout& layout, const Slicing& slicing,
                const ChannelCosts& costs, Recorder& recorder);

  /// Runs the program from its start. `channel` is for the recorder.
  ChannelRun run(int channel, SteadyState steady);

 private:
  static constexpr std::size_t slots = std::size_t{2} * steps_per_buffer;
  static constexpr std::int64_t no_time = -(std::int64_t{1} << 60);

  struct Connection {
    std::array<std::int64_t, slots> ready;  ///< ps, of message m at m % slots
    std::array<std::int64_t, slots> freed;
    std::int64_t last_ready = no_time;  ///< of a message that others keep apart from
    std::int64_t sent = 0;
    std::int64_t received = 0;
    std::int64_t window = 0;  ///< messages that may be under way
    std::int32_t from = 0;
    std::int32_t to = 0;
    std::int32_t peer_of_receiver = 0;  ///< rank
    std::int32_t peer_of_sender = 0;
    ConnectionKind kind = ConnectionKind::inside;
  };
  struct Worker {
    std::int64_t free_ps = 0;
    std::int64_t loop = 0;
    std::int32_t index = 0;       ///< of the primitive in its loop
    std::int32_t primitives = 0;  ///< in a loop
    std::int32_t slice = 0;
    bool queued = false;
    bool loaded = false;  ///< the fields below are of the present primitive
    std::int64_t slice_bytes = 0;
    std::int64_t rest_bytes = 0;
    std::int64_t rest_ps = 0;  ///< of the slices to come
    Primitive primitive;
    const std::uint32_t* inputs = nullptr;
    const std::uint32_t* outputs = nullptr;
  };

  void advance(std::int64_t loops);
  void work(std::int32_t number);
  bool possible(const Worker& worker) const;
  void load(std::int32_t number, Worker& worker) const;
  void move_slice(std::int32_t number, Worker& worker);
  void wake(std::int32_t number);
  std::int64_t duration(const Worker& worker, std::int64_t bytes) const {
    const double per_byte = costs_.ps_per_byte[static_cast<std::size_t>(worker.primitive.work)];
    return static_cast<std::int64_t>(static_cast<double>(bytes) * per_byte + 0.5);
  }
  void record(std::int32_t number, const Worker& worker, std::int64_t bytes, std::int64_t start_ps,
              std::int64_t end_ps);
  /// Everything that later times depend on, oldest first.
  void read_state(std::vector<std::int64_t>& state) const;
  void skip(std::int64_t loops, std::int64_t shift_ps, const std::vector<std::int64_t>& state);
  /// Runs until the state repeats, and skips as many of the first `alike` loops as it can.
  void skip_alike(std::int64_t alike, ChannelRun& result);

  const Program& program_;
  const ChannelLayout& layout_;
  const Slicing slicing_;
  const ChannelCosts costs_;
  Recorder& recorder_;
  std::int64_t limit_ = 0;  ///< loops that workers may do at present
  std::int32_t channel_ = 0;
  std::int64_t messages_ = 0;
  std::vector<Connection> connections_;
  std::vector<Worker> workers_;
  std::vector<std::int32_t> queue_;  ///< a ring; each worker is in it once at most
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

template <class Program, class Recorder>
ChannelEngine<Program, Recorder>::ChannelEngine(const Program& program, const ChannelLayout& layout,
                                                const Slicing& slicing, const ChannelCosts& costs,
                                                Recorder& recorder)
    : program_(program),
      layout_(layout),
      slicing_(slicing),
      costs_(costs),
      recorder_(recorder),
      connections_(layout.connections.size()),
      workers_(layout.workers.size()),
      queue_(layout.workers.size() + 1) {
  for (std::size_t c = 0; c < connections_.size(); ++c) {
    const ConnectionEnds& ends = layout.connections[c];
    Connection& connection = connections_[c];
    connection.from = ends.from;
    connection.to = ends.to;
    connection.kind = ends.kind;
    connection.window = slicing.window() * (ends.kind == ConnectionKind::between ? 2 : 1);
    connection.peer_of_receiver = layout.workers[static_cast<std::size_t>(ends.from)].rank;
    connection.peer_of_sender = layout.workers[static_cast<std::size_t>(ends.to)].rank;
  }
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    workers_[w].inputs = layout.inputs.data() + layout.workers[w].first_input;
    workers_[w].outputs = layout.outputs.data() + layout.workers[w].first_output;
    workers_[w].primitives = program.primitives(static_cast<std::int32_t>(w));
  }
}

template <class Program, class Recorder>
void ChannelEngine<Program, Recorder>::wake(std::int32_t number) {
  Worker& worker = workers_[static_cast<std::size_t>(number)];
  if (worker.queued || worker.loop >= limit_) return;
  worker.queued = true;
  queue_[tail_] = number;
  if (++tail_ == queue_.size()) tail_ = 0;
}

template <class Program, class Recorder>
void ChannelEngine<Program, Recorder>::load(std::int32_t number, Worker& worker) const {
  worker.primitive = program_.at(number, worker.loop, worker.index);
  worker.slice = 0;
  worker.slice_bytes = slicing_.slice_bytes(worker.primitive.bytes);
  worker.rest_bytes = worker.primitive.bytes;
  worker.rest_ps = duration(worker, worker.primitive.bytes);
  worker.loaded = true;
}

template <class Program, class Recorder>
bool ChannelEngine<Program, Recorder>::possible(const Worker& worker) const {
  const Primitive& p = worker.primitive;
  for (unsigned i = p.first_input; i < unsigned{p.first_input} + p.inputs; ++i) {
    const Connection& c = connections_[worker.inputs[i]];
    if (c.received == c.sent) return false;
  }
  for (unsigned i = p.first_output; i < unsigned{p.first_output} + p.outputs; ++i) {
    const Connection& c = connections_[worker.outputs[i]];
    if (c.sent - c.received == c.window) return false;
  }
  return true;
}

template <class Program, class Recorder>
void ChannelEngine<Program, Recorder>::move_slice(std::int32_t number, Worker& worker) {
  const Primitive& p = worker.primitive;
  std::int64_t start = worker.free_ps;
  for (unsigned i = p.first_input; i < unsigned{p.first_input} + p.inputs; ++i) {
    const Connection& c = connections_[worker.inputs[i]];
    start = std::max(start, c.ready[static_cast<std::size_t>(c.received) % slots]);
  }
  for (unsigned i = p.first_output; i < unsigned{p.first_output} + p.outputs; ++i) {
    const Connection& c = connections_[worker.outputs[i]];
    if (c.sent < c.window) continue;
    start = std::max(start, c.freed[static_cast<std::size_t>(c.sent - c.window) % slots]);
  }
  const std::int64_t bytes = std::min(worker.slice_bytes, worker.rest_bytes);
  const bool last = worker.slice + 1 == slicing_.slices;
  const std::int64_t taken = last ? worker.rest_ps : duration(worker, bytes);
  const std::int64_t end = start + taken;
  worker.rest_bytes -= bytes;
  worker.rest_ps -= taken;
  if constexpr (Recorder::enabled) record(number, worker, bytes, start, end);
  for (unsigned i = p.first_input; i < unsigned{p.first_input} + p.inputs; ++i) {
    Connection& c = connections_[worker.inputs[i]];
    c.freed[static_cast<std::size_t>(c.received) % slots] = end;
    ++c.received;
    wake(c.from);
  }
  for (unsigned i = p.first_output; i < unsigned{p.first_output} + p.outputs; ++i) {
    Connection& c = connections_[worker.outputs[i]];
    const HopCost& hop = costs_.hops[static_cast<std::size_t>(c.kind)];
    std::int64_t ready = end + worker.rest_ps + hop.picoseconds(p.bytes, duration(worker, p.bytes));
    if (hop.apart_ps > 0 && bytes > 0 && static_cast<double>(p.bytes) >= hop.long_bytes) {
      ready = std::max(ready, c.last_ready + static_cast<std::int64_t>(hop.apart_ps));
      c.last_ready = ready;
    }
    c.ready[static_cast<std::size_t>(c.sent) % slots] = ready;
    ++c.sent;
    wake(c.to);
  }
  messages_ += p.outputs;
  worker.free_ps = end;
}

template <class Program, class Recorder>
void ChannelEngine<Program, Recorder>::work(std::int32_t number) {
  Worker& worker = workers_[static_cast<std::size_t>(number)];
  while (worker.loop < limit_) {
    if (worker.index == worker.primitives) {
      worker.index = 0;
      ++worker.loop;
      continue;
    }
    if (!worker.loaded) load(number, worker);
    if (!possible(worker)) return;
    move_slice(number, worker);
    if (++worker.slice < slicing_.slices) continue;
    worker.loaded = false;
    ++worker.index;
  }
}

template <class Program, class Recorder>
void ChannelEngine<Program, Recorder>::advance(std::int64_t loops) {
  limit_ = loops;
  for (std::size_t w = 0; w < workers_.size(); ++w) wake(static_cast<std::int32_t>(w));
  while (head_ != tail_) {
    const std::int32_t number = queue_[head_];
    if (++head_ == queue_.size()) head_ = 0;
    workers_[static_cast<std::size_t>(number)].queued = false;
    work(number);
  }
  for ([[maybe_unused]] const Worker& worker : workers_) assert(worker.loop == limit_);
}

template <class Program, class Recorder>
void ChannelEngine<Program, Recorder>::record(std::int32_t number, const Worker& worker,
                                              std::int64_t bytes, std::int64_t start_ps,
                                              std::int64_t end_ps) {
  const WorkerPlace& place = layout_.workers[static_cast<std::size_t>(number)];
  const Primitive& p = worker.primitive;
  const TraceTimes times{simcore::SimTime::picoseconds(start_ps),
                         simcore::SimTime::picoseconds(end_ps)};
  TraceRecord row{place.rank, channel_, place.role, 0, p.chunk, 0, bytes, TraceAction::receive};
  // What a switch adds up or multicasts is one row.
  const bool at_head = p.work == Work::multicast;
  bool by_switch = false;
  if (p.reduces) row.action = TraceAction::reduce;
  for (unsigned i = p.first_input; i < unsigned{p.first_input} + p.inputs; ++i) {
    const Connection& c = connections_[worker.inputs[i]];
    const bool switched = at_head && c.kind == ConnectionKind::by_switch;
    if (switched && by_switch) continue;
    by_switch = switched;
    row.step = c.received * slicing_.steps;
    row.peer = switched ? all_peers : c.peer_of_receiver;
    recorder_.record(static_cast<std::size_t>(number), row, times);
  }
  row.action = TraceAction::send;
  by_switch = false;
  for (unsigned i = p.first_output; i < unsigned{p.first_output} + p.outputs; ++i) {
    const Connection& c = connections_[worker.outputs[i]];
    const bool switched = at_head && c.kind == ConnectionKind::by_switch;
    if (switched && by_switch) continue;
    by_switch = switched;
    row.step = c.sent * slicing_.steps;
    row.peer = switched ? all_peers : c.peer_of_sender;
    recorder_.record(static_cast<std::size_t>(number), row, times);
  }
}

template <class Program, class Recorder>
void ChannelEngine<Program, Recorder>::read_state(std::vector<std::int64_t>& state) const {
  state.clear();
  for (const Worker& worker : workers_) state.push_back(worker.free_ps);
  for (const Connection& c : connections_) {
    assert(c.sent == c.received);
    if (c.received == 0) continue;  // a ring's connection that a chain does not use
    if (c.last_ready != no_time) state.push_back(c.last_ready);
    for (std::int64_t m = c.received - c.window; m < c.received; ++m) {
      state.push_back(m < 0 ? 0 : c.freed[static_cast<std::size_t>(m) % slots]);
    }
  }
}

template <class Program, class Recorder>
void ChannelEngine<Program, Recorder>::skip(std::int64_t loops, std::int64_t shift,
                                            const std::vector<std::int64_t>& state) {
  const std::int64_t* next = state.data();
  for (Worker& worker : workers_) {
    worker.free_ps = *next++ + shift;
    worker.loop += loops;
  }
  for (Connection& c : connections_) {
    if (c.received == 0) continue;
    if (c.last_ready != no_time) c.last_ready = *next++ + shift;
    // How many messages a loop has does not matter: what is in the state is by age.
    for (std::int64_t age = c.window; age >= 1; --age) {
      c.freed[static_cast<std::size_t>(c.received - age) % slots] = *next++ + shift;
    }
  }
}

template <class Program, class Recorder>
ChannelRun ChannelEngine<Program, Recorder>::run(int channel, SteadyState steady) {
  channel_ = channel;
  ChannelRun result;
  const std::int64_t loops = program_.loops();
  const bool skips = !Recorder::enabled && steady == SteadyState::skip;
  if (skips) skip_alike(program_.full_loops(), result);
  advance(loops);
  result.simulated = messages_;
  result.messages += messages_;
  std::int64_t end = 0;
  for (const Worker& worker : workers_) end = std::max(end, worker.free_ps);
  result.end = simcore::SimTime::picoseconds(end);
  return result;
}

// A FIFO that is always full gives a period of as many loops as it holds messages of.
template <class Program, class Recorder>
void ChannelEngine<Program, Recorder>::skip_alike(std::int64_t alike, ChannelRun& result) {
  struct Moment {
    std::vector<std::int64_t> state;
    std::int64_t messages = 0;
  };
  std::array<Moment, slots> past;  // of loop l at l % slots
  for (std::int64_t done = 1; done < alike; ++done) {
    advance(done);
    Moment now;
    read_state(now.state);
    now.messages = messages_;
    for (std::int64_t period = 1; period <= std::min<std::int64_t>(slots, done - 1); ++period) {
      const Moment& then = past[static_cast<std::size_t>(done - period) % slots];
      const std::int64_t shift = now.state.front() - then.state.front();
      const bool repeats =
          std::ranges::equal(now.state, then.state, [shift](std::int64_t late, std::int64_t early) {
            return early > 0 && late - early == shift;
          });
      const std::int64_t times = (alike - done) / period;
      if (!repeats || times == 0) continue;
      skip(times * period, times * shift, now.state);
      result.skipped_loops = times * period;
      result.messages = times * (now.messages - then.messages);
      return;
    }
    past[static_cast<std::size_t>(done) % slots] = std::move(now);
  }
}

}  // namespace shardsim::nccl
