#include "cli/validate_command.hpp"

#include <algorithm>
#include <expected>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/budget.hpp"
#include "cli/data_directory.hpp"
#include "cli/output_target.hpp"
#include "cli/progress_line.hpp"
#include "cli/validate_collectives.hpp"
#include "models/scenario/validation/fit_validation.hpp"
#include "models/scenario/validation/html_report.hpp"
#include "models/scenario/validation/reference_validation.hpp"
#include "models/scenario/validation/training_validation.hpp"
#include "models/scenario/validation/validation_json.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::cli {

namespace {

constexpr int exit_success = 0;
constexpr int exit_impossible = 1;
constexpr int exit_bad_input = 2;

struct ValidateArguments {
  std::string training;
  std::string rules;
  std::string collectives;
  std::string tables;
  std::vector<std::string> references;
  std::string json;
  std::string residuals;
  bool leave_one_out = false;
  std::string scaling;
  std::string oom;
  std::string report;
  std::string data;
  BudgetArguments budget;
};

/// A table is held to what published clusters have, some times over: a slip of the pen in a row
/// would otherwise be simulated for a long time.
constexpr std::int64_t most_devices = 1'000'000;
constexpr std::uint64_t most_events = 10'000'000;

/// Nothing, and an error, if the file cannot be read.
std::shared_ptr<const simcore::SourceText> read_source(const std::string& file,
                                                       simcore::Diagnostics& diagnostics) {
  auto text = simcore::read_text_file(file, scenario::max_csv_bytes);
  auto source = std::make_shared<simcore::SourceText>(simcore::SourceText{file, text.value_or("")});
  if (text) return source;
  diagnostics.error({source, 0, 0}, text.error());
  return nullptr;
}

std::optional<scenario::TrainingTable> read_table(const std::string& file,
                                                  simcore::Diagnostics& diagnostics) {
  auto source = read_source(file, diagnostics);
  if (!source) return std::nullopt;
  return scenario::TrainingTable::read(std::move(source), diagnostics);
}

/// Beside the log of a reference run.
std::string setup_file(const std::string& log) {
  return std::filesystem::path(log).replace_extension(".json").string();
}

class ValidateCommand {
 public:
  explicit ValidateCommand(ValidateArguments arguments) : arguments_(std::move(arguments)) {}

  int run() {
    if (const auto limited = limit_memory(arguments_.budget.memory); !limited) {
      std::cerr << "shardsim validate: " << limited.error() << '\n';
      return exit_bad_input;
    }
    Watchdog watchdog(deadline_, "validate");
    if (arguments_.training.empty() && arguments_.collectives.empty() &&
        arguments_.references.empty()) {
      std::cerr << "shardsim validate: expected --training, --collectives with --tables, or "
                   "--reference\n";
      return exit_bad_input;
    }
    if (!find_tables()) return exit_bad_input;
    std::vector<NamedTarget> inputs{{"--training", arguments_.training},
                                    {"--scaling", arguments_.scaling},
                                    {"--oom", arguments_.oom},
                                    {"--collectives", arguments_.collectives},
                                    {"--tables", arguments_.tables}};
    inputs.push_back({"--rules", arguments_.rules});
    for (const std::string& log : arguments_.references) {
      inputs.push_back({"--reference", log});
      inputs.push_back({"the setup of --reference", setup_file(log)});
    }
    const auto differ = check_targets(inputs, {{"--json", arguments_.json},
                                               {"--residuals", arguments_.residuals},
                                               {"--report", arguments_.report}});
    if (!differ) {
      std::cerr << "shardsim validate: " << differ.error() << '\n';
      return exit_bad_input;
    }
    scenario::ValidationReport report;
    if (!arguments_.training.empty()) {
      if (!load()) return exit_bad_input;
      ProgressLine progress("validating");
      options_.progress = [&progress](double share) { progress.update(share); };
      report = scenario::validate_training(*table_, options_);
      if (!some_run_maps(report)) return exit_bad_input;
      if (arguments_.leave_one_out) {
        leave_one_out_ = scenario::leave_one_out(scenario::residuals(report));
      }
    }
    if (!arguments_.scaling.empty() && !add_scaling(report)) return exit_bad_input;
    if (!arguments_.oom.empty() && !add_fits(report)) return exit_bad_input;
    if (!arguments_.collectives.empty() && !add_collectives(report)) return exit_bad_input;
    if (!arguments_.references.empty() && !add_references(report)) return exit_bad_input;
    watchdog.call_off();
    const int status = write(report);
    if (status != exit_success) return status;
    if (references_ && !references_->all_equal()) return exit_impossible;
    return status_by_rows(report);
  }

