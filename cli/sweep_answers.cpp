#include "cli/sweep_answers.hpp"

#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "cli/progress_line.hpp"
#include "cli/shell_text.hpp"
#include "cli/sweep_runner.hpp"
#include "models/scenario/experiment.hpp"
#include "models/scenario/sweep/pareto.hpp"
#include "models/scenario/sweep/search_space.hpp"
#include "models/scenario/sweep/smallest.hpp"
#include "models/scenario/sweep/sweep_row.hpp"
#include "models/scenario/sweep/sweep_table.hpp"

namespace shardsim::cli {

using scenario::Constraint;
using scenario::SweepRow;

namespace {

/// Clusters beyond this are not looked at unless an axis names them.
constexpr std::int64_t most_nodes = 4096;

std::expected<std::vector<SweepRow>, std::string> all_rows(const SweepJournal& journal) {
  std::vector<SweepRow> rows;
  const auto read = journal.for_each([&](std::string_view line) {
    if (auto row = scenario::read_row(line)) rows.push_back(std::move(*row));
  });
  if (!read) return std::unexpected(read.error());
  return rows;
}

std::string run_command(const std::string& scenario, const SweepRow& row) {
  std::string text = "shardsim run " + shell_quoted(scenario);
  for (const scenario::PointValue& one : row.values) {
    text += " --set " + shell_quoted(one.key + "=" + one.value);
  }
  return text;
}

std::string joined(const std::vector<Constraint>& constraints) {
  std::string text;
  for (const Constraint& one : constraints) text += (text.empty() ? "" : " and ") + one.text;
  return text;
}

std::vector<SweepRow> chosen(const std::vector<SweepRow>& rows,
                             const std::vector<std::size_t>& positions) {
  std::vector<SweepRow> made;
  for (const std::size_t position : positions) made.push_back(rows[position]);
  return made;
}

std::optional<scenario::ClusterShape> shape_of(const scenario::LoadedScenario& scenario,
                                               const scenario::SweepSetting& setting) {
  simcore::Diagnostics diagnostics;
  const auto experiment = scenario::build_experiment(scenario, setting.experiment, diagnostics);
  if (!experiment) {
    std::cerr << simcore::to_text(diagnostics);
    return std::nullopt;
  }
  const std::int64_t nodes = std::max(1, experiment->graph.node_count());
  return scenario::ClusterShape{nodes, experiment->graph.gpu_count() / nodes};
}

/// A step shrinks with the cluster only if the work of all stays.
scenario::Hold hold_of(const Question& question, const SweepArguments& arguments,
                       const scenario::ScenarioSpec& spec) {
  if (!spec.workload.model) return scenario::Hold::micro_batch;  // there is no batch to spread
  if (arguments.hold == "global-batch") return scenario::Hold::global_batch;
  if (arguments.hold == "micro-batch") return scenario::Hold::micro_batch;
  const scenario::Metric& metric = scenario::metrics[question.target->metric];
  return metric.section == "step" ? scenario::Hold::global_batch : scenario::Hold::micro_batch;
}

}  // namespace

std::expected<Question, std::string> read_question(const SweepArguments& arguments) {
  Question question;
  if (!arguments.best.empty()) {
    const auto metric = scenario::find_metric(arguments.best);
    if (!metric) return std::unexpected("--best: " + metric.error());
    question.best = *metric;
  }
  for (const std::string& text : arguments.subject_to) {
    auto constraint = scenario::parse_constraint(text);
    if (!constraint) return std::unexpected("--subject-to: " + constraint.error());
    question.constraints.push_back(std::move(*constraint));
  }
  if (!arguments.target.empty()) {
    auto target = scenario::parse_constraint(arguments.target);
    if (!target) return std::unexpected("--target: " + target.error());
    question.constraints.push_back(*target);
    question.target = std::move(*target);
  }
  if (!question.constraints.empty() && !question.best && !question.target) {
    return std::unexpected(std::string("--subject-to: expected --best or --target beside it"));
  }
  return question;
}

std::vector<scenario::SweepAxis> axes_for(const Question& question, const SweepArguments& arguments,
                                          const scenario::LoadedScenario& scenario,
                                          const scenario::SweepSetting& setting) {
  const auto shape = shape_of(scenario, setting);
  if (!shape) return {};
  if (question.best) return scenario::search_space(scenario, *shape);
  return {scenario::growing_clusters(scenario.spec, *shape,
                                     hold_of(question, arguments, scenario.spec), most_nodes)};
}

std::expected<bool, std::string> print_best(std::ostream& people, const Question& question,
                                            const std::string& scenario,
                                            const SweepJournal& journal) {
  const auto rows = all_rows(journal);
  if (!rows) return std::unexpected(rows.error());
  const std::string condition =
      question.constraints.empty() ? "" : " with " + joined(question.constraints);
  const auto best = scenario::best_row(*rows, *question.best, question.constraints);
  if (!best) {
    people << fmt::format("No point of {} has a {}{}\n", rows->size(),
                          scenario::metrics[*question.best].name(), condition);
    return false;
  }
  const SweepRow& row = (*rows)[*best];
  people << fmt::format("Best {} of {} points{}: {}\n", scenario::metrics[*question.best].name(),
                        rows->size(), condition,
                        scenario::metric_text(*question.best, *row.figure(*question.best)));
  people << scenario::sweep_table(std::vector<SweepRow>{row});
  people << "  " << run_command(scenario, row) << "\n\n";
  people << "Nothing beats these in speed, memory and GPUs together\n";
  people << scenario::sweep_table(
      chosen(*rows, scenario::pareto_front(*rows, question.constraints)));
  return true;
}

std::expected<bool, std::string> find_target(std::ostream& people, const Question& question,
                                             const SweepSession& session,
                                             const std::string& scenario, SweepJournal& journal) {
  const scenario::SweepPlan& plan = *session.plan;
  std::vector<SweepRow> looked_at;
  {
    ProgressLine progress("looking for the smallest cluster");
    bool given_up = false;
    const auto holds = [&](std::int64_t index) {
      if (given_up) return false;
      const auto outcome = run_within_memory(plan, index, session.setting);
      given_up = outcome.abandoned;
      if (given_up) return false;
      const std::string line = scenario::point_line(plan, index, outcome, session.setting);
      if (!journal.has(index)) journal.append(index, line);
      auto row = scenario::read_row(line);
      progress.update(0, fmt::format("{} clusters tried", looked_at.size() + 1));
      if (!row) return false;
      looked_at.push_back(std::move(*row));
      return scenario::satisfies(looked_at.back(), question.constraints);
    };
    const auto found = scenario::smallest_that_holds(plan.size(), holds);
    if (!journal.problem().empty()) return std::unexpected(journal.problem());
    if (given_up) return std::unexpected(std::string("given up"));
    std::ranges::sort(looked_at, {}, &SweepRow::index);
    if (found) {
      const auto row = std::ranges::find(looked_at, *found, &SweepRow::index);
      people << fmt::format("The smallest cluster with {}\n", joined(question.constraints));
      people << scenario::sweep_table(std::vector<SweepRow>{*row});
      people << "  " << run_command(scenario, *row) << "\n\n";
    } else {
      people << fmt::format("No cluster that was tried has {}\n", joined(question.constraints));
    }
    people << "Tried\n" << scenario::sweep_table(looked_at);
    return found.has_value();
  }
}

}  // namespace shardsim::cli
