// The kinds of JSON that the program writes, and the schemas of all files that it reads and writes.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace shardsim::cli {

/// Results: `schemas/NAME.schema.json` of the data directory. The first part of their key `schema`,
/// "shardsim.NAME/1", is the same name.
inline constexpr std::array output_schemas{
    "result", "sweep", "collective", "topology-report", "validation", "quiz-verdicts", "timeline"};

/// Of files that are read, then of results.
std::vector<std::string> schema_names();

}  // namespace shardsim::cli
