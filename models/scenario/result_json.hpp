// The result as a JSON tree, for writers that put it into a larger document.
#pragma once

#include <nlohmann/json.hpp>

#include "models/scenario/result.hpp"

namespace shardsim::scenario {

/// What to_json() writes.
nlohmann::ordered_json result_json(const Result& result);

}  // namespace shardsim::scenario
