#include "cli/run_command.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/budget.hpp"
#include "cli/comparable_runs.hpp"
#include "cli/data_directory.hpp"
#include "cli/output_target.hpp"
#include "cli/progress_line.hpp"
#include "cli/scenario_argument.hpp"
#include "cli/shell_text.hpp"
#include "cli/terminal_style.hpp"
#include "models/scenario/accuracy/forecast_interval.hpp"
#include "models/scenario/accuracy/interval_limits.hpp"
#include "models/scenario/accuracy/what_if.hpp"
#include "models/scenario/experiment.hpp"
#include "models/scenario/kineto_trace.hpp"
#include "models/scenario/memory_advice.hpp"
#include "models/scenario/simulation.hpp"
#include "models/scenario/summary.hpp"
#include "models/scenario/timeline.hpp"
#include "report/page.hpp"
#include "report/run_report.hpp"

namespace shardsim::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int exit_success = 0;
constexpr int exit_impossible = 1;
constexpr int exit_bad_input = 2;

struct RunArguments {
  std::string scenario;
  std::vector<std::string> overrides;
  std::string json;
  std::string trace;
  std::string trace_ranks = "0";
  std::string timeline;
  std::string memory_snapshot;
  std::string report;
  std::string fidelity;
  std::string data;
  bool exact_ranks = false;
  bool what_if = false;
  bool check = false;
  bool quiet = false;
  BudgetArguments budget;
};

std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * std::int64_t{1024};
}

scenario::SummaryStyle summary_style(int descriptor) {
  scenario::SummaryStyle style;
  style.colour = isatty(descriptor) == 1 && std::getenv("NO_COLOR") == nullptr;
  style.unicode = terminal_is_unicode();
  return style;
}

/// Ranks to write traces of: "all", or a list such as "0,8,16".
std::optional<std::vector<int>> parse_ranks(const std::string& text, int gpus) {
  std::vector<int> ranks;
  if (text == "all") {
    for (int rank = 0; rank < gpus; ++rank) ranks.push_back(rank);
    return ranks;
  }
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    if (item.empty() || item.size() > 9 ||
        item.find_first_not_of("0123456789") != std::string::npos || std::stoi(item) >= gpus) {
      std::cerr << fmt::format(
          "shardsim run: --trace-ranks: '{}' is no rank: expected 'all' or numbers from 0 to {}, "
          "separated by commas\n",
          item, gpus - 1);
      return std::nullopt;
    }
    const int rank = std::stoi(item);
    if (std::ranges::find(ranks, rank) == ranks.end()) ranks.push_back(rank);
    at = comma + 1;
  }
  return ranks;
}

/// What takes no files beside it: a device or pipe, and /dev/stdout wherever that leads.
bool is_device(const std::filesystem::path& target) {
  const std::string folder = target.parent_path().lexically_normal().string();
  if (folder == "/dev" || folder.starts_with("/dev/fd") || folder.starts_with("/proc/")) {
    return true;
  }
  std::error_code failed;
  return std::filesystem::is_other(std::filesystem::status(target, failed));
}

/// "step.json" of rank 3 is "step.rank3.json" where several ranks are written.
std::string trace_file(const std::string& target, int rank, bool several) {
  if (!several || target == "-" || is_device(target)) return target;
  const std::size_t slash = target.find_last_of('/');
  const std::size_t dot = target.find_last_of('.');
  const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  const std::string stem = has_ending ? target.substr(0, dot) : target;
  return fmt::format("{}.rank{}{}", stem, rank, has_ending ? target.substr(dot) : "");
}

class RunCommand {
 public:
  explicit RunCommand(const RunArguments& arguments) : arguments_(arguments) {}

