#include "cli/sweep_runner.hpp"

#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "cli/progress_line.hpp"

namespace shardsim::cli {

namespace {

using Clock = std::chrono::steady_clock;

/// Points done of this session, for the progress line.
class SweepProgress {
 public:
  SweepProgress(std::int64_t points, std::int64_t done)
      : points_(points), done_before_(done), begun_(Clock::now()) {}

  void point_done() {
    const std::lock_guard lock(drawing_);
    ++done_;
    const double elapsed = std::chrono::duration<double>(Clock::now() - begun_).count();
    const double rate = static_cast<double>(done_) / std::max(elapsed, 1e-3);
    const auto finished = done_before_ + done_;
    const double left = static_cast<double>(points_ - finished) / rate;
    line_.update(static_cast<double>(finished) / static_cast<double>(points_),
                 fmt::format("{} of {} points, {:.3g} a second, {:.0f} s left", finished, points_,
                             rate, left));
  }

 private:
  std::int64_t points_;
  std::int64_t done_before_;
  std::int64_t done_ = 0;
  Clock::time_point begun_;
  std::mutex drawing_;
  ProgressLine line_{"sweep"};
};

/// What the threads share.
struct SharedWork {
  const SweepJob& job;
  SweepJournal& journal;
  const std::vector<std::int64_t>& missing;
  SweepProgress& progress;
  std::atomic<std::size_t> next = 0;
  std::mutex counting{};
  SweepRun run{};

  void stop() { next = missing.size(); }
  void stop_for(const std::string& machine_failure) {
    stop();
    const std::lock_guard lock(counting);
    if (run.machine_failure.empty()) run.machine_failure = machine_failure;
  }
  void count(const scenario::PointOutcome& outcome) {
    const std::lock_guard lock(counting);
    ++run.finished;
    if (outcome.checks) run.checks.add(*outcome.checks);
    count_notes(outcome, run.notes);
  }
};

/// What one thread does: takes the next point until there is none.
void work(SharedWork& shared) {
  const SweepJob& job = shared.job;
  for (;;) {
    const std::size_t at = shared.next.fetch_add(1);
    if (at >= shared.missing.size()) return;
    const std::int64_t index = shared.missing[at];
    const scenario::PointOutcome outcome = run_within_memory(job.plan, index, job.setting);
    if (!outcome.machine_failure.empty()) return shared.stop_for(outcome.machine_failure);
    if (outcome.abandoned) return shared.stop();
    const std::string measured = job.measured ? job.measured(outcome) : std::string();
    const std::string line = scenario::point_line(job.plan, index, outcome, job.setting, measured);
    if (!shared.journal.append(index, line)) return shared.stop();
    shared.count(outcome);
    shared.progress.point_done();
    if (job.setting.give_up && job.setting.give_up()) return shared.stop();
  }
}

/// Further threads, as many of them as the system gives.
void start_threads(std::vector<std::jthread>& threads, std::size_t count, SharedWork& shared) {
  try {
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&shared] { work(shared); });
  } catch (const std::system_error&) {
    return;  // there are no more; those that run, and this one, do all of the work
  }
}

}  // namespace

void count_notes(const scenario::PointOutcome& outcome, NoteCounts& counts) {
  for (const std::string& note : outcome.notes) ++counts[note];
}

void tell_notes(const NoteCounts& counts, std::int64_t points) {
  for (const auto& [note, count] : counts) {
    std::cerr << "shardsim sweep: warning: " << note;
    if (count < points) std::cerr << fmt::format(" (in {} of {} points)", count, points);
    std::cerr << '\n';
  }
}

scenario::PointOutcome run_within_memory(const scenario::SweepPlan& plan, std::int64_t index,
                                         const scenario::SweepSetting& setting) {
  try {
    return scenario::run_point(plan, index, setting);
  } catch (const std::bad_alloc&) {
    return scenario::failed_point(
        plan, index, {"over_budget", "the run needs more memory than --max-memory allows"});
  }
}

SweepRun run_missing_points(const SweepJob& job, SweepJournal& journal) {
  std::vector<std::int64_t> missing;
  for (std::int64_t index = job.shard.number - 1; index < job.plan.size(); index += job.shard.of) {
    if (!journal.has(index)) missing.push_back(index);
  }
  const std::int64_t points = job.shard.size(job.plan.size());
  SweepProgress progress(points, points - static_cast<std::int64_t>(missing.size()));
  SharedWork shared{job, journal, missing, progress};
  shared.run.missing = static_cast<std::int64_t>(missing.size());
  const auto threads = std::min(static_cast<std::size_t>(job.threads), missing.size());
  {
    std::vector<std::jthread> others;
    if (threads > 1) start_threads(others, threads - 1, shared);
    work(shared);
  }
  return shared.run;
}

}  // namespace shardsim::cli
