#include "cli/sweep_command.hpp"

#include <algorithm>
#include <expected>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/measured_points.hpp"
#include "cli/output_target.hpp"
#include "cli/points_status.hpp"
#include "cli/shard_environment.hpp"
#include "cli/shell_text.hpp"
#include "cli/sweep_answers.hpp"
#include "cli/sweep_arguments.hpp"
#include "cli/sweep_journal.hpp"
#include "cli/sweep_outputs.hpp"
#include "cli/sweep_runner.hpp"
#include "cli/sweep_session.hpp"
#include "cli/sweep_submit.hpp"
#include "models/scenario/sweep/metric.hpp"
#include "models/scenario/sweep/sweep_point.hpp"
#include "models/scenario/sweep/sweep_row.hpp"
#include "report/page.hpp"
#include "simcore/decimal_number.hpp"

namespace shardsim::cli {

namespace {

constexpr int exit_success = 0;
constexpr int exit_impossible = 1;
constexpr int exit_bad_input = 2;

int complain(const std::string& message) {
  std::cerr << "shardsim sweep: " << message << '\n';
  return exit_bad_input;
}

/// The first value that is no larger than the one before; empty if all grow, or are no numbers.
std::string out_of_order(const scenario::SweepAxis& axis) {
  const auto number = [](const std::string& text) -> std::optional<double> {
    const auto read = simcore::parse_decimal_prefix(text);
    return read && read->length == text.size() ? std::optional(read->to_double()) : std::nullopt;
  };
  const std::vector<std::string>& values = axis.keys.front().values;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const auto before = number(values[i - 1]);
    const auto here = number(values[i]);
    if (before && here && *here <= *before) return values[i];
  }
  return {};
}

class SweepCommand {
 public:
  explicit SweepCommand(SweepArguments arguments) : arguments_(std::move(arguments)) {}

  int run() {
    if (const auto limited = limit_memory(arguments_.budget.memory); !limited) {
      return complain(limited.error());
    }
    watchdog_.emplace(deadline_, "sweep", "points that are finished stay in their file");
    if (const std::string problem = check(); !problem.empty()) return complain(problem);
    auto question = read_question(arguments_);
    if (!question) return complain(question.error());
    question_ = std::move(*question);
    AxesFrom further_axes;
    if (question_.best || question_.target) {
      further_axes = [this](const auto& loaded, const auto& setting) {
        return axes_for(question_, arguments_, loaded, setting);
      };
    }
    session_ = open_session(arguments_, question_.best.has_value(), further_axes);
    if (!session_) return exit_bad_input;
    if (deadline_.limited()) session_->setting.give_up = [this] { return deadline_.over(); };
    if (session_->plan->axes().empty()) {
      return complain("nothing to sweep: expected --over KEY=V1,V2,... or a 'sweep:' section");
    }
    if (!arguments_.submit.empty()) return submit();
    if (question_.target) return answer_target();
    if (name_shard_files()) {
      if (const auto differ = outputs_differ(); !differ) return complain(differ.error());
    }
    return run_points();
  }

 private:
  /// What is wrong with the arguments beside one another; empty: nothing.
  std::string check() const {
    const std::string& json = arguments_.json;
    const std::string& csv = arguments_.csv;
    if (const auto differ = outputs_differ(); !differ) return differ.error();
    if (!arguments_.report.empty() && !report::has_pages()) {
      return "--report: " + report::no_pages_message();
    }
    if (arguments_.resume && journal_file(json, csv).empty()) {
      return "--resume: expected a file, --json FILE or --csv FILE, to go on from";
    }
    if (!arguments_.submit.empty()) return check_submission();
    if (!arguments_.target.empty() && (arguments_.resume || !arguments_.shard.empty())) {
      return "--target goes from one point to the next: it has no --resume and no --shard";
    }
    if (!arguments_.plot.empty()) {
      const auto metric = scenario::find_metric(arguments_.plot);
      if (!metric) return "--plot: " + metric.error();
      if (const auto priced = check_prices(*metric, arguments_); !priced) {
        return "--plot: " + priced.error();
      }
    }
    return {};
  }

