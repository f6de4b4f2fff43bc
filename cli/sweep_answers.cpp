#include "cli/sweep_answers.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

/// What became of the points: "126 points: 80 ran, 40 out of memory, 6 make no scenario".
std::string outcomes_text(const std::vector<SweepRow>& rows) {
  constexpr std::array kinds{std::pair{"", "ran"},
                             std::pair{"out_of_memory", "out of memory"},
                             std::pair{"bad_value", "whose values make no scenario"},
                             std::pair{"no_route", "without a route"},
                             std::pair{"deadlock", "in a deadlock"},
                             std::pair{"too_long", "stopped as too long"}};
  std::vector<std::string> parts;
  for (const auto& [kind, text] : kinds) {
    const auto count = std::ranges::count(rows, kind, &SweepRow::failed);
    if (count > 0) parts.push_back(fmt::format("{} {}", count, text));
  }
  return fmt::format("{} points: {}", rows.size(), fmt::join(parts, ", "));
}

/// The first failure that is no lack of memory, as an example of its kind.
std::string first_refusal(const std::vector<SweepRow>& rows) {
  for (const SweepRow& row : rows) {
    if (!row.failed.empty() && row.failed != "out_of_memory") return row.message;
  }
  return {};
}

/// The values of an axis, in a line: those of one key where several go together.
std::string axis_text(const scenario::AxisKey& key) {
  constexpr std::size_t most = 60;
  const std::string all = fmt::format("{}", fmt::join(key.values, ", "));
  return all.size() <= most ? all : fmt::format("{} values", key.values.size());
}

