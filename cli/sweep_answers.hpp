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
#include "cli/sweep_runner.hpp"
#include "cli/sweep_session.hpp"
#include "models/scenario/sweep/metric.hpp"

namespace shardsim::cli {

using scenario::SweepPlan;

/// What --best, --target and --subject-to say.
struct Question {
  std::optional<scenario::MetricId> best;
  std::optional<scenario::Constraint> target;
  std::vector<scenario::Constraint> constraints;  ///< the target's among them
};

/// A figure of cost needs prices; the error says so.
std::expected<void, std::string> check_prices(scenario::MetricId metric,
                                              const SweepArguments& arguments);

std::expected<Question, std::string> read_question(const SweepArguments& arguments);

/// Axes for a question that comes without any.
std::vector<scenario::SweepAxis> axes_for(const Question& question, const SweepArguments& arguments,
                                          const scenario::LoadedScenario& scenario,
                                          const scenario::SweepSetting& setting);

/// Prints what was searched, the best point with the command that runs it - where no published run
/// is comparable with it, the best that has some, too - and the Pareto front. False if no point
/// satisfies the constraints.
std::expected<bool, std::string> print_best(std::ostream& people, const Question& question,
                                            const SweepPlan& plan, const std::string& scenario,
                                            const SweepJournal& journal);

/// Runs the points that it takes to find the first of the plan that satisfies the question, and
/// prints it with what was held as the cluster grew. False if there is none. `notes`: of the points
/// that were run.
std::expected<bool, std::string> find_target(std::ostream& people, const Question& question,
                                             const SweepSession& session,
                                             const SweepArguments& arguments, SweepJournal& journal,
                                             NoteCounts& notes);

}  // namespace shardsim::cli