  int run() {
    const auto begun = Clock::now();
    if (const auto limited = limit_memory(arguments_.budget.memory); !limited) {
      std::cerr << "shardsim run: " << limited.error() << '\n';
      return exit_bad_input;
    }
    Watchdog watchdog(deadline_, "run");
    if (!outputs_differ({})) return exit_bad_input;
    if (!arguments_.report.empty() && !report::has_pages()) {
      std::cerr << "shardsim run: --report: " << report::no_pages_message() << '\n';
      return exit_bad_input;
    }
    if (!arguments_.fidelity.empty()) {
      arguments_.overrides.push_back("fidelity=" + arguments_.fidelity);
    }
    if (!load()) return exit_bad_input;
    std::optional<std::vector<int>> ranks;
    if (!arguments_.trace.empty()) {
      ranks = parse_ranks(arguments_.trace_ranks, static_cast<int>(experiment_->gpus.size()));
      if (!ranks) return exit_bad_input;
      if (ranks->size() > 1 && arguments_.trace == "-") {
        std::cerr << "shardsim run: standard output takes the trace of one rank: "
                     "expected a file for several --trace-ranks\n";
        return exit_bad_input;
      }
      if (!outputs_differ(*ranks)) return exit_bad_input;
    }
    scenario::SimulationOptions options;
    options.trace_allocator = !arguments_.memory_snapshot.empty();
    options.ranks = ranks.value_or(std::vector<int>{});
    options.check = arguments_.check;
    constexpr std::size_t told_when_stopped = 8;
    const bool may_stop = deadline_.limited() || arguments_.budget.events > 0;
    options.recent = may_stop ? told_when_stopped : 0;
    scenario::Simulation simulation(*experiment_, options);
    const std::string stop = simulate(simulation);
    auto output = stop.empty() ? simulation.finish() : std::unexpected(simulation.stop(stop));
    if (output) add_comparisons(output->result);
    if (!output && output.error().result && output.error().result->out_of_memory) {
      find_what_fits(*output.error().result);
    }
    watchdog.call_off();
    // Most wanted when memory does not suffice, so before that ends the program.
    if (!write_snapshot(simulation)) return exit_bad_input;
    if (!output) return fail(output.error(), begun);
    checks_ = simulation.checks();
    note_costs(output->result, begun);
    if (!write_report(simulation, *output)) return exit_bad_input;
    return write(*output, ranks);
  }

 private:
  /// Runs until there is nothing left to do, or until the budget is used up, and then says so.
  std::string simulate(scenario::Simulation& simulation) const {
    const std::uint64_t most = arguments_.budget.events;
    ProgressLine progress("simulating");
    for (;;) {
      std::uint64_t slice = 1 << 16;
      if (most > 0) slice = std::min(slice, most - simulation.events());
      if (!simulation.advance(slice)) return {};
      if (deadline_.over()) return deadline_.reason();
      if (most > 0 && simulation.events() >= most) {
        return fmt::format("--max-events {} is used up", most);
      }
      progress.update(simulation.progress());
    }
  }

  /// With several ranks, --trace goes to a file for each.
  bool outputs_differ(const std::vector<int>& ranks) const {
    std::vector<NamedTarget> outputs{{"--json", arguments_.json},
                                     {"--timeline", arguments_.timeline},
                                     {"--memory-snapshot", arguments_.memory_snapshot},
                                     {"--report", arguments_.report}};
    if (ranks.size() < 2) outputs.push_back({"--trace", arguments_.trace});
    for (const int rank : ranks) {
      if (ranks.size() < 2) break;
      outputs.push_back(
          {fmt::format("--trace of rank {}", rank), trace_file(arguments_.trace, rank, true)});
    }
    const auto differ = check_targets({{"the scenario", arguments_.scenario}}, outputs);
    if (!differ) std::cerr << "shardsim run: " << differ.error() << '\n';
    return differ.has_value();
  }

  static void note_costs(scenario::Result& result, Clock::time_point begun) {
    result.simulator.version = SHARDSIM_VERSION;
    result.simulator.wall_s = std::chrono::duration<double>(Clock::now() - begun).count();
    result.simulator.peak_rss_bytes = peak_rss_bytes();
  }

  /// Says why there is no forecast and, where memory is short, what would make the step fit.
  int fail(scenario::RunFailure& failure, Clock::time_point begun) {
    std::cerr << fmt::format("shardsim run: {}\n", failure.message);
    for (const std::string& line : failure.details) std::cerr << "  " << line << '\n';
    say_what_is_missing(failure.result.has_value());
    if (!failure.result) return exit_impossible;
    scenario::Result& result = *failure.result;
    if (result.out_of_memory) std::cerr << scenario::summarise_advice(result);
    note_costs(result, begun);
    if (!arguments_.json.empty() &&
        !document(arguments_.json, [&](std::ostream& out) { out << scenario::to_json(result); })) {
      return exit_bad_input;
    }
    return exit_impossible;
  }

  void say_what_is_missing(bool has_result) const {
    std::vector<NamedTarget> missing{{"--timeline", arguments_.timeline},
                                     {"--trace", arguments_.trace},
                                     {"--report", arguments_.report}};
    if (!has_result) missing.insert(missing.begin(), {"--json", arguments_.json});
    std::cerr << not_written(missing);
  }