/// The strategies that the variants of a whole section hold; empty if it is no such axis.
std::string strategies_text(const scenario::AxisKey& key) {
  if (key.key != "training") return {};
  std::vector<std::string> names;
  for (const std::string& value : key.values) {
    const auto at = value.find("strategy: ");
    if (at == std::string::npos) continue;
    const auto begin = at + std::string_view("strategy: ").size();
    std::string name = value.substr(begin, value.find_first_of(",}", begin) - begin);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return fmt::format("{} variants of {}", key.values.size(), fmt::join(names, ", "));
}

std::string searched_text(const SweepPlan& plan, const std::vector<SweepRow>& rows) {
  std::string text = "Searched " + outcomes_text(rows) + "\n";
  if (const std::string why = first_refusal(rows); !why.empty()) {
    text += fmt::format("  not run, e.g.: {}\n", why);
  }
  for (const scenario::SweepAxis& axis : plan.axes()) {
    const scenario::AxisKey& key = axis.keys.front();
    const std::string strategies = strategies_text(key);
    text += fmt::format("  {:<38} {}\n", key.key, strategies.empty() ? axis_text(key) : strategies);
  }
  return text + "\n";
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
    std::cerr << simcore::to_text(diagnostics, "shardsim sweep");
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

std::expected<void, std::string> check_prices(scenario::MetricId metric,
                                              const SweepArguments& arguments) {
  if (scenario::metrics[metric].section != "cost" || !arguments.prices.empty()) return {};
  return std::unexpected(fmt::format(
      "{} needs --prices, what an hour of a GPU costs: --prices list-2026, or a file of "
      "your own",
      scenario::metrics[metric].name()));
}

std::expected<Question, std::string> read_question(const SweepArguments& arguments) {
  Question question;
  if (!arguments.best.empty()) {
    const auto metric = scenario::find_metric(arguments.best);
    if (!metric) return std::unexpected("--best: " + metric.error());
    if (auto priced = check_prices(*metric, arguments); !priced) {
      return std::unexpected("--best: " + priced.error());
    }
    question.best = *metric;
  }
  for (const std::string& text : arguments.subject_to) {
    auto constraint = scenario::parse_constraint(text);
    if (!constraint) return std::unexpected("--subject-to: " + constraint.error());
    if (auto priced = check_prices(constraint->metric, arguments); !priced) {
      return std::unexpected("--subject-to: " + priced.error());
    }
    question.constraints.push_back(std::move(*constraint));
  }
  if (!arguments.target.empty()) {
    auto target = scenario::parse_constraint(arguments.target);
    if (!target) return std::unexpected("--target: " + target.error());
    if (auto priced = check_prices(target->metric, arguments); !priced) {
      return std::unexpected("--target: " + priced.error());
    }
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

namespace {

/// A point that nothing published can vouch for is named as such, beside the best that has company.
std::string backing_text(const Question& question, const std::string& scenario,
                         const std::vector<SweepRow>& rows, const SweepRow& best) {
  if (best.comparable) {
    return fmt::format("  published runs are comparable with it: {}\n\n", best.comparable_what);
  }
  std::string text = "  No published run is comparable with it in strategy, GPU and size";
  text += best.comparable_what.empty() ? ".\n" : fmt::format(": {}.\n", best.comparable_what);
  std::vector<SweepRow> backed;
  std::ranges::copy_if(rows, std::back_inserter(backed), &SweepRow::comparable);
  const auto second = scenario::best_row(backed, *question.best, question.constraints);
  if (!second) return text + "  Nor with any other point of the search.\n\n";
  const SweepRow& row = backed[*second];
  text += fmt::format("\nBest of the points with comparable runs: {}\n",
                      scenario::metric_text(*question.best, *row.figure(*question.best)));
  text += scenario::sweep_table(std::vector<SweepRow>{row});
  return text + fmt::format("  {}\n\n", run_command(scenario, row));
}

/// What stays as the cluster grows along the axis.
std::string held_text(const SweepPlan& plan) {
  const training::WorkloadSpec& work = plan.base().spec.workload;
  const std::vector<scenario::AxisKey>& keys = plan.axes().front().keys;
  const bool grows =
      std::ranges::find(keys, "cluster.nodes", &scenario::AxisKey::key) != keys.end();
  if (!grows || !work.model) return {};
  if (keys.size() == 1) {
    return fmt::format(
        "Weak scaling: each GPU keeps {} x {} sequences a step, and the global batch grows\n"
        "(--hold global-batch keeps that instead).\n",
        work.gradient_accumulation, work.micro_batch_size);
  }
  const bool spread = std::ranges::find(keys, "workload.gradient_accumulation",
                                        &scenario::AxisKey::key) != keys.end();
  if (!spread) return {};
  return "Strong scaling: the global batch of the scenario stays, so each GPU has less of it; "
         "sizes\n"
         "that do not divide it are left out (--hold micro-batch keeps each GPU's batch "
         "instead).\n";
}

}  // namespace

std::expected<bool, std::string> print_best(std::ostream& people, const Question& question,
                                            const SweepPlan& plan, const std::string& scenario,
                                            const SweepJournal& journal) {
  const auto rows = all_rows(journal);
  if (!rows) return std::unexpected(rows.error());
  people << searched_text(plan, *rows);
  const std::string condition =
      question.constraints.empty() ? "" : " with " + joined(question.constraints);
  const auto best = scenario::best_row(*rows, *question.best, question.constraints);
  if (!best) {
    const bool ran = std::ranges::any_of(*rows, [](const auto& row) { return row.failed.empty(); });
    people << (ran ? fmt::format("No point of {} has a {}{}\n", rows->size(),
                                 scenario::metrics[*question.best].name(), condition)
                   : fmt::format("No point of {} has a result\n", rows->size()));
    return false;
  }
  const SweepRow& row = (*rows)[*best];
  people << fmt::format("Best {} of {} points{}: {}\n", scenario::metrics[*question.best].name(),
                        rows->size(), condition,
                        scenario::metric_text(*question.best, *row.figure(*question.best)));
  people << scenario::sweep_table(std::vector<SweepRow>{row});
  people << "  " << run_command(scenario, row) << '\n';
  people << backing_text(question, scenario, *rows, row);
  people << "Nothing beats these in speed, memory and GPUs together\n";
  people << scenario::sweep_table(
      chosen(*rows, scenario::pareto_front(*rows, question.constraints)));
  return true;
}

std::expected<bool, std::string> find_target(std::ostream& people, const Question& question,
                                             const SweepSession& session,
                                             const SweepArguments& arguments, SweepJournal& journal,
                                             NoteCounts& notes) {
  const SweepPlan& plan = *session.plan;
  std::vector<SweepRow> looked_at;
  {
    ProgressLine progress("looking for the smallest cluster");
    bool given_up = false;
    std::string why = "given up";
    const auto holds = [&](std::int64_t index) {
      if (given_up) return false;
      const auto outcome = run_within_memory(plan, index, session.setting);
      given_up = outcome.abandoned;
      if (!outcome.machine_failure.empty()) {
        why = fmt::format("cannot go on with point {}: {}", index, outcome.machine_failure);
      }
      if (given_up) return false;
      count_notes(outcome, notes);
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
    if (given_up) return std::unexpected(why);
    std::ranges::sort(looked_at, {}, &SweepRow::index);
    if (found) {
      const auto row = std::ranges::find(looked_at, *found, &SweepRow::index);
      people << fmt::format("The smallest cluster with {}\n", joined(question.constraints));
      people << scenario::sweep_table(std::vector<SweepRow>{*row});
      people << "  " << run_command(arguments.scenario, *row) << "\n\n";
    } else {
      people << fmt::format("No cluster that was tried has {}\n", joined(question.constraints));
    }
    people << held_text(plan);
    people << "\nTried\n" << scenario::sweep_table(looked_at);
    return found.has_value();
  }
}

}  // namespace shardsim::cli
