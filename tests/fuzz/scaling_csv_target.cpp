// Tables of curves and points: weak scaling, residuals, measured points beside a sweep.
#include <nlohmann/json.hpp>

#include "cli/measured_points.hpp"
#include "models/scenario/accuracy/forecast_interval.hpp"
#include "models/scenario/accuracy/residual_table.hpp"
#include "models/scenario/validation/leave_one_out.hpp"
#include "models/scenario/validation/scaling_validation.hpp"
#include "models/scenario/validation/training_validation.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

namespace {

void read_scaling(std::string_view input) {
  scenario::ValidationReport training;
  for (const char* id : {"a", "b", "c"}) {
    scenario::ValidationRow row;
    row.id = id;
    row.quantity = "step_time_s";
    row.mapped = true;
    row.predicted = 1.0 + static_cast<double>(training.rows.size());
    training.rows.push_back(row);
  }
  simcore::Diagnostics diagnostics;
  const auto report = scenario::validate_scaling(source_of(input), training, diagnostics);
  check_messages(!report, diagnostics);
  if (report) require(!scenario::to_text(*report).empty(), "a report without words");
}

void read_residuals(std::string_view input) {
  simcore::Diagnostics diagnostics;
  const auto table = scenario::ResidualTable::read(source_of(input), diagnostics);
  check_messages(!table, diagnostics);
  if (!table || table->rows.empty()) return;
  scenario::step_interval(table->rows.front().run, simcore::SimTime::microseconds(1000), *table);
  scenario::to_text(scenario::leave_one_out(*table));
  simcore::Diagnostics problems;
  const auto again = scenario::ResidualTable::read(source_of(scenario::to_csv(*table)), problems);
  require(again && again->rows.size() == table->rows.size(), "written residuals cannot be read",
          problems);
}

void read_measured(std::string_view input) {
  constexpr const char* file = "/input/measured.csv";
  set_memory_file(file, input);
  for (const char* selection : {"", ":model=Llama2-7B", ":gpus=8,source_id=x"}) {
    simcore::Diagnostics diagnostics;
    const auto points = cli::MeasuredPoints::read({std::string(file) + selection}, diagnostics);
    check_messages(!points, diagnostics);
    if (!points) continue;
    for (const int gpus : {1, 8, 64}) {
      const std::string json = points->json_for(gpus);
      require(json.empty() || nlohmann::json::accept(json), "points that are no JSON");
    }
  }
}

}  // namespace

void compare_scaling(std::string_view input) {
  read_scaling(input);
  read_residuals(input);
  read_measured(input);
}

}  // namespace shardsim::fuzz
