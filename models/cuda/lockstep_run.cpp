#include "models/cuda/lockstep_run.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "models/cuda/kernel_progress.hpp"

namespace shardsim::cuda {

using simcore::SimTime;

namespace {

constexpr std::size_t tile_ranks = 64;
constexpr std::uint32_t none = UINT32_MAX;
constexpr std::int64_t never = INT64_MAX;

/// Times are added as bare numbers here, which 9.2e6 s would overflow: the runs of programs that
/// keep a rank busy for days go event by event, where sums stay in range.
bool sums_stay_in_range(const LockstepPlan& plan, const Program& program,
                        const std::vector<RankSetup>& ranks) {
  constexpr double most_seconds = 1e6;
  double slowdown = 1;
  for (const RankSetup& one : ranks) slowdown = std::max(slowdown, one.compute_slowdown);
  double seconds = 0;
  for (const LockstepStep& step : plan.steps) {
    seconds += step.time.seconds();
    if (step.code != LockstepCode::kernel) continue;
    SimTime longest{};
    for (const auto& times : ranks.front().kernel_times->by_load) {
      longest = std::max(longest, times[program.ops[step.index].index]);
    }
    seconds += longest.seconds() * slowdown;
  }
  return seconds < most_seconds;
}

}  // namespace

/// The state of some ranks: each value a row of numbers, one a rank.
struct LockstepRun::Tile {
  std::size_t first = 0;  ///< rank
  std::size_t count = 0;
  std::vector<double> slowdowns;
  std::vector<const RankPace*> paces;
  std::vector<std::int64_t> cpu;
  std::vector<std::int64_t> registers;         ///< [register][rank]
  std::vector<std::int64_t> tails;             ///< [stream][rank]: end of what has been looked at
  std::vector<std::uint32_t> next_collective;  ///< [stream][rank]: the first that ends later

