// What would make a run fit that ran out of memory: single changes of the scenario, each tried by
// running it.
//
// Only what fits is reported, with the memory that it then uses and what it does to speed. Of the
// changes of one key, ordered from mild to strong, the mildest that fits is looked for: by halving
// where they are many, as for micro-batches, of which the largest is found, and nodes, of which the
// smallest number is, to an eighth, up to 64 times as many. Assumes that what is stronger fits,
// too. Which changes are worth a try follows from the scenario: more nodes, say, only where they
// shard more. The search is bounded by counts, never by a clock: at most 24 runs, and a number of
// events for all of them together, so the same scenario always gets the same advice. Leaves out
// changes of two keys at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/experiment.hpp"
#include "models/scenario/result.hpp"
#include "models/scenario/simulation.hpp"

namespace shardsim::scenario {

struct ScenarioChange {
  std::string key;
  std::string value;
  bool operator==(const ScenarioChange&) const = default;
};

/// Changes worth a try, each inner list of one key from mild to strong. Where a node's host memory
/// is short, those that leave less on each host.
std::vector<std::vector<ScenarioChange>> changes_to_try(const ScenarioSpec& spec,
                                                        const OutOfMemoryResult& shortage);

class MemoryAdvisor {
 public:
  static constexpr int most_tries = 24;
  static constexpr std::uint64_t most_events = 2'000'000;

  /// `failed` ran out of memory in the way of `shortage`.
  MemoryAdvisor(const Experiment& failed, ExperimentOptions options,
                const OutOfMemoryResult& shortage);
  ~MemoryAdvisor();

  /// Handles up to `events` events; false when there is nothing left to try.
  bool advance(std::uint64_t events);
  /// Share of the tries, 0..1.
  double progress() const;
  /// Runs that came to an end, fitting or not.
  int tried() const { return tried_; }
  /// In the order in which their keys fitted first; the slowest remedy, CPU offload, last.
  std::vector<MemorySuggestion> suggestions() const;

 private:
  /// Changes of one key. Those before `first` do not fit, that at `last`, if any, does.
  struct Chain {
    std::vector<ScenarioChange> changes;
    std::size_t first = 0;
    std::size_t last = 0;
    std::optional<std::size_t> suggestion;  ///< its place among the suggestions
    std::size_t next() const;
  };
  /// Builds the next experiment; false if there is none.
  bool begin_try();
  void end_try();
  void add_suggestion(Chain& chain, const Result& result);
  /// Of all its steps, or of the first alone.
  bool build(const ScenarioChange& change, bool first_step);

  const Experiment& failed_;
  ExperimentOptions options_;
  std::vector<Chain> chains_;
  std::size_t turn_ = 0;  ///< chain that is tried now or comes next
  int tried_ = 0;
  std::uint64_t events_ = 0;  ///< of the tries that ended
  std::size_t at_ = 0;        ///< the change that is tried, in its chain
  /// Its first step alone is run: what fails there fails, and whole runs take longer to record.
  bool screening_ = false;
  std::optional<Experiment> experiment_;
  std::unique_ptr<Simulation> simulation_;
  std::vector<MemorySuggestion> suggestions_;
};

}  // namespace shardsim::scenario
