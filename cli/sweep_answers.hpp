// What a sweep was made for: the best point, and the smallest cluster.
#pragma once

#include <cstdint>
#include <expected>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/sweep_arguments.hpp"
#include "cli/sweep_journal.hpp"
#include "cli/sweep_session.hpp"
#include "models/scenario/sweep/metric.hpp"

namespace shardsim::cli {

/// What --best, --target and --subject-to say.
struct Question {
  std::optional<scenario::MetricId> best;
  std::optional<scenario::Constraint> target;
  std::vector<scenario::Constraint> constraints;  ///< the target's among them
};

std::expected<Question, std::string> read_question(const SweepArguments& arguments);

/// Axes for a question that comes without any.
std::vector<scenario::SweepAxis> axes_for(const Question& question, const SweepArguments& arguments,
                                          const scenario::LoadedScenario& scenario,
                                          const scenario::SweepSetting& setting);

/// Prints the best point with the command that runs it, and the Pareto front. False if no point
/// satisfies the constraints.
std::expected<bool, std::string> print_best(std::ostream& people, const Question& question,
                                            const std::string& scenario,
                                            const SweepJournal& journal);

/// Runs the points that it takes to find the first of the plan that satisfies the question, and
/// prints it. False if there is none.
std::expected<bool, std::string> find_target(std::ostream& people, const Question& question,
                                             const SweepSession& session,
                                             const std::string& scenario, SweepJournal& journal);

}  // namespace shardsim::cli
