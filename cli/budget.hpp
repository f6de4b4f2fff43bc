// What a command may use of the machine: `--max-memory`, `--max-events`, `--max-time`, and how
// large a cluster may be: `--max-devices`, `--max-cables`.
//
// Memory is limited by the system (RLIMIT_DATA): what is beyond it fails, and the command ends with
// a message. Time is asked between slices of work; where there is nothing to ask, as while a large
// cluster is built, a watchdog ends the program. docs/checks.md tells users.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>

#include "models/network/topology_builder.hpp"

namespace shardsim::cli {

struct BudgetArguments {
  std::string memory;        ///< "4 GiB", "unlimited"; empty: the default
  std::uint64_t events = 0;  ///< 0: no limit
  double seconds = 0;        ///< of real time; 0: no limit
  network::SizeLimits limits{};
};

/// Declares the options. `of_what` says what --max-events counts.
void add_budget_options(CLI::App& command, BudgetArguments& arguments, const std::string& of_what);
/// The limits of size alone, for commands that simulate nothing.
void add_size_options(CLI::App& command, network::SizeLimits& limits);

/// From now on the process gets no more memory than `text` says beyond what it has; empty: nine
/// tenths of what the machine has left. The error says what was expected.
std::expected<void, std::string> limit_memory(const std::string& text);
/// What to tell a user when memory is used up, with the flag that raises the limit.
std::string out_of_memory_message();
/// Where memory ends in a place that cannot fail, the program still says so, and exits with 1.
void say_so_at_the_end_of_memory();

/// When the real time of a command is used up, counted from the deadline's making.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(double seconds) : seconds_(seconds), begun_(Clock::now()) {}

  bool limited() const { return seconds_ > 0; }
  bool over() const { return limited() && elapsed() >= seconds_; }
  double seconds() const { return seconds_; }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }
  /// "--max-time 10 is used up".
  std::string reason() const;

 private:
  double seconds_;
  Clock::time_point begun_;
};

/// Ends the program with a message and status 1 if it is still there a moment after the deadline:
/// for stretches of work that cannot ask. No file may be open for writing in them.
class Watchdog {
 public:
  Watchdog(const Deadline& deadline, const std::string& command,
           const std::string& left_behind = "no output is written");
  ~Watchdog() { call_off(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  /// From now on the program ends by itself.
  void call_off();

 private:
  std::mutex guard_;
  std::condition_variable called_;
  bool called_off_ = false;
  std::jthread thread_;
};

}  // namespace shardsim::cli