  void find_what_fits(scenario::Result& result) {
    scenario::OutOfMemoryResult& shortage = *result.out_of_memory;
    scenario::MemoryAdvisor advisor(*experiment_, options_, shortage);
    ProgressLine progress("looking for changes that fit");
    while (!deadline_.over() && advisor.advance(1 << 14)) progress.update(advisor.progress());
    shortage.suggestions = advisor.suggestions();
    shortage.tried = advisor.tried();
  }

  /// How far to trust the forecast, and what would change it.
  void add_comparisons(scenario::Result& result) const {
    result.interval =
        scenario::step_interval(scenario::facts_of(*experiment_), result.step.time, residuals_);
    std::string limits = scenario::interval_warning(*experiment_, result, residuals_);
    if (!limits.empty()) result.warnings.push_back(std::move(limits));
    if (!arguments_.what_if) return;
    ProgressLine progress("what if");
    result.what_if = scenario::answer_what_if(
        *experiment_, options_, [&progress](double share) { progress.update(share); });
  }

  bool load() {
    std::optional<std::filesystem::path> data;
    if (!arguments_.data.empty()) data = arguments_.data;
    const DataSearch search = current_data_search(data);
    const auto folders = find_data_directory(search);
    if (!folders) {
      std::cerr << "shardsim run: " << folders.error() << '\n';
      return false;
    }
    simcore::Diagnostics diagnostics;
    const auto file = find_scenario(arguments_.scenario, folders->scenarios);
    if (!file) {
      std::cerr << "shardsim run: " << file.error() << '\n';
      return false;
    }
    auto loaded = scenario::load_scenario(*file, arguments_.overrides, diagnostics);
    if (loaded) {
      options_.data.topologies = folders->topologies;
      options_.data.scenarios = folders->scenarios;
      options_.exact_ranks = arguments_.exact_ranks;
      options_.limits = arguments_.budget.limits;
      experiment_ = scenario::build_experiment(std::move(*loaded), options_, diagnostics);
    }
    residuals_ = read_residuals(search, diagnostics).value_or(scenario::ResidualTable{});
    std::cerr << simcore::to_text(diagnostics, "shardsim run");
    return experiment_.has_value() && !diagnostics.has_errors();
  }

  bool write_snapshot(scenario::Simulation& simulation) {
    if (arguments_.memory_snapshot.empty()) return true;
    const scenario::AllocatorTrace trace = simulation.allocator_trace();
    return document(arguments_.memory_snapshot,
                    [&](std::ostream& out) { scenario::write_memory_snapshot(out, trace); });
  }

  /// With which the run can be repeated.
  std::string command() const {
    std::string text = "shardsim run " + shell_quoted(arguments_.scenario);
    for (const std::string& change : arguments_.overrides) text += " --set " + shell_quoted(change);
    if (arguments_.exact_ranks) text += " --exact-ranks";
    if (arguments_.what_if) text += " --what-if";
    return text;
  }

  bool write_report(const scenario::Simulation& simulation, const scenario::RunOutput& output) {
    if (arguments_.report.empty()) return true;
    const auto page =
        report::run_report_page({*experiment_, output, simulation.link_loads(), command()});
    if (!page) {
      std::cerr << "shardsim run: --report: " << page.error() << '\n';
      return false;
    }
    return document(arguments_.report, [&](std::ostream& out) { out << *page; });
  }

  int write(const scenario::RunOutput& output, const std::optional<std::vector<int>>& ranks) {
    const bool standard_output_taken =
        arguments_.json == "-" || arguments_.trace == "-" || arguments_.timeline == "-" ||
        arguments_.memory_snapshot == "-" || arguments_.report == "-";
    bool written = true;
    if (!arguments_.json.empty()) {
      written &= document(arguments_.json,
                          [&](std::ostream& out) { out << scenario::to_json(output.result); });
    }
    if (!arguments_.timeline.empty()) {
      written &= document(arguments_.timeline,
                          [&](std::ostream& out) { scenario::write_timeline(out, output.logs); });
    }
    if (ranks) {
      for (const int rank : *ranks) {
        const std::string target = trace_file(arguments_.trace, rank, ranks->size() > 1);
        written &= document(target, [&](std::ostream& out) {
          scenario::write_kineto_trace(out, *experiment_, output.logs, rank);
        });
      }
    }
    if (!arguments_.quiet) {
      std::ostream& people = standard_output_taken ? std::cerr : std::cout;
      people << scenario::summarise(
          output.result, summary_style(standard_output_taken ? STDERR_FILENO : STDOUT_FILENO));
      if (checks_) people << "checks: " << scenario::to_text(*checks_) << '\n';
      people.flush();
      if (!people) {
        fall_silent_without_reader();
        std::cerr << "shardsim run: cannot write the summary\n";
        written = false;
      }
    }
    return written ? exit_success : exit_bad_input;
  }

