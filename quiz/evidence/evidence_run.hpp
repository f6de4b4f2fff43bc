// Runs that questions rest on, each simulated once.
#pragma once

#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/scenario/experiment.hpp"
#include "models/scenario/simulation.hpp"
#include "quiz/bank/question_spec.hpp"
#include "quiz/evidence/quantity.hpp"

namespace shardsim::quiz {

struct EvidenceRun {
  RunSpec spec;
  /// Holds the program that the logs of `output` point into.
  std::unique_ptr<scenario::Experiment> experiment;
  scenario::RunOutput output;
  Facts facts;
};

/// Simulates one run. A scenario that cannot be read is a failure without a result.
std::expected<EvidenceRun, scenario::RunFailure> try_out(const RunSpec& spec,
                                                         const scenario::DataFolders& data);

/// The same; the error says what is wrong with the scenario or why the run is impossible.
std::expected<EvidenceRun, std::string> carry_out(const RunSpec& spec,
                                                  const scenario::DataFolders& data);

/// Runs that have been carried out, by what they are.
class EvidenceRuns {
 public:
  explicit EvidenceRuns(scenario::DataFolders data) : data_(std::move(data)) {}

  /// The run, simulated now if it has not been.
  std::expected<const EvidenceRun*, std::string> get(const RunSpec& spec);
  /// All runs of a question by name. `progress` is told the share that is done.
  std::expected<std::map<std::string, const EvidenceRun*>, std::string> all(
      const QuestionSpec& question, const std::function<void(double)>& progress = {});

  std::size_t size() const { return runs_.size(); }
  /// Forgets all runs; pointers to them are invalid then.
  void clear() { runs_.clear(); }

 private:
  scenario::DataFolders data_;
  std::vector<std::unique_ptr<EvidenceRun>> runs_;
};

RunFacts facts_of(const std::map<std::string, const EvidenceRun*>& runs);

/// The command that repeats the run; empty for one with a change, which no scenario can express.
std::string command_of(const RunSpec& spec);

}  // namespace shardsim::quiz