  /// Points are gathered in a file of their own until CSV is complete.
  std::expected<void, std::string> outputs_differ() const {
    std::vector<NamedTarget> inputs{{"the scenario", arguments_.scenario},
                                    {"--prices", arguments_.prices}};
    for (const std::string& one : arguments_.measured) {
      inputs.push_back({"--measured", measured_file(one)});
    }
    std::vector<NamedTarget> outputs{
        {"--json", arguments_.json}, {"--csv", arguments_.csv}, {"--report", arguments_.report}};
    const std::string journal = journal_file(arguments_.json, arguments_.csv);
    if (journal != arguments_.json) outputs.push_back({"the points of --csv", journal});
    return check_targets(inputs, outputs);
  }

  std::string check_submission() const {
    if (!arguments_.best.empty() || !arguments_.target.empty() || !arguments_.shard.empty()) {
      return "--submit takes a plain sweep: no --best, --target or --shard";
    }
    if ((arguments_.json.empty() && arguments_.csv.empty()) || standard_output_taken()) {
      return "--submit: expected a file for the merged result, --json FILE or --csv FILE";
    }
    return {};
  }

  bool standard_output_taken() const { return arguments_.standard_output_taken(); }

  int submit() {
    watchdog_->call_off();
    const int threads = arguments_.threads > 0 ? arguments_.threads : 1;
    const auto done = submit_to_slurm(arguments_, *session_, threads);
    return done ? exit_success : complain(done.error());
  }

  int answer_target() {
    if (session_->plan->axes().size() != 1) {
      return complain("--target: expected one axis, the sizes of the cluster from small to large");
    }
    const std::string wrong = out_of_order(session_->plan->axes().front());
    if (!wrong.empty()) {
      return complain(fmt::format(
          "--target: expected the sizes of the cluster from small to large, found {} out of order",
          wrong));
    }
    auto journal = new_journal();
    if (!journal) return complain(journal.error());
    std::ostream& people = standard_output_taken() ? std::cerr : std::cout;
    NoteCounts notes;
    const auto found = find_target(people, question_, *session_, arguments_, *journal, notes);
    watchdog_->call_off();
    tell_notes(notes, journal->size());
    if (deadline_.over()) return stopped(*journal, deadline_.reason());
    if (!found) return complain(found.error());
    const int status = finish(*journal, targets(true));
    if (broken(*journal)) return exit_impossible;
    if (status != exit_success || *found) return status;
    return std::max(exit_impossible, status_by_points(*journal));
  }

  /// Where points go as they are finished; empty: a file without a name. CSV has its own beside it
  /// until it is complete. A device or a pipe takes all at the end, as standard output does.
  static std::string journal_file(const std::string& json, const std::string& csv) {
    const auto keeps = [](const std::string& file) {
      std::error_code missing;
      const auto status = std::filesystem::status(file, missing);
      const bool other = std::filesystem::exists(status) &&
                         !std::filesystem::is_regular_file(status) &&
                         !std::filesystem::is_directory(status);
      return !file.empty() && file != "-" && !other;
    };
    if (keeps(json)) return json;
    return keeps(csv) ? csv + ".points.jsonl" : std::string();
  }
  std::string journal_file() const { return journal_file(arguments_.json, arguments_.csv); }

  std::expected<SweepJournal, std::string> new_journal() const {
    const std::string file = journal_file();
    return SweepJournal::create(file, file == arguments_.json
                                          ? SweepJournal::Existing::replace
                                          : SweepJournal::Existing::only_if_empty);
  }

  /// By which the sweep's own lines are known.
  SweepIdentity identity() const {
    const scenario::SweepPlan& plan = *session_->plan;
    return {plan.hash(), plan.size(), session_->setting.version,
            [&plan](std::int64_t index) { return scenario::point_head(plan, index); }};
  }