  static bool document(const std::string& target,
                       const std::function<void(std::ostream&)>& write_to) {
    const auto done = write_document(target, write_to);
    if (!done) std::cerr << "shardsim run: " << done.error() << '\n';
    return done.has_value();
  }

  RunArguments arguments_;
  Deadline deadline_{arguments_.budget.seconds};
  std::optional<scenario::CheckSummary> checks_;
  scenario::ExperimentOptions options_;
  scenario::ResidualTable residuals_;
  std::optional<scenario::Experiment> experiment_;
};

}  // namespace

void add_run_command(CommandLine& line) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* run = line.root().add_subcommand("run", "Forecast one scenario");
  run->add_option("scenario", arguments->scenario,
                  "A YAML file, or the name of a scenario that comes with the program")
      ->type_name(label::scenario)
      ->required();
  run->add_option("--set", arguments->overrides, "Set a key of the scenario")
      ->type_name(label::setting)
      ->take_all()
      ->allow_extra_args(false);
  const auto add_output = [run](const char* name, std::string& target, const char* what) {
    CLI::Option* option = run->add_option(name, target, what);
    expect_name(*option, label::file);
    return option;
  };
  add_output("--json", arguments->json,
             "Write the result as JSON; here as elsewhere '-' is standard output");
  add_output("--timeline", arguments->timeline,
             "Write every operation of the measured step as JSON");
  CLI::Option* trace = add_output("--trace", arguments->trace,
                                  "Write a trace that Perfetto and Holistic Trace Analysis read");
  run->add_option("--trace-ranks", arguments->trace_ranks,
                  "Ranks to trace, e.g. 0,8 or all; several ranks give one file each")
      ->type_name("RANKS")
      ->needs(trace);
  add_output("--memory-snapshot", arguments->memory_snapshot,
             "Write what rank 0's allocator did as a snapshot for PyTorch's memory viewer "
             "(pickle)");
  add_output("--report", arguments->report,
             "Write a page with charts of the run that opens without a network (HTML)");
  run->add_option("--fidelity", arguments->fidelity, "How collectives are simulated")
      ->type_name("model|flow|chunk");
  run->add_flag("--exact-ranks", arguments->exact_ranks,
                "Simulate every rank instead of one of each kind");
  run->add_flag("--what-if", arguments->what_if,
                "Also: the step with twice the network, NVLink, memory bandwidth or arithmetic, "
                "and without launch cost");
  expect_name(
      *run->add_option("--data", arguments->data, "Folder that holds topologies/ and scenarios/"),
      label::folder);
  run->add_flag("--check", arguments->check,
                "Watch the simulator's invariants; one that does not hold ends the run with a "
                "message and exit status 1");
  add_budget_options(*run, arguments->budget,
                     "Events after which to stop, with exit status 1 and what is known by then");
  run->add_flag("--quiet", arguments->quiet, "No summary");
  line.describe(
      *run,
      {"Simulates the training steps of a scenario on its cluster and tells how long one takes, "
       "how "
       "much of its communication is hidden, how much memory each GPU needs, and why. If a step "
       "does not fit, the exit status is 1 and the message names single changes that would make "
       "it fit.",
       {{"A step of Llama 2 7B under FSDP2 on four DGX H100",
         {"shardsim run fsdp2-llama-2-7b-4xdgx-h100"}},
        {"The same on eight machines, sharded within each",
         {"shardsim run fsdp2-llama-2-7b-4xdgx-h100 --set cluster.nodes=8 --set "
          "training.sharding=hybrid_shard"}},
        {"The result for scripts, and a trace for ui.perfetto.dev",
         {"shardsim run fsdp2-llama-3-8b-1xdgx-h100 --json result.json --trace trace.json"}},
        {"What other hardware would change",
         {"shardsim run fsdp2-llama-3-8b-1xdgx-h100 --what-if"}}}});
  run->callback(
      [arguments, &line] { line.choose([arguments] { return RunCommand(*arguments).run(); }); });
}

}  // namespace shardsim::cli