 private:
  /// A file, or the name of a table that comes with the program. The error is one line.
  std::expected<std::string, std::string> table_file(const std::string& text) const {
    std::error_code ignored;
    if (text.ends_with(".csv") || std::filesystem::exists(text, ignored)) return text;
    std::optional<std::filesystem::path> data;
    if (!arguments_.data.empty()) data = arguments_.data;
    const auto folder = find_data_folder(current_data_search(data), "validation");
    if (!folder) return std::unexpected(folder.error());
    const std::vector<std::string> names = simcore::file_stems(*folder / "examples", ".csv");
    if (std::ranges::find(names, text) != names.end()) {
      return (*folder / "examples" / (text + ".csv")).string();
    }
    return std::unexpected(fmt::format("there is no file and no shipped table {}: expected {}",
                                       simcore::quote(text), fmt::join(names, ", ")));
  }

  bool find_tables() {
    for (std::string* one : {&arguments_.training, &arguments_.collectives, &arguments_.tables}) {
      if (one->empty()) continue;
      const auto file = table_file(*one);
      if (!file) {
        std::cerr << "shardsim validate: " << file.error() << '\n';
        return false;
      }
      *one = *file;
    }
    return true;
  }

  /// A table of which nothing can be forecast is a mistake of whoever wrote it.
  bool some_run_maps(const scenario::ValidationReport& report) const {
    if (arguments_.training.empty() || report.rows.empty()) return true;
    if (std::ranges::any_of(report.rows, &scenario::ValidationRow::mapped)) return true;
    const scenario::ValidationRow& first = report.rows.front();
    std::cerr << fmt::format(
        "shardsim validate: none of the {} runs in '{}' can be mapped to a scenario, e.g. {}: {}\n",
        report.rows.size(), arguments_.training, first.id, first.why_not);
    return false;
  }

  /// Says so if nothing could be held against a measurement.
  int status_by_rows(const scenario::ValidationReport& report) const {
    const auto forecast = [](const scenario::ValidationRow& row) {
      return row.predicted.has_value();
    };
    if (report.rows.empty() || std::ranges::any_of(report.rows, forecast)) return exit_success;
    if (fits_ && std::ranges::any_of(fits_->rows, [](const scenario::FitRow& row) {
          return row.predicted.has_value();
        })) {
      return exit_success;
    }
    const bool mapped = std::ranges::any_of(report.rows, &scenario::ValidationRow::mapped);
    const scenario::ValidationRow& first = report.rows.front();
    std::cerr << fmt::format("shardsim validate: no row has a forecast, e.g. {}: {}\n", first.id,
                             first.why_not);
    return mapped ? exit_impossible : exit_bad_input;
  }

  bool load() {
    simcore::Diagnostics diagnostics;
    table_ = read_table(arguments_.training, diagnostics);
    if (table_ && table_->rows() == 0) {
      diagnostics.error(table_->whole(), "the file is a header alone: expected runs below it");
    }
    if (find_data()) {
      auto rules =
          simcore::read_config_file<scenario::MappingRules>(options_.rules_file, diagnostics);
      if (rules) options_.rules = std::move(*rules);
      if (rules && table_) scenario::check_rules(*rules, *table_, diagnostics);
    } else {
      table_.reset();
    }
    std::cerr << simcore::to_text(diagnostics, "shardsim validate");
    return table_.has_value() && !diagnostics.has_errors();
  }

  bool add_scaling(const scenario::ValidationReport& report) {
    simcore::Diagnostics diagnostics;
    if (const auto source = read_source(arguments_.scaling, diagnostics)) {
      scaling_ = scenario::validate_scaling(source, report, diagnostics);
    }
    std::cerr << simcore::to_text(diagnostics, "shardsim validate");
    return scaling_.has_value();
  }

  bool add_fits(const scenario::ValidationReport& report) {
    simcore::Diagnostics diagnostics;
    const auto table = read_table(arguments_.oom, diagnostics);
    if (table) scenario::check_rules(options_.rules, *table, diagnostics);
    std::cerr << simcore::to_text(diagnostics, "shardsim validate");
    if (!table || diagnostics.has_errors()) return false;
    ProgressLine progress("runs out of memory");
    options_.progress = [&progress](double share) { progress.update(share); };
    fits_ = scenario::validate_fits(*table, report, options_);
    options_.progress = nullptr;
    return true;
  }