  /// Whether outputs go to files of the part's own.
  bool name_shard_files() {
    if (session_->shard_from.empty() || session_->shard.of == 1) return false;
    arguments_.json = shard_file(arguments_.json, session_->shard);
    arguments_.csv = shard_file(arguments_.csv, session_->shard);
    arguments_.report = shard_file(arguments_.report, session_->shard);
    std::cerr << fmt::format("shardsim sweep: part {} of {}, taken from {}\n",
                             session_->shard.number, session_->shard.of, session_->shard_from);
    return true;
  }

  int run_points() {
    const scenario::SweepPlan& plan = *session_->plan;
    auto journal =
        arguments_.resume ? SweepJournal::resume(journal_file(), identity()) : new_journal();
    if (!journal) return complain(journal.error());
    for (const std::string& warning : journal->warnings()) {
      std::cerr << "shardsim sweep: warning: " << warning << '\n';
    }
    const SweepJob job{plan, session_->setting, session_->shard, thread_count(), measured()};
    const SweepRun done = run_missing_points(job, *journal);
    watchdog_->call_off();
    if (!journal->problem().empty()) return complain(journal->problem());
    if (!done.machine_failure.empty()) {
      return stopped(*journal, "the machine cannot run the points: " + done.machine_failure);
    }
    if (done.finished < done.missing) return stopped(*journal, deadline_.reason());
    int status = conclude(*journal);
    tell_notes(done.notes, done.finished);
    warn_of_unseen_measurements(*journal);
    if (broken(*journal)) return exit_impossible;
    // What a part lacks another may have: the whole is judged by the merge.
    const bool whole = session_->shard.of == 1;
    if (whole && status != exit_bad_input) status = std::max(status, status_by_points(*journal));
    if (arguments_.check && !arguments_.quiet) {
      std::ostream& people = standard_output_taken() ? std::cerr : std::cout;
      people << "checks: " << scenario::to_text(done.checks) << '\n';
    }
    return status;
  }

  /// Says so if no point has a result.
  static int status_by_points(const SweepJournal& journal) {
    const auto points = status_of_points(journal);
    if (!points) return complain(points.error());
    if (!points->message.empty()) std::cerr << "shardsim sweep: " << points->message << '\n';
    return points->status;
  }

  /// Says so where --measured is shown nowhere.
  void warn_of_unseen_measurements(const SweepJournal& journal) const {
    if (arguments_.measured.empty()) return;
    if (arguments_.report.empty() && arguments_.json.empty()) {
      std::cerr << "shardsim sweep: warning: --measured: shown by --report and --json only\n";
      return;
    }
    bool compared = false;
    const auto read = journal.for_each([&compared](std::string_view line) {
      compared |= line.find("\"measured\":[{") != std::string_view::npos;
    });
    if (read && !compared) {
      std::cerr << "shardsim sweep: warning: --measured: no point has as many GPUs as a row\n";
    }
  }

  /// Says so if an invariant did not hold in some point.
  bool broken(const SweepJournal& journal) const {
    if (!arguments_.check) return false;
    std::string message;
    const auto read = journal.for_each([&message](std::string_view line) {
      if (!message.empty() || line.find("\"kind\":\"invariant\"") == std::string_view::npos) return;
      if (const auto row = scenario::read_row(line); row && row->failed == "invariant") {
        message = row->message;
      }
    });
    if (message.empty()) return false;
    std::cerr << "shardsim sweep: " << message << '\n';
    return true;
  }

  /// There is no going on. Points that are finished stay in their file, if it has a name.
  int stopped(const SweepJournal& journal, const std::string& why) const {
    const std::string file = journal_file();
    std::cerr << fmt::format("shardsim sweep: stopped: {}, {} of {} points are done{}\n", why,
                             journal.size(), session_->shard.size(session_->plan->size()),
                             file.empty() ? "" : "; --resume goes on from there");
    std::cerr << not_written({{"--csv", arguments_.csv}, {"--report", arguments_.report}});
    return exit_impossible;
  }

  int conclude(SweepJournal& journal) {
    if (!question_.best) return finish(journal, targets(arguments_.quiet));
    std::ostream& people = standard_output_taken() ? std::cerr : std::cout;
    const auto found = print_best(people, question_, *session_->plan, arguments_.scenario, journal);
    if (!found) return complain(found.error());
    const int status = finish(journal, targets(true));
    return status != exit_success || *found ? status : exit_impossible;
  }