  std::int64_t* row(std::uint32_t number) { return &registers[number * tile_ranks]; }
  std::int64_t* tail(std::size_t stream) { return &tails[stream * tile_ranks]; }
};

std::unique_ptr<LockstepRun> LockstepRun::make(const RuntimeSpec& spec,
                                               const std::vector<RankSetup>& ranks,
                                               CollectiveBackend& backend,
                                               simcore::EventQueue& queue) {
  const RankSetup& first = ranks.front();
  for (const RankSetup& one : ranks) {
    if (one.program != first.program || one.kernel_times != first.kernel_times) return nullptr;
    if (one.pace != nullptr && one.pace->has_stops()) return nullptr;
    if (one.repeats_last_step) return nullptr;
  }
  if (first.program->collectives.empty()) return nullptr;
  auto plan = plan_lockstep(*first.program, spec, first.device_calls);
  if (!plan || plan->collectives.empty()) return nullptr;
  if (!sums_stay_in_range(*plan, *first.program, ranks)) return nullptr;
  const CommunicatorId id =
      first.program->collectives[first.program->ops[plan->collectives[0]].index].communicator;
  for (std::uint32_t slot = 0; slot < ranks.size(); ++slot) {
    const Membership& place = ranks[slot].communicators[id];
    if (place.instance != first.communicators[id].instance || place.member != slot) return nullptr;
  }
  std::unique_ptr<LockstepRun> made(new LockstepRun(std::move(*plan), spec, ranks, backend, queue));
  made->instance_ = first.communicators[id].instance;
  return made;
}

LockstepRun::~LockstepRun() = default;

LockstepRun::LockstepRun(LockstepPlan plan, const RuntimeSpec& spec,
                         const std::vector<RankSetup>& ranks, CollectiveBackend& backend,
                         simcore::EventQueue& queue)
    : plan_(std::move(plan)),
      spec_(spec),
      ranks_(ranks),
      program_(*ranks.front().program),
      backend_(backend),
      queue_(queue) {
  backend_.attach(*this);
  set_up_kernels();
  for (std::size_t first = 0; first < ranks.size(); first += tile_ranks) {
    Tile& tile = tiles_.emplace_back();
    tile.first = first;
    tile.count = std::min(tile_ranks, ranks.size() - first);
    for (std::size_t i = 0; i < tile.count; ++i) {
      tile.slowdowns.push_back(ranks[first + i].compute_slowdown);
      tile.paces.push_back(ranks[first + i].pace);
    }
    tile.cpu.assign(tile_ranks, 0);
    tile.registers.assign(plan_.registers * tile_ranks, 0);
    tile.tails.assign(program_.streams.size() * tile_ranks, 0);
    tile.next_collective.assign(program_.streams.size() * tile_ranks, 0);
  }
  arrivals_.resize(plan_.collectives.size());
  const auto steps = static_cast<std::size_t>(program_.step_count);
  begins_.assign(steps, std::vector<SimTime>(ranks.size()));
  ends_.assign(steps, std::vector<SimTime>(ranks.size()));
  const std::vector<LoadStep>& known = ranks.front().kernel_times->steps;
  for (const std::uint32_t op : plan_.collectives) {
    loads_.push_back(known.empty() ? LoadStep{} : known[program_.ops[op].index]);
  }
}

void LockstepRun::set_up_kernels() {
  runs_kernels_.assign(program_.streams.size(), false);
  for (const Op& op : program_.ops) {
    if (op.code == OpCode::kernel) runs_kernels_[op.stream] = true;
  }
  const auto& by_load = ranks_.front().kernel_times->by_load;
  kernel_times_.resize(program_.kernels.size());
  for (std::size_t kernel = 0; kernel < kernel_times_.size(); ++kernel) {
    for (const auto& times : by_load) {
      kernel_times_[kernel].push_back(times[kernel].picoseconds());
    }
  }
}

double LockstepRun::progress() const {
  return static_cast<double>(segment_) / static_cast<double>(plan_.segment_ends.size());
}

bool LockstepRun::advance() {
  if (finished_) return false;
  const std::size_t begin = segment_ == 0 ? 0 : plan_.segment_ends[segment_ - 1];
  const bool last = segment_ == plan_.collectives.size();
  if (!last) {
    if (!spare_.empty()) {
      arrivals_[segment_] = std::move(spare_.back());
      spare_.pop_back();
    }
    arrivals_[segment_].resize(ranks_.size());
  }
  run_segment(begin, plan_.segment_ends[segment_]);
  if (last) {
    finished_ = true;
    return false;
  }
  if (!carry_out(static_cast<std::uint32_t>(segment_))) return false;
  ++segment_;
  if (segment_ % 16 == 0) forget_arrivals();
  return true;
}

/// The collective starts when the last rank has arrived, and all ranks learn when it has ended.
bool LockstepRun::carry_out(std::uint32_t collective) {
  const auto& arrivals = arrivals_[collective];
  const std::int64_t last = *std::ranges::max_element(arrivals);
  const SimTime at = std::max(SimTime::picoseconds(last), queue_.now());
  times_.push_back({SimTime::never(), SimTime::never()});
  told_ = 0;
  queue_.schedule(at, *this, 0, collective);
  while (told_ < ranks_.size()) {
    if (!queue_.step()) return false;
  }
  times_.back().end = queue_.now();
  return true;
}

void LockstepRun::on_event(const simcore::Event& event) {
  const auto op = plan_.collectives[static_cast<std::size_t>(event.payload)];
  const CollectiveSpec& spec = program_.collectives[program_.ops[op].index];
  for (std::uint32_t member = 0; member < ranks_.size(); ++member) {
    backend_.arrive(instance_, member, spec);
  }
}

void LockstepRun::collective_began(std::uint32_t) { times_.back().begin = queue_.now(); }

void LockstepRun::member_finished(std::uint32_t, std::uint32_t) { ++told_; }

/// Drops arrivals at collectives that ended before everything that is still to come.
void LockstepRun::forget_arrivals() {
  auto needed = static_cast<std::uint32_t>(segment_);
  for (const Tile& tile : tiles_) {
    for (std::size_t stream = 0; stream < program_.streams.size(); ++stream) {
      if (!runs_kernels_[stream]) continue;
      for (std::size_t i = 0; i < tile.count; ++i) {
        needed = std::min(needed, tile.next_collective[stream * tile_ranks + i]);
      }
    }
  }
  for (; remembered_ < needed; ++remembered_) {
    spare_.push_back(std::exchange(arrivals_[remembered_], {}));
  }
}

void LockstepRun::run_segment(std::size_t begin, std::size_t end) {
  for (Tile& tile : tiles_) run_tile(tile, begin, end);
  std::uint64_t counted = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const LockstepCode code = plan_.steps[i].code;
    counted += code >= LockstepCode::start ? 1 : 0;
  }
  operations_ += counted * ranks_.size();
}