  bool add_collectives(scenario::ValidationReport& report) {
    if (!find_data()) return false;
    std::optional<std::filesystem::path> data;
    if (!arguments_.data.empty()) data = arguments_.data;
    const auto folder = find_data_folder(current_data_search(data), "validation");
    if (!folder) {
      std::cerr << "shardsim validate: " << folder.error() << '\n';
      return false;
    }
    const auto made =
        collectives_report({arguments_.collectives, arguments_.tables,
                            *folder / "collective_rules.yaml", arguments_.budget.limits},
                           options_.data);
    if (!made) return false;
    report.rows.insert(report.rows.end(), made->rows.begin(), made->rows.end());
    report.summary.insert(report.summary.end(), made->summary.begin(), made->summary.end());
    return true;
  }

  bool add_references(scenario::ValidationReport& report) {
    if (!find_data()) return false;
    simcore::Diagnostics diagnostics;
    std::vector<scenario::ReferenceLog> logs;
    for (const std::string& file : arguments_.references) {
      auto source = read_source(file, diagnostics);
      if (!source) continue;
      auto setup = scenario::read_chunk_work_setup(setup_file(file), diagnostics);
      if (!setup) continue;
      auto log = scenario::ReferenceLog::read(std::move(source), std::move(*setup), diagnostics);
      if (log) logs.push_back(std::move(*log));
    }
    if (!diagnostics.has_errors()) {
      references_ = scenario::validate_references(logs, options_.data, diagnostics);
    }
    std::cerr << simcore::to_text(diagnostics, "shardsim validate");
    if (!references_ || diagnostics.has_errors()) return false;
    const scenario::ValidationReport& times = references_->times;
    report.rows.insert(report.rows.end(), times.rows.begin(), times.rows.end());
    report.summary.insert(report.summary.end(), times.summary.begin(), times.summary.end());
    return true;
  }

  bool find_data() {
    std::optional<std::filesystem::path> data;
    if (!arguments_.data.empty()) data = arguments_.data;
    const DataSearch search = current_data_search(data);
    const auto folders = find_data_directory(search);
    if (!folders) {
      std::cerr << "shardsim validate: " << folders.error() << '\n';
      return false;
    }
    options_.data.topologies = folders->topologies;
    options_.data.scenarios = folders->scenarios;
    options_.budget = {arguments_.budget.limits, arguments_.budget.events};
    options_.with_residuals = arguments_.leave_one_out || !arguments_.residuals.empty();
    options_.rules_file = arguments_.rules;
    if (!arguments_.rules.empty()) return true;
    const auto folder = find_data_folder(search, "validation");
    if (!folder) {
      std::cerr << "shardsim validate: " << folder.error() << '\n';
      return false;
    }
    options_.rules_file = *folder / "training_rules.yaml";
    return true;
  }

  int write(const scenario::ValidationReport& report) const {
    bool written = true;
    if (!arguments_.json.empty()) {
      written &= document(
          arguments_.json,
          scenario::to_json(report, scaling_ ? &*scaling_ : nullptr,
                            leave_one_out_ ? &*leave_one_out_ : nullptr, fits_ ? &*fits_ : nullptr,
                            references_ ? &references_->sequences : nullptr));
    }
    if (!arguments_.residuals.empty()) {
      written &= document(arguments_.residuals, scenario::to_csv(scenario::residuals(report)));
    }
    if (!arguments_.report.empty()) {
      written &= document(arguments_.report, scenario::to_html(report));
    }
    std::ostream& people = standard_output_taken() ? std::cerr : std::cout;
    people << scenario::to_text(report);
    if (scaling_) people << '\n' << scenario::to_text(*scaling_);
    if (leave_one_out_) people << '\n' << scenario::to_text(*leave_one_out_);
    if (fits_) people << '\n' << scenario::to_text(*fits_);
    if (references_) people << '\n' << scenario::to_text(references_->sequences);
    people.flush();
    return written ? exit_success : exit_bad_input;
  }

  static bool document(const std::string& target, const std::string& text) {
    const auto done = write_document(target, [&](std::ostream& out) { out << text; });
    if (!done) std::cerr << "shardsim validate: " << done.error() << '\n';
    return done.has_value();
  }

