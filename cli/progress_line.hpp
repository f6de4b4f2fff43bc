// A line on the terminal for whatever takes longer than a second.
#pragma once

#include <chrono>
#include <string>

namespace shardsim::cli {

/// Drawn on standard error, if that is a terminal, and wiped out at the end.
class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// `share` of the work is done, 0..1. `note` is shown beside it, after a bar; without one, the
  /// time that has passed.
  void update(double share, const std::string& note = {});

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  bool shown_;
  bool drawn_ = false;
  Clock::time_point begun_;
  Clock::time_point last_;
};

}  // namespace shardsim::cli