  SweepTargets targets(bool quiet) const {
    return {arguments_.json, arguments_.csv,    arguments_.plot,
            quiet,           arguments_.report, report_origin()};
  }

  int finish(SweepJournal& journal, const SweepTargets& wanted) {
    if (const auto written = write_outputs(journal, wanted); !written) {
      return complain(written.error());
    }
    const std::string file = journal_file();
    if (!file.empty() && file != arguments_.json) {
      std::error_code ignored;
      std::filesystem::remove(file, ignored);
    }
    return exit_success;
  }

  report::SweepOrigin report_origin() const {
    const scenario::LoadedScenario& scenario = session_->plan->base();
    const auto& source = scenario.root.where().source;
    return {scenario.spec.name, command(), arguments_.scenario,
            source ? source->text : std::string()};
  }

  /// With which the sweep can be repeated.
  std::string command() const {
    std::string text = "shardsim sweep " + shell_quoted(arguments_.scenario);
    const auto add = [&](const char* option, const std::string& value) {
      if (!value.empty()) text += fmt::format(" {} {}", option, shell_quoted(value));
    };
    for (const std::string& change : arguments_.overrides) add("--set", change);
    for (const SweepArguments::Axis& axis : arguments_.axes) {
      add("--over", axis.over);
      for (const std::string& with : axis.with) add("--with", with);
    }
    add("--best", arguments_.best);
    for (const std::string& condition : arguments_.subject_to) add("--subject-to", condition);
    add("--target", arguments_.target);
    add("--hold", arguments_.hold);
    add("--fidelity", arguments_.fidelity);
    add("--prices", arguments_.prices);
    for (const std::string& measured : arguments_.measured) add("--measured", measured);
    if (arguments_.exact_ranks) text += " --exact-ranks";
    return text;
  }

  int thread_count() const {
    if (arguments_.threads > 0) return arguments_.threads;
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }

  std::function<std::string(const scenario::PointOutcome&)> measured() const {
    if (!session_->measured) return {};
    return [this](const scenario::PointOutcome& outcome) {
      return session_->measured->json_for(outcome.result.gpus);
    };
  }

  SweepArguments arguments_;
  Deadline deadline_{arguments_.budget.seconds};
  std::optional<Watchdog> watchdog_;  ///< from run() on
  Question question_;
  std::optional<SweepSession> session_;
};

}  // namespace

void add_sweep_command(CommandLine& line) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* sweep = line.root().add_subcommand("sweep", "Forecast a scenario at many points");
  auto options = std::make_shared<SweepOptions>(*sweep, *arguments);
  line.describe(
      *sweep,
      {"Runs a scenario at every combination of values for some of its keys, on all cores, and "
       "answers questions about the points: a curve, the best of them, the smallest cluster. What "
       "was interrupted goes on with --resume; --shard and `shardsim merge` spread it over "
       "machines.",
       {{"Weak scaling from 1 to 64 machines, drawn in the terminal",
         {"shardsim sweep fsdp2-llama-2-7b-4xdgx-h100 --over cluster.nodes=1..64*2 --plot"}},
        {"Two keys that go together, as CSV",
         {"shardsim sweep fsdp2-llama-3-8b-1xdgx-h100 --over workload.micro_batch_size=1,2 --with "
          "workload.gradient_accumulation=2,1 --csv points.csv"}},
        {"The fastest way to train the model on the cluster",
         {"shardsim sweep fsdp2-llama-3-8b-1xdgx-h100 --best tokens_per_s --subject-to "
          "memory.fits"}},
        {"The smallest cluster on which a step of the same batch takes less than 0.6 s",
         {"shardsim sweep fsdp2-llama-2-7b-4xdgx-h100 --target 'step.time_s < 0.6 s'"}}}});
  sweep->callback([arguments, options, &line] {
    line.choose([arguments, options] {
      if (const std::string problem = options->finish(); !problem.empty()) {
        return complain(problem);
      }
      return SweepCommand(*arguments).run();
    });
  });
}

}  // namespace shardsim::cli
