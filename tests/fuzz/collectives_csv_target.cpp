// Published nccl-tests tables: what the tables are, "=====", their points; mapped by the shipped
// rules and, for few ranks, predicted.
#include <charconv>

#include <nlohmann/json.hpp>

#include "models/scenario/validation/collectives_validation.hpp"
#include "models/scenario/validation/validation_json.hpp"
#include "simcore/config/fields.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

namespace {

const scenario::CollectiveRules& rules() {
  static const scenario::CollectiveRules made = [] {
    simcore::Diagnostics diagnostics;
    auto read = simcore::read_config_file<scenario::CollectiveRules>(
        source_folder() / "validation" / "collective_rules.yaml", diagnostics);
    require(read.has_value(), "the shipped rules cannot be read");
    return *read;
  }();
  return made;
}

bool all_small(const scenario::CollectiveTables& tables) {
  constexpr std::int64_t most_nodes = 4;
  constexpr std::int64_t most_nics = 16;  // NCCL's search tries them all
  const auto& columns = tables.tables.columns();
  for (std::size_t row = 0; row < tables.tables.rows(); ++row) {
    scenario::TableFacts facts;
    for (std::size_t column = 0; column < columns.size(); ++column) {
      facts[columns[column]] = tables.tables.text(row, column);
    }
    for (const auto& [name, text] : facts) {
      scenario::nics_in(text);
      scenario::variables_in(text);
    }
    const auto mapped = scenario::map_table(facts, rules());
    if (!mapped) require(!mapped.error().empty(), "a refusal without a reason");
    if (mapped &&
        (mapped->cluster.nodes > most_nodes || mapped->cluster.gpus_per_node.value_or(8) > 8 ||
         mapped->cluster.nics.count.value_or(0) > most_nics)) {
      return false;
    }
  }
  return true;
}

}  // namespace

void map_collectives(std::string_view input) {
  const auto parts = parts_of(input, 2);
  simcore::Diagnostics diagnostics;
  const auto tables =
      scenario::CollectiveTables::read(source_of(parts[1]), source_of(parts[0]), diagnostics);
  check_messages(!tables, diagnostics);
  constexpr std::size_t most_rows = 8;
  if (!tables || tables->tables.rows() > most_rows || !all_small(*tables)) return;
  scenario::CollectivesValidation options;
  options.rules = rules();
  options.data = shipped_data();
  const auto report = scenario::validate_collectives(*tables, options);
  require(nlohmann::json::accept(scenario::to_json(report, nullptr, nullptr, nullptr, nullptr)),
          "a report that is no JSON");
}

}  // namespace shardsim::fuzz