void LockstepRun::run_tile(Tile& tile, std::size_t begin, std::size_t end) {
  const std::size_t n = tile.count;
  std::int64_t* const cpu = tile.cpu.data();
  for (std::size_t at = begin; at < end; ++at) {
    const LockstepStep& step = plan_.steps[at];
    const std::int64_t time = step.time.picoseconds();
    std::int64_t* const tail = tile.tail(step.stream);
    switch (step.code) {
      case LockstepCode::cpu_work:
        for (std::size_t i = 0; i < n; ++i) cpu[i] += time;
        break;
      case LockstepCode::cpu_wait: {
        const std::int64_t* const awaited = tile.row(step.a);
        for (std::size_t i = 0; i < n; ++i) cpu[i] = std::max(cpu[i], awaited[i]);
        break;
      }
      case LockstepCode::cpu_wait_idle:
        for (std::size_t stream = 0; stream < program_.streams.size(); ++stream) {
          const std::int64_t* const other = tile.tail(stream);
          for (std::size_t i = 0; i < n; ++i) cpu[i] = std::max(cpu[i], other[i]);
        }
        break;
      case LockstepCode::issue:
        std::copy_n(cpu, n, tile.row(step.a));
        break;
      case LockstepCode::step_begin:
      case LockstepCode::step_end: {
        auto& times = step.code == LockstepCode::step_begin ? begins_ : ends_;
        for (std::size_t i = 0; i < n; ++i) {
          times[step.index][tile.first + i] = SimTime::picoseconds(cpu[i]);
        }
        break;
      }
      case LockstepCode::start_after: {
        const std::int64_t* const issued = tile.row(step.a);
        const std::int64_t* const left = tile.row(step.c);
        for (std::size_t i = 0; i < n; ++i) {
          tail[i] = std::max({tail[i], issued[i] + time, left[i]});
        }
        break;
      }
      case LockstepCode::start: {
        const std::int64_t* const issued = tile.row(step.a);
        for (std::size_t i = 0; i < n; ++i) tail[i] = std::max(tail[i], issued[i] + time);
        break;
      }
      case LockstepCode::kernel:
        run_kernels(tile, step);
        break;
      case LockstepCode::collective: {
        const std::int64_t free = step.index == 0 ? 0 : times_[step.index - 1].end.picoseconds();
        std::int64_t* const arrivals = &arrivals_[step.index][tile.first];
        const std::int64_t* const issued = tile.row(step.a);
        for (std::size_t i = 0; i < n; ++i) {
          tail[i] = std::max({tail[i], issued[i] + time, free});
          arrivals[i] = tail[i];
        }
        break;
      }
      case LockstepCode::collective_end: {
        const std::int64_t ended = times_[step.index].end.picoseconds();
        for (std::size_t i = 0; i < n; ++i) tail[i] = std::max(tail[i], ended);
        break;
      }
    }
    if (step.b != none && step.code != LockstepCode::kernel) std::copy_n(tail, n, tile.row(step.b));
  }
}

// The kernel's pace changes when a collective arrives, begins to move data, and ends.
void LockstepRun::run_kernels(Tile& tile, const LockstepStep& step) {
  const Op& op = program_.ops[step.index];
  const std::vector<std::int64_t>& by_load = kernel_times_[op.index];
  const int launches = launches_of(program_.kernels[op.index]);
  std::int64_t* const tail = tile.tail(step.stream);
  std::uint32_t* const cursors = &tile.next_collective[step.stream * tile_ranks];
  const std::int64_t* const issued = step.a == none ? nullptr : tile.row(step.a);
  const auto known = static_cast<std::uint32_t>(times_.size());
  for (std::size_t i = 0; i < tile.count; ++i) {
    const std::int64_t start = tail[i];
    std::uint32_t next = cursors[i];
    while (next < known && times_[next].end.picoseconds() <= start) ++next;
    cursors[i] = next;
    double factor = tile.slowdowns[i];
    if (const RankPace* pace = tile.paces[i]; pace != nullptr) factor *= pace->factor(step.index);

    std::uint32_t load = 0;
    std::int64_t change = never;
    int phase = 0;  // of collective `next`: 0 to come, 1 waiting, 2 moving
    const auto look = [&](std::int64_t now) {
      // One collective at a time is in flight: `next` is the one that is, or comes next.
      load = 0;
      change = never;
      if (next == known) return;
      const std::int64_t arrived = arrivals_[next][tile.first + i];
      const std::int64_t begin = times_[next].begin.picoseconds();
      if (now < arrived) {
        phase = 0;
        change = arrived;
      } else if (now < begin) {
        phase = 1;
        load = loads_[next].waiting;
        change = begin;
      } else {
        phase = 2;
        load = loads_[next].moving;
        change = times_[next].end.picoseconds();
      }
    };
    look(start);
    SimTime whole = scaled(SimTime::picoseconds(by_load[load]), factor);
    std::int64_t floor = start;
    if (issued != nullptr) {
      floor = issued[i] + step.time.picoseconds() + whole.picoseconds() / launches;
    }
    double left = 1;
    std::int64_t updated = start;
    std::int64_t end = 0;
    for (;;) {
      const std::int64_t rest = nearest(left * static_cast<double>(whole.picoseconds()));
      end = std::max(updated + rest, floor);
      if (change >= end) break;
      left = left_after(left, SimTime::picoseconds(change - updated), whole);
      updated = change;
      if (phase == 2) ++next;
      look(updated);
      whole = scaled(SimTime::picoseconds(by_load[load]), factor);
    }
    tail[i] = end;
  }
}

}  // namespace shardsim::cuda