  bool standard_output_taken() const {
    return arguments_.json == "-" || arguments_.residuals == "-" || arguments_.report == "-";
  }

  ValidateArguments arguments_;
  Deadline deadline_{arguments_.budget.seconds};
  scenario::TrainingValidation options_;
  std::optional<scenario::TrainingTable> table_;
  std::optional<scenario::ScalingReport> scaling_;
  std::optional<scenario::LeaveOneOutReport> leave_one_out_;
  std::optional<scenario::FitReport> fits_;
  std::optional<scenario::ReferenceReport> references_;
};

}  // namespace

void add_validate_command(CommandLine& line) {
  auto arguments = std::make_shared<ValidateArguments>();
  CLI::App* validate =
      line.root().add_subcommand("validate", "Hold forecasts against published measurements");
  const auto add = [validate](const char* name, std::string& target, const char* value,
                              const char* what) {
    return validate->add_option(name, target, what)->type_name(value);
  };
  CLI::Option* const training =
      add("--training", arguments->training, label::table,
          "Training runs, one a row (CSV, or the name of a shipped table): columns below");
  add("--json", arguments->json, label::file,
      "Write every row and the errors by group as JSON; '-': standard output");
  add("--residuals", arguments->residuals, label::file,
      "Write measured over predicted of every scored run as CSV: what the intervals of `run` are "
      "drawn from")
      ->needs(training);
  validate
      ->add_flag("--leave-one-out", arguments->leave_one_out,
                 "Also forecast each source with constants and intervals from the others")
      ->needs(training);
  add("--scaling", arguments->scaling, label::file,
      "Weak-scaling curves (CSV) over the runs of --training")
      ->needs(training);
  add("--oom", arguments->oom, label::file,
      "Runs that are reported as out of memory (CSV): whether forecasts know them from the runs of "
      "--training, which did fit")
      ->needs(training);
  add("--report", arguments->report, label::file,
      "Write a page with a plot of predicted against measured (HTML)");
  add("--rules", arguments->rules, label::file,
      "Rules that map runs to scenarios; by default the shipped ones")
      ->needs(training);
  add("--data", arguments->data, label::folder,
      "Folder that holds topologies/, scenarios/ and validation/");
  CLI::Option* const collectives =
      add("--collectives", arguments->collectives, label::table,
          "Points of published nccl-tests tables (CSV): table, bytes, time_us");
  CLI::Option* const tables =
      add("--tables", arguments->tables, label::table,
          "What those tables are (CSV): machine, network, version, collective");
  validate
      ->add_option("--reference", arguments->references,
                   "Log of reference kernels (CSV), with the work file beside it: FILE.csv and "
                   "FILE.json; see docs/chunk-trace.md")
      ->type_name(label::file);
  arguments->budget.limits.devices = most_devices;
  arguments->budget.events = most_events;
  add_budget_options(*validate, arguments->budget,
                     "Events of a run's simulation after which it has no forecast; the other runs "
                     "go on");
  collectives->needs(tables);
  tables->needs(collectives);
  line.describe(
      *validate,
      {"Columns of --training. Which run: row_id (unique), source_id, trust (A, B, or C: not "
       "scored), sim_ready (Y), status, task, notes. On what: gpu (e.g. H100-80GB), gpus, "
       "gpus_per_node, internode_net. What: framework (FSDP2, DDP, ...), model, layers, hidden, "
       "heads, kv_heads, ffn_hidden, vocab, seq_len, micro_batch, grad_accum, precision, sharding, "
       "act_ckpt, compile, attn_kernel, tp, pp, cp, ep. Measured: step_time_s or "
       "tokens_per_s_per_gpu, peak_memory_GiB with peak_memory_kind. All columns must be there; "
       "a cell is empty where the source does not say. docs/validate.md explains each. A run that "
       "cannot be mapped to a scenario, or is larger than the limits allow, is listed with the "
       "reason; if none can be mapped the exit status is 2, and 1 if none has a forecast.",
       {{"A few published runs that come with the program",
         {"shardsim validate --training published-runs"}},
        {"Every row, for scripts",
         {"shardsim validate --training published-runs --json errors.json"}}}});
  validate->callback([arguments, &line] {
    line.choose([arguments] { return ValidateCommand(*arguments).run(); });
  });
}

}  // namespace shardsim::cli
