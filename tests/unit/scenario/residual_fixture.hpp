// Residuals made up for tests.
#pragma once

#include <string>
#include <utility>

#include "models/scenario/accuracy/residual_table.hpp"

namespace shardsim::scenario::testing {

inline RunFacts some_run() { return {"FSDP", "X100", "Xenon", 7'000'000'000, 64, "bf16", true}; }

/// A run of `some_run` that measured `ratio` times its forecast.
inline Residual residual(std::string source, std::string model, double ratio) {
  Residual made;
  made.row_id = source + "/" + model;
  made.source = std::move(source);
  made.url = "https://example.org/runs";
  made.model = std::move(model);
  made.run = some_run();
  made.measured_over_predicted = ratio;
  made.measured_over_uncalibrated = ratio;
  made.rate_share = 1;
  return made;
}

}  // namespace shardsim::scenario::testing
