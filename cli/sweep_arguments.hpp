// The arguments of `shardsim sweep`.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/budget.hpp"
#include "cli/command_line.hpp"

namespace shardsim::cli {

struct SweepArguments {
  std::string scenario;
  std::vector<std::string> overrides;
  /// Of --over, and of each --with that follows one.
  struct Axis {
    std::string over;
    std::vector<std::string> with;
  };
  std::vector<Axis> axes;
  int threads = 0;  ///< 0: as many as the machine has cores
  std::string shard;
  bool resume = false;
  std::string json;
  std::string csv;
  std::string report;
  std::string fidelity;
  bool exact_ranks = false;
  std::string data;
  std::string prices;
  std::vector<std::string> measured;
  std::string plot;
  std::string best;
  std::vector<std::string> subject_to;
  std::string target;
  std::string hold;
  bool quiet = false;
  bool check = false;
  BudgetArguments budget;

  // Cluster schedulers.
  std::string submit;
  std::int64_t tasks = 0;  ///< 0: chosen from a sample of points
  double task_minutes = 5;
  std::vector<std::string> scheduler_options;
  bool dry_run = false;

  bool standard_output_taken() const { return json == "-" || csv == "-" || report == "-"; }
};

/// Declares the options on `command`; they are complete once `finish` has been called after
/// parsing.
class SweepOptions {
 public:
  SweepOptions(CLI::App& command, SweepArguments& arguments);
  /// Puts --over and --with into the order in which they were given. The error is a message.
  std::string finish();

 private:
  void add_outputs();
  void add_answers();
  void add_schedulers();

  CLI::App& command_;
  SweepArguments& arguments_;
  std::vector<std::string> over_;
  std::vector<std::string> with_;
  CLI::Option* over_option_ = nullptr;
  CLI::Option* with_option_ = nullptr;
};

}  // namespace shardsim::cli
