// The shipped residuals of published runs, for the interval of a forecast.
#pragma once

#include <optional>

#include "cli/data_directory.hpp"
#include "models/scenario/accuracy/residual_table.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::cli {

/// validation/residuals.csv of the data directory. An empty table if a data directory of the user's
/// own has none; nothing if `diagnostics` received an error.
std::optional<scenario::ResidualTable> read_residuals(const DataSearch& search,
                                                      simcore::Diagnostics& diagnostics);

}  // namespace shardsim::cli
