// A validation as JSON: `rows` and `summary` as `validate --json` has had them, then `scaling`,
// `leave_one_out`, `fit` and `reference` where they were asked for.
#pragma once

#include <string>
#include <vector>

#include "models/scenario/validation/fit_validation.hpp"
#include "models/scenario/validation/leave_one_out.hpp"
#include "models/scenario/validation/reference_validation.hpp"
#include "models/scenario/validation/scaling_validation.hpp"
#include "models/scenario/validation/validation_report.hpp"

namespace shardsim::scenario {

/// Ends with a newline. Null: not asked for.
std::string to_json(const ValidationReport& report, const ScalingReport* scaling,
                    const LeaveOneOutReport* leave_one_out, const FitReport* fit = nullptr,
                    const std::vector<ReferenceSequence>* references = nullptr);

}  // namespace shardsim::scenario
