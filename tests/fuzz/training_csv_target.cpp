// Tables of training runs, those that ran out of memory included: every row mapped by the shipped
// rules in every reading, and built.
#include <nlohmann/json.hpp>

#include "models/scenario/validation/fit_validation.hpp"
#include "models/scenario/validation/mapping_rules.hpp"
#include "models/scenario/validation/run_mapping.hpp"
#include "models/scenario/validation/training_table.hpp"
#include "models/scenario/validation/training_validation.hpp"
#include "models/scenario/validation/validation_json.hpp"
#include "simcore/config/fields.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/small_run.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

namespace {

const std::filesystem::path& rules_file() {
  static const std::filesystem::path file = source_folder() / "validation" / "training_rules.yaml";
  return file;
}

const scenario::MappingRules& rules() {
  static const scenario::MappingRules made = [] {
    simcore::Diagnostics diagnostics;
    auto read = simcore::read_config_file<scenario::MappingRules>(rules_file(), diagnostics);
    require(read.has_value(), "the shipped rules cannot be read");
    return *read;
  }();
  return made;
}

/// Whether every row that can be mapped is small enough to be forecast here.
bool all_small(const scenario::TrainingTable& table) {
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (const char* unstated : {"none", "full"}) {
      const auto mapped =
          scenario::map_run(scenario::TrainingRun(table, row), rules(), rules_file(),
                            {{"workload.activation_checkpointing", unstated}});
      if (!mapped) {
        require(!mapped.error().empty(), "a refusal without a reason");
        continue;
      }
      if (!is_small(mapped->spec)) return false;
      simcore::Diagnostics diagnostics;
      build_and_run(*mapped, diagnostics);
    }
  }
  return true;
}

}  // namespace

void map_training(std::string_view input) {
  simcore::Diagnostics diagnostics;
  const auto table = scenario::TrainingTable::read(source_of(input), diagnostics);
  check_messages(!table, diagnostics);
  if (!table) return;
  scenario::check_rules(rules(), *table, diagnostics);
  check_messages(false, diagnostics);
  constexpr std::size_t most_rows = 8;
  if (diagnostics.has_errors() || table->rows() > most_rows || !all_small(*table)) return;
  scenario::TrainingValidation options;
  options.rules = rules();
  options.rules_file = rules_file();
  options.data = shipped_data();
  const scenario::ValidationReport report = scenario::validate_training(*table, options);
  const scenario::FitReport fits = scenario::validate_fits(*table, report, options);
  require(nlohmann::json::accept(scenario::to_json(report, nullptr, nullptr, &fits, nullptr)),
          "a report that is no JSON");
}

}  // namespace shardsim::fuzz
