// `shardsim validate`: holds forecasts against published measurements.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace shardsim::cli {

void add_validate_command(CLI::App& app, std::function<int()>& action);

}  // namespace shardsim::cli
