#include "cli/sweep_runner.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
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

/// What one thread does: takes the next point until there is none.
void work(const SweepJob& job, SweepJournal& journal, const std::vector<std::int64_t>& missing,
          std::atomic<std::size_t>& next, SweepProgress& progress) {
  for (;;) {
    const std::size_t at = next.fetch_add(1);
    if (at >= missing.size()) return;
    const std::int64_t index = missing[at];
    const scenario::PointOutcome outcome = scenario::run_point(job.plan, index, job.setting);
    const std::string measured = job.measured ? job.measured(outcome) : std::string();
    const std::string line = scenario::point_line(job.plan, index, outcome, job.setting, measured);
    if (!journal.append(index, line)) {
      next = missing.size();
      return;
    }
    progress.point_done();
  }
}

}  // namespace

bool run_missing_points(const SweepJob& job, SweepJournal& journal) {
  std::vector<std::int64_t> missing;
  for (std::int64_t index = job.shard.number - 1; index < job.plan.size(); index += job.shard.of) {
    if (!journal.has(index)) missing.push_back(index);
  }
  const std::int64_t points = job.shard.size(job.plan.size());
  SweepProgress progress(points, points - static_cast<std::int64_t>(missing.size()));
  std::atomic<std::size_t> next = 0;
  const auto threads = std::min(static_cast<std::size_t>(job.threads), missing.size());
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) {
      others.emplace_back([&] { work(job, journal, missing, next, progress); });
    }
    work(job, journal, missing, next, progress);
  }
  return journal.problem().empty();
}

}  // namespace shardsim::cli
